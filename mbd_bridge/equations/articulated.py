"""Forward dynamics by articulated bodies, in body-fixed axes: linear in the number of bodies.

The recursion of `newton_euler` with unknown accelerations (Featherstone 1983). Outward, for each
body i carried by p, what its velocities add to the parent's acceleration (notation as there):

    r̈ = Rᵀ (r̈_p + ω̇_p × p) + c,    c = Rᵀ (ω_p × (ω_p × p)) + 2 (Rᵀ ω_p) × u + w × u + Ṫ v + T v̇
    ω̇ = Rᵀ ω̇_p + e,                e = (Rᵀ ω_p) × w + Ḣ v + H v̇

Inward, the force that an acceleration of i needs with all that it carries, joints given way:

    [f; n] = I_A [r̈; ω̇] + p_A,      I_A = [A, B; Bᵀ, C]
    U = I_A S,  D = Sᵀ U + J,  u = τ - Sᵀ p_A,    S = [T; H],  J: inertia of the joint's rotor
    to the parent: I_A - U D⁻¹ Uᵀ   and   p_A + (I_A - U D⁻¹ Uᵀ) [c; e]₀ + U D⁻¹ u

and outward again q̈ = D⁻¹ (u - Uᵀ [r̈; ω̇]₀), where [...]₀ leaves the joint's own v̇ out. D are the
pivots of M. The road through M (`solve.factor`) needs fewer operations for short branches, this one
for long chains; both give the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import SolveError, massless
from mbd_bridge.equations.composite import symmetric_turn
from mbd_bridge.equations.external import External, wrench_on
from mbd_bridge.equations.mass_moments import MassMoments, share_out
from mbd_bridge.equations.motions import body_motions
from mbd_bridge.equations.newton_euler import Rates, acceleration_field, inertial_wrench
from mbd_bridge.model import JointMotion, Model
from mbd_bridge.model.spatial import Array, cross, skew, zeros


class Articulated(NamedTuple):
    """I_A by its blocks A, C (symmetric) and B, and the bias p_A (6,)."""

    A: Array
    B: Array
    C: Array
    bias: Array

    def times(self, twist: Array) -> Array:
        """Return I_A [r̈; ω̇]."""
        linear, angular = twist[:3], twist[3:]
        force = self.A @ linear + self.B @ angular
        return np.concatenate([force, self.B.T @ linear + self.C @ angular])

    def plus(self, other: Articulated) -> Articulated:
        """Return the sum of two in one frame."""
        return Articulated(*(x + y for x, y in zip(self, other, strict=True)))


class _JointFactors(NamedTuple):
    """What a joint passes on: U (6, nv), D⁻¹ U (6, nv), D⁻¹ u (nv,), D⁻¹ (nv, nv)."""

    U: Array
    weighted: Array
    answer: Array


def articulated_accelerations(
    model: Model, q: Array, v: Array, tau: Array, external: External | None = None
) -> tuple[Array, Array]:
    """Return accelerations (nv,) and pivots (nv,) of a tree without coupled joints."""
    external = external or {}
    motions = body_motions(model, q, v)
    omegas, drifts = _velocities(model, motions, v)
    kept = share_out(model).kept
    found: list[Articulated] = []
    for i, body in enumerate(model.bodies):
        push = wrench_on(model, model.joints[body.joint].beyond, external)
        found.append(_rigid(kept[i], omegas[i], push))
    passed: list[_JointFactors | None] = [None] * len(found)
    pivots = zeros(model.nv, *(m.rotation for m in motions))
    for i in range(len(found) - 1, -1, -1):
        body, motion = model.bodies[i], motions[i]
        given = None
        if body.type.nv:
            name = model.joints[body.joint].name
            given = _give_way(found[i], motion, tau[body.v], body.rotor, name)
        if given is not None:
            passed[i] = given
            for k in range(body.type.nv):
                S = np.concatenate([motion.linear[:, k], motion.angular[:, k]])
                pivots[body.v.start + k] = given.U[:, k] @ S + body.rotor
        if body.parent >= 0:
            onward = _without_joint(found[i], given, drifts[i])
            found[body.parent] = found[body.parent].plus(_in_parent(onward, motion))
    return _accelerations(model, motions, passed, drifts, pivots), pivots


def _velocities(
    model: Model, motions: list[JointMotion], v: Array
) -> tuple[list[Array], list[Array]]:
    """Return ω and the velocity parts of [c; e] of every body."""
    omegas: list[Array] = []
    drifts: list[Array] = []
    still = np.zeros(3)
    for body, motion in zip(model.bodies, motions, strict=True):
        outer = omegas[body.parent] if body.parent >= 0 else still
        turn, rate = motion.rotation.T, v[body.v]
        w, u = motion.angular @ rate, motion.linear @ rate
        carried = turn @ outer
        swing = cross(outer, cross(outer, motion.position))
        c = turn @ swing + cross(2.0 * carried + w, u) + motion.linear_rate @ rate
        e = cross(carried, w) + motion.angular_rate @ rate
        omegas.append(carried + w)
        drifts.append(np.concatenate([c, e]))
    return omegas, drifts


def _rigid(mass: MassMoments, omega: Array, push: Array) -> Articulated:
    """Return I_A and p_A of a single body."""
    h, S = mass.first, mass.second
    still = np.zeros(3)
    field = acceleration_field(omega, still)
    bias = inertial_wrench(mass, Rates(omega, field, still)) - push
    return Articulated(mass.mass * np.eye(3), -skew(h), np.trace(S) * np.eye(3) - S, bias)


def _give_way(
    own: Articulated, motion: JointMotion, tau: Array, rotor: float, name: str
) -> _JointFactors:
    """Return U, D⁻¹ U and D⁻¹ u of a joint."""
    count = motion.angular.shape[1]
    S = np.concatenate([motion.linear, motion.angular])
    U = zeros((6, count), *own, S)
    for k in range(count):
        U[:, k] = own.times(S[:, k])
    D = S.T @ U + rotor * np.eye(count)
    if any(isinstance(D[k, k], float) and D[k, k] == 0.0 for k in range(count)):
        raise SolveError(massless(name))
    inverse = _inverse(D)
    u = tau - S.T @ own.bias
    return _JointFactors(U, U @ inverse, inverse @ u)


def _inverse(D: Array) -> Array:
    """Return the inverse of a small symmetric matrix, by elimination in its own order."""
    n = len(D)
    work = zeros((n, 2 * n), D)
    work[:, :n] = D
    work[:, n:] = np.eye(n)
    for k in range(n):
        reciprocal = 1.0 / work[k, k]
        work[k, :] = work[k, :] * reciprocal
        for i in range(n):
            if i != k:
                work[i, :] = work[i, :] - work[i, k] * work[k, :]
    return np.asarray(work[:, n:])


def _without_joint(own: Articulated, given: _JointFactors | None, drift: Array) -> Articulated:
    """Return what the parent feels of a body whose joint gives way."""
    A, B, C, bias = own
    if given is not None:
        less = _outer(given.U, given.weighted)
        A, B, C = A - less[:3, :3], B - less[:3, 3:], C - less[3:, 3:]
        bias = bias + given.U @ given.answer
    passing = Articulated(A, B, C, bias)
    return passing._replace(bias=bias + passing.times(drift))


def _outer(U: Array, weighted: Array) -> Array:
    """Return U D⁻¹ Uᵀ, each entry of the symmetric matrix formed once."""
    out = zeros((6, 6), U, weighted)
    for i in range(6):
        for j in range(i, 6):
            out[i, j] = out[j, i] = weighted[i] @ U[j]
    return out


def _in_parent(own: Articulated, motion: JointMotion) -> Articulated:
    """Return I_A and p_A in the parent's frame."""
    R, p = motion.rotation, motion.position
    A = symmetric_turn(R, own.A)
    B = R @ own.B @ R.T
    C = symmetric_turn(R, own.C)
    tilde = skew(p)
    moved = B - A @ tilde  # [f; n] for a twist given at the parent's origin
    lever = tilde @ moved - B.T @ tilde
    out = zeros((3, 3), C, lever)
    for i in range(3):
        for j in range(i, 3):
            out[i, j] = out[j, i] = C[i, j] + lever[i, j]
    force = R @ own.bias[:3]
    moment = R @ own.bias[3:] + cross(p, force)
    return Articulated(A, moved, out, np.concatenate([force, moment]))


def _accelerations(
    model: Model,
    motions: list[JointMotion],
    passed: list[_JointFactors | None],
    drifts: list[Array],
    like: Array,
) -> Array:
    ground = np.concatenate([-model.gravity, np.zeros(3)])
    found: list[Array] = []
    out = zeros(model.nv, like, *drifts)
    for i, (body, motion) in enumerate(zip(model.bodies, motions, strict=True)):
        outer = found[body.parent] if body.parent >= 0 else ground
        twist = _carried(outer, motion) + drifts[i]
        given = passed[i]
        if given is not None:
            own = given.answer - given.weighted.T @ twist
            out[body.v] = own
            S = np.concatenate([motion.linear, motion.angular])
            twist = twist + S @ own
        found.append(twist)
    return out


def _carried(twist: Array, motion: JointMotion) -> Array:
    turn = motion.rotation.T
    linear = turn @ (twist[:3] + cross(twist[3:], motion.position))
    return np.concatenate([linear, turn @ twist[3:]])
