"""Where machine and texts are in pybullet's window, whose panels are hidden or shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.model.spatial import Array
from mbd_bridge.view.camera import Camera, direction, framing
from mbd_bridge.view.labels import Area, arranged
from mbd_bridge.view.take import Label, Take

FIELD = 90.0
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
    found = framing(seen, direction(*view), aspect, field)
    down = up * float(np.linalg.norm(found.eye - found.target)) * found.axes()[1]
    return Camera(found.eye - down, found.target - down, FIELD)


def free_part(size: tuple[int, int]) -> tuple[float, float, float]:
    """Return half the width and height that texts leave free, and its middle, at distance 1."""
    (width, height), margins = size, HIDDEN
    pixel = _pixel(size)
    wide = max(width - 2 * margins.side, width // 4)
    high = max(height - margins.top - margins.bottom, height // 4)
    return 0.5 * wide * pixel, 0.5 * high * pixel, 0.5 * (margins.bottom - margins.top) * pixel


def rows_above(
    rows: Sequence[str], camera: Camera, size: tuple[int, int], margins: Margins
) -> list[Label]:
    """Return rows of text in the upper left corner."""
    places = [(margins.side + 4.0, margins.text + k * ROW) for k in range(len(rows))]
    return [_row(text, place, camera, size) for text, place in zip(rows, places, strict=True)]


def row_below(text: str, camera: Camera, size: tuple[int, int], margins: Margins) -> Label:
    """Return a row of text in the lower left corner."""
    return _row(text, (margins.side + 4.0, size[1] - margins.bottom + 8.0), camera, size)


def numbers(
    labels: Sequence[Label], camera: Camera, size: tuple[int, int], margins: Margins
) -> list[Label]:
    """Return numbers before the machine: in the window, none on another."""
    depths = [float((camera.eye - label.point) @ camera.axes()[2]) for label in labels]
    before = [(label, depth) for label, depth in zip(labels, depths, strict=True) if depth > 0.0]
    if not before:
        return []
    seen = camera.pixels([label.point for label, _ in before], size)
    widths = [float(LETTER * (1 + len(label.text))) for label, _ in before]
    (width, height), half = size, 0.5 * ROW
    area = Area(
        margins.side, margins.top - ROW, width - margins.side, height - margins.bottom + half
    )
    corners = arranged([(float(x), float(y) - half) for x, y in seen], widths, ROW, area)
    return [
        label._replace(point=_point((x, y + ROW), (1.0 - NEARER) * depth, camera, size))
        for (label, depth), (x, y) in zip(before, corners, strict=True)
    ]


def _row(text: str, place: tuple[float, float], camera: Camera, size: tuple[int, int]) -> Label:
    depth = max(ROWS * float(np.linalg.norm(camera.eye - camera.target)), NEAREST)
    left, top = place
    return Label(_point((left, top + ROW), depth, camera, size), text, (0.1, 0.1, 0.1, 1.0))


def _point(
    place: tuple[float, float], depth: float, camera: Camera, size: tuple[int, int]
) -> Array:
    """Return the point (3,) m that is seen at a pixel, so far before the camera's plane.

    A text is drawn above its point, and to the right of it.
    """
    right, up, back = camera.axes()
    x, y = (np.array(place) - 0.5 * np.array(size)) * _pixel(size)
    return np.asarray(camera.eye + depth * (x * right - y * up - back))


def _pixel(size: tuple[int, int]) -> float:
    """Return the size of a pixel at distance 1."""
    return 2.0 * float(np.tan(np.deg2rad(FIELD) / 2.0)) / size[1]
