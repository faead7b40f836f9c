"""Pieces: surfaces with a colour and a place, and the stage on which a canvas shows them.

The surfaces of a scene are few, and made once: a piece that changes its length is made of others.
So a canvas need only move bodies, which it does fast and without ever running out of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from mbd_bridge.formats.mesh import Colour, Shaded, Surface
from mbd_bridge.spatial import Array
from mbd_bridge.view.shading import shaded

AWAY = (0.0, 0.0, -1e9)
"""Where bodies are put that are not to be seen, m."""


class Piece(NamedTuple):
    """A surface, its colour, and its pose (4, 4) in the world."""

    surface: Surface
    colour: Colour
    pose: Array


class Bodies(Protocol):
    """What a stage needs of a canvas (`view.rays`, `bridges.pybullet.canvas`)."""

    def shape(self, piece: Shaded) -> int:
        """Return the number of a new shape."""

    def body(self, shape: int, colour: Colour) -> int:
        """Return the number of a new body of a shape."""

    def place(self, body: int, position: Array, quaternion: Array) -> None:
        """Put a body somewhere."""


class Stage:
    """Bodies of a canvas, used again from frame to frame."""

    def __init__(self, canvas: Bodies) -> None:
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
        quaternions = _quaternions(poses[:, :3, :3])
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
        there = position.tobytes() + quaternion.tobytes()
        if self._places.get(body) != there:
            self._canvas.place(body, position, quaternion)
            self._places[body] = there


def _quaternions(rotations: Array) -> Array:
    """Return the quaternions (K, 4), x y z w, of rotations (K, 3, 3)."""
    from scipy.spatial.transform import Rotation

    if not len(rotations):
        return np.zeros((0, 4))
    return np.asarray(Rotation.from_matrix(rotations).as_quat())
