"""A compiled function of many states.

Memory for one state of a kernel that is described once, and not at every call.

For a batch the caller's arrays are read where they lie, and their description (`layout.Layout`)
costs some microseconds: nothing for many states, most of the time for one. One state is copied
instead.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import KernelError, StateError, whole_number
from mbd_bridge.kernels import layout, machine
from mbd_bridge.kernels.cache import Artifact, Store
from mbd_bridge.kernels.instructions import Program, TracedSource
from mbd_bridge.kernels.layout import Floats, Layout
from mbd_bridge.kernels.llvm_module import single_module
from mbd_bridge.kernels.tracing import Graph, Traceable

# One state at a time, with as little between the caller and the machine code as Python allows.

_FASTCALL = 0x0080
"""``METH_FASTCALL``."""


class _MethodDef(ctypes.Structure):
    """``PyMethodDef``: how the interpreter describes a function of machine code."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_new_function = ctypes.pythonapi.PyCFunction_NewEx
_new_function.restype = ctypes.py_object
_new_function.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)


class Single:
    """A kernel for one state at a time, made by `Kernel.single`.

    ``run(q, v, a)`` copies its arguments to `inputs`, computes, and returns `outputs`: always the
    same arrays, overwritten by the next call. ``run()`` takes `inputs` as they stand. One thread
    at a time; it keeps the interpreter lock.

    Attributes
    ----------
    run : the function to call; one (n,) array an input, or none at all
    inputs : writable buffers, one an input
    outputs : buffers that hold the results, one an output
    """

    __slots__ = ("_signature", "_sizes", "inputs", "outputs", "run")

    inputs: tuple[Floats, ...]
    outputs: tuple[Floats, ...]
    run: Callable[..., tuple[Floats, ...]]

    def __reduce__(self) -> NoReturn:
        raise KernelError(
            "machine code does not travel to another process; send the mechanism, or a solver, and "
            "ask there: it is found in the cache"
        )

    def __init__(self, code: machine.Loaded, artifact: Artifact, *, strict: bool = False) -> None:
        self._signature = artifact.signature
        self._sizes = MappingProxyType(dict(artifact.inputs))
        shapes = [(size,) for size in artifact.inputs.values()] + list(artifact.shapes)
        stage = np.zeros(artifact.stage_bytes // 8 + 1)
        views: list[Floats] = []
        start = 0
        for shape in shapes:
            stop = start + prod(shape)
            views.append(stage[start:stop].reshape(shape))
            start = stop
        self.inputs = tuple(views[: len(artifact.inputs)])
        self.outputs = tuple(views[len(artifact.inputs) :])
        fallback: Callable[..., Any] = _none if strict else self._take
        numbers = stage.ctypes.data, id(self.outputs), id(fallback), int(strict)
        context = (ctypes.c_void_p * 4)(*numbers)
        name = artifact.name.encode()
        method = _MethodDef(name, code.address, _FASTCALL, None)
        # What the machine code reads by address lives as long as the function: in its `self`.
        capsule = _new_capsule(ctypes.addressof(context), None, None)
        owner: tuple[Any, ...] = (
            capsule, context, method, name, code, stage, self.outputs, fallback,
        )  # fmt: skip
        self.run = _new_function(ctypes.addressof(method), owner, None)

    def __call__(self, *values: ArrayLike) -> tuple[Floats, ...]:
        """Call `run`."""
        return self.run(*values)

    def __repr__(self) -> str:
        return f"<Single {self._signature}>"

    def _take(self, *values: ArrayLike) -> tuple[Floats, ...]:
        """Take what the machine code does not: other types and strides, and what is wrong."""
        arrays, number = layout.check_inputs(values, self._sizes)
        if number is not None:
            raise StateError("expected one state, arrays of shape (n,); for N states call Kernel")
        for buffer, array in zip(self.inputs, arrays, strict=True):
            buffer[...] = array
        return self.run()


def _none(*values: object) -> None:
    """Take nothing."""


# The threads that share the work on a large batch.

_pools: dict[int, ThreadPoolExecutor] = {}


SMALLEST_SHARE = 512
"""States: handing work to a thread takes as long as a few hundred states of a small mechanism."""


def split(total: int, parts: int, block: int) -> list[tuple[int, int]]:
    """Return ranges that cover 0 .. total, cut at multiples of `block`.

    There are `parts` of them, or fewer if there are fewer processors or not enough states.
    """
    parts = min(parts, total // SMALLEST_SHARE)
    if parts <= 1:
        return [(0, total)]
    parts = min(parts, os.cpu_count() or 1)
    blocks = -(-total // block)
    cuts = [min(total, (blocks * k // parts) * block) for k in range(parts)] + [total]
    return list(itertools.pairwise(cuts))


def run(work: Callable[[int, int], None], ranges: list[tuple[int, int]]) -> None:
    """Call ``work(first, last)`` for every range, the first one in this thread."""
    if len(ranges) == 1:
        work(*ranges[0])
        return
    helpers = len(ranges) - 1
    pool = _pools.get(helpers)
    if pool is None:
        pool = _pools.setdefault(helpers, ThreadPoolExecutor(helpers, "mbd-kernel"))
    waiting = [pool.submit(work, first, last) for first, last in ranges[1:]]
    try:
        work(*ranges[0])
    finally:
        for task in waiting:
            task.result()


# A forked child has none of its parent's threads: a pool inherited from it would wait for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)


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


_BATCH = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
)


class Run(NamedTuple):
    """What a call gives: the outputs, and whether every entry of them is finite."""

    outputs: tuple[Floats, ...]
    finite: bool


class Kernel:
    """Machine code for one function; call it with arrays of states. Immutable.

    Made by `compile_kernel`. Calls release the interpreter lock, and one kernel may be called from
    several threads at once.
    """

    __slots__ = (
        "_artifact",
        "_batch",
        "_blocks",
        "_code",
        "_entry",
        "_one",
        "_ranks",
        "_source",
        "_store",
        "from_cache",
    )

    _artifact: Artifact
    _batch: Callable[[int, int, int, int], int]
    _blocks: list[OneState]
    _code: machine.Loaded
    _entry: tuple[machine.Loaded, Artifact] | None
    _one: tuple[tuple[int, ...], ...]
    _ranks: tuple[int, ...]
    _source: TracedSource
    _store: Store
    from_cache: bool

    def __reduce__(self) -> NoReturn:
        raise KernelError(
            "machine code does not travel to another process; send the mechanism, or a solver, and "
            "ask there: it is found in the cache"
        )

    def __init__(
        self, artifact: Artifact, source: TracedSource, store: Store, *, from_cache: bool
    ) -> None:
        put = super().__setattr__
        loaded = machine.Loaded(artifact.code, "kernel")
        put("_artifact", artifact)
        put("_source", source)
        put("_store", store)
        put("from_cache", from_cache)
        put("_code", loaded)
        put("_entry", None)
        put("_batch", _BATCH(loaded.address))
        put("_one", tuple((size,) for size in self.inputs.values()))
        put("_blocks", [])
        put("_ranks", (1,) * len(self.inputs) + tuple(len(shape) for shape in self.shapes))

    @property
    def name(self) -> str:
        """The name given to `compile_kernel`."""
        return self._artifact.name

    @property
    def inputs(self) -> Mapping[str, int]:
        """The sizes of the inputs by name."""
        return MappingProxyType(dict(self._artifact.inputs))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return self._artifact.outputs

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the outputs for one state."""
        return self._artifact.shapes

    @property
    def counts(self) -> Mapping[str, int]:
        """Operations for one state by kind; a fused multiply-add counts as two."""
        return MappingProxyType(dict(self._artifact.counts))

    @property
    def lanes(self) -> int:
        """States in a vector."""
        return self._artifact.lanes

    @property
    def compile_seconds(self) -> float:
        """What making the machine code took, in this process or the one that filled the cache."""
        return self._artifact.compile_seconds

    @property
    def function(self) -> Traceable:
        """What was traced."""
        return self._source.function

    @property
    def graph(self) -> Graph:
        """What the kernel computes; a kernel from the cache traces its function again for it."""
        return self._source.graph

    @property
    def program(self) -> Program:
        """The instructions that fix the digits, as `c_source` writes them."""
        return self._source.program

    def single(self, *, strict: bool = False) -> Single:
        """Return a caller for one state at a time, with buffers of its own (see `Single`).

        The machine code for it is made at the first call (and kept in the cache).

        Parameters
        ----------
        strict : ``run`` returns None for what is not a contiguous vector of doubles, unconverted,
            and where a result is not finite
        """
        entry = self._entry
        if entry is None:
            artifact, _ = self._store.get("single", self._make_single)
            entry = (machine.Loaded(artifact.code, "run"), artifact)
            super().__setattr__("_entry", entry)
        return Single(*entry, strict=strict)

    def _make_single(self) -> Artifact:
        start = time.perf_counter()
        host = machine.host()
        text, stage_bytes = single_module(self.program, host.lanes, host.triple)
        return replace(
            self._artifact,
            code=machine.emit(text),
            lanes=1,
            stage_bytes=stage_bytes,
            compile_seconds=time.perf_counter() - start,
        )

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Kernel cannot be changed ({name})")

    def __repr__(self) -> str:
        return f"<Kernel {self._artifact.signature}: {sum(self.counts.values())} operations>"

    def __call__(
        self,
        *values: ArrayLike,
        out: Sequence[Floats | None] | None = None,
        threads: int = 1,
    ) -> tuple[Floats, ...]:
        """Compute all outputs for one state or for N states; see `run`."""
        return self.run(*values, out=out, threads=threads).outputs

    def run(
        self,
        *values: ArrayLike,
        out: Sequence[Floats | None] | None = None,
        threads: int = 1,
    ) -> Run:
        """Compute all outputs for one state or for N states, and say whether they are finite.

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
        Run
            outputs, each (N, *shape), for one state (*shape); and whether every entry is finite

        Raises
        ------
        StateError
            if an array has not the shape or type that is expected
        """
        if (
            out is None
            and type(threads) is int
            and threads == 1
            and layout.are_floats(values, self._one)
        ):
            return self._run_one(values)
        arrays, number = layout.check_inputs(values, self.inputs)
        threads = whole_number("threads", threads)
        results = layout.check_outputs(out, self.shapes, number)
        targets = results
        if out is not None:
            targets = [
                np.empty(result.shape)
                if any(np.may_share_memory(result, other) for other in arrays + results[:k])
                else result
                for k, result in enumerate(results)
            ]
        finite = self._run(arrays + targets, 1 if number is None else number, threads)
        for result, target in zip(results, targets, strict=True):
            if result is not target:
                result[...] = target
        return Run(tuple(results), finite)

    def _run_one(self, values: Sequence[Any]) -> Run:
        """Compute one state in memory of our own; no two calls share it at the same time."""
        try:
            block = self._blocks.pop()
        except IndexError:
            sizes = [size for (size,) in self._one]
            block = OneState(sizes, self.shapes, self._artifact.stage_bytes)
        for buffer, value in zip(block.inputs, values, strict=True):
            buffer[:] = value
        failed = self._batch(block.address, 0, 1, block.stage)
        found = Run(block.results(), not failed)
        self._blocks.append(block)
        return found

    def _run(self, arrays: list[Floats], number: int, workers: int) -> bool:
        if number == 0:
            return True
        flags: list[int] = []
        described = layout.Layout(arrays, self._ranks)
        address = described.address

        def work(first: int, last: int) -> None:
            stage = np.empty(self._artifact.stage_bytes + _ALIGNMENT, dtype=np.uint8)
            start = stage.ctypes.data
            start += -start % _ALIGNMENT
            flags.append(self._batch(address, first, last, start))

        run(work, split(number, workers, self.lanes))
        return not any(flags)
