"""Quaternions (x, y, z, w) of rotations from a child's axes to its parent's, row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
