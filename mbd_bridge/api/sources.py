"""The description in a file of any format that is read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.extensions import extensions
from mbd_bridge.files import Description, read
from mbd_bridge.files.input_files import regular_file
from mbd_bridge.files.kinds import format_of
from mbd_bridge.files.loops_sidecar import with_sidecar
from mbd_bridge.files.sdf import read_sdf
from mbd_bridge.files.srdf import with_configurations
from mbd_bridge.files.xml_reader import read_bytes

SUFFIXES = ("", ".urdf", ".xacro", ".xml", ".mjcf", ".sdf", ".world")
"""Of files whose content tells their format; others may be a plugin's."""


def describe(
    path: str | os.PathLike[str],
    *,
    package_path: Sequence[str | os.PathLike[str]] = (),
    arguments: Mapping[str, object] | None = None,
) -> Description:
    """Return what a robot's file says; what stands in it tells its format.

    Parameters
    ----------
    path : of the file
    package_path : folders with packages and meshes
    arguments : values of the arguments of a xacro file
    """
    data: bytes | None = None
    name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else "<"
    if not name.lstrip().startswith("<"):
        suffix = os.path.splitext(name)[1].lower()
        if suffix not in SUFFIXES and (plugin := extensions("formats").get(suffix[1:])) is not None:
            return with_configurations(with_sidecar(plugin.load().read(regular_file(name))))
        data = read_bytes(name)
        form = format_of(name, data)
        if arguments and form in ("MJCF", "SDF"):
            raise FileError(f"arguments are for xacro files, and this is {form}", name)
        if form == "MJCF":
            from mbd_bridge.engines.mujoco import read_mjcf

            return with_sidecar(read_mjcf(path))
        if form == "SDF":
            return with_configurations(with_sidecar(read_sdf(path, package_path=package_path)))
    description = read(path, package_path=package_path, arguments=arguments, data=data)
    return with_configurations(description)
