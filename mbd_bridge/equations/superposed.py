"""What a small motion, superposed on all that a body carries, changes in the loads on it.

The body turns by Ω dt more, with the angular acceleration Φ more (as inertial axes see them), and
its origin accelerates by A more, all in the body's axes. All that it carries goes with it as it is:
joints beyond keep q, v and a. With the mass m of all this, its first moment h, inertia J and
momentum L = ∫ r × ṙ dm about the body's origin, and what the motion itself makes of h and J,
the body then needs

    f = m A + Φ × h + 2 Ω × ḣ
    n = h × A + J Φ + J̇ Ω + Ω × L                              (Coriolis: ∫ r × (2 Ω × ṙ) dm)

more. So six numbers of a superposed motion take the place of all coordinates that cause it: this is
what makes derivatives of inverse dynamics cheap (`solve.derivatives`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.equations.composite import symmetric_turn
from mbd_bridge.equations.mass_matrix import steiner
from mbd_bridge.equations.mass_moments import MassMoments
from mbd_bridge.model import JointMotion
from mbd_bridge.model.spatial import Array, cross, skew, zeros


class Superposed(NamedTuple):
    """Superposed motions (see above), one a column: Ω, Φ, A (3, n)."""

    turning: Array
    angular: Array
    linear: Array


class CarriedMass(NamedTuple):
    """m, h, J, ḣ, J̇, L of all that a body carries, itself too, about its origin, in its axes."""

    mass: Any
    moment: Array
    inertia: Array
    moment_rate: Array
    inertia_rate: Array
    momentum: Array

    @staticmethod
    def of(mass: MassMoments, omega: Array) -> CarriedMass:
        """Return those of a rigid body that turns with ω."""
        J = np.trace(mass.second) * np.eye(3) - mass.second
        turned = skew(omega) @ J
        return CarriedMass(
            mass.mass, mass.first, J, cross(omega, mass.first), turned + turned.T, J @ omega
        )

    def plus(self, other: CarriedMass) -> CarriedMass:
        """Return those of both, about one origin."""
        return CarriedMass(*(x + y for x, y in zip(self, other, strict=True)))

    def carried(self, motion: JointMotion, velocity: Array) -> CarriedMass:
        """Return them about the origin of the parent, in its axes.

        Parameters
        ----------
        velocity : of the body's origin against that of its parent, in the axes of the parent
        """
        R, p, m = motion.rotation, motion.position, self.mass
        h, h_rate = R @ self.moment, R @ self.moment_rate
        halfway, halfway_rate = h + (0.5 * m) * p, h_rate + (0.5 * m) * velocity
        moment = h + m * p
        return CarriedMass(
            m,
            moment,
            symmetric_turn(R, self.inertia) + steiner(p, halfway),
            h_rate + m * velocity,
            symmetric_turn(R, self.inertia_rate)
            + steiner(velocity, halfway)
            + steiner(p, halfway_rate),
            R @ self.momentum + cross(p, h_rate) + cross(moment, velocity),
        )

    def wrenches(self, motions: Superposed) -> Array:
        """Return the wrenches (6, n) that superposed motions need."""
        turning, angular, linear = motions
        force = self.mass * linear - crosses(self.moment, angular)
        moment = crosses(self.moment, linear) + self.inertia @ angular
        force = force - crosses(2.0 * self.moment_rate, turning)
        moment = moment + self.inertia_rate @ turning - crosses(self.momentum, turning)
        return np.concatenate([force, moment])

    def columns(self, motion: JointMotion) -> Array:
        """Return K B (6, n) of the joint's own motions: the wrenches that accelerations need."""
        H, T = motion.angular, motion.linear
        force = self.mass * T - crosses(self.moment, H)
        return np.concatenate([force, self.inertia @ H + crosses(self.moment, T)])

    def gyroscopic(self, motion: JointMotion) -> Array:
        """Return (3, n) what a superposed Ω is multiplied by for the joint's own forces."""
        H, T = motion.angular, motion.linear
        forces = self.inertia_rate @ H + crosses(self.momentum, H)
        return np.asarray(forces + crosses(2.0 * self.moment_rate, T))


def crosses(a: Array, B: Array) -> Array:
    """Return a × each column of B."""
    out = zeros(B.shape, a, B)
    for k in range(B.shape[1]):
        out[:, k] = cross(a, B[:, k])
    return out
