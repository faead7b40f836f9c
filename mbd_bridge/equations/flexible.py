"""What a flexible link adds to the equations of its body: inertia, modal rows, stiffness.

A point of the link, in the axes of its body, is ρ = Σ_b α_b(η) β_b, and with the mass integrals
first_b = ∫ β_b dm and second_ab = ∫ β_a β_bᵀ dm (`flexible.integrals`) all else are small sums:

    Y_b = ∫ β_b ρᵀ dm = Σ_a α_a second_ba,       Z_b = ∫ β_b ρ̇ᵀ dm = Σ_a α̇_a second_ba
    h = ∫ ρ dm = Σ α_b first_b                   Σ = ∫ ρ ρᵀ dm = Σ α_b Y_b

In the acceleration field r̈(ρ) = r̈ + U ρ + 2 ω × ρ̇ + ρ̈ (r̈ of the body's origin, gravity in it):

    f = m r̈ + U h + 2 ω × ḣ + ḧ
    n = h × r̈ + vex(U Σ + 2 ω̃ P + Q)             P = Σ α̇_b Y_b,   Q = Σ α̈_b Y_b
    G_b = first_b · r̈ + U : Y_b + 2 ω · vex(Z_b) + Σ_a α̈_a tr(second_ab)
    g_k = Σ_b (∂α_b/∂η_k) G_b + (K η)_k + (D η̇)_k          the modal rows

where vex(∫ a bᵀ dm) = ∫ b × a dm. Nothing here is particular to beams.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.model import FlexibleBody, Model
from mbd_bridge.model.spatial import Array, cross, zeros


class Amplitudes(NamedTuple):
    """α (b,), its derivatives J = ∂α/∂η (b, n), and α̇ (b,)."""

    alpha: Array
    J: Array
    rate: Array


class FlexibleLoads(NamedTuple):
    """(6,) rate of momentum about the body's origin, in its axes, and the modal rows (n,)."""

    wrench: Array
    modal: Array


class FlexibleInertia(NamedTuple):
    """Inertia of a deformed link about its body's origin, in the body's axes.

    moment (3,) kg m and inertia (3, 3) kg m²; force (3, n) and torque (3, n) that unit modal
    accelerations need; modal (n, n) mass matrix
    """

    moment: Array
    inertia: Array
    force: Array
    torque: Array
    modal: Array


def amplitudes(part: FlexibleBody, q: Array, v: Array) -> Amplitudes:
    """Return the amplitudes of a link's shapes at one state of the mechanism."""
    eta, rate = q[part.q], v[part.v]
    n, pairs = len(eta), part.integrals.pairs
    alpha, J = zeros(1 + n + len(pairs), eta), zeros((1 + n + len(pairs), n), eta)
    alpha[0] = 1.0
    for k in range(n):
        alpha[1 + k], J[1 + k, k] = eta[k], 1.0
    for place, (k, j) in enumerate(pairs, start=1 + n):
        factor = 1.0 if k != j else 0.5
        alpha[place] = factor * (eta[k] * eta[j])
        J[place, k] = J[place, k] + factor * eta[j]
        J[place, j] = J[place, j] + factor * eta[k]
    return Amplitudes(alpha, J, J @ rate)


def amplitude_accelerations(part: FlexibleBody, at: Amplitudes, v: Array, a: Array) -> Array:
    """Return α̈ (b,)."""
    out = at.J @ a[part.v]
    for place, (k, j) in enumerate(part.integrals.pairs, start=1 + at.J.shape[1]):
        factor = 2.0 if k != j else 1.0
        rates = v[part.v]
        out[place] = out[place] + factor * (rates[k] * rates[j])
    return np.asarray(out)


