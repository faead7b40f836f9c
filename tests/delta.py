"""A Delta robot with rods between balls, and its own Lagrangian, which knows nothing of ours.

Three arms on motors around a base, two rods on each, a platform that does not turn. With the ends
of arms c_k(θ_k), seen from the platform's centre p, the rods of a pair move alike; a slender rod
with ends at u and w has the kinetic energy m (u² + u·w + w²) / 6. The constraints
|p - c_k|² = L² have multipliers.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

import mbd_bridge as mbd
from mbd_bridge.model.spatial import Frame

BASE, ARM, ROD, PLATFORM, BESIDE = 0.2, 0.3, 0.7, 0.06, 0.05
ARM_MASS, ROD_MASS, PLATFORM_MASS, GRAVITY = 1.2, 0.3, 0.8, 9.81
TURNS = 2.0 * np.pi * np.arange(3) / 3.0
MOTORS = ("motor0", "motor1", "motor2")


def delta(axial=0.0):
    """Return the machine; `axial` is each rod's inertia about itself, kg m²."""
    b = mbd.Builder("delta", root="base")
    slender = ARM_MASS * ARM**2 / 12
    across = ROD_MASS * ROD**2 / 12
    for k, turn in enumerate(TURNS):
        b.link(f"arm{k}", ARM_MASS, (ARM / 2, 0, 0), (0, slender, slender))
        place = BASE * np.array([np.cos(turn), np.sin(turn), 0.0])
        b.joint(f"motor{k}", "revolute", "base", f"arm{k}", place, (0, 0, turn), axis=(0, 1, 0))
        for side, way in zip("ab", (BESIDE, -BESIDE), strict=True):
            b.link(f"rod{k}{side}", ROD_MASS, (0, 0, -ROD / 2), (across, across, axial))
            b.joint(f"ball{k}{side}", "spherical", f"arm{k}", f"rod{k}{side}", (ARM, way, 0))
    b.link("platform", PLATFORM_MASS, (0, 0, 0), (1e-3, 2e-3, 3e-3))
    for k, turn in enumerate(TURNS):
        for side, way in zip("ab", (BESIDE, -BESIDE), strict=True):
            corner = Rotation.from_euler("z", turn).apply((PLATFORM, way, 0))
            if (k, side) == (0, "a"):  # the platform's own joint of the tree
                b.link("plate", 0.0)
                b.joint("ball", "spherical", "rod0a", "plate", (0, 0, -ROD))
                b.joint("bolt", "fixed", "plate", "platform", -corner)
                continue
            ends = (
                (f"rod{k}{side}", Frame.from_rpy((0, 0, -ROD))),
                (
                    "platform",
                    Frame.from_rpy(corner),
                ),
            )
            b.loop(f"cut{k}{side}", "spherical", *ends)
    return mbd.Mechanism.build(b)


class Kinematics:
    """Ends of the arms and the platform, at angles that put the platform's centre at p."""

    def __init__(self, p):
        self.p = np.asarray(p, dtype=float)
        self.radial = np.array([[np.cos(t), np.sin(t), 0.0] for t in TURNS])
        self.theta = np.array([self._angle(r) for r in self.radial])
        cosine, sine = np.cos(self.theta)[:, None], np.sin(self.theta)[:, None]
        down = np.array([0.0, 0.0, -1.0])
        self.along = cosine * self.radial + sine * down
        self.c = (BASE - PLATFORM) * self.radial + ARM * self.along
        self.t = ARM * (-sine * self.radial + cosine * down)
        self.rods = self.p - self.c

    def _angle(self, radial):
        """|p - (b + l cosθ) radial - l sinθ down|² = L²: A cosθ + B sinθ = C, the arm outwards."""
        way = self.p - (BASE - PLATFORM) * radial
        A, B = way @ radial, -way[2]
        C = (way @ way + ARM**2 - ROD**2) / (2.0 * ARM)
        return np.arctan2(B, A) - np.arccos(C / np.hypot(A, B))

    def moving(self, rates, accelerations):
        """Return velocity and acceleration of the platform."""
        ends = self.t * rates[:, None]
        velocity = np.linalg.solve(self.rods, (self.rods * ends).sum(axis=1))
        turning = self.t * accelerations[:, None] - ARM * self.along * (rates**2)[:, None]
        apart = ((velocity - ends) ** 2).sum(axis=1)
        return velocity, np.linalg.solve(self.rods, (self.rods * turning).sum(axis=1) - apart)

    def torques(self, rates, accelerations):
        """Return the motors' torques (3,) by Lagrange's equations with multipliers."""
        _, p2 = self.moving(rates, accelerations)
        bent = -ARM * self.along * (rates**2)[:, None]
        third, up = ROD_MASS / 3.0, np.array([0.0, 0.0, GRAVITY])
        of_p = PLATFORM_MASS * (p2 + up)
        for t, other, angular in zip(self.t, bent, accelerations, strict=True):
            of_p = of_p + third * (2.0 * p2 + t * angular + other) + ROD_MASS * up
        mu = np.linalg.solve(self.rods.T, of_p)
        inertia = ARM_MASS * ARM**2 / 3.0 + 2.0 * third * ARM**2
        weights = (ARM_MASS / 2.0 + ROD_MASS) * self.t @ up
        pulls = (self.rods * self.t).sum(axis=1) * mu
        return inertia * accelerations + third * self.t @ p2 + weights + pulls

    def position(self, model):
        """Return q (nq,) of the machine: arms, rods from end to end, the platform not turned."""
        q = model.neutral()

        def put(joint, value):
            q[model.bodies[model.joint(joint).body].q] = value

        for k, turn in enumerate(TURNS):
            put(f"motor{k}", self.theta[k])
            arm = Rotation.from_euler("ZY", [turn, self.theta[k]])
            way = arm.inv().apply(self.rods[k]) / ROD
            rod = Rotation.align_vectors([way], [[0.0, 0.0, -1.0]])[0]
            for side in "ab":
                put(f"ball{k}{side}", rod.as_quat())
            if k == 0:
                put("ball", (arm * rod).inv().as_quat())
        return q
