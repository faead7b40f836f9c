"""From a traceable function to a kernel."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from operator import index

from mbd_bridge.base.errors import KernelError
from mbd_bridge.kernels import cache as addresses, machine
from mbd_bridge.kernels.cache import DEFAULT_CACHE, Artifact, Cache, Store
from mbd_bridge.kernels.instructions import TracedSource
from mbd_bridge.kernels.kernel import Kernel
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
            sizes[name] = index(size)
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
