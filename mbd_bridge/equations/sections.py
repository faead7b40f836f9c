"""Loads of *selected* joints from what the equations of motion consist of (KimYou97 section 3).

As `reactions`, in the axes of the bodies and about their origins, where M and h are formed:

    R_i = w_i(0) + Σ_{l beyond i} (K_l B_l)_i q̈_l + K_i Ẏ_i                    KimYou97 (30), (31)

    w_i(0)        the load for q̈ = 0: in h, (14) carries it past joint i
    (K_l B_l)_i   the wrench of a unit acceleration: M carries it past joint i, (15)
    K_i           mass, first moment and inertia of what the joint carries, (16)
    Ẏ_i           acceleration of the joint's frame that q̈ of its carriers make: (8) without D

Nothing is recursive beyond the joint. External wrenches beyond it are subtracted: those on links
carried inwards (`newton_euler.carried_wrenches`), those of cut joints summed up in the root frame,
where what acts within the section cancels, and moved to the joint by (31).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.equations.external import External
from mbd_bridge.equations.mass_matrix import BodyComposite, BodyComposites, ColumnWrench
from mbd_bridge.equations.motions import body_motions, joint_velocities
from mbd_bridge.equations.newton_euler import carried_wrenches, generalised_force
from mbd_bridge.equations.reactions import at_body_origin, bodies_beyond
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import JointMotion, Model
from mbd_bridge.model.spatial import Array, cross


class JointSection(NamedTuple):
    """What a joint carries, at the origin of its child's body and in that body's axes.

    Attributes
    ----------
    bias : w_i(0) (6,): the load without accelerations and external wrenches
    inertia : K_i
    columns : velocity and (K_l B_l)_i (6,) of what moves beyond the joint, its own degrees of
        freedom too
    """

    bias: Array
    inertia: BodyComposite
    columns: tuple[tuple[int, Array], ...]


def sections(
    composites: BodyComposites, joints: Sequence[int], bias: Sequence[Array]
) -> tuple[JointSection, ...]:
    """Return the sections of joints, from the terms of M (made for these joints) and of h."""
    return tuple(_section(composites, j, own) for j, own in zip(joints, bias, strict=True))


def section_load(
    model: Model, motions: Sequence[JointMotion], joint: int, section: JointSection, a: Array
) -> Array:
    """Return R_i (6,) for accelerations (nv,), without external wrenches."""
    load = section.bias
    for velocity, wrench in section.columns:
        load = load + wrench * a[velocity]
    linear, angular = _acceleration(model, motions, joint, a)
    mass, moment, inertia = section.inertia
    force = mass * linear + cross(angular, moment)
    torque = inertia @ angular + cross(moment, linear)
    return np.asarray(load + np.concatenate([force, torque]))


def section_loads(
    model: Model,
    q: Array,
    v: Array,
    a: Array,
    joints: Sequence[int],
    parts: Sequence[JointSection],
    external: External,
    at_root: Sequence[tuple[int, Array]] = (),
) -> tuple[list[Array], list[Array]]:
    """Return the wrenches and the actuations of joints, as `newton_euler.recursive_loads`.

    Parameters
    ----------
    parts : the joints' sections at q and v
    external : wrenches on links
    at_root : links and further wrenches (6,) on them, about the root frame's origin and in its axes
    """
    motions = body_motions(model, q, v)
    carried = carried_wrenches(model, motions, joints, external)
    bodies = state_vectors(model, q, v).bodies if at_root else []
    wrenches, actuations = [], []
    for j, part, pushed in zip(joints, parts, carried, strict=True):
        joint = model.joints[j]
        wrench = section_load(model, motions, j, part, a) - pushed
        beyond = [own for link, own in at_root if _is_link_beyond(model, j, link)]
        if beyond:
            wrench = wrench - at_body_origin(bodies[joint.body], sum(beyond, np.zeros(6)))
        wrenches.append(wrench)
        along = generalised_force(motions[joint.body], wrench) if joint.moving else np.zeros(0)
        actuations.append(along)
    return wrenches, actuations


def _is_link_beyond(model: Model, joint: int, link: int) -> bool:
    body = model.links[link].body
    return link in model.joints[joint].beyond or body in bodies_beyond(model, joint)


def _section(composites: BodyComposites, joint: int, bias: Array) -> JointSection:
    model = composites.model
    entry = model.joints[joint]
    columns = []
    for column in composites.columns:
        if _is_beyond(model, joint, column):
            wrench = _carried(composites, column, entry.body)
            columns.append((column.velocity, column.ratio * wrench))
    if _is_whole(model, joint):
        return JointSection(bias, composites.carried[entry.body], tuple(columns))
    inertia = BodyComposite.of(entry.inertia)
    for part, bent in zip(model.flexible, composites.flexible, strict=True):
        if part.link in entry.beyond:
            inertia = inertia.plus(BodyComposite(part.integrals.mass, bent.moment, bent.inertia))
    for child in entry.children:
        inertia = inertia.plus(composites.carried[child].carried(composites.motions[child]))
    return JointSection(bias, inertia, tuple(columns))


def _is_whole(model: Model, joint: int) -> bool:
    """Return whether a joint carries all of its child's body."""
    return model.bodies[model.joints[joint].body].joint == joint


def _is_beyond(model: Model, joint: int, column: ColumnWrench) -> bool:
    """Return whether a joint carries what a column moves, or moves with it itself."""
    entry = model.joints[joint]
    if column.body != entry.body:
        return column.body in bodies_beyond(model, joint)
    if column.own is not None:
        return _is_whole(model, joint)
    links = [part.link for part in model.flexible if part.v.start <= column.velocity < part.v.stop]
    return any(link in entry.beyond for link in links)


def _carried(composites: BodyComposites, column: ColumnWrench, body: int) -> Array:
    """Return a column's wrench (6,) at a body that carries it."""
    for inner, _, force, torque in composites.inward.path(column):
        if inner == body:
            return np.concatenate([force, torque])
    raise AssertionError("the body does not carry the column")


def _acceleration(
    model: Model, motions: Sequence[JointMotion], joint: int, a: Array
) -> tuple[Array, Array]:
    """Return the acceleration of the body's origin and its angular one, by those of carriers.

    That of the joint itself is left out: its columns have it.
    """
    last, whole = model.joints[joint].body, _is_whole(model, joint)
    linear: Array = np.zeros(3)
    angular: Array = np.zeros(3)
    for index in range(last + 1):
        if not model.path[last, index]:
            continue
        body, motion = model.bodies[index], motions[index]
        linear = motion.rotation.T @ (linear + cross(angular, motion.position))
        angular = motion.rotation.T @ angular
        if index != last or not whole:
            rate = joint_velocities(body, a)
            linear = linear + motion.linear @ rate
            angular = angular + motion.angular @ rate
    return linear, angular
