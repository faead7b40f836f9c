"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from mbd_bridge.errors import FileError

END = ".part"
"""Of the name that a file has until all is written."""

WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH

DESCRIPTOR = re.compile(r"/dev/(?P<name>stdout|stderr)|(/dev|/proc/self)/fd/(?P<number>\d{1,6})")
"""Paths of files that the process has open."""


@contextlib.contextmanager
def whole_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the name of an empty file to write to; it takes the place of `path` when all is written.

    Until then an old file stays as it was, and it stays if writing fails or is interrupted.

    Raises
    ------
    FileError
        The file cannot be written there.
    """
    target = Path(os.path.realpath(path))  # a symbolic link stays one
    try:
        mode = _mode(path)
        if _is_direct(path, mode):
            raise FileError("a file of this kind cannot go into a pipe; use .csv", os.fspath(path))
        name = target.with_name(f".{target.name}.{secrets.token_hex(4)}{END}")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        # The system takes the umask of this process from what a new file allows.
        handle = os.open(name, flags, 0o666 if mode is None else stat.S_IMODE(mode))
    except OSError as error:
        raise _cannot(path, error) from error
    try:
        yield name
        os.fsync(handle)
        if mode is not None:
            os.fchmod(handle, stat.S_IMODE(mode))
        os.replace(name, target)
    except OSError as error:
        raise _cannot(path, error) from error
    finally:
        os.close(handle)
        with contextlib.suppress(OSError):
            os.unlink(name)


def parts_of(path: str | os.PathLike[str]) -> list[Path]:
    """Return what processes that were killed while they wrote have left of a file.

    Those of a file with a longer name, ``study.1`` beside ``study``, are not among them.
    """
    target = Path(os.path.realpath(path))
    # eight characters are what `whole_path` puts between the two
    part = re.compile(re.escape(f".{target.name}.") + "[a-z0-9_]{8}" + re.escape(END))
    return [file for file in target.parent.iterdir() if part.fullmatch(file.name)]


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Give a text file to write to, as `whole_path` does.

    Pipes, devices and files that the process has open already (/dev/stdout, /dev/fd/63), which
    cannot be replaced, are written to directly. Lines end as on Unix.
    """
    try:
        direct = _is_direct(path, _mode(path))
        if direct:
            number = _descriptor(path)
            to = path if number is None else os.dup(number)
            with open(to, "w", encoding="utf-8", newline="") as file:
                yield file
    except OSError as error:
        raise _cannot(path, error) from error
    if not direct:
        with whole_path(path) as name, name.open("w", encoding="utf-8", newline="") as file:
            yield file


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a name that no file can have, before work is done.

    Raises
    ------
    FileError
        There is no such folder, or it takes no file.
    """
    target = Path(os.path.realpath(path))
    try:
        if not _is_direct(path, _mode(path)):
            tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise _cannot(path, error) from error


def _mode(path: str | os.PathLike[str]) -> int | None:
    """Return the mode of what is there now, None if nothing is."""
    try:
        return os.stat(path).st_mode  # of a pipe in /dev/fd there is no real path
    except FileNotFoundError:
        return None


def _is_direct(path: str | os.PathLike[str], mode: int | None) -> bool:
    """Return whether what is there is written into, not replaced; refuse what is neither."""
    if mode is None:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if _descriptor(path) is not None or not stat.S_ISREG(mode):
        return True
    if not (mode & WRITABLE and os.access(path, os.W_OK)):
        raise PermissionError(errno.EACCES, "it is write-protected")
    return False


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the number of the open file that a path like /dev/stdout means."""
    found = DESCRIPTOR.fullmatch(os.path.abspath(path))
    if found is None:
        return None
    return int(found["number"] or {"stdout": 1, "stderr": 2}[found["name"]])


def _cannot(path: str | os.PathLike[str], error: OSError) -> FileError:
    folder = os.path.dirname(os.path.abspath(path))
    if isinstance(error, FileNotFoundError):
        advice = f"is there a folder {folder}?"
    elif isinstance(error, IsADirectoryError):
        advice = "give the name of a file"
    else:
        advice = "choose another place"
    return FileError(f"cannot be written: {error.strerror or error}; {advice}", os.fspath(path))
