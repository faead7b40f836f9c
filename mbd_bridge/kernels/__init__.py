"""From a function of arrays to machine code: tracing, code generation, cache, batches, C source.

The room takes any traceable function and knows nothing of mechanics.

| to ... | use |
|---|---|
| compile a function | `compile_kernel` |
| run it for many states, or for one | `Kernel` |
| run it for one state after the other, fast | `Kernel.single` -> `Single` |
| see what it computes | `trace`, `Graph` |
| leave out the zeros of its results | `packed` -> `PackedKernel` |
| derive it | `jacobian`, `gradient`; by the chain rule `rates_along`, `pulled_back` |
| carry it to another compiler | `c_source` |
| control what is kept on disk | `Cache` |
"""

from __future__ import annotations

from mbd_bridge.kernels.c_text import c_source
from mbd_bridge.kernels.cache import Cache
from mbd_bridge.kernels.compile import PackedKernel, compile_kernel, packed
from mbd_bridge.kernels.derive import gradient, jacobian, pulled_back, rates_along
from mbd_bridge.kernels.expression import is_traced
from mbd_bridge.kernels.kernel import Kernel, Single
from mbd_bridge.kernels.tracing import Graph, trace

__all__ = [
    "Cache",
    "Graph",
    "Kernel",
    "PackedKernel",
    "Single",
    "c_source",
    "compile_kernel",
    "gradient",
    "is_traced",
    "jacobian",
    "packed",
    "pulled_back",
    "rates_along",
    "trace",
]
