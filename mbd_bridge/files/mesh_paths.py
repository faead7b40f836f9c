"""Where the meshes of a file are: package://, model://, file:// and relative names.

Searched in this order: the given directories, the file's own directory and those above it, the
ROS and Gazebo path variables. A mesh that is not there is no error: it only lacks in pictures.
Links may lead anywhere in directories that the user gives, or those variables; elsewhere they stay
in the folder in which a name is looked for (`input_files`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.input_files import file_below
from mbd_bridge.files.whole_file import note_input

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
