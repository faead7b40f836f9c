"""The ground under a machine: tiles whose edges are a round length, so that they are a scale."""

from __future__ import annotations

import numpy as np

from mbd_bridge.formats.mesh import Colour, Surface
from mbd_bridge.spatial import Array
from mbd_bridge.view.pieces import Piece
from mbd_bridge.view.scale import round_number

LIGHT: Colour = (0.93, 0.94, 0.95, 1.0)
DARK: Colour = (0.86, 0.87, 0.89, 1.0)
TILES = 24
"""Tiles along one side."""


def ground(points: Array) -> list[Piece]:
    """Return the tiles under points (K, 3): at z = 0, or lower where points are.

    A tile is a round part of what the points span.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    edge = round_number(0.3 * max(float(np.linalg.norm(high - low)), 1e-3))
    level = min(0.0, float(low[2])) - 1e-3 * edge
    centre = np.round(0.5 * (low + high) / edge) * edge
    pose = np.eye(4)
    pose[:3, 3] = centre[0], centre[1], level
    return [
        Piece(_tiles(edge, parity), colour, pose) for parity, colour in enumerate((LIGHT, DARK))
    ]


def _tiles(edge: float, parity: int) -> Surface:
    half = TILES // 2
    steps = range(-half, half)
    squares = [(i, j) for i in steps for j in steps if (i + j) % 2 == parity]
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    flat = (np.array(squares)[:, None, :] + corners).reshape(-1, 2) * edge
    first = 4 * np.arange(len(squares))[:, None]
    triangles = np.concatenate([first + corner for corner in ([[0, 1, 2]], [[0, 2, 3]])])
    return Surface(np.column_stack([flat, np.zeros(len(flat))]), triangles)
