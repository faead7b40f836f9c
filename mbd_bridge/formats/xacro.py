"""``.xacro`` files, expanded by the `xacro` package if it is installed.

A xacro file is a program: it can read any file and environment variable of the user, and evaluates
expressions. Expand only files that you trust.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from mbd_bridge.errors import FileError, MissingPackageError


def expand_xacro(path: str | Path, arguments: Mapping[str, str] | None = None) -> str:
    """Return the URDF text that a xacro file expands to.

    Parameters
    ----------
    path : of the file
    arguments : values of its ``<xacro:arg>``

    Raises
    ------
    MissingPackageError
        xacro is not installed.
    FileError
        The file cannot be expanded.
    """
    try:
        xacro = importlib.import_module("xacro")
    except ImportError:
        raise MissingPackageError(
            f"{path} is a xacro file, and the package xacro is not installed. Try "
            "`pip install xacro`, or expand it elsewhere: `xacro robot.urdf.xacro > robot.urdf`"
        ) from None
    try:
        expanded = xacro.process_file(str(path), mappings=dict(arguments or {}))
        return str(expanded.toprettyxml(indent="  "))
    except (Exception, SystemExit) as error:  # xacro raises whatever its expressions raise
        reason = str(error) or type(error).__name__
        raise FileError(
            f"xacro cannot expand the file: {reason}. Give its arguments, set ROS_PACKAGE_PATH or "
            "source the workspace for $(find ...), or expand it elsewhere",
            str(path),
        ) from error
