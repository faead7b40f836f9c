"""How each body moves in its parent: the joint table, applied to a state."""

from __future__ import annotations

import numpy as np

from mbd_bridge.model import Body, JointMotion, Model
from mbd_bridge.model.spatial import Array, zeros


def joint_coordinates(body: Body, q: Array) -> Array:
    """Return a body's own joint coordinates: its slice of q, or what it follows."""
    if body.coupled and body.ratio == 0.0:  # 0 * q is a plain 0, whose cosine no symbol knows
        return np.array([body.offset])
    return body.ratio * q[body.q] + body.offset if body.coupled else q[body.q]


def joint_velocities(body: Body, v: Array) -> Array:
    """Return a body's own joint velocities or accelerations from the mechanism's."""
    return body.ratio * v[body.v] if body.coupled else v[body.v]


def coordinate_rates(model: Model, q: Array, v: Array) -> Array:
    """Return q̇ (nq,) for velocities v (nv,)."""
    out = zeros(model.nq, q, v)
    for body in model.bodies:
        if not body.coupled and body.type.nq:
            out[body.q] = body.type.coordinate_rate(q[body.q], v[body.v])
    return out


def body_motions(model: Model, q: Array, v: Array) -> list[JointMotion]:
    """Return, for each body, its motion against its parent body (see `mechanism.joint_table`).

    Rotation and position are in the parent body's frame; H, T and their rates in its own axes.
    """
    return [
        body_motion(body, joint_coordinates(body, q), joint_velocities(body, v))
        for body in model.bodies
    ]


def body_motion(body: Body, q: Array, v: Array) -> JointMotion:
    """Return a body's motion against its parent body for its own joint's coordinates."""
    motion, frame = body.type.motion(q, v), body.placement
    return motion._replace(
        rotation=frame.rotation @ motion.rotation,
        position=frame.translation + frame.rotation @ motion.position,
    )
