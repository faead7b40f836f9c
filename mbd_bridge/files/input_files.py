"""Files that are read: those that users name, and those that a file names or that lie beside it.

A user may name what they like, but no device and no pipe where a file is expected: reading them may
never end. A folder from anywhere may hold links under the names of sidecars, meshes and parts: what
a file names is read if no link leads out of the folder in which its name is looked for, the folder
of the file that names it, or one above both where the name itself leads up (``../meshes/a.stl``).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from errno import ELOOP, ENAMETOOLONG
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

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


# Where the meshes of a file are: package://, model://, file:// and relative names.
#
# Searched in this order: the given directories, the file's own directory and those above it, the
# ROS and Gazebo path variables. A mesh that is not there is no error: it only lacks in pictures.
# Links may lead anywhere in directories that the user gives, or those variables; elsewhere they
# stay
# in the folder in which a name is looked for (`input_files`).

PACKAGE_PATHS = (
    "ROS_PACKAGE_PATH",
    "AMENT_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "GAZEBO_MODEL_PATH",
    "IGN_GAZEBO_RESOURCE_PATH",
    "GZ_SIM_RESOURCE_PATH",
    "SDF_PATH",
)
"""Environment variables that hold directories of packages, prefixes or models."""

PACKAGE_SCHEMES = ("package://", "model://")

LEVELS = 12
"""How many directories above the file are looked at."""


class Candidate(NamedTuple):
    """A place that a name can mean, whether there is something or not.

    Attributes
    ----------
    folders : where it is looked for, and others into which links may lead
    inside : its name in the first of them
    """

    folders: tuple[str, ...]
    inside: str

    def file(self, name: str = "") -> str | None:
        """Return the path of the file there, or of a file in the folder there; None: there is none.

        Raises
        ------
        FileError
            It is a device or a pipe, or a link leads out of the folders.
        """
        inside = os.path.join(self.inside, name) if name else self.inside
        path = os.path.normpath(os.path.join(self.folders[0], inside))
        return file_below(path, self.folders, inside)


class MeshFinder:
    """Finds the files that one document names; every package and name is looked up once.

    Parameters
    ----------
    base : directory of the document, or None for a text without a file
    origin : where the document really is, if links lead there; None: in `base`
    directories : where packages or meshes are, searched first
    environment : the variables to use; the process's own if None
    """

    def __init__(
        self,
        base: str | None,
        directories: Iterable[str | os.PathLike[str]] = (),
        environment: Mapping[str, str] | None = None,
        origin: str | None = None,
    ) -> None:
        environment = os.environ if environment is None else environment
        self._given = [os.path.abspath(directory) for directory in directories]
        self._base = os.path.abspath(base) if base is not None else None
        paths = [p for name in PACKAGE_PATHS for p in environment.get(name, "").split(os.pathsep)]
        self._paths = [path for path in dict.fromkeys(paths) if path]
        self._origin = self._base if origin is None else os.path.abspath(origin)
        self._packages: dict[str, list[str]] = {}
        self._found: dict[str, str | None] = {}
        self._refused: dict[str, FileError] = {}

    @classmethod
    def around(
        cls, document: str, directories: Iterable[str | os.PathLike[str]] = ()
    ) -> MeshFinder:
        """Return what finds the files that a document names, by its path."""
        base, origin = os.path.abspath(document), os.path.realpath(document)
        return cls(os.path.dirname(base), directories, origin=os.path.dirname(origin))

    def find(self, uri: str) -> str | None:
        """Return the path of the file that `uri` names, or None if it is nowhere."""
        if uri not in self._found:
            self._found[uri] = self._first_file(uri)
        path = self._found[uri]
        if path is not None:
            note_input(path)  # a picture of the machine reads it
        return path

    def refusal(self, uri: str) -> FileError | None:
        """Return why the file that `uri` names is not read though it is there."""
        return self._refused.get(uri)

    def packages(self, name: str) -> list[str]:
        """Return the folders that a package's name can mean, best first."""
        if name not in self._packages:
            self._packages[name] = list(self._package_directories(name))
        return self._packages[name]

    def candidates(self, uri: str) -> list[Candidate]:
        """Return the places that `uri` can mean, best first."""
        if "\0" in uri:
            return []
        for scheme in PACKAGE_SCHEMES:
            if uri.startswith(scheme):
                package, _, inside = uri[len(scheme) :].lstrip("/").partition("/")
                homes = [os.path.abspath(home) for home in self.packages(package)]
                return [self._candidate(home, inside, homes) for home in homes]
        if uri.startswith("file://"):
            return [Candidate((os.sep,), os.path.abspath(unquote(uri[len("file://") :])))]
        if "://" in uri:
            return []
        bases = [directory for directory in (self._base, self._origin) if directory is not None]
        return [self._candidate(base, uri, bases) for base in (*bases[:1], *self._given)]

    def _candidate(self, folder: str, inside: str, others: Iterable[str]) -> Candidate:
        trusted = [*self._given, *map(os.path.abspath, self._paths)]
        free = any(os.path.commonpath([folder, root]) == root for root in trusted)
        return Candidate((folder, os.sep) if free else (folder, *others), inside)

    def _package_directories(self, package: str) -> Iterable[str]:
        """Yield the existing directories that a package name can mean, best first."""
        if package in ("", ".", ".."):
            return
        for root in self._roots():
            inside = (os.path.join(root, package), os.path.join(root, "share", package))
            itself = (root,) if os.path.basename(root.rstrip(os.sep)) == package else ()
            yield from (path for path in (*itself, *inside) if os.path.isdir(path))

    def _roots(self) -> Iterable[str]:
        yield from self._given
        yield from _upwards(self._base)
        yield from self._paths
        if self._origin != self._base:
            yield from _upwards(self._origin)

    def _first_file(self, uri: str) -> str | None:
        for candidate in self.candidates(uri):
            try:
                path = candidate.file()
            except FileError as error:
                self._refused[uri] = error
                continue
            if path is not None:
                return path
        return None


def _upwards(directory: str | None) -> Iterable[str]:
    """Yield a directory and those above it."""
    for _ in range(LEVELS if directory is not None else 0):
        assert directory is not None
        yield directory
        above = os.path.dirname(directory)
        if above == directory:
            break
        directory = above
