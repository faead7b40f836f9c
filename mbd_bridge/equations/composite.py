"""Inertia and force of what each joint carries, accumulated towards the base (KimYou97 2.2).

    M̂ = [m 1, -m r̃_c; m r̃_c, J - m r̃_c r̃_c]                                        (11)
    Q̂ = [f + m ṙ_c × ω; n + r_c × (f + m ṙ_c × ω) - ω × J ω]                        (12)
    K_i = M̂_i + Σ_children K_c                                                       (16)
    L_i = Q̂_i + Σ_children (L_c - K_c D_c)                                           (17)

All of it is in the root frame of `state_vectors`; f includes gravity. A flexible link has M̂ as it
is deformed, and in Q̂ what its deformation rates need; its modal rows, with η̈ and Ŷ̇ of its body,

    g = m_ηη η̈ + Cᵀ Ŷ̇ - P_η,      R̂ of its body has C η̈ more

have their own m_ηη, C (6, n) and P_η (n,) (`modal_rows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.equations.external import External, wrench_on
from mbd_bridge.equations.flexible import flexible_inertia, flexible_loads
from mbd_bridge.equations.newton_euler import acceleration_field
from mbd_bridge.equations.state_vectors import BodyState, MechanismState
from mbd_bridge.model import FlexibleBody, Model
from mbd_bridge.model.spatial import Array, Inertia, cross, skew, zeros


class Composite(NamedTuple):
    """K (6, 6) and L (6,) of a section: of a body, or of the part of it beyond a fixed joint."""

    K: Array
    L: Array


class ModalRows(NamedTuple):
    """Of a flexible link: its M̂ (6, 6) and Q̂ (6,), C (6, n), modal mass matrix (n, n), P_η (n,)."""

    M: Array
    Q: Array
    C: Array
    modal: Array
    P: Array


def composites(
    model: Model, state: MechanismState, external: External | None = None
) -> list[Composite]:
    """Return K and L of every body."""
    external = external or {}
    found: list[Composite] = [Composite(np.zeros((6, 6)), np.zeros(6))] * len(model.bodies)
    for i in range(len(model.bodies) - 1, -1, -1):
        found[i] = section(model, state, found, model.bodies[i].joint, external)
    return found


def section(
    model: Model,
    state: MechanismState,
    found: Sequence[Composite],
    joint: int,
    external: External,
) -> Composite:
    """Return K and L of what a joint carries, given those of the bodies beyond."""
    entry = model.joints[joint]
    body = state.bodies[entry.body]
    M, Q = inertia_and_force(entry.inertia, body, state.gravity)
    K, L = M, Q + _at_origin(body, wrench_on(model, entry.beyond, external))
    for part in model.flexible:
        if part.link in entry.beyond:
            rows = modal_rows(part, state)
            K, L = K + rows.M, L + rows.Q
    for child in entry.children:
        K = K + found[child].K
        L = L + (found[child].L - found[child].K @ state.bodies[child].D)
    return Composite(K, L)


def modal_rows(part: FlexibleBody, state: MechanismState) -> ModalRows:
    """Return what a flexible link is in the root frame, under gravity, stiffness and damping."""
    body, own = state.bodies[part.body], flexible_inertia(part, state.q)
    A, r, omega = body.rotation, body.position, body.Y[3:]
    drift = cross(omega, body.Y[:3] - cross(r, omega))  # r̈ of the body's origin when Ŷ̇ = 0
    turning = A.T @ omega
    still = np.zeros(3)
    loads = flexible_loads(
        part,
        state.q,
        state.v,
        np.zeros(len(state.v)),
        turning,
        acceleration_field(turning, still),
        A.T @ (drift - state.gravity),
    )
    mass, h = part.integrals.mass, A @ own.moment
    c = mass * r + h  # first moment about the root frame's origin
    shift = np.dot(r, c) + np.dot(h, r)
    M = zeros((6, 6), A, r, own.moment)
    M[:3, :3] = mass * np.eye(3)
    M[:3, 3:], M[3:, :3] = -skew(c), skew(c)
    about = symmetric_turn(A, own.inertia)
    M[3:, 3:] = about + shift * np.eye(3) - np.outer(r, c) - np.outer(h, r)
    C = zeros((6, own.force.shape[1]), A, r, own.torque)
    for k in range(C.shape[1]):
        C[:, k] = _at_origin(body, np.concatenate([own.force[:, k], own.torque[:, k]]))
    return ModalRows(M, -_at_origin(body, loads.wrench), C, own.modal, -loads.modal)


def inertia_and_force(inertia: Inertia, body: BodyState, gravity: Array) -> tuple[Array, Array]:
    """Return M̂ (6, 6) and Q̂ (6,) of a rigid body under gravity alone."""
    m, A = inertia.mass, body.rotation
    if inertia.is_zero():
        return np.zeros((6, 6)), np.zeros(6)
    c = body.position + A @ inertia.centre
    J = symmetric_turn(A, inertia.central)
    omega = body.Y[3:]
    c_dot = body.Y[:3] - cross(c, omega)
    force = m * (gravity + cross(c_dot, omega))
    M = zeros((6, 6), A, body.position)
    tilde = m * skew(c)
    M[:3, :3] = m * np.eye(3)
    M[:3, 3:], M[3:, :3] = -tilde, tilde
    M[3:, 3:] = J + m * (np.dot(c, c) * np.eye(3) - np.outer(c, c))
    return M, np.concatenate([force, cross(c, force) - cross(omega, J @ omega)])


def symmetric_turn(A: Array, J: Array) -> Array:
    """Return A J Aᵀ, each entry of the symmetric result computed once."""
    half = A @ J
    out = zeros((3, 3), A, J)
    for i in range(3):
        for j in range(i, 3):
            out[i, j] = out[j, i] = half[i] @ A[j]
    return out


def _at_origin(body: BodyState, wrench: Array) -> Array:
    """Return a wrench given at the body's origin in its axes, at the root frame's origin."""
    force = body.rotation @ wrench[:3]
    return np.concatenate([force, body.rotation @ wrench[3:] + cross(body.position, force)])
