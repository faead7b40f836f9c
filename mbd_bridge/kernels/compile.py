"""From a traceable function to a kernel."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from mbd_bridge.errors import KernelError
from mbd_bridge.kernels.order import depth_first
from mbd_bridge.kernels.program import lower
from mbd_bridge.kernels.trace import Traceable, trace

if TYPE_CHECKING:
    from mbd_bridge.kernels.cache import Cache

    from mbd_bridge.kernels.kernel import Kernel


def compile_kernel(
    function: Traceable,
    inputs: Mapping[str, int],
    *,
    outputs: Sequence[str] | None = None,
    name: str = "kernel",
    identity: bytes | str | None = None,
    cache: Cache | None = None,
    lanes: int | None = None,
) -> Kernel:
    """Compile a function of 1-D arrays into machine code for many states at once.

    Parameters
    ----------
    function : takes one 1-D array an input, returns a tuple of arrays; calculates with
        + - * / and sin, cos, sqrt, and never branches on values
    inputs : name and size of each argument, in order
    outputs : names of the results, for messages and exported source
    name : of the kernel
    lanes : states in a vector; None: what the host's registers hold
    """
    # LLVM is imported here, not above: `import mbd_bridge` stays quick for those who only read.
    from mbd_bridge.kernels import machine
    from mbd_bridge.kernels.kernel import Kernel
    from mbd_bridge.kernels.module_text import batch_module

    start = time.perf_counter()
    graph = trace(function, inputs)
    names = (
        tuple(outputs)
        if outputs is not None
        else tuple(f"out{k}" for k in range(len(graph.shapes)))
    )
    if len(names) != len(graph.shapes):
        raise KernelError(
            f"outputs: expected {len(graph.shapes)} names, one a result of the function, "
            f"got {len(names)}"
        )
    width = machine.host().lanes if lanes is None else lanes
    if width not in (1, 2, 4, 8, 16):
        raise KernelError(f"lanes: expected 1, 2, 4, 8 or 16, got {width!r}")
    program = depth_first(lower(graph))
    code = machine.emit(batch_module(program, width, machine.host().triple))
    return Kernel(
        code,
        name=name,
        inputs=MappingProxyType(dict(inputs)),
        outputs=names,
        shapes=graph.shapes,
        counts=MappingProxyType(graph.counts()),
        lanes=width,
        compile_seconds=time.perf_counter() - start,
        from_cache=False,
    )
