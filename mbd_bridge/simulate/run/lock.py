"""A lock beside a file, which the system takes away when its owner ends in whatever way."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from mbd_bridge.errors import FileError

END = ".mbd_bridge-lock"
"""Of the lock's name, which begins with a dot: ``poetry.lock`` beside ``poetry`` is not ours."""

WORDS = "mbd_bridge holds this lock in process "
"""What a lock says, before a number; a file that says anything else is not ours."""

_OURS = re.compile(rf"({WORDS}(\d+)\n)?")
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def lock_of(path: Path) -> Path:
    """Return where the lock of a file is: beside what a symbolic link leads to."""
    target = Path(os.path.realpath(path))
    return target.with_name(f".{target.name}{END}")


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep others from a file.

    Raises
    ------
    FileError
        Another one, in this process or elsewhere, has it; or something that is not ours is where
        the lock goes, which is left alone.
    """
    lock = lock_of(path)
    handle = _taken(path, lock)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{WORDS}{os.getpid()}\n".encode(), 0)
        yield
    finally:
        if _is_at(handle, lock):
            lock.unlink(missing_ok=True)
        os.close(handle)


def _taken(path: Path, lock: Path) -> int:
    """Return the handle of the lock file, which nobody else holds."""
    import fcntl  # here: it is not on every system

    while True:
        try:
            handle = os.open(lock, _FLAGS, 0o644)
        except OSError as problem:
            raise FileError(
                f"its lock {lock.name} cannot be made: {problem.strerror}; choose another place",
                str(path),
            ) from None
        try:
            _said(handle, path, lock)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            said = _said(handle, path, lock)
            os.close(handle)
            raise FileError(
                f"another run is writing to this checkpoint (process {said or 'unknown'}). Wait "
                f"for its end, or name another file",
                str(path),
            ) from None
        except BaseException:
            os.close(handle)
            raise
        if _is_at(handle, lock):
            return handle
        os.close(handle)  # its owner has removed it meanwhile: this is nobody's lock


def _said(handle: int, path: Path, lock: Path) -> str:
    """Return the process that a lock names, nothing if it is new; refuse what is no lock."""
    facts = os.fstat(handle)
    ours = None
    if stat.S_ISREG(facts.st_mode) and facts.st_nlink <= 1:
        ours = _OURS.fullmatch(os.pread(handle, 200, 0).decode(errors="replace"))
    if ours is None:
        raise FileError(
            f"{lock.name}, where its lock goes, is not ours, and is left alone. Remove it, or name "
            f"another checkpoint",
            str(path),
        )
    return ours[2] or ""


def _is_at(handle: int, lock: Path) -> bool:
    """Return whether an open file is still the one of that name."""
    try:
        there = os.lstat(lock)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(handle), there)
