"""Where a picture is taken from, and where in it a point is seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.model.spatial import Array

FIELD = 35.0
"""Angle of view from bottom to top, degrees: that of a long lens, so that little is distorted."""

MARGIN = 1.12
"""How much more than the machine a picture holds."""


@dataclass(frozen=True, eq=False)
class Camera:
    """A camera with a centre of projection.

    Attributes
    ----------
    eye, target : (3,) m: where it is, and what is in the middle of the picture
    field : angle of view from bottom to top, degrees
    near, far : m: what is nearer or farther is not seen
    """

    eye: Array
    target: Array
    field: float = FIELD
    near: float = 0.01
    far: float = 100.0

    def axes(self) -> Array:
        """Return the camera's axes as rows: to the right, up, and back towards the eye."""
        back = self.eye - self.target
        back = back / np.linalg.norm(back)
        right = np.cross([0.0, 0.0, 1.0], back)
        if np.linalg.norm(right) < 1e-9:  # it looks straight down or up
            right = np.array([1.0, 0.0, 0.0])
        right = right / np.linalg.norm(right)
        return np.array([right, np.cross(back, right), back])

    def view(self) -> Array:
        """Return the matrix (4, 4) from world to camera, as OpenGL's."""
        out = np.eye(4)
        out[:3, :3] = self.axes()
        out[:3, 3] = -out[:3, :3] @ self.eye
        return out

    def projection(self, size: tuple[int, int]) -> Array:
        """Return the matrix (4, 4) from camera to clip coordinates, as OpenGL's."""
        width, height = size
        focus = 1.0 / np.tan(np.deg2rad(self.field) / 2.0)
        depth = self.near - self.far
        out = np.zeros((4, 4))
        out[0, 0], out[1, 1] = focus * height / width, focus
        out[2, 2], out[2, 3] = (self.far + self.near) / depth, 2.0 * self.far * self.near / depth
        out[3, 2] = -1.0
        return out

    def lens(self, size: tuple[int, int]) -> Array:
        """Return the matrix (3, 4) from points (x, y, z, 1) to pixels times depth, and depth."""
        width, height = size
        focus = 0.5 * height / np.tan(np.deg2rad(self.field) / 2.0)
        image = np.array(
            [[focus, 0.0, -0.5 * width], [0.0, -focus, -0.5 * height], [0.0, 0.0, -1.0]]
        )
        return np.asarray(image @ self.view()[:3])

    def pixels(self, points: ArrayLike, size: tuple[int, int]) -> Array:
        """Return where points (..., 3) are seen: (..., 2) pixels from the left and from the top."""
        lens = self.lens(size)
        seen = np.asarray(points, dtype=np.float64) @ lens[:, :3].T + lens[:, 3]
        return np.asarray(seen[..., :2] / seen[..., 2:])

    def level(self, height: float, size: tuple[int, int]) -> Array:
        """Return the matrix (4, 3) from pixels (x, y, 1) to the points of a level, homogeneous.

        Parameters
        ----------
        height : z of the level, m
        """
        rays = np.linalg.inv(self.lens(size)[:, :3])
        out = np.zeros((4, 3))
        out[:3] = np.outer(self.eye, rays[2]) + (height - self.eye[2]) * rays
        out[3] = rays[2]
        return out


def direction(yaw: float, pitch: float) -> Array:
    """Return the unit vector from target to eye.

    Parameters
    ----------
    yaw : degrees about z; 0 looks along y, from -y
    pitch : degrees above the horizon
    """
    a, b = np.deg2rad(yaw), np.deg2rad(pitch)
    return np.array([np.sin(a) * np.cos(b), -np.cos(a) * np.cos(b), np.sin(b)])


def framing(points: Array, towards: Array, size: tuple[int, int], field: float = FIELD) -> Camera:
    """Return the nearest camera in a direction that sees all points.

    Parameters
    ----------
    points : (K, 3) m
    towards : (3,) unit vector from what is seen to the camera
    size : width and height of the picture
    """
    width, height = size
    target = 0.5 * (points.min(axis=0) + points.max(axis=0))
    slope = np.tan(np.deg2rad(field) / 2.0) / MARGIN
    slopes = np.array([slope * width / height, slope])
    axes = Camera(target + towards, target).axes()
    seen = (points - target) @ axes.T
    # A point at (x, y), z towards the eye, is seen from distance d if |x| <= (d - z) slope. With
    # x0 the shift of the picture's middle: the two sides that bind give both x0 and d.
    right = (seen[:, :2] + seen[:, 2:] * slopes).max(axis=0)
    left = (seen[:, :2] - seen[:, 2:] * slopes).min(axis=0)
    shift, distances = 0.5 * (right + left), 0.5 * (right - left) / slopes
    radius = float(np.linalg.norm(seen, axis=1).max())
    distance = max(float(distances.max()), float(seen[:, 2].max()) + 0.05 * radius, 1e-3)
    target = target + shift @ axes[:2]
    return Camera(
        target + distance * towards, target, field, 0.02 * distance, distance + 30.0 * radius
    )
