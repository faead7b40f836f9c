"""Files that appear whole or not at all, and never in the place of what they were made from."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TextIO, TypeAlias

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.systems import flags, keep_mode

END = ".part"
"""Of the name that a file has until all is written."""

ESCAPED = "backslashreplace"
"""What becomes of parts of a text that are no text: names of files may be any bytes."""

WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH

DESCRIPTOR = re.compile(r"/dev/(?P<name>stdout|stderr)|(/dev|/proc/self)/fd/(?P<number>\d{1,6})")
"""Paths of files that the process has open."""

FileNumber: TypeAlias = tuple[int, int]
"""Device and inode: the same file, whatever links, spellings or upper-case letters lead to it."""


@dataclass(slots=True)
class _Work:
    """What is read and written by some work that goes on now.

    Attributes
    ----------
    outputs : files that are to be written
    inputs : files that were read, by their number
    """

    outputs: set[str]
    inputs: dict[FileNumber, str] = field(default_factory=dict)


_WORK: ContextVar[_Work | None] = ContextVar("work", default=None)


@contextlib.contextmanager
def inputs_kept(outputs: Iterable[str | os.PathLike[str]]) -> Iterator[None]:
    """Let some work replace no file that it reads: refused where the file is read, or known to be.

    Readers tell of what they read (`note_input`). Places that take no file are refused at once.

    Raises
    ------
    FileError
        An output cannot be written, is an input, or the file of another output.
    """
    paths = [os.fspath(path) for path in outputs]
    for number, path in enumerate(paths):
        check_place(path)
        for other in paths[:number]:
            if _is_same_output(path, other):
                raise FileError("two outputs of one command cannot be the same file", path)
    outside = _WORK.get()
    work = _Work(set(paths), {} if outside is None else outside.inputs)
    if outside is not None:
        work.outputs |= outside.outputs
    token = _WORK.set(work)
    try:
        for path in paths:
            _refuse_input(path)
        yield
    finally:
        _WORK.reset(token)


def note_input(path: str | os.PathLike[str]) -> None:
    """Take note that a file is read, of a folder each file in it; refuse one that is an output."""
    work = _WORK.get()
    if work is None:
        return
    files = [path]
    if os.path.isdir(path):
        with contextlib.suppress(OSError):  # who reads it says what is wrong
            files = [entry.path for entry in os.scandir(path)]
    for file in files:
        number = _file_number(file)
        if number is not None:
            work.inputs.setdefault(number, os.fspath(file))
    for output in work.outputs:
        _refuse_input(output)


def _refuse_input(output: str | os.PathLike[str]) -> None:
    """Refuse to write what the work reads."""
    work = _WORK.get()
    number = None if work is None else _file_number(output)
    if work is not None and number in work.inputs:
        name = work.inputs[number]
        same = "" if name == os.fspath(output) else f" as {name}"
        raise FileError(
            f"this file is read{same}, and would be replaced by what is made from it; write to "
            "another file",
            os.fspath(output),
        )


def _file_number(path: str | os.PathLike[str]) -> FileNumber | None:
    """Return the number of a regular file; None if there is none."""
    try:
        known = _stat(path)
    except (OSError, ValueError):
        return None
    return (known.st_dev, known.st_ino) if stat.S_ISREG(known.st_mode) else None


def _is_same_output(path: str, other: str) -> bool:
    number = _file_number(path)
    if number is not None:
        return number == _file_number(other)
    return not os.path.exists(path) and os.path.realpath(path) == os.path.realpath(other)


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
    _refuse_input(path)
    try:
        mode = _mode(path)
        if _is_direct(path, mode):
            raise FileError("a file of this kind cannot go into a pipe; use .csv", os.fspath(path))
        name = target.with_name(f".{target.name}.{secrets.token_hex(4)}{END}")
        new = os.O_RDWR | os.O_CREAT | os.O_EXCL | flags("O_CLOEXEC")
        # The system takes the umask of this process from what a new file allows.
        handle = os.open(name, new, 0o666 if mode is None else stat.S_IMODE(mode))
    except OSError as error:
        raise _cannot(path, error) from error
    try:
        try:
            yield name
            os.fsync(handle)
            if mode is not None:
                keep_mode(handle, stat.S_IMODE(mode))
        finally:
            os.close(handle)  # Windows moves nothing that is open
        os.replace(name, target)
        if work := _WORK.get():
            work.outputs.discard(os.fspath(path))  # what is ours may be read
    except OSError as error:
        raise _cannot(path, error) from error
    finally:
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
            with open(to, "w", encoding="utf-8", newline="", errors=ESCAPED) as file:
                yield file
    except OSError as error:
        raise _cannot(path, error) from error
    if not direct:
        with (
            whole_path(path) as name,
            name.open("w", encoding="utf-8", newline="", errors=ESCAPED) as file,
        ):
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
        return _stat(path).st_mode
    except FileNotFoundError:
        return None


def _stat(path: str | os.PathLike[str]) -> os.stat_result:
    """Return what is known of the file that is written under a name."""
    try:
        return os.stat(path)  # of a pipe in /dev/fd there is no real path
    except FileNotFoundError:  # "no_folder/../name" is written as "name"
        return os.stat(os.path.realpath(path))


def _is_direct(path: str | os.PathLike[str], mode: int | None) -> bool:
    """Return whether what is there is written into, not replaced; refuse what is neither."""
    if mode is None:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if _descriptor(path) is not None or not stat.S_ISREG(mode):
        return True
    if not (mode & WRITABLE and os.access(os.path.realpath(path), os.W_OK)):
        raise PermissionError(errno.EACCES, "it is write-protected")
    return False


def _descriptor(path: str | os.PathLike[str]) -> int | None:
    """Return the number of the open file that a path like /dev/stdout means."""
    match = DESCRIPTOR.fullmatch(os.path.abspath(path))
    if match is None:
        return None
    return int(match["number"] or {"stdout": 1, "stderr": 2}[match["name"]])


def _cannot(path: str | os.PathLike[str], error: OSError) -> FileError:
    folder = os.path.dirname(os.path.abspath(path))
    if isinstance(error, FileNotFoundError):
        advice = f"is there a folder {folder}?"
    elif isinstance(error, IsADirectoryError):
        advice = "give the name of a file"
    else:
        advice = "choose another place"
    return FileError(f"cannot be written: {error.strerror or error}; {advice}", os.fspath(path))


# Files of pictures, by the ending of their names: of plots, and of drawn machines.

DOTS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WebP"}
"""Pictures made of dots: ending -> name of the format. All pictures may be these."""

LINES = (".svg", ".pdf")
"""Pictures made of lines: plots only."""

PLOTS = (*DOTS, *LINES)
"""What plots may be."""

PLOT_NAMES = f"{', '.join(PLOTS[:-1])} or {PLOTS[-1]}"
"""The same, for messages."""


# A seal: the SHA-256 of a file, inside of it, so that no bit that has changed is believed.
#
# It stands near the end of a file, where its format has a place for a text, and covers all bytes
# of the file but its own 64 digits.

MARK = b"mbd_bridge, sealed: "
DIGITS = 2 * hashlib.sha256().digest_size
BLANK = MARK + b"0" * DIGITS
"""What is written into a file that is to be sealed; the last one is filled in."""

TAIL = 2**24
"""Bytes at the end of a file among which the seal is."""
BLOCK = 2**20


def seal(file: BinaryIO) -> None:
    """Fill in the blank seal of a file that was written."""
    position = _place(file)
    assert position is not None, "it holds BLANK"
    digest = _digest(file, position)
    file.seek(position)
    file.write(digest)


def is_sealed(file: BinaryIO) -> bool:
    """Return whether nothing of a file was changed; go back to its start."""
    position = _place(file)
    good = position is not None and _digest(file, position) == _read(file, position)
    file.seek(0)
    return good


def _place(file: BinaryIO) -> int | None:
    """Return where the digits of the seal begin."""
    size = file.seek(0, os.SEEK_END)
    first = file.seek(max(0, size - TAIL))
    mark = file.read().rfind(MARK)
    position = first + mark + len(MARK)
    return None if mark < 0 or position + DIGITS > size else position


def _read(file: BinaryIO, position: int) -> bytes:
    file.seek(position)
    return file.read(DIGITS)


def _digest(file: BinaryIO, position: int) -> bytes:
    """Return the digits that belong there."""
    digest = hashlib.sha256()
    left = file.seek(0) + position
    while left > 0 and (block := file.read(min(left, BLOCK))):
        digest.update(block)
        left -= len(block)
    file.seek(position + DIGITS)
    while block := file.read(BLOCK):
        digest.update(block)
    return digest.hexdigest().encode()
