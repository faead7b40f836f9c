"""Loads and actuators by the recursive Newton-Euler equations, in body-fixed axes.

Outward, for each body i carried by p, all in the axes of i (R, p, H, T of its joint):

    w = H v,  u = T v                                   relative velocities
    ω = Rᵀ ω_p + w
    α = Rᵀ α_p + (Rᵀ ω_p) × w + H a + Ḣ v
    U = α̃ + ω̃ ω̃                                        acceleration field: r̈(x) = r̈(o) + U x
    r̈ = Rᵀ (r̈_p + U_p p) + 2 (Rᵀ ω_p) × u + w × u + T a + Ṫ v

Inward, with the moments m, h, Σ of the body's mass (`mass_moments`), for its children c:

    f = m r̈ + U h + sum R f_c - f_external
    n = h × r̈ + vex(U Σ) + sum (R n_c + p × R f_c) - n_external

A flexible link adds its own to f and n of its body, and modal rows (`flexible`).

Gravity enters as an upward acceleration of the ground. The recursive form needs all bodies
beyond the joint, but the fewest operations for given accelerations; `reactions` is the papers'
non-recursive form. The two are checked against each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.equations.external import External, wrench_on
from mbd_bridge.equations.flexible import FlexibleLoads, flexible_loads
from mbd_bridge.equations.mass_moments import MassMoments, share_out
from mbd_bridge.equations.motions import body_motions, joint_velocities
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import JointMotion, Model
from mbd_bridge.model.spatial import Array, cross, zeros


class Rates(NamedTuple):
    """Motion of a body in its own axes: ω, U (see above) and the acceleration r̈ of its origin."""

    omega: Array
    field: Array
    acceleration: Array


class Loads(NamedTuple):
    """What the recursion gives.

    Attributes
    ----------
    wrench : for each joint asked for, (6,) force and moment of parent on child, at the origin of
        the child's *body*, in that body's axes
    actuation : for each joint asked for, (nv of the joint,) N m or N along its own degrees of
        freedom
    forces : (model.nv,) generalised forces along the mechanism's independent velocities
    """

    wrench: list[Array]
    actuation: list[Array]
    forces: Array


def recursive_loads(
    model: Model,
    q: Array,
    v: Array,
    a: Array,
    joints: Sequence[int] = (),
    external: External | None = None,
    *,
    along_with_forces: bool = False,
) -> Loads:
    """Return loads and actuators for a motion (q, v, a) by the recursive Newton-Euler equations.

    Parameters
    ----------
    along_with_forces : the recursion is that of the forces alone, so that a graph that has these
        gets the loads with few operations more; by themselves they need some more
    """
    external = external or {}
    motions = body_motions(model, q, v)
    rates = _outward(model, motions, v, a)
    flexible = [flexible_loads(part, q, v, a, *rates[part.body]) for part in model.flexible]
    shares = share_out(model, () if along_with_forces else joints)
    at_bodies: list[Array] = [np.zeros(6)] * len(model.bodies)
    for i in range(len(model.bodies) - 1, -1, -1):
        whole = model.joints[model.bodies[i].joint]
        parts = _onto(at_bodies, motions, model.children[i])
        own = inertial_wrench(shares.kept[i], rates[i])
        own = _plus_flexible(own, model, whole.beyond, flexible)
        at_bodies[i] = own + parts - wrench_on(model, whole.beyond, external)
    wrenches = []
    for j in joints:
        joint = model.joints[j]
        if model.bodies[joint.body].joint == j:
            through = inertial_wrench(shares.through[joint.body], rates[joint.body])
            wrenches.append(at_bodies[joint.body] + through)
        else:
            parts = _onto(at_bodies, motions, joint.children)
            mass = MassMoments.of(joint.inertia)
            for child in joint.children:
                mass = mass.plus(shares.given[child])
            own = inertial_wrench(mass, rates[joint.body])
            own = _plus_flexible(own, model, joint.beyond, flexible)
            wrenches.append(own + parts - wrench_on(model, joint.beyond, external))
    actuations = [generalised_force(m, w) for m, w in zip(motions, at_bodies, strict=True)]
    none = np.zeros(0)
    wanted = [model.joints[j] for j in joints]
    own_actuation = [actuations[j.body] if j.moving else none for j in wanted]
    forces = _generalised(model, actuations, *(own.modal for own in flexible))
    for part, loads in zip(model.flexible, flexible, strict=True):
        forces[part.v] = forces[part.v] + loads.modal
    if model.rotors is not None:
        forces = forces + model.rotors * a
    return Loads(wrenches, own_actuation, forces)


def external_forces(model: Model, q: Array, external: External) -> Array:
    """Return the generalised forces (nv,) of external wrenches: their power is forces · v."""
    motions = body_motions(model, q, np.zeros(model.nv))
    carried = _external_at_bodies(model, motions, external)
    return _generalised(
        model, [generalised_force(m, w) for m, w in zip(motions, carried, strict=True)]
    )


def carried_wrenches(
    model: Model, motions: list[JointMotion], joints: Sequence[int], external: External
) -> list[Array]:
    """Return the external wrenches (6,) that joints carry, as `Loads.wrench`."""
    at_bodies = _external_at_bodies(model, motions, external)
    wrenches = []
    for j in joints:
        joint = model.joints[j]
        if model.bodies[joint.body].joint == j:
            wrenches.append(at_bodies[joint.body])
        else:
            own = wrench_on(model, joint.beyond, external)
            wrenches.append(own + _onto(at_bodies, motions, joint.children))
    return wrenches


def _external_at_bodies(
    model: Model, motions: list[JointMotion], external: External
) -> list[Array]:
    """Return the external wrenches on what each body carries, at its origin, in its axes."""
    at_bodies: list[Array] = [np.zeros(6)] * len(model.bodies)
    for i in range(len(model.bodies) - 1, -1, -1):
        own = wrench_on(model, model.joints[model.bodies[i].joint].beyond, external)
        at_bodies[i] = own + _onto(at_bodies, motions, model.children[i])
    return at_bodies


def root_forces(model: Model, q: Array, v: Array, wrenches: Mapping[int, Array]) -> Array:
    """Return the generalised forces (nv,) of wrenches by body, in the root frame.

    They are about its origin, in its axes: τ_i = B_iᵀ (sum of the wrenches on i and beyond), as in
    KimYou97 (36).
    """
    bodies = state_vectors(model, q, v).bodies
    beyond: list[Array] = [np.zeros(6)] * len(bodies)
    for i in range(len(bodies) - 1, -1, -1):
        for wrench in (wrenches.get(i), *(beyond[child] for child in model.children[i])):
            if wrench is not None:
                beyond[i] = beyond[i] + wrench
    return _generalised(model, [at.B.T @ w for at, w in zip(bodies, beyond, strict=True)])


def _generalised(model: Model, actuations: list[Array], *like: Array) -> Array:
    """Return the forces along the independent velocities, those of mimics with their leaders'."""
    forces = zeros(model.nv, *actuations, *like)
    for body, actuation in zip(model.bodies, actuations, strict=True):
        forces[body.v] = forces[body.v] + body.ratio * actuation
    return forces


