"""The host's code generator: LLVM text to object code, object code to a callable address.

LLVM is imported by the first function that needs it: `import mbd_bridge` stays quick for those who
compile nothing.
"""

from __future__ import annotations

import functools
import os
import threading
from dataclasses import dataclass
from typing import Any

_LOCK = threading.RLock()
"""LLVM's global context, which llvmlite uses for every module, is not thread-safe."""

# A child that is forked while another thread compiles must not find the lock taken for ever.
os.register_at_fork(
    before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
)


@dataclass(frozen=True, slots=True)
class Host:
    """What code is generated for.

    Attributes
    ----------
    triple, cpu, features : LLVM's names
    lanes : doubles in the widest vector worth using
    compiler : versions of llvmlite and LLVM
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    compiler: str

    @property
    def tag(self) -> str:
        """Everything about host and compiler that generated code depends on."""
        return "\n".join((self.triple, self.cpu, self.features, self.compiler))


@functools.cache
def host() -> Host:
    """Return this machine."""
    import llvmlite
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    if features.get("avx512f") and features.get("avx512dq") and features.get("avx512vl"):
        lanes = 8
    elif features.get("avx2") and features.get("fma"):
        lanes = 4
    else:
        lanes = 2
    return Host(
        triple=llvm.get_process_triple(),
        cpu=llvm.get_host_cpu_name(),
        features=features.flatten(),
        lanes=lanes,
        compiler=f"{llvmlite.__version__} {'.'.join(map(str, llvm.llvm_version_info))}",
    )


def _target(opt: int) -> Any:
    import llvmlite.binding as llvm

    machine = host()
    return llvm.Target.from_triple(machine.triple).create_target_machine(
        cpu=machine.cpu, features=machine.features, opt=opt, reloc="pic", codemodel="small"
    )


def emit(text: str, opt: int = 2) -> bytes:
    """Return the object code of a module given as LLVM text."""
    import llvmlite.binding as llvm

    with _LOCK:
        module = llvm.parse_assembly(text)
        return bytes(_target(opt).emit_object(module))


class Loaded:
    """Object code in executable memory; lives as long as this object."""

    __slots__ = ("_engine",)

    def __init__(self, code: bytes) -> None:
        import llvmlite.binding as llvm

        with _LOCK:
            host()
            engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target(0))
            engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            engine.finalize_object()
            self._engine = engine

    def address(self, name: str) -> int:
        """Return the address of a function."""
        return int(self._engine.get_function_address(name))
