"""Textures on surfaces: each image read once, solids wrapped, and what cannot be drawn told."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from mbd_bridge.errors import FileError
from mbd_bridge.formats.mesh import Colour, Surface, Texture
from mbd_bridge.spatial import Array

TOP = 0.7
"""Part of a normal along a solid's axis, from which on a face counts as its top or bottom."""

BOX = 8
"""Corners of a box."""

FLAT = 1e-9
"""Part of a solid's height over which a flat face goes, and of its size up to which a point is on
its axis."""


class Textures:
    """The textures of one machine.

    Attributes
    ----------
    missing : images that cannot be drawn, and why, one line each
    """

    def __init__(self) -> None:
        self.missing: list[str] = []
        self._read: dict[str, Texture | None] = {}

    def on(self, surface: Surface, named: str | None = None) -> Surface:
        """Return a surface with a texture that can be drawn, or with none.

        Parameters
        ----------
        named : path of the image that the file names for a surface without a look of its own
        """
        texture = surface.texture
        if texture is None and named is not None and surface.colour is None:
            texture = Texture(named)
        drawn = None if texture is None else self._drawn(texture, surface)
        if drawn is None and surface.uv is None and surface.texture is None:
            return surface
        return replace(surface, texture=drawn, uv=None if drawn is None else surface.uv)

    def _drawn(self, texture: Texture, surface: Surface) -> Texture | None:
        """Return the texture with that image, None and a remark if it cannot be drawn."""
        try:
            key = os.path.realpath(texture.path)
        except (OSError, ValueError):  # no name of a file
            key = texture.path
        if key not in self._read:
            self._read[key] = texture
            try:
                texture.pixels  # noqa: B018 (read now, to tell what is wrong)
            except FileError as error:
                self.missing.append(str(error))
                self._read[key] = None
        found = self._read[key]
        if found is not None and surface.uv is None:
            self.missing.append(f"{texture.path}: the mesh does not say where on it the image is")
            return None
        return found


def mean_colour(surface: Surface) -> Colour | None:
    """Return the colour of a surface where its texture cannot be drawn; None if it has none.

    It is the mean of the texture at the middles of the triangles, small and large.
    """
    if surface.texture is None or surface.uv is None:
        return None
    pixels = surface.texture.pixels
    height, width, _ = pixels.shape
    x, y = surface.uv.mean(axis=1, dtype=np.float64).T
    column, row = (np.floor(k).astype(np.int64) for k in (x * width, (1.0 - y) * height))
    found = pixels[row % height, column % width].mean(axis=0) / 255.0
    red, green, blue = found.round(4).tolist()
    return red, green, blue, 1.0


def wrapped(solid: Surface) -> Surface:
    """Return a box, ball, cylinder or capsule about its axis z with texture coordinates.

    Flat faces along the axes show the whole image, round ones show it once around.
    """
    points = np.asarray(solid.vertices)[solid.triangles]
    low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
    x, y, z = np.moveaxis((points - low) / np.where(high > low, high - low, 1.0), -1, 0)
    side = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    if len(solid.vertices) == BOX:
        along = np.abs(side).argmax(axis=1)
        across = np.choose(along[:, None], [y, 1.0 - x, x])
        above = np.choose(along[:, None], [z, z, y])
        front = np.take_along_axis(side, along[:, None], axis=1) > 0.0
    else:
        flat = (np.abs(side[:, 2]) > TOP)[:, None] & (np.ptp(z, axis=1) < FLAT)[:, None]
        across, above = np.where(flat, x, _around(points)), np.where(flat, y, z)
        front = ~flat | (side[:, 2:] > 0.0)
    uv = np.stack([np.where(front, across, 1.0 - across), above], axis=-1)
    return replace(solid, uv=uv.astype(np.float32))


def _around(points: Array) -> Array:
    """Return how far around z corners (T, 3, 3) are, in turns; a triangle is in one piece."""
    turn = np.arctan2(points[..., 1], points[..., 0]) / (2.0 * np.pi) + 0.5
    on_axis = np.hypot(points[..., 0], points[..., 1]) < FLAT * np.abs(points).max()
    turn = np.where(on_axis, np.nan, turn)
    turn = np.where(np.nanmax(turn, axis=1, keepdims=True) - turn > 0.5, turn + 1.0, turn)
    return np.asarray(np.where(on_axis, np.nanmean(turn, axis=1, keepdims=True), turn))
