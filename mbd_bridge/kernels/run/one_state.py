"""Memory for one state of a kernel that is described once, and not at every call.

For a batch the caller's arrays are read where they lie, and their description (`layout.Layout`)
costs some microseconds: nothing for many states, most of the time for one. One state is copied
instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from mbd_bridge.kernels.run.layout import Floats, Layout

_ALIGNMENT = 64


class OneState:
    """Buffers for the inputs and outputs of one state, and the stage that the code works on.

    Attributes
    ----------
    inputs : views to write the inputs to
    address, stage : what the machine code is called with; valid as long as this object
    """

    __slots__ = ("_keep", "_parts", "_results", "address", "inputs", "stage")

    def __init__(
        self, sizes: Sequence[int], shapes: Sequence[tuple[int, ...]], stage_bytes: int
    ) -> None:
        self.inputs = tuple(np.empty(size) for size in sizes)
        self._results = np.empty(sum(map(prod, shapes)))
        parts, start = [], 0
        for shape in shapes:
            parts.append((start, start + prod(shape), shape))
            start += prod(shape)
        self._parts = tuple(parts)
        described = Layout(
            [*self.inputs, *self._views(self._results)],
            [1] * len(sizes) + [len(shape) for shape in shapes],
        )
        room = np.empty(stage_bytes + _ALIGNMENT, dtype=np.uint8)
        self.address = described.address
        self.stage = room.ctypes.data + -room.ctypes.data % _ALIGNMENT
        self._keep = described, room

    def results(self) -> tuple[Floats, ...]:
        """Return the outputs in new arrays."""
        return self._views(self._results.copy())

    def _views(self, block: Floats) -> tuple[Floats, ...]:
        return tuple([block[start:stop].reshape(shape) for start, stop, shape in self._parts])
