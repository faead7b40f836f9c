"""What operating systems do not have in common: flags of files, locks, private folders.

Linux is what the tests run on. What other systems lack is left out here, and only here.
"""

from __future__ import annotations

import os
import sys
from functools import reduce
from operator import or_

WINDOWS = sys.platform == "win32"


def flags(*names: str) -> int:
    """Return flags of `os.open` by their names ("O_NOFOLLOW"), those that this system has.

    Files are read and written byte by byte: Windows is told so.
    """
    return reduce(or_, (getattr(os, name, 0) for name in (*names, "O_BINARY")))


PLAIN = flags("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK")
"""Of files that are opened by name where anybody may have put a link or a pipe."""

FAR = 2**30
"""Byte that a lock of Windows covers: far behind what is in the file, which others read."""


def lock(handle: int) -> None:
    """Keep others from locking an open file, as long as it is open.

    Raises
    ------
    BlockingIOError
        Another one, in this process or elsewhere, has locked it.
    """
    try:
        import fcntl
    except ImportError:
        _lock_byte(handle)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_byte(handle: int) -> None:
    from importlib import import_module

    msvcrt = import_module("msvcrt")
    os.lseek(handle, FAR, os.SEEK_SET)
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        raise BlockingIOError(error.errno, error.strerror) from None


def read_start(handle: int, size: int) -> bytes:
    """Return the first bytes of an open file, as many as there are."""
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, size)


def write_start(handle: int, content: bytes) -> None:
    """Make this all that an open file holds."""
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, content)


def keep_mode(handle: int, mode: int) -> None:
    """Give an open file the permissions of another one, where a system has them."""
    if hasattr(os, "fchmod"):
        os.fchmod(handle, mode)


def is_private(facts: os.stat_result) -> bool:
    """Return whether a file belongs to this user, and nobody else may write to it.

    Windows does not tell by these facts; folders of a user's profile are private there.
    """
    if not hasattr(os, "geteuid"):
        return True
    return bool(facts.st_uid == os.geteuid() and not facts.st_mode & 0o022)


def cache_folder() -> str | None:
    """Return where this user's programs keep what they can make again, None if nowhere."""
    home = os.path.expanduser("~")
    places = {"win32": os.environ.get("LOCALAPPDATA"), "darwin": f"{home}/Library/Caches"}
    place = places.get(sys.platform, os.environ.get("XDG_CACHE_HOME"))
    if place and os.path.isabs(place):
        return place
    return None if home == "~" or not os.path.isabs(home) else os.path.join(home, ".cache")
