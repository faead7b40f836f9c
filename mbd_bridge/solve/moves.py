"""Positions after steps and steps between positions, of many states at once.

What `Model.integrate` and `Model.difference` do for one state, over arrays of states.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.model import Body, Model
from mbd_bridge.model.spatial import Array

SMALL = 1e-8
"""Sine of half an angle, below which arctan(s/c)/s is 1 to rounding."""

NEAR_ZERO = 1e-4
"""Angle, rad, below which the terms of order angle**4 / 120 are below rounding."""


def moved(model: Model, q: Array, step: Array) -> Array:
    """Return positions (n, nq) moved by velocities (n, nv) for one second."""
    if model.nq == model.nv:
        return np.asarray(q + step)
    out = np.empty_like(q)
    for body in _independent(model):
        own, way = q[:, body.q], step[:, body.v]
        if body.type.nq == body.type.nv:
            out[:, body.q] = own + way
            continue
        turn = way[:, -3:]
        quaternion = product(own[:, -4:], exponential(turn))
        if body.type.nq == 7:
            along = (_left_jacobian(turn) @ way[:, :3, None])[..., 0]
            out[:, body.q][:, :3] = own[:, :3] + rotated(own[:, 3:], along)
        out[:, body.q][:, -4:] = quaternion
    return out


def difference(model: Model, start: Array, end: Array) -> Array:
    """Return the velocities (n, nv) that lead from positions to others in one second."""
    if model.nq == model.nv:
        return np.asarray(end - start)
    out = np.zeros((len(start), model.nv))
    for body in _independent(model):
        first, second = start[:, body.q], end[:, body.q]
        if body.type.nq == body.type.nv:
            out[:, body.v] = second - first
            continue
        turn = logarithm(product(conjugate(first[:, -4:]), second[:, -4:]))
        if body.type.nq == 7:
            way = rotated(conjugate(first[:, 3:]), second[:, :3] - first[:, :3])
            out[:, body.v][:, :3] = np.linalg.solve(_left_jacobian(turn), way[..., None])[..., 0]
        out[:, body.v][:, -3:] = turn
    return out


def conjugate(quaternions: Array) -> Array:
    """Return the inverse rotations of unit quaternions (n, 4), x, y, z, w."""
    return np.asarray(quaternions * [-1.0, -1.0, -1.0, 1.0])


def product(a: Array, b: Array) -> Array:
    """Return a ⊗ b of quaternions (n, 4), x, y, z, w."""
    vector = a[:, 3:] * b[:, :3] + b[:, 3:] * a[:, :3] + _cross(a[:, :3], b[:, :3])
    scalar = a[:, 3:] * b[:, 3:] - (a[:, :3] * b[:, :3]).sum(axis=1, keepdims=True)
    return np.hstack([vector, scalar])


def exponential(turn: Array) -> Array:
    """Return the unit quaternions (n, 4) of rotation vectors (n, 3), rad."""
    angle = np.linalg.norm(turn, axis=1, keepdims=True)
    return np.hstack([0.5 * np.sinc(angle / (2.0 * np.pi)) * turn, np.cos(0.5 * angle)])


def logarithm(quaternions: Array) -> Array:
    """Return the rotation vectors (n, 3), rad, at most pi long, of unit quaternions (n, 4)."""
    x = np.where(quaternions[:, 3:] < 0.0, -quaternions, quaternions)
    sine = np.linalg.norm(x[:, :3], axis=1, keepdims=True)
    safe = np.where(sine < SMALL, 1.0, sine)
    factor = np.where(sine < SMALL, 2.0, 2.0 * np.arctan2(safe, x[:, 3:]) / safe)
    return np.asarray(factor * x[:, :3])


def rotated(quaternions: Array, vectors: Array) -> Array:
    """Return R x, row by row, for unit quaternions (n, 4)."""
    once = _cross(quaternions[:, :3], vectors)
    return np.asarray(
        vectors + 2.0 * quaternions[:, 3:] * once + 2.0 * _cross(quaternions[:, :3], once)
    )


def quaternion_of(rotations: Array) -> Array:
    """Return the unit quaternions (n, 4) of rotation matrices (n, 3, 3)."""
    m = rotations
    trace = np.einsum("nii->n", m)
    diagonal = np.column_stack([m[:, 0, 0], m[:, 1, 1], m[:, 2, 2], trace])
    out = np.empty((len(m), 4))
    choice = np.argmax(diagonal, axis=1)
    for largest in range(3):
        some = np.flatnonzero(choice == largest)
        i, j, k = largest, (largest + 1) % 3, (largest + 2) % 3
        part = m[some]
        out[some, i] = 1.0 - trace[some] + 2.0 * part[:, i, i]
        out[some, j] = part[:, j, i] + part[:, i, j]
        out[some, k] = part[:, k, i] + part[:, i, k]
        out[some, 3] = part[:, k, j] - part[:, j, k]
    some = np.flatnonzero(choice == 3)
    part = m[some]
    out[some, 0] = part[:, 2, 1] - part[:, 1, 2]
    out[some, 1] = part[:, 0, 2] - part[:, 2, 0]
    out[some, 2] = part[:, 1, 0] - part[:, 0, 1]
    out[some, 3] = 1.0 + trace[some]
    return np.asarray(out / np.linalg.norm(out, axis=1, keepdims=True))


def matrices_of(quaternions: Array) -> Array:
    """Return the rotation matrices (n, 3, 3) of unit quaternions (n, 4)."""
    columns = [
        rotated(quaternions, np.broadcast_to(axis, (len(quaternions), 3))) for axis in np.eye(3)
    ]
    return np.stack(columns, axis=2)


def _independent(model: Model) -> list[Body]:
    return [body for body in model.bodies if body.type.nv and not body.coupled]


def _left_jacobian(turn: Array) -> Array:
    """Return the left Jacobians (n, 3, 3) of SO(3) at rotation vectors (n, 3)."""
    angle = np.linalg.norm(turn, axis=1)
    small = angle < NEAR_ZERO
    safe = np.where(small, 1.0, angle)
    first = np.where(small, 0.5 - angle**2 / 24.0, (1.0 - np.cos(safe)) / safe**2)
    second = np.where(small, 1.0 / 6.0 - angle**2 / 120.0, (safe - np.sin(safe)) / safe**3)
    tilde = np.zeros((len(turn), 3, 3))
    tilde[:, 0, 1], tilde[:, 0, 2], tilde[:, 1, 2] = -turn[:, 2], turn[:, 1], -turn[:, 0]
    tilde -= np.swapaxes(tilde, 1, 2)
    both = first[:, None, None] * tilde + second[:, None, None] * (tilde @ tilde)
    return np.asarray(np.eye(3) + both)


def _cross(a: Array, b: Array) -> Array:
    """Return a × b, row by row (np.cross takes four times as long)."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[:, i] = a[:, j] * b[:, k] - a[:, k] * b[:, j]
    return out
