"""Reaction and actuation of *selected* joints, without recursion (KimYou97 section 3).

Every term was computed for the equations of motion; only the accelerations are new:

    R̂_i = -L_i + K_i Ŷ̇_i + Σ_{l beyond i} K_l B_l q̈_l                               (30)
    [f; n] = [1, 0; -r̃_i, 1] R̂_i                                                    (31)
    τ_i = B_iᵀ R̂_i                                                                  (36)

For flexible links in the section or beyond it, R̂_i has Σ C η̈ more (`composite.modal_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mbd_bridge.equations.composite import Composite, modal_rows
from mbd_bridge.equations.motions import joint_velocities
from mbd_bridge.equations.state_vectors import BodyState, MechanismState
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, cross


def carried_inertia(
    model: Model, state: MechanismState, found: Sequence[Composite]
) -> dict[int, Array]:
    """Return K_l B_l (6, nv of the joint) of every body: the columns that M was made of."""
    return {
        index: own.K @ at.B for index, (own, at) in enumerate(zip(found, state.bodies, strict=True))
    }


def reaction(
    model: Model,
    joint: int,
    own: Composite,
    carried: Mapping[int, Array],
    acceleration: Array,
    a: Array,
) -> Array:
    """Return R̂ (6,) of one joint: the wrench of parent on child about the root frame's origin.

    Parameters
    ----------
    joint : index of the joint, moving or fixed
    own : K and L of the joint's section
    carried : K_l B_l of the bodies beyond
    acceleration : Ŷ̇ (6,) of the body that the section belongs to
    a : (nv,) accelerations of the mechanism
    """
    total = own.K @ acceleration - own.L
    for body in bodies_beyond(model, joint):
        total = total + carried[body] @ joint_velocities(model.bodies[body], a)
    return total


def modal_reaction(model: Model, state: MechanismState, joint: int, a: Array) -> Array:
    """Return Σ C η̈ (6,) of the flexible links that a joint carries."""
    beyond = bodies_beyond(model, joint)
    total: Array = np.zeros(6)
    for part in model.flexible:
        if part.body in beyond or part.link in model.joints[joint].beyond:
            total = total + modal_rows(part, state).C @ a[part.v]
    return total


def bodies_beyond(model: Model, joint: int) -> list[int]:
    """Return the bodies that a joint carries, its own body left out."""
    path = model.path
    starts = model.joints[joint].children
    return [i for i in range(len(model.bodies)) if any(path[i, start] for start in starts)]


def actuation_force(state: MechanismState, body: int, R: Array) -> Array:
    """Return τ (nv of the joint,) = Bᵀ R̂."""
    return state.bodies[body].B.T @ R


def at_body_origin(body: BodyState, R: Array) -> Array:
    """Return R̂ as (6,) force and moment at the body's origin, in the body's axes."""
    moment = R[3:] - cross(body.position, R[:3])
    return np.concatenate([body.rotation.T @ R[:3], body.rotation.T @ moment])