def flexible_loads(
    part: FlexibleBody,
    q: Array,
    v: Array,
    a: Array,
    omega: Array,
    field: Array,
    acceleration: Array,
) -> FlexibleLoads:
    """Return what the mass, stiffness and damping of a flexible link need for a motion.

    Parameters
    ----------
    omega, field, acceleration : ω, U and r̈ of its body's origin, in the body's axes
    """
    own, at = part.integrals, amplitudes(part, q, v)
    second_rate = amplitude_accelerations(part, at, v, a)
    Y = _against(part, at.alpha)
    first = own.first.T
    h, h_dot, h_ddot = first @ at.alpha, first @ at.rate, first @ second_rate
    force = own.mass * acceleration + field @ h + cross(2.0 * omega, h_dot) + h_ddot
    Z = _against(part, at.rate)
    sigma, P, Q = (_summed(weights, Y) for weights in (at.alpha, at.rate, second_rate))
    moment = cross(h, acceleration) + vex(field @ sigma + Q) + _turning(omega, P)
    traces = np.trace(own.second, axis1=2, axis2=3)
    G = own.first @ acceleration + traces @ second_rate
    for b in range(1, len(Y)):  # the undeformed link is given: its row has no force
        G[b] = G[b] + (field * Y[b]).sum() + (2.0 * omega) @ vex(Z[b])
    modal = at.J.T @ G + part.stiffness @ q[part.q] + part.damping @ v[part.v]
    return FlexibleLoads(np.concatenate([force, moment]), modal)


def flexible_inertia(part: FlexibleBody, q: Array) -> FlexibleInertia:
    """Return the inertia of a flexible link at one position of the mechanism."""
    own, at = part.integrals, amplitudes(part, q, np.zeros(part.v.stop))
    Y = _against(part, at.alpha)
    sigma = _summed(at.alpha, Y)
    inertia = -sigma
    for i in range(3):
        others = [k for k in range(3) if k != i]
        inertia[i, i] = sigma[others[0], others[0]] + sigma[others[1], others[1]]
    n = at.J.shape[1]
    torque = zeros((3, n), sigma, at.J)
    for k in range(n):
        torque[:, k] = vex(_summed(at.J[:, k], Y))
    traces = np.trace(own.second, axis1=2, axis2=3)
    modal = at.J.T @ (traces @ at.J)
    return FlexibleInertia(own.first.T @ at.alpha, inertia, own.first.T @ at.J, torque, modal)


def flexible_energies(
    part: FlexibleBody, q: Array, v: Array, omega: Array, velocity: Array
) -> tuple[Any, Any]:
    """Return a link's kinetic and elastic energy, J.

    Parameters
    ----------
    omega, velocity : ω and ṙ of its body's origin, in the body's axes
    """
    own, at, inertia = part.integrals, amplitudes(part, q, v), flexible_inertia(part, q)
    traces = np.trace(own.second, axis1=2, axis2=3)
    P = _summed(at.rate, _against(part, at.alpha))
    h_dot = own.first.T @ at.rate
    kinetic = 0.5 * own.mass * (velocity @ velocity) + 0.5 * (omega @ (inertia.inertia @ omega))
    kinetic = kinetic + velocity @ (cross(omega, inertia.moment) + h_dot) + omega @ vex(P)
    kinetic = kinetic + 0.5 * (at.rate @ (traces @ at.rate))
    eta = q[part.q]
    return kinetic, 0.5 * (eta @ (part.stiffness @ eta))


def damping_forces(model: Model, v: Array) -> Array | None:
    """Return the generalised forces (nv,) with which damping acts on the modes; None if none has
    any.
    """
    damped = [part for part in model.flexible if part.damped]
    if not damped:
        return None
    out = zeros(model.nv, v)
    for part in damped:
        out[part.v] = -(part.damping @ v[part.v])
    return out


def vex(X: Array) -> Array:
    """Return ∫ b × a dm of X = ∫ a bᵀ dm."""
    out = zeros(3, X)
    out[0], out[1], out[2] = X[2, 1] - X[1, 2], X[0, 2] - X[2, 0], X[1, 0] - X[0, 1]
    return out


def _turning(omega: Array, P: Array) -> Array:
    """Return vex(2 ω̃ P) = 2 (tr(P) ω - P ω): the moment of the Coriolis forces."""
    return np.asarray(2.0 * ((P[0, 0] + P[1, 1] + P[2, 2]) * omega - P @ omega))


def _against(part: FlexibleBody, weights: Array) -> Array:
    """Return Σ_a weights_a second_ba (b, 3, 3)."""
    return np.asarray(np.tensordot(part.integrals.second, weights, ((1,), (0,))))


def _summed(weights: Array, matrices: Array) -> Array:
    return np.asarray(np.tensordot(weights, matrices, 1))
