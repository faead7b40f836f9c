"""A compiled function of many states."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.errors import StateError
from mbd_bridge.kernels import layout, machine, threads
from mbd_bridge.kernels.layout import Floats
from mbd_bridge.kernels.module_text import stage_bytes

_BATCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_ALIGNMENT = 64


class Kernel:
    """Machine code for one function; call it with arrays of states. Immutable.

    Made by `compile_kernel`. Calls release the interpreter lock, and one kernel may be called from
    several threads at once.
    """

    __slots__ = (
        "_batch",
        "_code",
        "_ranks",
        "_sizes",
        "_stage",
        "compile_seconds",
        "counts",
        "from_cache",
        "inputs",
        "lanes",
        "name",
        "outputs",
        "shapes",
    )

    name: str
    inputs: MappingProxyType[str, int]
    outputs: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    counts: MappingProxyType[str, int]
    lanes: int
    compile_seconds: float
    from_cache: bool

    def __init__(self, code: bytes, **facts: Any) -> None:
        put = super().__setattr__
        for key, value in facts.items():
            put(key, value)
        loaded = machine.Loaded(code)
        put("_code", loaded)
        put("_batch", _BATCH(loaded.address("kernel")))
        put("_ranks", (1,) * len(self.inputs) + tuple(len(shape) for shape in self.shapes))
        put("_stage", stage_bytes(self.inputs.values(), self.shapes, self.lanes) + _ALIGNMENT)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Kernel cannot be changed ({name})")

    def __repr__(self) -> str:
        takes = ", ".join(f"{name}[{size}]" for name, size in self.inputs.items())
        gives = ", ".join(
            f"{name}{list(shape)}" for name, shape in zip(self.outputs, self.shapes, strict=True)
        )
        return f"<Kernel {self.name}({takes}) -> {gives}: {sum(self.counts.values())} operations>"

    def __call__(
        self,
        *values: ArrayLike,
        out: Sequence[Floats | None] | None = None,
        threads: int = 1,
    ) -> tuple[Floats, ...]:
        """Compute all outputs for one state or for N states.

        Parameters
        ----------
        values : one array an input, (n,) or (N, n). float64 arrays are read where they lie,
            whatever their strides; other types are converted. If some are (N, n) and some (n,),
            the latter hold for all N states.
        out : arrays to write to, with any strides; None (or a None in the tuple): newly
            allocated, in C order. They may overlap the inputs: then the results are formed apart
            and copied.
        threads : how many threads share the states

        Returns
        -------
        tuple of (N, *shape), for one state of (*shape)

        Raises
        ------
        StateError
            if an array has not the shape or type that is expected
        """
        arrays, number = layout.check_inputs(values, self.inputs)
        if not isinstance(threads, int) or threads < 1:
            raise StateError(f"threads: expected a whole number from 1, got {threads!r}")
        results = layout.check_outputs(out, self.shapes, number)
        targets = results
        if out is not None:
            targets = [
                np.empty(result.shape)
                if any(np.may_share_memory(result, other) for other in arrays + results[:k])
                else result
                for k, result in enumerate(results)
            ]
        self._run(arrays + targets, 1 if number is None else number, threads)
        for result, target in zip(results, targets, strict=True):
            if result is not target:
                result[...] = target
        return tuple(results)

    def _run(self, arrays: list[Floats], number: int, workers: int) -> None:
        if number == 0:
            return
        described = layout.lay_out(arrays, self._ranks)
        address = described.address

        def work(first: int, last: int) -> None:
            stage = np.empty(self._stage, dtype=np.uint8)
            start = stage.ctypes.data
            start += -start % _ALIGNMENT
            self._batch(address, first, last, start)

        threads.run(work, threads.split(number, workers, self.lanes))
