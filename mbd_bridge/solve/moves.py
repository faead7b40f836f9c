"""Positions after steps and steps between positions, of many states at once.

What `Model.integrate` and `Model.difference` do for one state, over arrays of states.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.model import Body, Model
from mbd_bridge.model.quaternions import (
    conjugate,
    exponential,
    in_child,
    in_parent,
    left_jacobian,
    logarithm,
    product,
)
from mbd_bridge.model.spatial import Array


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
            along = (left_jacobian(turn) @ way[:, :3, None])[..., 0]
            out[:, body.q][:, :3] = own[:, :3] + in_parent(own[:, 3:], along)
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
            way = in_child(first[:, 3:], second[:, :3] - first[:, :3])
            out[:, body.v][:, :3] = np.linalg.solve(left_jacobian(turn), way[..., None])[..., 0]
        out[:, body.v][:, -3:] = turn
    return out


def _independent(model: Model) -> list[Body]:
    return [body for body in model.bodies if body.type.nv and not body.coupled]
