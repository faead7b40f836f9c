"""pinocchio's rigid constraints as loop joints: 3-D ones as ball joints, 6-D ones as welds.

Joint 1 of the constraint is the predecessor, joint 2 the successor, the universe the ground.
pinocchio's multipliers are the wrench of joint 2's body on joint 1's, at the constraint's frame on
joint 1, in its axes (``LOCAL``) or in the world's (``LOCAL_WORLD_ALIGNED``):

    M a + h - τ = Jᵀ λ_c,   J v = the velocity of frame 1 less that of frame 2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from mbd_bridge.base.errors import ModelError
from mbd_bridge.equations.cuts import cut_wrenches
from mbd_bridge.equations.motions import body_motions
from mbd_bridge.equations.reactions import at_body_origin
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.files import Loop, LoopEnd
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, Frame, cross

TYPES = {pin.ContactType.CONTACT_3D: "spherical", pin.ContactType.CONTACT_6D: "fixed"}
SIZES = {pin.ContactType.CONTACT_3D: 3, pin.ContactType.CONTACT_6D: 6}
AXES = (pin.LOCAL, pin.LOCAL_WORLD_ALIGNED)


class ConstrainedMotion(NamedTuple):
    """What ``pinocchio.constraintDynamics`` returns, and the joint forces that it leaves at zero.

    Attributes
    ----------
    ddq : (nv,) or (N, nv), accelerations
    lambda_c : (m,) or (N, m), multipliers in pinocchio's convention, as ``data.lambda_c``
    joint_forces : (njoints, 6) or (N, njoints, 6): of the parent on the child, at the joint's
        origin, in the joint's frame, as ``data.f`` of ``rnea``
    """

    ddq: Array
    lambda_c: Array
    joint_forces: Array


def constraint_loops(
    constraints: Sequence[Any], first: Sequence[str], taken: set[str]
) -> tuple[Loop, ...]:
    """Return the loop joints of ``RigidConstraintModel``s.

    Parameters
    ----------
    first : name of the link that each joint of pinocchio's carries
    taken : names of joints, which the loops' names keep clear of
    """
    loops: list[Loop] = []
    used = set(taken)
    for k, constraint in enumerate(constraints):
        name = str(constraint.name) or f"constraint_{k}"
        while name in used:
            name += "_"
        used.add(name)
        _check(name, constraint)
        one = _end(first, constraint.joint1_id, constraint.joint1_placement)
        two = _end(first, constraint.joint2_id, constraint.joint2_placement)
        loops.append(Loop(name, TYPES[constraint.type], one, two))
    return tuple(loops)


def _end(first: Sequence[str], joint: int, placement: pin.SE3) -> LoopEnd:
    return LoopEnd(first[joint], Frame(placement.rotation, placement.translation))


def on_ground(constraints: Sequence[Any]) -> bool:
    """Return whether a constraint holds something to the universe."""
    return any(0 in (c.joint1_id, c.joint2_id) for c in constraints)


def _check(name: str, constraint: Any) -> None:
    if constraint.type not in TYPES:
        raise ModelError(
            f"constraint {name!r} is {constraint.type}; expected CONTACT_3D or CONTACT_6D"
        )
    if constraint.reference_frame not in AXES:
        raise ModelError(
            f"constraint {name!r} is in {constraint.reference_frame}; pinocchio has constraints in "
            f"LOCAL and LOCAL_WORLD_ALIGNED"
        )
    if np.any(constraint.desired_contact_acceleration.vector != 0.0):
        raise ModelError(
            f"constraint {name!r} has a desired acceleration; loop joints are closed and stay so. "
            f"Set it to zero"
        )


def multipliers(
    model: Model, constraints: Sequence[Any], q: Array, v: Array, lam: Array
) -> tuple[Array]:
    """Return λ_c (m,) in pinocchio's convention, of our multipliers; for floats and symbols."""
    state = state_vectors(model, q, v)
    motions = body_motions(model, q, v)
    parts = []
    wrenches = cut_wrenches(model, state, lam)
    for cut, constraint, wrench in zip(model.cuts, constraints, wrenches, strict=True):
        # predecessor on successor; λ_c is what the successor exerts on the predecessor
        own = -at_body_origin(state.bodies[cut.predecessor], wrench)
        force, moment = own[:3], own[3:] - cross(_origin(model, cut.links[0], constraint), own[:3])
        turn = _axes(model, cut.links[0], constraint).T
        if constraint.reference_frame == pin.LOCAL_WORLD_ALIGNED:
            turn, index = np.eye(3), cut.predecessor
            while index >= 0:
                turn = motions[index].rotation @ turn
                index = model.bodies[index].parent
        whole = np.concatenate([turn @ force, turn @ moment])
        parts.append(whole[: SIZES[constraint.type]])
    return (np.concatenate(parts),)


def _origin(model: Model, link: int, constraint: Any) -> Array:
    frame = model.links[link].frame
    return np.asarray(frame.translation + frame.rotation @ constraint.joint1_placement.translation)


def _axes(model: Model, link: int, constraint: Any) -> Array:
    return np.asarray(model.links[link].frame.rotation @ constraint.joint1_placement.rotation)
