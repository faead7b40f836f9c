"""Kinetic and potential energy of a mechanism, zero potential at the world's origin.

E = Σ m ṙ_c² / 2 + ωᵀ J ω / 2 - m g · r_c, and what flexible links and rotors add
"""

from __future__ import annotations

from typing import Any

from mbd_bridge.equations.flexible import amplitudes, flexible_energies
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, cross


def energies_of(model: Model, q: Array, v: Array) -> tuple[Any, Any]:
    """Return the kinetic and the potential energy, J."""
    state = state_vectors(model, q, v, "world")
    kinetic: Any = 0.0
    potential: Any = 0.0
    for body, at in zip(model.bodies, state.bodies, strict=True):
        own = body.inertia
        centre = at.position + at.rotation @ own.centre
        velocity = at.Y[:3] + cross(at.Y[3:], centre)
        spin = at.rotation.T @ at.Y[3:]
        kinetic = kinetic + 0.5 * own.mass * (velocity @ velocity)
        kinetic = kinetic + 0.5 * (spin @ (own.central @ spin))
        potential = potential - own.mass * (model.gravity @ centre)
    for part in model.flexible:
        at = state.bodies[part.body]
        turn = at.rotation.T
        velocity = turn @ (at.Y[:3] + cross(at.Y[3:], at.position))
        moving, elastic = flexible_energies(part, q, v, turn @ at.Y[3:], velocity)
        h = part.integrals.first.T @ amplitudes(part, q, v).alpha
        weight = model.gravity @ (part.integrals.mass * at.position + at.rotation @ h)
        kinetic, potential = kinetic + moving, potential + elastic - weight
    if model.rotors is not None:
        kinetic = kinetic + 0.5 * (model.rotors @ (v * v))
    return kinetic, potential
