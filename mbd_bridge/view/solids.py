"""Solids that are in no file: boxes, balls, rods, cones and arcs, as surfaces."""

from __future__ import annotations

from functools import cache

import numpy as np

from mbd_bridge.files.surface import Surface
from mbd_bridge.model.spatial import Array

ROUND = 24
"""Corners of what is round."""

SLIVER = 1e-9
"""Faces smaller than this part of the largest are where rows of points meet in one."""


@cache
def box(x: float, y: float, z: float) -> Surface:
    """Return a box with edges x, y, z m."""
    corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=float)
    faces = [
        (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
        (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
    ]  # fmt: skip
    return Surface(corners * np.array([x, y, z]) / 2.0, np.array(faces))


@cache
def sphere(radius: float) -> Surface:
    """Return a ball."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, ROUND // 2 + 1)
    return turned(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))


@cache
def cylinder(radius: float, length: float) -> Surface:
    """Return a cylinder along z, its middle at the origin."""
    half = length / 2.0
    return turned(np.array([[0.0, -half], [radius, -half], [radius, half], [0.0, half]]))


@cache
def rod(radius: float, length: float) -> Surface:
    """Return a cylinder along z, from the origin on."""
    return turned(np.array([[0.0, 0.0], [radius, 0.0], [radius, length], [0.0, length]]))


@cache
def capsule(radius: float, length: float) -> Surface:
    """Return a cylinder along z with round ends, its middle at the origin."""
    angle = np.linspace(0.0, np.pi / 2, ROUND // 4 + 1)
    top = np.column_stack([radius * np.cos(angle), radius * np.sin(angle) + length / 2.0])
    return turned(np.concatenate([top[::-1] * [1.0, -1.0], top]))


@cache
def cone(radius: float, length: float) -> Surface:
    """Return a cone with its tip at the origin, that widens along -z."""
    return turned(np.array([[0.0, -length], [radius, -length], [0.0, 0.0]]))


@cache
def arc(radius: float, thickness: float, angle: float) -> Surface:
    """Return a bent rod about z: it begins on x and goes round by `angle` rad.

    Parameters
    ----------
    thickness : radius of the rod, m
    """
    steps = max(2, int(np.ceil(angle / (2.0 * np.pi) * 2 * ROUND)) + 1)
    way, turn = np.linspace(0.0, angle, steps), np.linspace(0.0, 2.0 * np.pi, ROUND // 2 + 1)
    around = radius + thickness * np.cos(turn)
    rows = [
        np.column_stack([around * np.cos(a), around * np.sin(a), thickness * np.sin(turn)])
        for a in way
    ]
    ends = [
        np.tile([radius * np.cos(a), radius * np.sin(a), 0.0], (len(turn), 1)) for a in (0.0, angle)
    ]
    return net(np.array([ends[0], *rows, ends[1]]))


def turned(profile: Array) -> Surface:
    """Return the surface that a profile (K, 2) of distances and heights makes, turned about z."""
    turn = np.linspace(0.0, 2.0 * np.pi, ROUND + 1)
    rows = [np.column_stack([r * np.cos(turn), r * np.sin(turn), np.full_like(turn, h)])
            for r, h in profile]  # fmt: skip
    return net(np.array(rows)[::-1])


def net(rows: Array) -> Surface:
    """Return the surface of a net of points (K, M, 3); its outside is where K x M points."""
    k, m, _ = rows.shape
    corner = np.arange(k * m).reshape(k, m)
    a, b, c, d = corner[:-1, :-1], corner[1:, :-1], corner[1:, 1:], corner[:-1, 1:]
    triangles = np.concatenate(
        [np.stack(x, axis=-1).reshape(-1, 3) for x in ((a, b, c), (a, c, d))]
    )
    points = rows.reshape(-1, 3)
    first, second, third = (points[triangles[:, k]] for k in range(3))
    size = np.linalg.norm(np.cross(second - first, third - first), axis=1)
    return Surface(points, triangles[size > SLIVER * size.max()])
