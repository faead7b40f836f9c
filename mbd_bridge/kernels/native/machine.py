"""The host's code generator: LLVM text to object code, object code to a callable address.

LLVM is imported by the first function that needs it: `import mbd_bridge` stays quick for those who
compile nothing.

All that we ask of LLVM, its import and what it frees included, happens under one lock, and a fork
waits for it: a child that is forked while another thread compiles would find llvmlite's lock taken
by a thread that it does not have, and wait for ever. So objects of LLVM are closed by name, never
left to the garbage collector, which may come in any thread.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mbd_bridge.errors import KernelError

MOST_LOADED = 15_000
"""Functions in executable memory. Each takes three memory maps, of which Linux allows a process
65,530 (``vm.max_map_count``); at one more LLVM ends the process by SIGSEGV."""

QUICK = 4_000
"""Lines of text from which on LLVM orders instructions once, not again after it has chosen
registers: a tenth of the time to compile, which a user waits for there, and no run time (where
little is to be done it costs up to 0.06)."""

_LOCK = threading.RLock()
"""LLVM's global context, which llvmlite uses for every module, is not thread-safe."""

_UNUSED: deque[Any] = deque()
"""Engines that nobody holds any more, to be closed by the next one who has the lock."""

_FOREIGN: list[Any] = []
"""llvmlite's own lock, while we hold it around a fork."""


def _before_fork() -> None:
    """Wait until no thread is in LLVM, others that use llvmlite included."""
    _LOCK.acquire()
    loaded = sys.modules.get("llvmlite.binding.ffi")
    theirs = getattr(getattr(getattr(loaded, "lib", None), "_lock", None), "_lock", None)
    if theirs is not None:
        theirs.acquire()
        _FOREIGN.append(theirs)


def _after_fork() -> None:
    while _FOREIGN:
        _FOREIGN.pop().release()
    _LOCK.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


@contextlib.contextmanager
def _llvm() -> Iterator[Any]:
    """Give `llvmlite.binding` to one thread at a time; close what is unused."""
    with _LOCK:
        import llvmlite.binding as llvm

        try:
            yield llvm
        finally:
            _close_unused()


def _close_unused() -> None:
    """Give memory back; the lock is ours."""
    while _UNUSED:
        _UNUSED.pop().close()
        Loaded.held -= 1


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
    with _llvm() as llvm:
        from llvmlite import __version__

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
        triple, cpu = llvm.get_process_triple(), llvm.get_host_cpu_name()
        compiler = f"{__version__} {'.'.join(map(str, llvm.llvm_version_info))}"
    if features.get("avx512f") and features.get("avx512dq") and features.get("avx512vl"):
        lanes = 8
    elif features.get("avx2") and features.get("fma"):
        lanes = 4
    else:
        lanes = 2
    return Host(triple, cpu, features.flatten(), lanes, compiler)


def _target(llvm: Any, opt: int) -> Any:
    machine = host()
    return llvm.Target.from_triple(machine.triple).create_target_machine(
        cpu=machine.cpu, features=machine.features, opt=opt, reloc="pic", codemodel="small"
    )


def level(text: str) -> int:
    """Return LLVM's optimisation level for a text. No level changes a digit: none may reorder."""
    return 1 if text.count("\n") > QUICK else 2


def emit(text: str) -> bytes:
    """Return the object code of a module given as LLVM text."""
    with (
        _llvm() as llvm,
        llvm.create_context() as context,  # a shared one keeps every constant that it ever met
        llvm.parse_assembly(text, context) as module,
        _target(llvm, level(text)) as target,
    ):
        return bytes(target.emit_object(module))


class Loaded:
    """Object code in executable memory; lives as long as this object.

    Raises
    ------
    KernelError
        `MOST_LOADED` others are held already.
    """

    __slots__ = ("_engine",)

    held = 0
    """How many there are in this process, and unused ones that are not closed yet."""

    def __init__(self, code: bytes) -> None:
        with _llvm() as llvm:
            if Loaded.held >= MOST_LOADED:
                gc.collect()  # what is held by a cycle only
                _close_unused()
            if Loaded.held >= MOST_LOADED:
                raise KernelError(
                    f"{Loaded.held} compiled functions are held in this process, and the system "
                    f"has no room for more. Let go of kernels and solvers that are done with, or "
                    f"ask one of them for many states or joints"
                )
            with llvm.ObjectFileRef.from_data(code) as object_file:
                engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target(llvm, 0))
                engine.add_object_file(object_file)
                engine.finalize_object()
            self._engine = engine
            Loaded.held += 1

    def address(self, name: str) -> int:
        """Return the address of a function."""
        with _llvm():
            return int(self._engine.get_function_address(name))

    def __del__(self) -> None:
        # Not here and now: this thread may be anywhere, and another one in LLVM.
        if not hasattr(self, "_engine") or sys is None or sys.is_finalizing():
            return
        _UNUSED.append(self._engine)
        if _LOCK.acquire(blocking=False):
            try:
                _close_unused()
            finally:
                _LOCK.release()
