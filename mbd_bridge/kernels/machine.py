"""The host's code generator: LLVM text to object code, object code to a callable address.

LLVM is imported by the first function that needs it: `import mbd_bridge` stays quick for those who
compile nothing.

All that we ask of LLVM, its import and what it frees included, happens under one lock, and a fork
waits for it and for llvmlite's own (`forking`). So objects of LLVM are closed by name, never
left to the garbage collector, which may come in any thread.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from mbd_bridge.base.errors import KernelError
from mbd_bridge.base.forking import hold_over_forks
from mbd_bridge.base.search_path import for_a_child
from mbd_bridge.kernels.object_code import from_a_process, object_code, target_machine, versions

MOST_LOADED = 22_000
"""Functions in executable memory. Each takes two memory maps, of which Linux allows a process
65,530 (``vm.max_map_count``); others need some, too."""

LINKED_TOGETHER = 128
"""Functions of one LLVM session. It looks through the names of all for each new one, and keeps what
it knows of them until the last one is closed."""

QUICK = 4_000
"""Lines of text from which on LLVM orders instructions once, not again after it has chosen
registers: a tenth of the time to compile, which a user waits for there, and no run time (where
little is to be done it costs up to 0.06)."""

LARGE = 12_000
"""Lines of text from which on LLVM works in a process of its own. Starting that takes 0.2 s; LLVM
takes half a second for so many, and cannot be interrupted."""

LINES_A_SECOND = 40_000
"""That LLVM compiles, for those who wait."""

Listener: TypeAlias = Callable[[int, float], None]
"""(lines, s that they will take, about) -> nothing."""

listener: Listener | None = None
"""Is told before a large module is compiled: the command line shows it."""

_LOCK = threading.RLock()
"""LLVM's global context, which llvmlite uses for every module, is not thread-safe."""

_SESSION: list[Any] = []
"""The LLVM session that links new functions; each earlier one lives while its functions do."""

_NUMBERS = itertools.count()

_LIBRARIES: dict[int, Any] = {}
"""What LLVM loaded, by number. Nobody else refers to it: an object of LLVM that a garbage cycle
holds is closed by the collector, at the same time as by us."""

_UNUSED: deque[int] = deque()
"""Libraries whose function nobody holds any more, to be closed by the next one who has the lock."""


def _llvmlites_lock() -> Any:
    """Return llvmlite's own lock, which others that use it take; None before its import."""
    loaded = sys.modules.get("llvmlite.binding.ffi")
    return getattr(getattr(getattr(loaded, "lib", None), "_lock", None), "_lock", None)


hold_over_forks(lambda: _LOCK)
hold_over_forks(_llvmlites_lock)


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
        _LIBRARIES.pop(_UNUSED.pop()).close()


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
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
        triple, cpu = llvm.get_process_triple(), llvm.get_host_cpu_name()
        compiler = versions(llvm)
    if features.get("avx512f") and features.get("avx512dq") and features.get("avx512vl"):
        lanes = 8
    elif features.get("avx2") and features.get("fma"):
        lanes = 4
    else:
        lanes = 2
    return Host(triple, cpu, features.flatten(), lanes, compiler)


def _target(opt: int) -> dict[str, Any]:
    machine = host()
    names = {"triple": machine.triple, "cpu": machine.cpu, "features": machine.features}
    return {**names, "opt": opt}


def level(text: str) -> int:
    """Return LLVM's optimisation level for a text. No level changes a digit: none may reorder."""
    return 1 if text.count("\n") > QUICK else 2


def emit(text: str) -> bytes:
    """Return the object code of a module given as LLVM text.

    Large ones are compiled in a process of their own, so that an interrupt is answered at once.
    """
    target, lines = _target(level(text)), text.count("\n")
    if lines > LARGE:
        if listener is not None:
            listener(lines, lines / LINES_A_SECOND)
        code = from_a_process(text, target, host().compiler, for_a_child())
        if code is not None:
            return code
    with _llvm() as llvm:
        return object_code(llvm, text, target)


def _session(llvm: Any) -> tuple[Any, int]:
    """Return the session that links the next function, and the function's number."""
    number = next(_NUMBERS)
    if not _SESSION or number % LINKED_TOGETHER == 0:
        while _SESSION:
            _SESSION.pop().close()
        _SESSION.append(
            llvm.create_lljit_compiler(
                target_machine(llvm, **_target(0)), use_jit_link=True, suppress_errors=True
            )
        )
    return _SESSION[0], number


class Loaded:
    """A function of object code in executable memory; lives as long as this object.

    LLVM's JITLink puts all parts of an object into one mapping. Its older loader maps each part for
    itself, and ends the process where parts lie more than 2 GiB apart, as in large processes.

    Parameters
    ----------
    code : the object code
    name : the function

    Raises
    ------
    KernelError
        `MOST_LOADED` others are held already, or LLVM cannot link the object.
    """

    __slots__ = ("_number", "address")

    def __init__(self, code: bytes, name: str) -> None:
        with _llvm() as llvm:
            if len(_LIBRARIES) >= MOST_LOADED:
                gc.collect()  # what is held by a cycle only
                _close_unused()
            if len(_LIBRARIES) >= MOST_LOADED:
                raise KernelError(
                    f"{len(_LIBRARIES)} compiled functions are held in this process, and the "
                    f"system has no room for more. Let go of kernels and solvers that are done "
                    f"with, or ask one of them for many states or joints"
                )
            parts = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
            try:
                session, number = _session(llvm)
                library = parts.export_symbol(name).link(session, str(number))
            except RuntimeError as error:
                raise KernelError(f"LLVM cannot load {name!r}: {error}") from error
            _LIBRARIES[number] = library
            self._number = number
            self.address = int(library[name])

    def __del__(self) -> None:
        # Not here and now: this thread may be anywhere, and another one in LLVM.
        if not hasattr(self, "_number") or sys is None or sys.is_finalizing():
            return
        _UNUSED.append(self._number)
        if _LOCK.acquire(blocking=False):
            try:
                _close_unused()
            finally:
                _LOCK.release()
