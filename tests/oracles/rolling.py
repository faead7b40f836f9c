"""Wheels that roll, in closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from mbd_bridge import Builder, Mechanism

G = 9.81


class Disk(NamedTuple):
    """A thin uniform disk with a knife edge."""

    R: float = 0.3
    m: float = 2.0

    @property
    def axial(self):
        return 0.5 * self.m * self.R**2

    @property
    def diametral(self):
        return 0.25 * self.m * self.R**2

    def mechanism(self, **options):
        parts = Builder("disk", root="ground")
        parts.link("disk", self.m, inertia=(self.diametral, self.axial, self.diametral))
        parts.joint("free", "floating", "ground", "disk")
        wheel = {"axis": (0, 0, 1), "axis2": (0, 1, 0), "radius": self.R}
        parts.loop("contact", "rolling", "ground", "disk", **wheel)
        return Mechanism.build(parts, **options)


class Circle(NamedTuple):
    """A disk that rolls in a circle, leaning inwards: state, rate of precession, contact force."""

    q: np.ndarray
    v: np.ndarray
    rate: float
    normal: float
    inwards: float


def steady_circle(disk, lean, track):
    """Return the motion of a disk with this lean (rad) whose contact runs in a circle (radius, m).

    With u from the contact to the centre, k the axis, e inwards and z up, all in the turning frame:

        omega = W cos(b) u + w k,  R w = W (rho - R sin b),  a_c = W^2 (rho - R sin b) e
        W z x (It W cos(b) u + Ia w k) = -R u x (m g z + m a_c)
    """
    R, m, Ia, It = disk.R, disk.m, disk.axial, disk.diametral
    s, c = np.sin(lean), np.cos(lean)
    arm = track - R * s
    W = np.sqrt(m * G * R * s / (c * (Ia * arm / R + It * s + m * R * arm)))
    u, k = np.array([0.0, s, c]), np.array([0.0, c, -s])  # at the bottom of the circle, e = y
    w = W * arm / R
    omega, velocity = W * c * u + w * k, R * w * np.cross(k, u)
    turn = Rotation.from_rotvec([-lean, 0.0, 0.0])
    q = np.array([0.0, -arm, R * c, *turn.as_quat()])
    A = turn.as_matrix()
    return Circle(q, np.concatenate([A.T @ velocity, A.T @ omega]), W, m * G, m * W**2 * arm)


def chaplygin_sleigh(t, a, omega0, inertia, mass):
    """Return speed u and yaw rate of Chaplygin's sleigh (knife edge at a behind the centre).

    m (u' - a w^2) = 0,  (J + m a^2) w' + m a u w = 0, from u = 0:  with b^2 = (J + m a^2) / m,
    u = b w0 tanh(a w0 t / b),  w = w0 / cosh(a w0 t / b)
    """
    b = np.sqrt((inertia + mass * a**2) / mass)
    phase = a * omega0 * t / b
    return b * omega0 * np.tanh(phase), omega0 / np.cosh(phase)
