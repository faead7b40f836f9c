"""Centre of mass, momentum and energy of a mechanism (Orin and others 2013, in the world).

    c = Σ m_i c_i / m,     ċ = J_c q̇
    h = [Σ m_i ċ_i; Σ R_i I_i R_iᵀ ω_i + m_i (c_i - c) × ċ_i] = A q̇

h is the momentum: linear, then angular about the centre of mass, world axes. All bodies count, a
base that stands on the ground too. (pinocchio, whose hg and Ag these are, leaves that out.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.equations.energy import energies_of
from mbd_bridge.equations.frames import frame_kinematics
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array, Frame, cross, zeros


class Centroid(NamedTuple):
    """What a mechanism is and does as a whole, at one state or at N states (N, ...).

    Attributes
    ----------
    position : (3,) m, centre of mass
    jacobian : (3, nv) J_c: its velocity is J_c q̇
    momentum_matrix : (6, nv) A
    momentum : (6,) h, kg m/s and kg m²/s about the centre of mass
    energy : (2,) J, kinetic, and potential with zero at the world's origin
    """

    position: Array
    jacobian: Array
    momentum_matrix: Array
    momentum: Array
    energy: Array


def centroid(model: Model, q: Array, v: Array) -> Centroid:
    """Return centre of mass, momentum and energy; nan of the centre if nothing has mass."""
    state = state_vectors(model, q, v, "world")
    masses = [body.inertia.mass for body in model.bodies]
    heavy = [k for k, body in enumerate(model.bodies) if not body.inertia.is_zero()]
    whole = float(sum(masses)) or float("nan")
    parts = {}
    for k in heavy:
        place = Frame(np.eye(3), model.bodies[k].inertia.centre)
        parts[k] = frame_kinematics(model, state, k, place)
    c = sum((masses[k] * part.position for k, part in parts.items()), np.zeros(3)) * (1.0 / whole)
    A = zeros((6, model.nv), c, *(part.jacobian for part in parts.values()))
    for k, part in parts.items():
        own = part.rotation @ model.bodies[k].inertia.central @ part.rotation.T
        arm = part.position - c
        for column in range(model.nv):
            linear = masses[k] * part.jacobian[:3, column]
            A[:3, column] = A[:3, column] + linear
            A[3:, column] = A[3:, column] + own @ part.jacobian[3:, column] + cross(arm, linear)
    energy = zeros(2, c, A)
    energy[0], energy[1] = energies_of(model, q, v)
    return Centroid(c, A[:3] * (1.0 / whole), A, A @ v, energy)
