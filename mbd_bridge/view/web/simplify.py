"""Surfaces with fewer triangles: corners in one cell of a grid become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.formats.mesh import Surface
from mbd_bridge.spatial import Array

FINEST, COARSEST = 512, 4
"""Cells along the longest edge of a surface, from the finest grid to the coarsest."""

FASTEST = 3.0
"""How much faster than on the average a texture may change over a surface."""

SLIVER = 1e-9
"""Square of a triangle's area, in parts of its edges' squares: those with less count as so much."""


def simplified(surface: Surface, most: int) -> Surface:
    """Return a surface of at most so many triangles, or as few as the coarsest grid leaves."""
    cells, found = FINEST, surface
    while len(found.triangles) > most and cells >= COARSEST:
        found, cells = clustered(surface, cells), cells * 3 // 4
    return found


def clustered(surface: Surface, cells: int) -> Surface:
    """Return a surface whose corners are the means of those in each cell.

    Parameters
    ----------
    cells : along the longest edge of the surface's box
    """
    points = np.asarray(surface.vertices, dtype=np.float64)
    low, span = points.min(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    cell = np.floor((points - low) * (cells / span)).astype(np.int64)
    _, place, counts = np.unique(_numbered(cell), return_inverse=True, return_counts=True)
    means = np.zeros((len(counts), 3))
    np.add.at(means, place, points)
    triangles = place[np.asarray(surface.triangles)]
    a, b, c = triangles.T
    left = surface.some((a != b) & (b != c) & (c != a))
    vertices, uv, corners = means / counts[:, None], left.uv, place[left.triangles]
    if uv is not None:
        uv = _carried_on(uv, points[left.triangles], vertices[corners]).astype(np.float32)
    # each begins with its lowest corner, seen from the same side
    order = (corners.argmin(axis=1)[:, None] + np.arange(3)) % 3
    corners = np.take_along_axis(corners, order, axis=1)
    uv = None if uv is None else np.take_along_axis(uv, order[..., None], axis=1)
    _, single = np.unique(_numbered(corners), return_index=True)
    return replace(surface, vertices=vertices, triangles=corners, uv=uv).some(single)


def _numbered(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each row (K, 3) of indices, in the order of the rows.

    To compare numbers is ten times as fast as to compare rows.
    """
    width = int(rows.max(initial=0)) + 1
    _, pairs = np.unique(rows[:, 0] * width + rows[:, 1], return_inverse=True)
    return np.asarray(pairs * width + rows[:, 2])


def _carried_on(uv: Array, corners: Array, moved: Array) -> Array:
    """Return texture coordinates where the corners of triangles were moved to.

    Each triangle's map from places to the texture goes on beyond its edges; that of slivers no
    further than others do.

    Parameters
    ----------
    uv, corners, moved : (T, 3, 2), and (T, 3, 3) m before and after
    """
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across, above = uv[:, 1] - uv[:, 0], uv[:, 2] - uv[:, 0]
    shift = moved - corners
    aa, bb, ab = (np.einsum("ti,ti->t", x, y)
                  for x, y in ((first, first), (second, second), (first, second)))  # fmt: skip
    area = np.maximum(aa * bb - ab**2, SLIVER * np.maximum(aa * bb, np.finfo(float).tiny))
    by_first, by_second = (np.einsum("tci,ti->tc", shift, edge) for edge in (first, second))
    u = (bb[:, None] * by_first - ab[:, None] * by_second) / area[:, None]
    v = (aa[:, None] * by_second - ab[:, None] * by_first) / area[:, None]
    step = u[..., None] * across[:, None] + v[..., None] * above[:, None]
    shown = np.abs(across[:, 0] * above[:, 1] - across[:, 1] * above[:, 0]).sum()
    dense = np.sqrt(shown / np.sqrt(area).sum())
    most = FASTEST * dense * np.linalg.norm(shift, axis=2, keepdims=True)
    length = np.linalg.norm(step, axis=2, keepdims=True)
    return np.asarray(uv + step * np.minimum(1.0, most / np.maximum(length, np.finfo(float).tiny)))


def within(surfaces: Sequence[Surface], most: int) -> list[Surface]:
    """Return surfaces that have at most so many triangles together, the largest ones simplified.

    Parameters
    ----------
    most : triangles of all; surfaces with few of them keep theirs
    """
    sizes = sorted(len(surface.triangles) for surface in surfaces)
    left, share = most, most
    for k, size in enumerate(sizes):
        share = left // (len(sizes) - k)
        if size > share:
            break
        left -= size
    return [simplified(surface, share) for surface in surfaces]
