"""Kinetic and potential energy of a mechanism, zero potential at the world's origin.

E = Σ m ṙ_c² / 2 + ωᵀ J ω / 2 - m g · r_c
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.mechanism import Model
from mbd_bridge.mechanism.parameters import Parameters
from mbd_bridge.solve.variants import Wanted
from mbd_bridge.spatial import Array, cross


def energy_kernel(model: Model, parameters: Parameters | None = None) -> Kernel:
    """Return the kernel of the energy (1,) J at q and v, and of a variant's parameters."""
    inputs = {"q": model.nq, "v": model.nv}
    return Wanted(_energy_of, inputs, ("energy",), "energy", "energy").kernel(model, parameters)


def _energy_of(model: Model) -> Traceable:
    def energy(q: Array, v: Array) -> tuple[Array, ...]:
        state = state_vectors(model, q, v, "world")
        total: Any = 0.0
        for body, at in zip(model.bodies, state.bodies, strict=True):
            own = body.inertia
            centre = at.position + at.rotation @ own.centre
            velocity = at.Y[:3] + cross(at.Y[3:], centre)
            spin = at.rotation.T @ at.Y[3:]
            total = total + 0.5 * own.mass * (velocity @ velocity)
            total = total + 0.5 * (spin @ (own.central @ spin))
            total = total - own.mass * (model.gravity @ centre)
        out = np.empty(1, dtype=object)
        out[0] = total
        return (out,)

    return energy
