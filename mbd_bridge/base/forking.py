"""A fork waits until no other thread is where its child could not go on: in a lock, in an import.

A child has one thread. What another thread of its parent held at that instant is held in the child
for ever: our locks, and Python's lock of each module that is just being imported. So before a fork
all of these are taken, and let go on both sides. A fork can come while another thread uses
something for the first time, and imports what it needs.
"""

from __future__ import annotations

import concurrent.futures.thread
import importlib
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

BEFORE_US = (concurrent.futures.thread, logging)
"""Modules that take their locks before a fork, too. What registers first takes last: they must not
have taken theirs while we wait for an import that needs them."""

PATIENCE = 30.0
"""s, after which a fork no longer waits for an import: it may itself wait for who forks."""

SHORTEST, LONGEST = 1e-4, 1e-2
"""s, from one look at the imports to the next."""


class HeldLock(Protocol):
    """What can be let go."""

    def release(self) -> object:
        """Let go."""


class ForkLock(HeldLock, Protocol):
    """What can be taken and let go."""

    def acquire(self) -> object:
        """Take it, when nobody else has it."""


class _ImportLock:
    """Python's lock of the table of modules that are being imported."""

    def __init__(self) -> None:
        self._imp: Any = importlib.import_module("_imp")

    def acquire(self) -> None:
        self._imp.acquire_lock()

    def release(self) -> None:
        self._imp.release_lock()


_IMPORTS = _ImportLock()
_FORKING = threading.Lock()
_LOCKS: list[Callable[[], ForkLock | None]] = [lambda: _FORKING]
_held: list[HeldLock] = []
"""While a thread forks, what it has taken."""


def hold_over_forks(find: Callable[[], ForkLock | None]) -> None:
    """Take a lock before each fork; `find` returns it, or None while there is none.

    Nobody may wait for one of these locks in another one's ``with`` block.
    """
    _LOCKS.append(find)


def _no_import_goes_on() -> bool:
    """Return whether no other thread imports; then none begins to until all is let go."""
    _IMPORTS.acquire()
    _held.append(_IMPORTS)
    modules = vars(importlib.import_module("_frozen_importlib")).get("_module_locks", {})
    for reference in list(modules.values()):
        module = reference()
        if module is None:
            continue
        if not module.lock.acquire(False):  # somebody takes or leaves the module's lock just now
            return False
        _held.append(module.lock)
        if module.owner not in (None, threading.get_ident()):
            return False
    return True


def _before() -> None:
    end, pause = time.monotonic() + PATIENCE, SHORTEST
    while True:
        for find in _LOCKS:
            lock = find()
            if lock is not None:
                lock.acquire()
                _held.append(lock)
        if _no_import_goes_on() or time.monotonic() > end:
            return
        _after()
        time.sleep(pause)
        pause = min(2.0 * pause, LONGEST)


def _after() -> None:
    held = _held.copy()
    _held.clear()  # before another thread that forks takes the first one
    for lock in reversed(held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
