"""Frames on bodies: where they are, their Jacobians, and the accelerations that velocities make.

For a frame at x on body i, with the state vectors of `state_vectors` in the world and
B_j the columns of the joints j that carry the body:

    world                   [velocity of the body's point at the world's origin; ω], world axes:
                            J = B_j,                        J̇ q̇ = Σ D_j
    local_world_aligned     [ẋ; ω], world axes:
                            J = [1, -x̃; 0, 1] B_j,          J̇ q̇ = [ẍ; ω̇] at q̈ = 0
    local                   [ẋ; ω], the frame's own axes: Rᵀ of it, and for the rate of its
                            components                      J̇ q̇ = Rᵀ [ẍ - ω × ẋ; ω̇]

These are pinocchio's WORLD, LOCAL_WORLD_ALIGNED and LOCAL.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from mbd_bridge.equations.state_vectors import MechanismState
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, Frame, cross, zeros

Reference = Literal["local_world_aligned", "local", "world"]
"""At which point and along which axes velocities of a frame are given."""


class FrameKinematics(NamedTuple):
    """A frame at one state.

    Attributes
    ----------
    position, rotation : (3,) m and (3, 3), in the world
    jacobian : (6, nv) J: linear, then angular velocity for unit velocities
    drift : (6,) J̇ q̇
    """

    position: Array
    rotation: Array
    jacobian: Array
    drift: Array


def frame_kinematics(
    model: Model,
    state: MechanismState,
    body: int,
    frame: Frame,
    reference: Reference = "local_world_aligned",
) -> FrameKinematics:
    """Return a frame's position, Jacobian and drift.

    Parameters
    ----------
    state : of the bodies, in the world
    body, frame : the body that carries it, and its place there
    """
    at = state.bodies[body]
    x = at.position + at.rotation @ frame.translation
    R = at.rotation @ frame.rotation
    omega, alpha = at.Y[3:], at.D_sum[3:]
    x_dot = at.Y[:3] - cross(x, omega)
    J = zeros((6, model.nv), x, R, *(one.B for one in state.bodies))
    for j in np.flatnonzero(model.path[body]):
        joint, B = model.bodies[j], state.bodies[j].B
        for k in range(B.shape[1]):
            place = joint.v.start + k
            J[:, place] = J[:, place] + joint.ratio * _at(B[:, k], x, R, reference)
    if reference == "world":
        return FrameKinematics(x, R, J, at.D_sum)
    linear = at.D_sum[:3] - cross(x, alpha) + cross(omega, x_dot)
    if reference == "local_world_aligned":
        return FrameKinematics(x, R, J, np.concatenate([linear, alpha]))
    own = linear - cross(omega, x_dot)
    return FrameKinematics(x, R, J, np.concatenate([R.T @ own, R.T @ alpha]))


def _at(column: Array, x: Array, R: Array, reference: Reference) -> Array:
    """Return one column of the Jacobian from that of the state vectors."""
    if reference == "world":
        return column
    linear, angular = column[:3] - cross(x, column[3:]), column[3:]
    if reference == "local":
        linear, angular = R.T @ linear, R.T @ angular
    return np.concatenate([linear, angular])
