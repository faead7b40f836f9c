"""Quaternions (x, y, z, w) of rotations from a child's axes to its parent's, row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.files.table import ColumnTable

Floats = NDArray[np.float64]

LENGTH = 1e-3
"""How far from 1 the length of a quaternion may be: files round to a few digits."""


def unit_quaternions(table: ColumnTable, names: Sequence[str], quaternions: Floats) -> None:
    """Scale a table's quaternions (N, 4), in the columns of these names, to length 1, in place."""
    length = np.linalg.norm(quaternions, axis=1)
    bad = np.flatnonzero(np.abs(length - 1.0) > LENGTH)
    if len(bad):
        row = int(bad[0])
        raise table.error(
            f"expected a unit quaternion in {', '.join(names)}, got the length "
            f"{length[row]:.6g}; the order is x, y, z, w",
            row,
        )
    quaternions /= length[:, None]


def near_signs(quaternions: Floats) -> Floats:
    """Return the signs with which each quaternion is the near one of the two of its rotation."""
    flips = np.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0.0
    return np.concatenate([[1.0], np.where(np.cumsum(flips) % 2, -1.0, 1.0)])


def vector_part(s: Floats, t: Floats) -> Floats:
    """Return the vector part of s̄ ⊗ t, row by row."""
    part = s[:, 3:] * t[:, :3] - t[:, 3:] * s[:, :3] - np.cross(s[:, :3], t[:, :3])
    return np.asarray(part)


def product(s: Floats, t: Floats) -> Floats:
    """Return s ⊗ t, row by row."""
    vector = s[:, 3:] * t[:, :3] + t[:, 3:] * s[:, :3] + np.cross(s[:, :3], t[:, :3])
    scalar = s[:, 3] * t[:, 3] - np.sum(s[:, :3] * t[:, :3], axis=1)
    return np.column_stack([vector, scalar])


def in_child(s: Floats, vectors: Floats) -> Floats:
    """Return Rᵀ x, row by row, for unit quaternions s: R = 1 + 2 w ũ + 2 ũ², u = vec(s)."""
    once = np.cross(s[:, :3], vectors)
    return np.asarray(vectors - 2.0 * s[:, 3:] * once + 2.0 * np.cross(s[:, :3], once))


def in_parent(s: Floats, vectors: Floats) -> Floats:
    """Return R x, row by row, for unit quaternions s."""
    return in_child(s * np.array([-1.0, -1.0, -1.0, 1.0]), vectors)
