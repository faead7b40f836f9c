"""A mesh file by the ending of its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.mesh.dae import read_dae
from mbd_bridge.files.mesh.obj import read_obj
from mbd_bridge.files.mesh.stl import read_stl
from mbd_bridge.files.mesh.surface import Surface
from mbd_bridge.files.xml_reader import read_bytes

MAX_BYTES = 128 * 2**20
"""Largest mesh file that is read, bytes: four times the largest of the robots we know."""

READERS: dict[str, Callable[[bytes, str], list[Surface]]] = {
    ".stl": read_stl,
    ".obj": read_obj,
    ".dae": read_dae,
}
"""Ending -> reader of its content; the name is for messages and for files beside it."""


def read_mesh(path: str) -> tuple[Surface, ...]:
    """Return the surfaces of a mesh file, one a colour.

    Lengths are m: COLLADA's own unit is obeyed, as in RViz; its up axis is not, as in RViz.

    Raises
    ------
    FileError
        The file cannot be read, has an ending we do not know, or has no triangle.
    """
    ending = Path(path).suffix.lower()
    if ending not in READERS:
        known = ", ".join(READERS)
        raise FileError(f"no mesh reader for {ending!r} files; convert it to one of {known}", path)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        found = READERS[ending](read_bytes(path, MAX_BYTES), path)
    surfaces = tuple(one for one in found if len(one.triangles))
    if not surfaces:
        raise FileError("there is no triangle in it; export the mesh anew", path)
    if not all(np.isfinite(one.vertices).all() for one in surfaces):
        raise FileError("a vertex is not finite where its nodes put it; export it anew", path)
    return surfaces
