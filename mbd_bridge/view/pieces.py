"""Pieces: surfaces with a colour and a place, and the stage on which a canvas shows them.

The surfaces of a scene are few, and made once: a piece that changes its length is made of others.
So a canvas need only move bodies, which it does fast and without ever running out of memory.

What a renderer needs of a surface: corners with normals, smooth where it is round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.files.surface import Colour, Shaded, Surface
from mbd_bridge.model.quaternions import quaternions_of
from mbd_bridge.model.spatial import Array

CREASE = np.cos(np.deg2rad(40.0))
"""Faces that meet at a larger angle meet in an edge."""

WELD = 1e-6
"""Corners nearer than this part of a surface's size are one."""

MOST_FACES = 64
"""Faces at one point, beyond which none is compared with the others."""

LARGEST_PIECE = 40_000
"""Triangles of one shape: pybullet takes 131072 vertices, and each corner may be one of its own."""


def shaded(surface: Surface) -> Iterator[Shaded]:
    """Yield the pieces of a surface, each small enough to be drawn."""
    for start in range(0, len(surface.triangles), LARGEST_PIECE):
        piece = _shaded(surface.some(slice(start, start + LARGEST_PIECE)))
        if len(piece.triangles):
            yield piece


def _shaded(surface: Surface) -> Shaded:
    corners, uv = surface.vertices[surface.triangles], surface.uv
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(area, axis=1)
    real = size > (WELD * float(np.ptp(corners.reshape(-1, 3), axis=0).max())) ** 2
    corners, area, size, uv = (
        corners[real],
        area[real],
        size[real],
        None if uv is None else uv[real],
    )
    if not len(corners):
        return Shaded(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64))
    points = corners.reshape(-1, 3)
    grain = WELD * max(float(np.ptp(points, axis=0).max()), 1e-12)
    rounded = np.round(points / grain).astype(np.int64)
    _, point_of = np.unique(rounded, axis=0, return_inverse=True)
    point_of = point_of.reshape(-1)
    face_normals = np.repeat(area / size[:, None], 3, axis=0)
    normals = _smooth(point_of, face_normals, np.repeat(area, 3, axis=0))
    key = np.column_stack([point_of, np.round(normals * 100.0).astype(np.int64)])
    _, first, index = np.unique(key, axis=0, return_index=True, return_inverse=True)
    triangles = index.reshape(-1, 3)
    return Shaded(points[first], normals[first], triangles, uv, surface.texture)


def _smooth(point_of: NDArray[np.int64], normal: Array, area: Array) -> Array:
    """Return the normals (K, 3) at corners: of all faces that meet there without an edge between.

    Parameters
    ----------
    point_of : (K,) which point each corner is
    normal, area : (K, 3) unit normal of the corner's face, and the same with the face's size
    """
    order = np.argsort(point_of, kind="stable")
    counts = np.bincount(point_of)
    shared = (counts[point_of] <= MOST_FACES).nonzero()[0]
    starts = np.cumsum(counts) - counts
    number = counts[point_of[shared]]
    first = np.repeat(shared, number)
    within = np.arange(len(first)) - np.repeat(np.cumsum(number) - number, number)
    second = order[np.repeat(starts[point_of[shared]], number) + within]
    near = np.einsum("ij,ij->i", normal[first], normal[second]) > CREASE
    first, second = first[near], second[near]
    total = np.column_stack(
        [np.bincount(first, area[second, k], minlength=len(point_of)) for k in range(3)]
    )
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(length > 0.0, total / np.where(length > 0.0, length, 1.0), normal)


AWAY = (0.0, 0.0, -1e9)
"""Where bodies are put that are not to be seen, m."""


class Piece(NamedTuple):
    """A surface, its colour, and its pose (4, 4) in the world."""

    surface: Surface
    colour: Colour
    pose: Array


class CanvasBodies(Protocol):
    """What a stage needs of a canvas (`view.picture`, `engines.pybullet.window`)."""

    def shape(self, piece: Shaded) -> int:
        """Return the number of a new shape."""

    def body(self, shape: int, colour: Colour) -> int:
        """Return the number of a new body of a shape."""

    def place(self, body: int, position: Array, quaternion: Array) -> None:
        """Put a body somewhere."""


class CanvasStage:
    """Bodies of a canvas, used again from frame to frame."""

    def __init__(self, canvas: CanvasBodies) -> None:
        self._canvas = canvas
        self._shapes: dict[int, tuple[Surface, list[int]]] = {}
        self._bodies: dict[tuple[int, Colour], list[list[int]]] = {}
        self._places: dict[int, bytes] = {}

    def show(self, pieces: Sequence[Piece]) -> list[list[int]]:
        """Show these pieces and no others; return the bodies that each is made of."""
        used = dict.fromkeys(self._bodies, 0)
        shown: list[list[int]] = []
        for surface, colour, _ in pieces:
            key = id(surface), colour
            pool = self._bodies.setdefault(key, [])
            k = used.get(key, 0)
            if k == len(pool):
                pool.append([self._canvas.body(s, colour) for s in self._shape(surface)])
            used[key] = k + 1
            shown.append(pool[k])
        poses = np.array([piece.pose for piece in pieces]).reshape(-1, 4, 4)
        quaternions = quaternions_of(poses[:, :3, :3])
        for bodies, pose, quaternion in zip(shown, poses, quaternions, strict=True):
            for body in bodies:
                self._place(body, pose[:3, 3], quaternion)
        for key, pool in self._bodies.items():
            for bodies in pool[used.get(key, 0) :]:
                for body in bodies:
                    self._place(body, np.array(AWAY), np.array([0.0, 0.0, 0.0, 1.0]))
        return shown

    def _shape(self, surface: Surface) -> list[int]:
        """Return the numbers of the shapes that a surface needs, which are made once."""
        if id(surface) not in self._shapes:
            made = [self._canvas.shape(piece) for piece in shaded(surface)]
            self._shapes[id(surface)] = surface, made  # kept, so that its id stays its own
        return self._shapes[id(surface)][1]

    def _place(self, body: int, position: Array, quaternion: Array) -> None:
        """Put a body somewhere, unless it is there."""
        pose = position.tobytes() + quaternion.tobytes()
        if self._places.get(body) != pose:
            self._canvas.place(body, position, quaternion)
            self._places[body] = pose