def _outward(model: Model, motions: list[JointMotion], v: Array, a: Array) -> list[Rates]:
    ground, still = Rates(np.zeros(3), np.zeros((3, 3)), lifted_ground(model)), np.zeros(3)
    alphas: list[Array] = []
    rates: list[Rates] = []
    for body, motion in zip(model.bodies, motions, strict=True):
        root = body.parent < 0
        parent, alpha = (ground, still) if root else (rates[body.parent], alphas[body.parent])
        rate, accel = joint_velocities(body, v), joint_velocities(body, a)
        omega, alpha, acceleration = rates_of_child(motion, rate, accel, parent, alpha)
        alphas.append(alpha)
        rates.append(Rates(omega, acceleration_field(omega, alpha), acceleration))
    return rates


def lifted_ground(model: Model) -> Array:
    """Return the acceleration of the ground: lifting it by -g pulls every body down by g."""
    return -model.gravity


def rates_of_child(
    motion: JointMotion, v: Array, a: Array, parent: Rates, alpha: Array
) -> tuple[Array, Array, Array]:
    """Return ω, α and r̈ of a body from those of its parent, and its joint's own v and a."""
    turn = motion.rotation.T
    w, u = motion.angular @ v, motion.linear @ v
    carried = turn @ parent.omega
    own = cross(carried, w) + motion.angular @ a + motion.angular_rate @ v
    acceleration = (
        turn @ (parent.acceleration + parent.field @ motion.position)
        + cross(2.0 * carried + w, u)
        + motion.linear @ a
        + motion.linear_rate @ v
    )
    return carried + w, own + turn @ alpha, acceleration


def body_rates(model: Model, q: Array, v: Array, a: Array) -> list[Rates]:
    """Return the motion of every body in its own axes; gravity is in the accelerations."""
    return _outward(model, body_motions(model, q, v), v, a)


def _plus_flexible(
    wrench: Array, model: Model, links: Sequence[int], loads: list[FlexibleLoads]
) -> Array:
    """Return a wrench with those of the flexible links among some links of one body."""
    for part, own in zip(model.flexible, loads, strict=True):
        if part.link in links:
            wrench = wrench + own.wrench
    return wrench


def acceleration_field(omega: Array, alpha: Array) -> Array:
    """Return U = α̃ + ω̃ ω̃."""
    x, y, z = omega
    out = zeros((3, 3), alpha, omega)
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    out[0, 0], out[1, 1], out[2, 2] = -(yy + zz), -(xx + zz), -(xx + yy)
    out[0, 1], out[1, 0] = xy - alpha[2], xy + alpha[2]
    out[0, 2], out[2, 0] = xz + alpha[1], xz - alpha[1]
    out[1, 2], out[2, 1] = yz - alpha[0], yz + alpha[0]
    return out


def inertial_wrench(mass: MassMoments, rates: Rates) -> Array:
    """Return the (6,) rate of momentum of a body about its frame's origin."""
    spread = rates.field @ mass.second
    force = mass.mass * rates.acceleration + rates.field @ mass.first
    moment = zeros(3, spread, rates.acceleration)
    moment[:] = cross(mass.first, rates.acceleration)
    moment[0] = moment[0] + (spread[2, 1] - spread[1, 2])
    moment[1] = moment[1] + (spread[0, 2] - spread[2, 0])
    moment[2] = moment[2] + (spread[1, 0] - spread[0, 1])
    return np.concatenate([force, moment])


def _onto(at_bodies: list[Array], motions: list[JointMotion], children: Sequence[int]) -> Array:
    """Return the sum of the children's wrenches at the parent body's origin, in its axes."""
    total = np.zeros(6)
    for child in children:
        total = total + on_parent(motions[child], at_bodies[child])
    return total


def on_parent(motion: JointMotion, wrench: Array) -> Array:
    """Return a wrench (6,) on a body at its parent's origin, in the parent's axes."""
    force = motion.rotation @ wrench[:3]
    moment = motion.rotation @ wrench[3:] + cross(motion.position, force)
    return np.concatenate([force, moment])


def generalised_force(motion: JointMotion, wrench: Array) -> Array:
    """Return Hᵀ n + Tᵀ f: the part of a wrench that works along the joint's degrees of freedom."""
    out: Array = motion.angular.T @ wrench[3:] + motion.linear.T @ wrench[:3]
    return out
