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

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
