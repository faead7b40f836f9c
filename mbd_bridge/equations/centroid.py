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
from mbd_bridge.equations.flexible import flexible_inertia
from mbd_bridge.equations.frames import FrameKinematics, frame_kinematics
from mbd_bridge.equations.state_vectors import MechanismState, state_vectors
from mbd_bridge.model import FlexibleBody, Model
from mbd_bridge.model.spatial import Array, Frame, cross, is_zero, zeros


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


class SoftMomentum(NamedTuple):
    """A flexible link's mass, its body's origin, and its moment h, inertia about the origin, and
    what modes add to its momentum (3, nv) and angular momentum (3, nv), in the world's axes.
    """

    mass: float
    origin: FrameKinematics
    moment: Array
    inertia: Array
    force: Array
    torque: Array

    def momentum(self, centre: Array) -> Array:
        """Return the momentum (6, nv) by unit velocities, about a point.

        p = m v + ω × h + F η̇,   L = I ω + h × v + T η̇ + (o - c) × p
        """
        J, arm = self.origin.jacobian, self.origin.position - centre
        out = zeros(J.shape, J, arm, self.force, self.torque)
        for column in range(J.shape[1]):
            v, omega = J[:3, column], J[3:, column]
            p = self.mass * v + cross(omega, self.moment) + self.force[:, column]
            out[:3, column] = p
            turning = self.inertia @ omega + cross(self.moment, v) + self.torque[:, column]
            out[3:, column] = turning + cross(arm, p)
        return out


def _soft(model: Model, state: MechanismState, part: FlexibleBody, q: Array) -> SoftMomentum:
    own = flexible_inertia(part, q)
    origin = frame_kinematics(model, state, part.body, Frame.identity())
    R = origin.rotation
    force, torque = zeros((2, 3, model.nv), R, own.force, own.torque)
    force[:, part.v], torque[:, part.v] = R @ own.force, R @ own.torque
    mass = part.integrals.mass
    return SoftMomentum(mass, origin, R @ own.moment, R @ own.inertia @ R.T, force, torque)


def centroid(model: Model, q: Array, v: Array) -> Centroid:
    """Return centre of mass, momentum and energy; nan of the centre if nothing has mass."""
    state = state_vectors(model, q, v, "world")
    masses = [body.inertia.mass for body in model.bodies]
    heavy = [k for k, body in enumerate(model.bodies) if not body.inertia.is_zero()]
    bending = sum(part.integrals.mass for part in model.flexible)
    total = sum(masses) + bending
    whole = float("nan") if is_zero(total) else total
    parts = {}
    for k in heavy:
        place = Frame(np.eye(3), model.bodies[k].inertia.centre)
        parts[k] = frame_kinematics(model, state, k, place)
    soft = [_soft(model, state, part, q) for part in model.flexible]
    moments = [masses[k] * part.position for k, part in parts.items()]
    moments += [own.mass * own.origin.position + own.moment for own in soft]
    c = sum(moments, np.zeros(3)) * (1.0 / whole)
    jacobians = [part.jacobian for part in (*parts.values(), *(own.origin for own in soft))]
    A = zeros((6, model.nv), c, *jacobians)
    for own in soft:
        A = A + own.momentum(c)
    for k, part in parts.items():
        turned = part.rotation @ model.bodies[k].inertia.central @ part.rotation.T
        arm = part.position - c
        for column in range(model.nv):
            linear = masses[k] * part.jacobian[:3, column]
            A[:3, column] = A[:3, column] + linear
            A[3:, column] = A[3:, column] + turned @ part.jacobian[3:, column] + cross(arm, linear)
    energy = zeros(2, c, A)
    energy[0], energy[1] = energies_of(model, q, v)
    return Centroid(c, A[:3] * (1.0 / whole), A, A @ v, energy)
