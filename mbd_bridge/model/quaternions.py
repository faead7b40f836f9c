"""Quaternions (x, y, z, w) of rotations from a child's axes to its parent's, one or many.

Arrays (..., 4), with rotation vectors and vectors (..., 3) and rotations (..., 3, 3). A rotation
has two unit quaternions, s and -s.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.model.spatial import Array

SMALL = 1e-8
"""Sine of half an angle, below which arctan(s/c)/s is 1 to rounding."""

NEAR_ZERO = 1e-4
"""Angle, rad, below which the terms of order angle**4 / 120 are below rounding."""


def conjugate(s: Array) -> Array:
    """Return the inverse rotations of unit quaternions."""
    return np.asarray(s * [-1.0, -1.0, -1.0, 1.0])


def product(s: Array, t: Array) -> Array:
    """Return s ⊗ t."""
    vector = s[..., 3:] * t[..., :3] + t[..., 3:] * s[..., :3] + _cross(s[..., :3], t[..., :3])
    scalar = s[..., 3:] * t[..., 3:] - (s[..., :3] * t[..., :3]).sum(axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def exponential(turn: Array) -> Array:
    """Return the unit quaternions of rotation vectors, rad."""
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    # sin(x/2)/x without a division by a small number: np.sinc(t) = sin(pi t)/(pi t)
    parts = [0.5 * np.sinc(angle / (2.0 * np.pi)) * turn, np.cos(0.5 * angle)]
    return np.concatenate(parts, axis=-1)


def logarithm(s: Array) -> Array:
    """Return the rotation vectors, rad, at most pi long, of unit quaternions."""
    near = np.where(s[..., 3:] < 0.0, -s, s)
    sine = np.linalg.norm(near[..., :3], axis=-1, keepdims=True)
    safe = np.where(sine < SMALL, 1.0, sine)
    factor = np.where(sine < SMALL, 2.0, 2.0 * np.arctan2(safe, near[..., 3:]) / safe)
    return np.asarray(factor * near[..., :3])


def in_parent(s: Array, vectors: Array) -> Array:
    """Return R x for unit quaternions: R = 1 + 2 w ũ + 2 ũ², u = vec(s)."""
    once = _cross(s[..., :3], vectors)
    return np.asarray(vectors + 2.0 * s[..., 3:] * once + 2.0 * _cross(s[..., :3], once))


def in_child(s: Array, vectors: Array) -> Array:
    """Return Rᵀ x for unit quaternions."""
    return in_parent(conjugate(s), vectors)


def matrices_of(s: Array) -> Array:
    """Return the rotations of unit quaternions."""
    columns = [in_parent(s, np.broadcast_to(axis, (*s.shape[:-1], 3))) for axis in np.eye(3)]
    return np.stack(columns, axis=-1)


def quaternions_of(rotations: Array) -> Array:
    """Return the unit quaternions of rotations, by the largest of their four numbers."""
    m = rotations.reshape(-1, 3, 3)
    trace = np.einsum("nii->n", m)
    choice = np.argmax([trace, m[:, 0, 0], m[:, 1, 1], m[:, 2, 2]], axis=0)
    out = np.empty((len(m), 4))
    for largest in range(3):
        some = np.flatnonzero(choice == largest + 1)
        i, j, k = largest, (largest + 1) % 3, (largest + 2) % 3
        part = m[some]
        out[some, i] = 1.0 - trace[some] + 2.0 * part[:, i, i]
        out[some, j] = part[:, j, i] + part[:, i, j]
        out[some, k] = part[:, k, i] + part[:, i, k]
        out[some, 3] = part[:, k, j] - part[:, j, k]
    some = np.flatnonzero(choice == 0)
    part = m[some]
    out[some, 0] = part[:, 2, 1] - part[:, 1, 2]
    out[some, 1] = part[:, 0, 2] - part[:, 2, 0]
    out[some, 2] = part[:, 1, 0] - part[:, 0, 1]
    out[some, 3] = 1.0 + trace[some]
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    return out.reshape(*rotations.shape[:-2], 4)


def quaternions_of_angles(roll: Array, pitch: Array, yaw: Array) -> Array:
    """Return the unit quaternions (N, 4) of Rz(yaw) Ry(pitch) Rx(roll), each (N,) rad."""
    about_x, about_y, about_z = np.zeros((3, len(roll), 4))
    for axis, (about, angle) in enumerate(((about_x, roll), (about_y, pitch), (about_z, yaw))):
        about[:, axis], about[:, 3] = np.sin(0.5 * angle), np.cos(0.5 * angle)
    return product(product(about_z, about_y), about_x)


def near_signs(s: Array) -> Array:
    """Return the signs (N, ...) with which each of (N, ..., 4) is near to the one before it."""
    flips = np.sum(s[1:] * s[:-1], axis=-1) < 0.0
    signs = np.where(np.cumsum(flips, axis=0) % 2, -1.0, 1.0)
    return np.concatenate([np.ones((1, *s.shape[1:-1])), signs])


def left_jacobian(turn: Array) -> Array:
    """Return the left Jacobians (..., 3, 3) of SO(3) at rotation vectors."""
    angle = np.linalg.norm(turn, axis=-1)
    small = angle < NEAR_ZERO
    safe = np.where(small, 1.0, angle)
    first = np.where(small, 0.5 - angle**2 / 24.0, (1.0 - np.cos(safe)) / safe**2)
    second = np.where(small, 1.0 / 6.0 - angle**2 / 120.0, (safe - np.sin(safe)) / safe**3)
    tilde = np.zeros((*turn.shape, 3))
    for (i, j), part in (((0, 1), -turn[..., 2]), ((0, 2), turn[..., 1]), ((1, 2), -turn[..., 0])):
        tilde[..., i, j] = part
    tilde -= np.swapaxes(tilde, -1, -2)
    both = first[..., None, None] * tilde + second[..., None, None] * (tilde @ tilde)
    return np.asarray(np.eye(3) + both)


def _cross(a: Array, b: Array) -> Array:
    """Return a × b, row by row (np.cross takes four times as long)."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., i] = a[..., j] * b[..., k] - a[..., k] * b[..., j]
    return out
