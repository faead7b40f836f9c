"""The description in a file of any format that is read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from mbd_bridge.formats import Description, read
from mbd_bridge.formats.kinds import format_of
from mbd_bridge.formats.sdf import read_sdf
from mbd_bridge.formats.sidecar import with_sidecar


def describe(
    path: str | os.PathLike[str],
    *,
    mesh_directories: Sequence[str | os.PathLike[str]] = (),
) -> Description:
    """Return what a robot's file says; what stands in it tells its format.

    Parameters
    ----------
    path : of the file
    mesh_directories : where to look for ``package://`` and relative meshes
    """
    if isinstance(path, str | bytes | os.PathLike):
        name = os.fsdecode(path)
        form = "URDF" if name.lstrip().startswith("<") else format_of(name)
        if form == "MJCF":
            from mbd_bridge.bridges.mujoco import read_mjcf

            return with_sidecar(read_mjcf(path))
        if form == "SDF":
            return with_sidecar(read_sdf(path, mesh_directories=mesh_directories))
    return read(path, mesh_directories=mesh_directories)
