"""A surface of triangles: what is left of any shape before it is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.errors import FileError
from mbd_bridge.spatial import Array

Colour = tuple[float, float, float, float]
"""Red, green, blue and opacity, from 0 to 1."""

Indices = NDArray[np.int64]

MOST_TRIANGLES = 3_000_000
"""Triangles of one file: more, and it is no robot's part. About 0.2 GB."""

MOST_NUMBERS = 100_000_000
"""Numbers that are read of one file, 30 a triangle; those of a part used twice count twice."""


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Triangles of one colour.

    Attributes
    ----------
    vertices : (V, 3) m
    triangles : (T, 3) indices of vertices, counterclockwise seen from outside
    colour : None where the file gives none
    """

    vertices: Array
    triangles: Indices
    colour: Colour | None = None

    def moved(self, matrix: ArrayLike) -> Surface:
        """Return the surface after an affine map (4, 4); one that mirrors turns triangles round."""
        m = np.asarray(matrix, dtype=np.float64)
        triangles = self.triangles[:, ::-1] if np.linalg.det(m[:3, :3]) < 0.0 else self.triangles
        return Surface(self.vertices @ m[:3, :3].T + m[:3, 3], triangles, self.colour)

    def scaled(self, scale: ArrayLike) -> Surface:
        """Return the surface stretched by three factors."""
        return self.moved(np.diag([*np.asarray(scale, dtype=np.float64), 1.0]))


class Budget:
    """What the surfaces of one file have left of its numbers and triangles.

    Parameters
    ----------
    file : for messages
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._numbers, self._triangles = MOST_NUMBERS, MOST_TRIANGLES

    def take_numbers(self, count: int) -> None:
        """Count numbers that are read: where a part is used again, again."""
        self._numbers -= count
        if self._numbers < 0:
            raise FileError(
                f"its parts take more than {MOST_NUMBERS} numbers, each counted as often as it is "
                f"used; simplify the mesh",
                self.file,
            )

    def take_triangles(self, count: int) -> None:
        """Count triangles."""
        self._triangles -= count
        if self._triangles < 0:
            raise FileError(f"more than {MOST_TRIANGLES} triangles; simplify the mesh", self.file)

    def surface(self, vertices: ArrayLike, triangles: ArrayLike, colour: Colour | None) -> Surface:
        """Return a surface whose numbers are finite and whose triangles name vertices that exist.

        Vertices that no triangle names are dropped where they are most of them.
        """
        points = np.asarray(vertices, dtype=np.float64).reshape(-1, 3)
        corners = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
        self.take_triangles(len(corners))
        if corners.size and (corners.min() < 0 or corners.max() >= len(points)):
            wrong = corners.min() if corners.min() < 0 else corners.max()
            raise FileError(
                f"a triangle names vertex {wrong} of {len(points)}; export the mesh anew", self.file
            )
        if len(points) > corners.size:
            used = np.zeros(len(points), dtype=bool)
            used[corners] = True
            points, corners = points[used], (np.cumsum(used) - 1)[corners]
        if not np.isfinite(points).all():
            raise FileError("a vertex is not finite; export the mesh anew", self.file)
        return Surface(points, corners, colour)


def joined(surfaces: list[Surface]) -> Surface:
    """Return surfaces as one, with the first one's colour."""
    starts = np.cumsum([0, *(len(s.vertices) for s in surfaces)])
    triangles = [s.triangles + k for s, k in zip(surfaces, starts, strict=False)]
    vertices = [s.vertices for s in surfaces]
    return Surface(np.concatenate(vertices), np.concatenate(triangles), surfaces[0].colour)


def fans(counts: ArrayLike) -> Indices:
    """Return how polygons fall into triangles: (T, 3) places in the row of all their corners.

    Parameters
    ----------
    counts : corners of each polygon; those with fewer than three have no triangle
    """
    number = np.asarray(counts, dtype=np.int64)
    starts = np.cumsum(number) - number
    pieces = np.maximum(number - 2, 0)
    first = np.repeat(starts, pieces)
    within = np.arange(len(first)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.column_stack([first, first + within + 1, first + within + 2])
