"""One state after the other, checked: new arrays for each, with little between caller and code.

The ordinary road reads, converts and explains whatever it is given, for any number of states. For
one state of contiguous float64 arrays there is nothing to convert, and where all that comes out is
finite nothing to explain: `one_state` then answers, from the machine code for one state
(`kernels.Single`). In all other cases it returns None, and the ordinary road says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.kernels import Kernel
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.quaternions import EXACT, quaternion_ends

REPEATED = 3
"""Questions with one state from which on machine code for one state is worth making: who asks once
or twice does not wait for it."""

Answer: TypeAlias = Callable[..., list[Array] | None]
"""Gives outputs, all of them finite, for one state; None where the ordinary road is to be taken."""


def one_state(model: Model, kernel: Kernel, wanted: int) -> Answer:
    """Return a kernel's first outputs at one state, as a function that several threads may call.

    Parameters
    ----------
    model : whose coordinates the first input of the kernel are
    wanted : how many of the outputs are returned
    """
    array, ends = np.ndarray, quaternion_ends(model)
    spare: list[tuple[Callable[..., Any], list[Callable[..., Array]]]] = []
    asked = 0

    def answer(*values: ArrayLike) -> list[Array] | None:
        for value in values:
            if type(value) is not array:  # a masked one, say, has numbers that do not count
                return None
        nonlocal asked
        try:
            caller = spare.pop()  # which no other thread has
        except IndexError:
            asked += np.ndim(values[0]) == 1
            if asked < REPEATED:
                return None
            single = kernel.single(strict=True)
            copies: list[Callable[..., Array]] = [output.copy for output in single.outputs[:wanted]]
            caller = single.run, copies
        run, copies = caller
        found: list[Array] | None = None
        if run(*values) is not None:
            found = []
            for copy in copies:
                found.append(copy())
        spare.append(caller)
        if ends and found is not None and not _are_unit(values[0], ends):
            return None
        return found

    return answer


def _are_unit(q: Any, ends: list[int]) -> bool:
    """Return whether the quaternions of a state are of unit length, to rounding."""
    for end in ends:
        x, y, z, w = q[end - 4 : end].tolist()
        if not abs(x * x + y * y + z * z + w * w - 1.0) <= EXACT:
            return False
    return True
