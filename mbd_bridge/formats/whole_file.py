"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from mbd_bridge.errors import FileError

END = ".part"
"""Of the name that a file has until all is written."""


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
        mode = _mode(target)
        if mode is not None and not stat.S_ISREG(mode):
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            raise FileError("a file of this kind cannot go into a pipe; use .csv", os.fspath(path))
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=END, dir=target.parent)
    except OSError as error:
        raise _cannot(path, error) from error
    try:
        yield Path(name)
        os.fsync(handle)
        os.fchmod(handle, _permissions(mode))
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
    # eight characters are what tempfile puts between the two
    part = re.compile(re.escape(f".{target.name}.") + "[a-z0-9_]{8}" + re.escape(END))
    return [file for file in target.parent.iterdir() if part.fullmatch(file.name)]


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Give a text file to write to, as `whole_path` does.

    Pipes and devices, which cannot be replaced, are written to directly. Lines end as on Unix.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = _mode(target)
        direct = mode is not None and not stat.S_ISREG(mode)
        if direct:
            with target.open("w", encoding="utf-8", newline="") as file:
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
        mode = _mode(target)
        if mode is None or stat.S_ISREG(mode):
            tempfile.TemporaryFile(dir=target.parent).close()
        elif stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    except OSError as error:
        raise _cannot(path, error) from error


def _mode(target: Path) -> int | None:
    """Return the mode of what is there now, None if nothing is."""
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        return None


def _permissions(mode: int | None) -> int:
    """Return the old file's permissions, or those that a new file gets."""
    if mode is not None:
        return stat.S_IMODE(mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def _cannot(path: str | os.PathLike[str], error: OSError) -> FileError:
    folder = os.path.dirname(os.path.abspath(path))
    if isinstance(error, FileNotFoundError):
        advice = f"is there a folder {folder}?"
    elif isinstance(error, IsADirectoryError):
        advice = "give the name of a file"
    else:
        advice = "choose another place"
    return FileError(f"cannot be written: {error.strerror or error}; {advice}", os.fspath(path))
