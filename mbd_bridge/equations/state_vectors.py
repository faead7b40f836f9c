"""State vectors of the bodies, referred to one origin (KimYou97 section 2.1).

For each body i, with the rotation A_i and the position r_i of its frame:

    Ŷ_i = [ṙ_i + r̃_i ω_i; ω_i]                          state vector, the velocity of the body's
                                                        point that passes the origin, and ω
    B_i = [A T + r̃ A H; A H]                            Ŷ_i = Ŷ_p + B_i q̇_i            (6)
    D_i = Ḃ_i q̇_i                                       Ŷ̇_i = Ŷ̇_p + B_i q̈_i + D_i      (8)

The origin and the axes are those of the *root frame*: the world for a machine on the ground,
the root link's own frame, frozen at the instant, for a floating one (Cho09). Nothing then
depends on where the machine is, and no digits are lost far from the world's origin.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from mbd_bridge.equations.motions import body_motions, joint_velocities
from mbd_bridge.model import JointMotion, Model
from mbd_bridge.model.spatial import Array, cross, zeros

RootFrame = Literal["root", "world"]
"""Where the state vectors are referred to: the root frame, or the world for comparison."""


class BodyState(NamedTuple):
    """A body at one state, in the root frame.

    Attributes
    ----------
    rotation, position : A_i (3, 3) and r_i (3,) m
    B : (6, nv of the joint), velocity transformation
    D : (6,), Ḃ_i q̇_i
    D_sum : (6,), sum of D over the bodies from the base to this one
    Y : (6,), the state vector Ŷ_i
    """

    rotation: Array
    position: Array
    B: Array
    D: Array
    D_sum: Array
    Y: Array


class MechanismState(NamedTuple):
    """All bodies at one state, and gravity (m/s²), in the root frame; coordinates, velocities."""

    bodies: list[BodyState]
    gravity: Array
    q: Array
    v: Array


def state_vectors(model: Model, q: Array, v: Array, root: RootFrame = "root") -> MechanismState:
    """Return the bodies' state vectors and velocity transformations."""
    motions = body_motions(model, q, v)
    gravity = model.gravity
    if root == "root":
        gravity = motions[0].rotation.T @ model.gravity
        motions[0] = motions[0]._replace(rotation=np.eye(3), position=np.zeros(3))
    bodies: list[BodyState] = []
    for body, motion in zip(model.bodies, motions, strict=True):
        parent = bodies[body.parent] if body.parent >= 0 else _GROUND
        bodies.append(_body_state(parent, motion, joint_velocities(body, v)))
    return MechanismState(bodies, gravity, q, v)


_STILL = np.zeros(6)
_GROUND = BodyState(np.eye(3), np.zeros(3), np.zeros((6, 0)), _STILL, _STILL, _STILL)


def _body_state(parent: BodyState, motion: JointMotion, rate: Array) -> BodyState:
    A = parent.rotation @ motion.rotation  # KimYou97 (1)
    r = parent.position + parent.rotation @ motion.position  # KimYou97 (2)
    B = velocity_transformation(A, r, motion.angular, motion.linear)
    step = B @ rate
    Y = parent.Y + step  # KimYou97 (6)
    D = velocity_transformation_rate(A, r, motion, Y) @ rate
    return BodyState(A, r, B, D, parent.D_sum + D, Y)


def velocity_transformation(A: Array, r: Array, H: Array, T: Array) -> Array:
    """Return B = [A T + r̃ A H; A H]."""
    out = zeros((6, H.shape[1]), A, r, H, T)
    for k in range(H.shape[1]):
        turning = A @ H[:, k]
        out[:3, k] = A @ T[:, k] + cross(r, turning)
        out[3:, k] = turning
    return out


def velocity_transformation_rate(A: Array, r: Array, motion: JointMotion, Y: Array) -> Array:
    """Return Ḃ for a body with state vector Ŷ.

    The columns are carried round by the body (ω × column) and change in it (Ḣ, Ṫ); the arm r
    changes with ṙ = Ŷ_linear - r × ω.
    """
    H, T = motion.angular, motion.linear
    omega = Y[3:]
    r_dot = Y[:3] - cross(r, omega)
    out = zeros((6, H.shape[1]), A, r, Y, *motion)
    for k in range(H.shape[1]):
        turning = A @ H[:, k]
        turning_rate = cross(omega, turning) + A @ motion.angular_rate[:, k]
        along = A @ T[:, k]
        along_rate = cross(omega, along) + A @ motion.linear_rate[:, k]
        out[:3, k] = along_rate + cross(r_dot, turning) + cross(r, turning_rate)
        out[3:, k] = turning_rate
    return out


def state_accelerations(model: Model, state: MechanismState, a: Array) -> list[Array]:
    """Return Ŷ̇_i (6,) of every body for joint accelerations a (KimYou97 (8))."""
    found: list[Array] = []
    for body, at in zip(model.bodies, state.bodies, strict=True):
        parent = found[body.parent] if body.parent >= 0 else _STILL
        found.append(parent + at.B @ joint_velocities(body, a) + at.D)
    return found
