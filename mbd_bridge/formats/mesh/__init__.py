"""Meshes, read for pictures: STL, Wavefront OBJ and COLLADA files to triangles with colours."""

from mbd_bridge.formats.mesh.read import read_mesh
from mbd_bridge.formats.mesh.surface import Colour, Surface

__all__ = ["Colour", "Surface", "read_mesh"]
