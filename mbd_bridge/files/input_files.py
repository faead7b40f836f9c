"""Files that are read: those that users name, and those that a file names or that lie beside it.

A user may name what they like, but no device and no pipe where a file is expected: reading them may
never end. A folder from anywhere may hold links under the names of sidecars, meshes and parts: what
a file names is read if no link leads out of the folder in which its name is looked for, the folder
of the file that names it, or one above both where the name itself leads up (``../meshes/a.stl``).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from errno import ELOOP, ENAMETOOLONG
from pathlib import Path

from mbd_bridge.base.errors import FileError, missing_file
from mbd_bridge.files.whole_file import note_input

NO_FILE = "expected a regular file, not a device or a pipe; copy it first"


class LinkError(FileError):
    """A link leads out of the folder in which a file may name others."""


def regular_file(path: str | os.PathLike[str]) -> str:
    """Return the path of a file that a user names, or say why nothing is read from there."""
    name = os.fspath(path)
    mode = _mode(name)
    if mode is None:
        raise FileError(missing_file(name), name)
    if stat.S_ISDIR(mode):
        raise FileError("expected a file, got a directory; name the file in it", name)
    if not stat.S_ISREG(mode):
        raise FileError(NO_FILE, name)
    note_input(name)
    return name


def file_beside(path: str | Path, naming: str | Path) -> str | None:
    """Return the path of a file that another one names, or that lies beside it; None if none does.

    Parameters
    ----------
    path : where it is looked for
    naming : the file that names it, or beside which it lies; where that is a link itself, files
        beside what it leads to may be named, too

    Raises
    ------
    FileError
        It is a device or a pipe, or a link leads out of the folder.
    """
    name, origin = os.path.abspath(naming), os.path.realpath(naming)
    inside = os.path.relpath(os.path.abspath(path), os.path.dirname(name))
    return file_below(path, [os.path.dirname(file) for file in (name, origin)], inside)


def file_below(path: str | Path, folders: Iterable[str], inside: str) -> str | None:
    """Return the path of a file whose name `inside` is looked for in folders; None: there is none.

    Raises
    ------
    FileError
        It is a device or a pipe.
    LinkError
        A link leads out of all the folders.
    """
    name = os.fspath(path)
    mode = _mode(name, ELOOP, ENAMETOOLONG)
    if mode is None or stat.S_ISDIR(mode):
        return None
    if not stat.S_ISREG(mode):
        raise FileError(NO_FILE, name)
    reached = [_reached(folder, inside) for folder in folders]
    if not any(is_inside(name, folder) for folder in reached):
        raise LinkError(
            f"a link leads out of {reached[0]}, and what a file names is read from there only; "
            f"copy the file to where the link is",
            name,
        )
    return name


def _mode(name: str, *no_file: int) -> int | None:
    """Return the mode of what has a name; None if nothing has it.

    Parameters
    ----------
    no_file : numbers of errors that say so too
    """
    try:
        return os.stat(name).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null character
        return None
    except OSError as error:
        if error.errno in no_file:
            return None
        reason = f"cannot be opened: {error.strerror}. Check its name and permissions"
        raise FileError(reason, name) from None


def is_inside(path: str | Path, folder: str | Path) -> bool:
    """Return whether a file is in a folder, or below it, where all links lead."""
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return os.path.commonpath([real, root]) == root


def _reached(folder: str, inside: str) -> str:
    """Return the folder, or the one above it to which a name leads up."""
    target = os.path.dirname(os.path.normpath(os.path.join(folder, inside)))
    return os.path.commonpath([folder, target])
