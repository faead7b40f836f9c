"""Surfaces with fewer triangles: corners in one cell of a grid become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mbd_bridge.formats.mesh import Surface

FINEST, COARSEST = 512, 4
"""Cells along the longest edge of a surface, from the finest grid to the coarsest."""


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
    _, place, counts = np.unique(cell, axis=0, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    means = np.zeros((len(counts), 3))
    np.add.at(means, place, points)
    triangles = place[np.asarray(surface.triangles)]
    a, b, c = triangles.T
    left = replace(surface, vertices=means / counts[:, None], triangles=triangles)
    left = left.some((a != b) & (b != c) & (c != a))
    # each begins with its lowest corner, seen from the same side
    first = left.triangles.argmin(axis=1)
    order = (first[:, None] + np.arange(3)) % 3
    triangles = np.take_along_axis(left.triangles, order, axis=1)
    uv = None if left.uv is None else np.take_along_axis(left.uv, order[..., None], axis=1)
    _, single = np.unique(triangles, axis=0, return_index=True)
    return replace(left, triangles=triangles, uv=uv).some(single)


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
