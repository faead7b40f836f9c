"""Where the meshes of a file are: package://, model://, file:// and relative names.

Searched in this order: the given directories, the file's own directory and those above it, the
ROS and Gazebo path variables. A mesh that is not there is no error: it only lacks in pictures.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from mbd_bridge.formats.whole_file import note_input

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


class MeshFinder:
    """Finds the files that one document names; every package and name is looked up once.

    Parameters
    ----------
    base : directory of the document, or None for a text without a file
    directories : where packages or meshes are, searched first
    environment : the variables to use; the process's own if None
    """

    def __init__(
        self,
        base: str | None,
        directories: Iterable[str | os.PathLike[str]] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        environment = os.environ if environment is None else environment
        self._given = [os.path.abspath(directory) for directory in directories]
        self._base = os.path.abspath(base) if base is not None else None
        paths = [p for name in PACKAGE_PATHS for p in environment.get(name, "").split(os.pathsep)]
        self._paths = [path for path in dict.fromkeys(paths) if path]
        self._packages: dict[str, list[str]] = {}
        self._found: dict[str, str | None] = {}

    def find(self, uri: str) -> str | None:
        """Return the path of the file that `uri` names, or None if it is nowhere."""
        if uri not in self._found:
            self._found[uri] = _first_file(self.candidates(uri))
        path = self._found[uri]
        if path is not None:
            note_input(path)  # a picture of the machine reads it
        return path

    def packages(self, name: str) -> list[str]:
        """Return the folders that a package's name can mean, best first."""
        if name not in self._packages:
            self._packages[name] = list(self._package_directories(name))
        return self._packages[name]

    def candidates(self, uri: str) -> list[str]:
        """Return the paths that `uri` can mean, best first, whether there is something or not."""
        if "\0" in uri:
            return []
        for scheme in PACKAGE_SCHEMES:
            if uri.startswith(scheme):
                package, _, inside = uri[len(scheme) :].lstrip("/").partition("/")
                return [os.path.join(home, inside) for home in self.packages(package)]
        if uri.startswith("file://"):
            return [unquote(uri[len("file://") :])]
        if "://" in uri:
            return []
        bases = [b for b in (self._base, *self._given) if b is not None]
        return [os.path.join(base, uri) for base in bases]

    def _package_directories(self, package: str) -> Iterable[str]:
        """Yield the existing directories that a package name can mean, best first."""
        if package in ("", ".", ".."):
            return
        for root in self._roots():
            inside = (os.path.join(root, package), os.path.join(root, "share", package))
            own = (root,) if os.path.basename(root.rstrip(os.sep)) == package else ()
            yield from (path for path in (*own, *inside) if os.path.isdir(path))

    def _roots(self) -> Iterable[str]:
        yield from self._given
        directory = self._base
        for _ in range(LEVELS if directory is not None else 0):
            assert directory is not None
            yield directory
            above = os.path.dirname(directory)
            if above == directory:
                break
            directory = above
        yield from self._paths


def _first_file(candidates: Iterable[str]) -> str | None:
    try:
        return next((os.path.normpath(path) for path in candidates if os.path.isfile(path)), None)
    except (OSError, ValueError):
        return None
