"""Surfaces cut across an axis into slices, so that rigid pieces can show how they bend."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.formats.mesh import Surface
from mbd_bridge.spatial import Array

OVERLAP = 1.06
"""How much longer than cut slices are drawn, so that no gap opens between turned neighbours."""


def sliced(surface: Surface, direction: Array, places: Array) -> list[tuple[int, Surface]]:
    """Return the slices of a surface with their numbers; those without triangles are left out.

    Slice k lies between places k and k + 1; the first and the last one keep what is beyond.

    Parameters
    ----------
    direction : (3,) unit vector
    places : (K + 1,) m along it, increasing
    """
    corners, whole, out = np.asarray(surface.vertices, dtype=np.float64), surface.triangles, []
    if surface.uv is not None:  # texture coordinates are cut as places are: more columns
        corners = np.column_stack([corners[whole].reshape(-1, 3), surface.uv.reshape(-1, 2)])
        whole, direction = np.arange(len(corners)).reshape(-1, 3), np.append(direction, (0.0, 0.0))
    along = (corners @ direction)[whole]
    edges = np.array([-np.inf, *places[1:-1], np.inf])
    for k, (low, high) in enumerate(pairwise(edges.tolist())):
        # always from the whole surface: a piece that is cut again and again has ever more corners
        points = corners
        triangles = whole[(along.min(axis=1) < high) & (along.max(axis=1) > low)]
        for edge, sign in ((low, 1.0), (high, -1.0)):
            if np.isfinite(edge) and len(triangles):
                points, triangles = _split(points, triangles, points @ direction - edge)
                middles = (points @ direction - edge)[triangles].mean(axis=1)
                triangles = triangles[sign * middles > 0.0]
        if not len(triangles):
            continue
        used, renumbered = np.unique(triangles, return_inverse=True)
        own, middle = points[used], 0.5 * (places[k] + places[k + 1])
        inside = np.clip(own @ direction, places[k], places[k + 1])
        own = own + ((OVERLAP - 1.0) * (inside - middle))[:, None] * direction
        renumbered = renumbered.reshape(-1, 3)
        uv = None if surface.uv is None else own[:, 3:].astype(np.float32)[renumbered]
        out.append((k, replace(surface, vertices=own[:, :3], triangles=renumbered, uv=uv)))
    return out


def _split(
    points: Array, triangles: NDArray[np.int64], side: Array
) -> tuple[Array, NDArray[np.int64]]:
    """Return points and triangles with those that cross a plane divided there.

    Parameters
    ----------
    side : (V,) distances from the plane
    """
    above = (side > 0.0)[triangles]
    number = above.sum(axis=1)
    cross = (number == 1) | (number == 2)
    if not cross.any():
        return points, triangles
    alone = np.where(number[cross] == 1, above[cross].argmax(axis=1), above[cross].argmin(axis=1))
    turned = (alone[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(triangles[cross], turned, axis=1).T

    def between(first: NDArray[np.int64], second: NDArray[np.int64]) -> Array:
        part = side[first] / (side[first] - side[second])
        found = points[first] + part[:, None] * (points[second] - points[first])
        return np.asarray(found)

    count, new = len(points), len(a)
    p, r = count + np.arange(new), count + new + np.arange(new)
    points = np.concatenate([points, between(a, b), between(a, c)])
    pieces = [np.column_stack(corners) for corners in ((a, p, r), (p, b, c), (p, c, r))]
    return points, np.concatenate([triangles[~cross], *pieces])
