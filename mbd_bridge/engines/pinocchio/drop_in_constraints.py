"""pinocchio's dynamics with rigid constraints, run by our kernels: rows J v̇ + γ = 0.

As in `drop_in`: one state or (N, n) arrays of states. The constraints may be open, and have
correctors. The closed mechanism is ``Mechanism.from_pinocchio(model, constraints)``.

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
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.engines.pinocchio.adopt import SIZES, check_constraint
from mbd_bridge.engines.pinocchio.drop_in import AnyModel, PreparedModel, prepared
from mbd_bridge.engines.pinocchio.drop_in_kinematics import forwardKinematics, named_frame
from mbd_bridge.equations.frames import FrameKinematics, frame_kinematics
from mbd_bridge.equations.state_vectors import MechanismState, state_vectors
from mbd_bridge.functions import arctan2, less, sqrt, where
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, Frame, cross
from mbd_bridge.solve.held import HeldMotion, HeldTree

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


def initConstraintDynamics(
    model: AnyModel,
    data: pin.Data | None,
    contact_models: Sequence[Any],
    contact_datas: Sequence[Any] = (),
) -> None:
    """Prepare `constraintDynamics`, and the data, as ``pinocchio.initConstraintDynamics``."""
    if data is not None:
        pin.initConstraintDynamics(prepared(model).twin.model, data, contact_models, contact_datas)
    _held(prepared(model), contact_models, contact_datas)


def constraintDynamics(
    model: AnyModel,
    data: pin.Data | None,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    contact_models: Sequence[Any],
    contact_datas: Sequence[Any] = (),
    settings: Any = None,
) -> Array:
    """Return the accelerations (nv,) or (N, nv), as ``pinocchio.constraintDynamics``.

    For one state ``data.ddq``, ``data.lambda_c`` and, other than pinocchio's, ``data.f`` are
    filled, and the constraints' ``contact_force``. Of `settings`, which are those of an iteration,
    nothing is needed: multipliers of constraints that depend on each other are the smallest.
    """
    ready = prepared(model)
    held = _held(ready, contact_models, contact_datas)
    motion = held.motion(*_state(ready, q, v, tau))
    if data is not None and motion.a.ndim == 1:
        _fill(ready, data, motion, q, v, contact_models, contact_datas)
        data.constrained_state = q, v, tau
    return motion.a[..., ready.order]


def computeConstraintDynamicsDerivatives(
    model: AnyModel,
    data: pin.Data | None,
    contact_models: Sequence[Any],
    contact_datas: Sequence[Any] = (),
    settings: Any = None,
    *,
    state: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
) -> tuple[Array, ...]:
    """Return the derivatives of the accelerations by q, v and tau, then those of the multipliers,
    as ``pinocchio.computeConstraintDynamicsDerivatives``.

    For one state ``data.ddq_dq``, ``ddq_dv`` and ``ddq_dtau`` are filled; those of multipliers
    cannot be set from Python.

    Parameters
    ----------
    state : q, v, tau, one state or many; None: that of the last `constraintDynamics` with `data`
    """
    ready = prepared(model)
    state = getattr(data, "constrained_state", None) if state is None else state
    if state is None:
        raise StateError(
            "state: call constraintDynamics(model, data, ...) first, as with pinocchio, or "
            "give state=(q, v, tau)"
        )
    held = _held(ready, contact_models, contact_datas)
    derivatives = held.derivatives(*_state(ready, *state))[1]
    order = ready.order
    parts = [part[..., order] for part in derivatives]  # views where the orders are the same
    parts[:3] = [part[..., order, :] for part in parts[:3]]
    if data is not None and parts[0].ndim == 2:
        for by, matrix in zip(("dq", "dv", "dtau"), parts, strict=False):
            setattr(data, f"ddq_{by}", matrix)
    return tuple(parts)


def _state(model: PreparedModel, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> tuple[Array, ...]:
    return model.coordinates(q), model.rates(v), model.rates(tau, "tau")


def _held(model: PreparedModel, constraints: Sequence[Any], datas: Sequence[Any]) -> HeldTree:
    """Return the dynamics with some constraints, made once for the same ones."""
    for data in datas:
        if np.any(data.contact_acceleration_desired.vector):
            raise ModelError(
                "contact_acceleration_desired: accelerations of contacts that are wanted are not "
                "known here; set it to zero, or call pinocchio's own constraintDynamics"
            )
    key = tuple(map(_content, constraints))

    def make() -> HeldTree:
        for k, constraint in enumerate(constraints):
            check_constraint(str(constraint.name) or f"constraint_{k}", constraint)
        places = [
            (
                _place(model, constraint.joint1_id, constraint.joint1_placement),
                _place(model, constraint.joint2_id, constraint.joint2_placement),
            )
            for constraint in constraints
        ]
        rows = contact_rows(model.twin.ours, constraints, places)
        return HeldTree(model.twin.ours, rows, sum(SIZES[c.type] for c in constraints), key)

    return model.kept(("held", key), make)


def _place(model: PreparedModel, joint: int, placement: pin.SE3) -> Place:
    frame = Frame(placement.rotation.copy(), placement.translation.copy())
    named = named_frame(model, joint, frame)
    return (-1, frame) if named is None else (named.body, named.place)


def _fill(
    model: PreparedModel,
    data: pin.Data,
    motion: HeldMotion,
    q: ArrayLike,
    v: ArrayLike,
    constraints: Sequence[Any],
    contact_datas: Sequence[Any],
) -> None:
    """Fill pinocchio's data with the motion, and with the forces on joints that it leaves out."""
    data.ddq, data.lambda_c = motion.a[model.order], motion.lam
    pushes = [pin.Force.Zero() for _ in range(model.twin.model.njoints)]
    placed = forwardKinematics(model, None, q)
    assert placed is not None
    at = [pin.SE3(place) for place in placed]
    start = 0
    for k, constraint in enumerate(constraints):
        size = SIZES[constraint.type]
        force = pin.Force(np.pad(motion.lam[start : start + size], (0, 6 - size)))
        start += size
        if k < len(contact_datas):
            contact_datas[k].contact_force = force
        first, second = constraint.joint1_id, constraint.joint2_id
        c1 = at[first] * constraint.joint1_placement
        c2 = at[second] * constraint.joint2_placement
        axes = c1.rotation if constraint.reference_frame == pin.LOCAL else np.eye(3)
        other = c2.translation if constraint.type == pin.ContactType.CONTACT_3D else c1.translation
        pushes[first] += at[first].actInv(pin.SE3(axes, c1.translation).act(force))
        pushes[second] -= at[second].actInv(pin.SE3(axes, other).act(force))
    model.fill_forces(data, model.forces(True)(*model.motion(q, v, data.ddq, pushes))[1])


def _content(constraint: Any) -> tuple[Any, ...]:
    """Return what a ``RigidConstraintModel`` says, to compare."""
    ends = constraint.joint1_placement, constraint.joint2_placement
    kind = str(constraint.type), str(constraint.reference_frame), str(constraint.name)
    wanted = constraint.desired_contact_acceleration.vector.tobytes()
    gains = constraint.m_baumgarte_parameters.Kp, constraint.m_baumgarte_parameters.Kd
    places = (end.homogeneous.tobytes() for end in ends)
    joints = constraint.joint1_id, constraint.joint2_id
    return *kind, *joints, *places, wanted, *gains
