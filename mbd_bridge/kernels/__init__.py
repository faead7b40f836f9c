"""From a function of arrays to machine code: tracing, code generation, cache, batches, C source.

The room takes any traceable function and knows nothing of mechanics.

| to ... | use |
|---|---|
| compile a function | `compile_kernel` |
| run it for many states, or for one | `Kernel` |
| run it for one state after the other, fast | `Kernel.single` -> `Single` |
| see what it computes | `trace`, `Graph` |
| carry it to another compiler | `c_source` |
| control what is kept on disk | `Cache` |
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mbd_bridge.kernels.c_text import c_source
from mbd_bridge.kernels.cache import Cache
from mbd_bridge.kernels.compile import compile_kernel
from mbd_bridge.kernels.trace import Graph, trace

if TYPE_CHECKING:
    from mbd_bridge.kernels.kernel import Kernel
    from mbd_bridge.kernels.single import Single

__all__ = ["Cache", "Graph", "Kernel", "Single", "c_source", "compile_kernel", "trace"]

_LATE = {"Kernel": "kernel", "Single": "single"}
"""Names whose modules load LLVM."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(importlib.import_module(f"{__name__}.{_LATE[name]}"), name)
    raise AttributeError(f"module {__name__} has no attribute {name!r}")
