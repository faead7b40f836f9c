"""pinocchio's rigid constraints as it has them in ``constraintDynamics``: rows J v̇ + γ = 0.

J is the velocity of frame 1 (c1) less that of frame 2, of 3-D constraints of the points, of 6-D
ones of the bodies at c1; in the axes of c1 (``LOCAL``) or of the world (``LOCAL_WORLD_ALIGNED``).
γ has the drift and Baumgarte's correctors, Kp times the parting and Kd times its rate.
Where a constraint is open that is all it says: a foot on the ground needs no place there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from mbd_bridge.equations.frames import FrameKinematics, frame_kinematics
from mbd_bridge.equations.state_vectors import MechanismState, state_vectors
from mbd_bridge.functions import arctan2, less, sqrt, where
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, Frame, cross

Place = tuple[int, Frame]
"""A body (-1: the ground) and a frame on it."""

SMALL = 1e-10
"""Square of half an angle (rad²) below which series take the place of quotients; what they leave
out is below 1e-20."""


def contact_rows(
    model: Model, constraints: Sequence[Any], places: Sequence[tuple[Place, Place]]
) -> Callable[[Array, Array], tuple[Array, Array]]:
    """Return the traceable function of J and γ of q and v.

    Parameters
    ----------
    places : of each constraint's two frames
    """

    def rows(q: Array, v: Array) -> tuple[Array, Array]:
        state = state_vectors(model, q, v, "world")
        parts = [
            _rows(model, state, constraint, [_frame(model, state, *end) for end in ends], v)
            for constraint, ends in zip(constraints, places, strict=True)
        ]
        return np.concatenate([part[0] for part in parts]), np.concatenate([x[1] for x in parts])

    return rows


def _frame(model: Model, state: MechanismState, body: int, frame: Frame) -> FrameKinematics:
    if body < 0:
        return FrameKinematics(
            frame.translation, frame.rotation, np.zeros((6, model.nv)), np.zeros(6)
        )
    return frame_kinematics(model, state, body, frame, "world")


def _rows(
    model: Model,
    state: MechanismState,
    constraint: Any,
    ends: Sequence[FrameKinematics],
    v: Array,
) -> tuple[Array, Array]:
    first, second = ends
    point = constraint.type == pin.ContactType.CONTACT_3D
    local = constraint.reference_frame == pin.LOCAL
    turn = first.rotation.T
    one, two = (
        _at(first, first.position, v),
        _at(second, second.position if point else first.position, v),
    )
    J, gamma = one[0] - two[0], one[1] - two[1]
    rate = J @ v
    if point:
        gamma = gamma[:3] + cross(one[2][3:], one[2][:3]) - cross(two[2][3:], two[2][:3])
        J, rate = J[:3], rate[:3]
    both = [turn] if point else [turn, turn]
    J, gamma, rate = (
        _turned(both, J) if local else J,
        _turned(both, gamma) if local else gamma,
        _turned(both, rate),
    )
    if local and not point:  # the components' rate along axes that turn with c1
        other = _turned(both, two[2])
        gamma = gamma + np.concatenate(
            [cross(rate[3:], other[:3]) + cross(rate[:3], other[3:]), cross(rate[3:], other[3:])]
        )
    stiffness, damping = constraint.m_baumgarte_parameters.Kp, constraint.m_baumgarte_parameters.Kd
    corrector = damping * rate
    if stiffness:
        parting = turn @ (second.position - first.position)
        if not point:
            parting = _logarithm(parting, turn @ second.rotation)
        corrector = corrector - stiffness * parting
    return J, gamma + (corrector if local else _turned([x.T for x in both], corrector))


def _at(frame: FrameKinematics, x: Array, v: Array) -> tuple[Array, Array, Array]:
    """Return J, drift and velocity of a body's point at x, in the world's axes; the drift is that
    of the velocity field there, not of the point.
    """

    def shifted(column: Array) -> Array:
        return np.concatenate([column[:3] - cross(x, column[3:]), column[3:]])

    J = np.column_stack([shifted(column) for column in frame.jacobian.T])
    return J, shifted(frame.drift), J @ v


def _turned(turns: Sequence[Array], x: Array) -> Array:
    return np.concatenate([turn @ x[3 * k : 3 * k + 3] for k, turn in enumerate(turns)])


def _logarithm(p: Array, R: Array) -> Array:
    """Return log6 of a placement, linear part first; its angle is below pi."""
    w = 0.5 * sqrt(1.0 + R[0, 0] + R[1, 1] + R[2, 2])  # cosine of half the angle
    half = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) * (0.25 / w)
    square = half @ half
    small = less(square, SMALL)
    sine = sqrt(where(small, 1.0, square))
    angle = arctan2(sine, w)  # half of it
    turn = where(small, 2.0 / w * (1.0 - square / (3.0 * w * w)), 2.0 * angle / sine) * half
    factor = where(small, 1.0 / 12.0, (1.0 - angle * w / sine) / (4.0 * angle * angle))
    across = cross(turn, p)
    return np.concatenate([p - 0.5 * across + factor * cross(turn, across), turn])
