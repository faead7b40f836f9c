"""``.xacro`` files, expanded by the `xacro` package if it is installed.

A xacro file is a program: it can read any file and environment variable of the user, and evaluates
expressions. Expand only files that you trust.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.extras import needed
from mbd_bridge.base.forking import hold_over_forks
from mbd_bridge.files.meshes import MeshFinder
from mbd_bridge.files.whole_file import note_input

PACKAGES = "ament_index_python.packages"
"""The part of ROS that xacro asks where a package is, for ``$(find PACKAGE)``."""

ONE_AT_A_TIME = threading.RLock()
"""xacro keeps the arguments of the file that it expands in its module."""

hold_over_forks(lambda: ONE_AT_A_TIME)


def expand_xacro(
    path: str | Path, arguments: Mapping[str, object] | None, packages: MeshFinder
) -> str:
    """Return the URDF text that a xacro file expands to.

    Parameters
    ----------
    path : of the file
    arguments : values of its ``<xacro:arg>``
    packages : finds packages without ROS, for ``$(find PACKAGE)``

    Raises
    ------
    MissingPackageError
        xacro is not installed.
    FileError
        The file cannot be expanded.
    """
    xacro = needed("xacro", f"{path}: xacro files need xacro", "mbd_bridge[xacro]")
    given = {name: str(value) for name, value in (arguments or {}).items()}
    try:
        with ONE_AT_A_TIME, _found_by(packages):
            before = len(xacro.all_includes)  # of all files that this process expands
            expanded = xacro.process_file(str(path), mappings=given)
            for included in xacro.all_includes[before:]:
                note_input(included)
            return str(expanded.toprettyxml(indent="  "))
    except (Exception, SystemExit) as error:  # xacro raises whatever its expressions raise
        reason = str(error) or type(error).__name__
        raise FileError(
            f"xacro cannot expand the file: {reason}. Give its arguments (arguments=, NAME:=VALUE "
            f"on the command line), the folders of packages for $(find ...) (package_path=, "
            f"--package-path, ROS_PACKAGE_PATH), or expand it elsewhere",
            str(path),
        ) from error


@contextmanager
def _found_by(packages: MeshFinder) -> Iterator[None]:
    """Let xacro find packages in our folders first, then in the ROS workspace, if there is one."""
    before = {name: sys.modules.get(name) for name in (PACKAGES.partition(".")[0], PACKAGES)}
    try:
        ros = importlib.import_module(PACKAGES)
    except ImportError:
        ros = None

    def share_directory(package: str) -> str:
        homes = packages.packages(package)
        if homes:
            return homes[0]
        if ros is None:
            raise LookupError(f"the package {package!r} is in none of the folders")
        return str(ros.get_package_share_directory(package))

    here = ModuleType(PACKAGES)
    vars(here)["get_package_share_directory"] = share_directory
    sys.modules.setdefault(PACKAGES.partition(".")[0], ModuleType(PACKAGES.partition(".")[0]))
    sys.modules[PACKAGES] = here
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
