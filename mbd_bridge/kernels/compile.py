"""From a traceable function to a kernel; and to one whose results leave out their zeros."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from operator import index as as_index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import an_instance, as_floats
from mbd_bridge.base.errors import KernelError, StateError
from mbd_bridge.kernels import cache as addresses, machine
from mbd_bridge.kernels.cache import DEFAULT_CACHE, Artifact, Cache, Store
from mbd_bridge.kernels.instructions import TracedSource
from mbd_bridge.kernels.kernel import Kernel
from mbd_bridge.kernels.layout import Floats
from mbd_bridge.kernels.llvm_module import batch_module
from mbd_bridge.kernels.tracing import Traceable

LANES = (2, 4, 8, 16)
"""Vector lengths that can be generated; the host's registers hold 2, 4 or 8."""


def compile_kernel(
    function: Traceable,
    inputs: Mapping[str, int],
    *,
    outputs: Sequence[str] | None = None,
    name: str = "kernel",
    identity: bytes | str | None = None,
    cache: Cache | None = DEFAULT_CACHE,
    lanes: int | None = None,
) -> Kernel:
    """Compile a function of 1-D arrays into machine code for many states at once.

    Parameters
    ----------
    function : takes one 1-D array an input, returns a tuple of arrays; calculates with
        + - * / ** and the functions of `mbd_bridge.functions`, and never branches on values
    inputs : name and size of each argument, in order
    outputs : names of the results, for messages and exported source
    name : of the kernel
    identity : names *what* is computed, completely (a digest of the model and of the request).
        With it the function is not even traced if its machine code is in the cache; two functions
        must never share one. Without it the address is formed from the traced operations.
    cache : where machine code is kept between runs; None: nowhere
    lanes : states in a vector; None: what the host's registers hold

    Raises
    ------
    KernelError
        if the function does something that cannot be traced
    """
    start = time.perf_counter()
    inputs = _sizes(inputs)
    host = machine.host()
    width = host.lanes if lanes is None else lanes
    if width not in LANES:
        raise KernelError(f"lanes: expected one of {LANES} or None, got {width!r}")
    source = TracedSource(function, inputs)
    address = None
    if cache is not None:
        if identity is None:
            address = addresses.of_graph(source.graph, name)
        else:
            address = addresses.of_request(identity, name, inputs)

    def make() -> Artifact:
        graph = source.graph
        names = _output_names(outputs, len(graph.shapes))
        text, stage_bytes = batch_module(source.program, width, host.triple)
        return Artifact(
            code=machine.emit(text),
            name=name,
            inputs=inputs,
            outputs=names,
            shapes=graph.shapes,
            counts=graph.counts(),
            lanes=width,
            stage_bytes=stage_bytes,
            compile_seconds=time.perf_counter() - start,
        )

    store = Store(cache, address, host.tag)
    form = f"batch {width} {None if outputs is None else [*outputs]}"

    def load() -> Kernel:
        artifact, found = store.get(form, make)
        return Kernel(artifact, source, store, from_cache=found)

    return store.loaded(form, load)


def _sizes(inputs: Mapping[str, int]) -> dict[str, int]:
    sizes = {}
    for name, size in inputs.items():
        try:
            sizes[name] = as_index(size)
        except TypeError:
            sizes[name] = -1
        if not isinstance(name, str) or sizes[name] < 0:
            raise KernelError(
                f"inputs: expected names with sizes, as {{'q': 7}}, got {name!r}: {size!r}"
            )
    return sizes


def _output_names(outputs: Sequence[str] | None, number: int) -> tuple[str, ...]:
    if outputs is None:
        return tuple(f"out{k}" for k in range(number))
    if len(outputs) != number:
        raise KernelError(
            f"outputs: expected {number} names, one for each array that the function returns, "
            f"got {len(outputs)}: {', '.join(outputs)}"
        )
    return tuple(outputs)


# Results without their zeros: what a kernel forms, each number once, and where it stands.
#
# Most entries of a large mechanism's derivatives are structurally zero, and writing them takes
# longer than forming the others. A packed kernel writes these alone, side by side: of a mass
# matrix, which is symmetric, half of them.


@dataclass(frozen=True, eq=False)
class PackedKernel:
    """A kernel that gives one vector of numbers, and what they are in the results of another.

    Attributes
    ----------
    kernel : its inputs are those of the other; its only output are the numbers (E,)
    shapes : of each result of the other, by name
    places : of each, where its entries stand that are not structurally zero, in C order (E',);
        ``np.unravel_index(places["by_q"], shapes["by_q"])`` are rows and columns
    numbers : of each, which number stands there (E',)
    """

    kernel: Kernel
    shapes: dict[str, tuple[int, ...]]
    places: dict[str, NDArray[np.intp]]
    numbers: dict[str, NDArray[np.intp]]

    def unpack(self, numbers: ArrayLike) -> dict[str, Floats]:
        """Return the whole results, zeros included, of numbers (E,) or (N, E)."""
        values = as_floats("numbers", numbers)
        (size,) = self.kernel.shapes[0]
        if values.ndim not in (1, 2) or values.shape[-1] != size:
            raise StateError(
                f"numbers: expected what .kernel gives, ({size},) or (N, {size}), got "
                f"{values.shape}"
            )
        found = {}
        for name, shape in self.shapes.items():
            whole = np.zeros((*values.shape[:-1], prod(shape)))
            whole[..., self.places[name]] = values[..., self.numbers[name]]
            found[name] = whole.reshape(*values.shape[:-1], *shape)
        return found


def packed(kernel: Kernel, cache: Cache | None = DEFAULT_CACHE) -> PackedKernel:
    """Return the kernel that forms the same without zeros.

    Examples
    --------
    >>> lean = packed(robot.compile("inverse_dynamics_derivatives"))   # doctest: +SKIP
    >>> (numbers,) = lean.kernel(q, v, a)                              # doctest: +SKIP
    >>> numbers[lean.numbers["by_q"]]                                  # doctest: +SKIP
    """
    an_instance("kernel", kernel, Kernel, "robot.compile('inverse_dynamics_derivatives')")
    graph = kernel.graph
    first: dict[int, int] = {}
    for place, index in enumerate(index for indices in graph.outputs for index in indices):
        if graph.nodes[index] != ("const", 0.0):
            first.setdefault(index, place)
    order = {index: k for k, index in enumerate(first)}

    def function(*arguments: Floats) -> tuple[Floats, ...]:
        whole = [np.ravel(result) for result in kernel.function(*arguments)]
        return (np.concatenate([np.zeros(0), *whole])[list(first.values())],)

    lean = compile_kernel(
        function, kernel.inputs, outputs=("numbers",), name=f"packed_{kernel.name}", cache=cache
    )
    places, numbers = {}, {}
    for name, indices in zip(kernel.outputs, graph.outputs, strict=True):
        places[name] = np.array([k for k, index in enumerate(indices) if index in order], np.intp)
        numbers[name] = np.array([order[index] for index in indices if index in order], np.intp)
    return PackedKernel(
        lean, dict(zip(kernel.outputs, kernel.shapes, strict=True)), places, numbers
    )
