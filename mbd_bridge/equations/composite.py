"""Inertia and force of what each joint carries, accumulated towards the base (KimYou97 2.2).

    M̂ = [m 1, -m r̃_c; m r̃_c, J - m r̃_c r̃_c]                                        (11)
    Q̂ = [f + m ṙ_c × ω; n + r_c × (f + m ṙ_c × ω) - ω × J ω]                        (12)
    K_i = M̂_i + Σ_children K_c                                                       (16)
    L_i = Q̂_i + Σ_children (L_c - K_c D_c)                                           (17)

All of it is in the root frame of `state_vectors`; f includes gravity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.equations.external import External, wrench_on
from mbd_bridge.equations.state_vectors import BodyState, MechanismState
from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array, Inertia, cross, skew, zeros


class Composite(NamedTuple):
    """K (6, 6) and L (6,) of a section: of a body, or of the part of it beyond a fixed joint."""

    K: Array
    L: Array


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
    for child in entry.children:
        K = K + found[child].K
        L = L + (found[child].L - found[child].K @ state.bodies[child].D)
    return Composite(K, L)


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
