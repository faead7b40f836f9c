"""Meshes, read for pictures: STL, Wavefront OBJ and COLLADA files to triangles with colours and
textures.
"""

from mbd_bridge.files.mesh.read import read_mesh
from mbd_bridge.files.mesh.surface import Colour, Shaded, Surface
from mbd_bridge.files.mesh.texture import Texture

__all__ = ["Colour", "Shaded", "Surface", "Texture", "read_mesh"]
