"""Where a picture is taken from, and where in it a point is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.model.spatial import Array
from mbd_bridge.view.draw_loads import Label, Take

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


# Where texts stand in a picture: within it, none on another.

APART = 1.1
"""From one row of text to the next, relative to the height of a row."""


class Area(NamedTuple):
    """A rectangle, pixels from the left and from the top."""

    left: float
    top: float
    right: float
    bottom: float


def arranged(
    corners: Sequence[tuple[float, float]], widths: Sequence[float], height: float, area: Area
) -> list[tuple[float, float]]:
    """Return upper left corners of texts, pixels: moved into the area, and below earlier ones.

    Parameters
    ----------
    corners : where they would stand
    widths, height : of the texts, pixels
    """
    taken: list[tuple[float, float, float]] = []
    for (x, y), width in zip(corners, widths, strict=True):
        left = float(np.clip(x, area.left, max(area.right - width, area.left)))
        top = float(np.clip(y, area.top, max(area.bottom - height, area.top)))
        for _ in taken:  # each of those that are there can be met once
            for start, end, line in taken:
                if left < end and start < left + width and abs(top - line) < height:
                    top = line + APART * height
        taken.append((left, left + width, top))
    return [(left, top) for left, _, top in taken]


# Where machine and texts are in pybullet's window, whose panels are hidden or shown.

WINDOW_FIELD = 90.0
"""Angle of view of pybullet's window from bottom to top, degrees."""

ROW, LETTER = 20, 11
"""Height of a row of text and width of a wide letter, pixels, at pybullet's text size 1.3."""

ROOM = 1.4
"""How much more than the machine the window shows of one that will be moved."""

NEARER = 0.4
"""How much nearer than arrows their numbers are, so that the machine does not hide them."""

ROWS, NEAREST = 0.1, 0.02
"""Distance of rows of text, relative to the machine's, so that the ground does not hide them, and
the least, m: pybullet draws nothing within 0.01 m."""


class Margins(NamedTuple):
    """What is not for the machine, pixels.

    Attributes
    ----------
    side : left and right
    top, bottom : above and below
    text : above the first row of text
    """

    side: int
    top: int
    bottom: int
    text: int


HIDDEN = Margins(16, 110, 36, 6)
"""Of a window without pybullet's panels: four rows of text above, one below."""

PANELS = Margins(250, 120, 152, 28)
"""Of a window with pybullet's panels."""


def camera_of(take: Take, view: tuple[float, float], size: tuple[int, int], moves: bool) -> Camera:
    """Return the window's camera: it sees the whole motion between the texts.

    Parameters
    ----------
    view : yaw and pitch, degrees
    moves : nobody knows yet where the machine will be
    """
    wide, high, up = free_part(size)
    field = 2.0 * float(np.rad2deg(np.arctan(high)))
    aspect = round(1000.0 * wide / high), 1000
    seen = take.seen
    if moves:
        middle = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
        seen = middle + ROOM * (seen - middle)
    camera = framing(seen, direction(*view), aspect, field)
    down = up * float(np.linalg.norm(camera.eye - camera.target)) * camera.axes()[1]
    return Camera(camera.eye - down, camera.target - down, WINDOW_FIELD)


def free_part(size: tuple[int, int]) -> tuple[float, float, float]:
    """Return half the width and height that texts leave free, and its middle, at distance 1."""
    (width, height), margins = size, HIDDEN
    pixel = _pixel(size)
    wide = max(width - 2 * margins.side, width // 4)
    high = max(height - margins.top - margins.bottom, height // 4)
    return 0.5 * wide * pixel, 0.5 * high * pixel, 0.5 * (margins.bottom - margins.top) * pixel


class WindowTexts(NamedTuple):
    """Where texts stand in the window, before a camera.

    Attributes
    ----------
    size : width and height of the window, pixels
    margins : what is not for the machine
    """

    camera: Camera
    size: tuple[int, int]
    margins: Margins

    def rows_above(self, rows: Sequence[str]) -> list[Label]:
        """Return rows of text in the upper left corner."""
        return [self._row(text, self.margins.text + k * ROW) for k, text in enumerate(rows)]

    def row_below(self, text: str) -> Label:
        """Return a row of text in the lower left corner."""
        return self._row(text, self.size[1] - self.margins.bottom + 8.0)

    def numbers(self, labels: Sequence[Label]) -> list[Label]:
        """Return numbers before the machine: in the window, none on another."""
        camera, margins, (width, height) = self.camera, self.margins, self.size
        depths = [float((camera.eye - label.point) @ camera.axes()[2]) for label in labels]
        before = [(label, z) for label, z in zip(labels, depths, strict=True) if z > 0.0]
        if not before:
            return []
        seen = camera.pixels([label.point for label, _ in before], self.size)
        widths = [float(LETTER * (1 + len(label.text))) for label, _ in before]
        right, bottom = width - margins.side, height - margins.bottom + 0.5 * ROW
        area = Area(margins.side, margins.top - ROW, right, bottom)
        wanted = [(float(x), float(y) - 0.5 * ROW) for x, y in seen]
        corners = arranged(wanted, widths, ROW, area)
        return [
            label._replace(point=self._point(x, y + ROW, (1.0 - NEARER) * depth))
            for (label, depth), (x, y) in zip(before, corners, strict=True)
        ]

    def _row(self, text: str, top: float) -> Label:
        camera = self.camera
        depth = max(ROWS * float(np.linalg.norm(camera.eye - camera.target)), NEAREST)
        point = self._point(self.margins.side + 4.0, top + ROW, depth)
        return Label(point, text, (0.1, 0.1, 0.1, 1.0))

    def _point(self, x: float, y: float, depth: float) -> Array:
        """Return the point (3,) m that is seen at a pixel, so far before the camera's plane.

        A text is drawn above its point, and to the right of it.
        """
        right, up, back = self.camera.axes()
        x, y = (np.array((x, y)) - 0.5 * np.array(self.size)) * _pixel(self.size)
        return np.asarray(self.camera.eye + depth * (x * right - y * up - back))


def _pixel(size: tuple[int, int]) -> float:
    """Return the size of a pixel at distance 1."""
    return 2.0 * float(np.tan(np.deg2rad(WINDOW_FIELD) / 2.0)) / size[1]
