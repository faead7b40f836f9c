"""Cartesian velocities of bodies and points: Lee94's Y = B q̇ and Ẏ = B q̈ + Ḃ q̇.

For a point x on body i, with Y = [ẋ; ω]:

    Y = [1, -x̃; 0, 1] Ŷ_i                                            KimYou97 (7), x for r
    B_ij = [1, -x̃; 0, 1] B_j       for every body j between the base and i  (Lee94 Table 2)
    Ḃ_ij = [1, -x̃; 0, 1] Ḃ_j + [0, -ẋ~; 0, 0] B_j                      (Lee94 Table 3)

in the axes of the root frame (KimYou97's state vectors carry the sums; here they are spread).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.equations.motions import body_motions
from mbd_bridge.equations.state_vectors import (
    MechanismState,
    RootFrame,
    state_vectors,
    velocity_transformation_rate,
)
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, cross, zeros


class PointVelocity(NamedTuple):
    """B and Ḃ (6, nv) of a point: [ẋ; ω] = B q̇, and [ẍ; ω̇] = B q̈ + Ḃ q̇; x (3,) m itself."""

    position: Array
    B: Array
    B_dot: Array


def placement(model: Model, q: Array, link: int) -> Array:
    """Return where a link is: (4, 4), x_world = placement[:3, :3] @ x_link + placement[:3, 3]."""
    entry = model.links[link]
    motions = body_motions(model, q, np.zeros(model.nv))
    rotation, position, index = entry.frame.rotation, entry.frame.translation, entry.body
    while index >= 0:
        motion = motions[index]
        rotation = motion.rotation @ rotation
        position = motion.rotation @ position + motion.position
        index = model.bodies[index].parent
    out = zeros((4, 4), rotation, position)
    out[:3, :3], out[:3, 3], out[3, 3] = rotation, position, 1.0
    return out


def link_velocity(model: Model, q: Array, v: Array, link: int, point: Array | None = None) -> Array:
    """Return [ẋ; ω] (6,) of a point of a link (its origin if none is given), in world axes.

    Parameters
    ----------
    point : (3,) m, in the link's frame
    """
    entry = model.links[link]
    inside = entry.frame.translation
    if point is not None:
        inside = inside + entry.frame.rotation @ point
    body = state_vectors(model, q, v, "world").bodies[entry.body]
    x = body.position + body.rotation @ inside
    return np.concatenate([body.Y[:3] - cross(x, body.Y[3:]), body.Y[3:]])


def body_placements(model: Model, q: Array) -> Array:
    """Return where all bodies' frames are in the world, (B, 4, 4), as `placement` of a link."""
    out = zeros((len(model.bodies), 4, 4), q)
    for index, motion in enumerate(body_motions(model, q, np.zeros(model.nv))):
        rotation, position = motion.rotation, motion.position
        parent = model.bodies[index].parent
        if parent >= 0:
            carrier = out[parent]
            rotation = carrier[:3, :3] @ motion.rotation
            position = carrier[:3, :3] @ motion.position + carrier[:3, 3]
        out[index, :3, :3], out[index, :3, 3], out[index, 3, 3] = rotation, position, 1.0
    return out


def point_velocity(
    model: Model,
    q: Array,
    v: Array,
    link: str,
    point: Array | None = None,
    root: RootFrame = "world",
) -> PointVelocity:
    """Return position, B and Ḃ of a point of a link (its origin if none is given).

    Parameters
    ----------
    point : (3,) m, in the link's frame
    root : axes and origin of the result: the world, or the root frame
    """
    entry = model.links[model.link_number(link)]
    inside = entry.frame.translation
    if point is not None:
        inside = inside + entry.frame.rotation @ point
    state = state_vectors(model, q, v, root)
    body = state.bodies[entry.body]
    x = body.position + body.rotation @ inside
    x_dot = body.Y[:3] - cross(x, body.Y[3:])
    B, B_dot = zeros((6, model.nv), x), zeros((6, model.nv), x, x_dot)
    for j, (column, rate) in _columns(model, state, q, v, entry.body).items():
        places, ratio = model.bodies[j].v, model.bodies[j].ratio
        shift = _moved(column, x)
        rate_shift = _moved(rate, x)
        rate_shift[:3] = rate_shift[:3] - _cross_columns(x_dot, column[3:])
        B[:, places] = B[:, places] + ratio * shift
        B_dot[:, places] = B_dot[:, places] + ratio * rate_shift
    return PointVelocity(x, B, B_dot)


def _columns(
    model: Model, state: MechanismState, q: Array, v: Array, body: int
) -> dict[int, tuple[Array, Array]]:
    """Return B_j and Ḃ_j of the bodies between the base and `body`."""
    motions = body_motions(model, q, v)
    found = {}
    for j in np.flatnonzero(model.path[body]):
        at = state.bodies[j]
        rate = velocity_transformation_rate(at.rotation, at.position, motions[j], at.Y)
        found[int(j)] = at.B, rate
    return found


def _cross_columns(a: Array, columns: Array) -> Array:
    out = zeros(columns.shape, a, columns)
    for k in range(columns.shape[1]):
        out[:, k] = cross(a, columns[:, k])
    return out


def _moved(columns: Array, x: Array) -> Array:
    """Return [1, -x̃; 0, 1] applied to each column."""
    out = zeros(columns.shape, x, columns)
    out[:3] = columns[:3] - _cross_columns(x, columns[3:])
    out[3:] = columns[3:]
    return out
