"""The motion of a station of a flexible link against the link's frame, as a joint-table entry.

A station is a cross section (or a node) to which something is attached: a body without mass that
the link's modal coordinates η move. All stations of a link share these coordinates. With the
modes' displacement U (3, n), rotation Ψ (3, n) and shortening S (3, n, n) there,

    p = U η + ηᵀ S η / 2,      θ = Ψ η,      R = 1 + d (θ̃ + θ̃ θ̃ / 2),    d = 1 / (1 + θ·θ / 4)

R is the rotation along θ by 2 atan(|θ| / 2): θ to second order, orthogonal for any η, and without
sines and cosines. In the axes of the station

    H = d (Ψ - θ̃ Ψ / 2)                 T = Rᵀ (U + S η)
    Ḣ = (ḋ / d) H - d θ̇~ Ψ / 2          Ṫ = Rᵀ S η̇ - (H η̇) × T,      ḋ = -d² θ·θ̇ / 2
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mbd_bridge.model.joint_table import JointMotion, JointType
from mbd_bridge.model.spatial import Array, cross, skew, zeros

DEFLECTION = "deflection"
Row = tuple[float, ...]


@dataclass(frozen=True)
class Deflection(JointType):
    """A station: U, Ψ (three rows each) and S (three matrices, empty without stiffening);
    which coordinates are in m, the others in rad.
    """

    displacement: tuple[Row, ...]
    turning: tuple[Row, ...]
    shortening: tuple[tuple[Row, ...], ...] = ()
    lengths: tuple[bool, ...] = ()
    nq: int = field(init=False)
    nv: int = field(init=False)
    coordinates: tuple[str, ...] = field(init=False)
    velocities: tuple[str, ...] = field(init=False)
    name, cut_rows, weight = DEFLECTION, 6, 0.0

    def __post_init__(self) -> None:
        count = len(self.displacement[0])
        names = tuple(f".mode{k}" for k in range(1, count + 1))
        for what, value in (("nq", count), ("nv", count)):
            object.__setattr__(self, what, value)
        for what in ("coordinates", "velocities"):
            object.__setattr__(self, what, names)

    def slides(self) -> tuple[bool, ...]:
        """Return which modal velocities are in m/s."""
        return self.lengths

    def motion(self, q: Array, v: Array) -> JointMotion:
        """Return the motion of the station for modal coordinates and velocities (n,)."""
        U, turning = np.array(self.displacement), np.array(self.turning)
        theta, theta_dot = turning @ q, turning @ v
        tilde = skew(theta)
        d = 1.0 / (1.0 + 0.25 * (theta @ theta))
        rotation = np.eye(3) + d * (tilde + 0.5 * (tilde @ tilde))
        angular = d * (turning - 0.5 * (tilde @ turning))
        relative = -0.5 * d * (theta @ theta_dot)  # ḋ / d
        angular_rate = relative * angular - (0.5 * d) * (skew(theta_dot) @ turning)
        position, way, way_rate = U @ q, U, np.zeros(U.shape)
        if self.shortening:
            short = [np.array(S) for S in self.shortening]
            bend = _rows([S @ q for S in short], q)
            position = position + 0.5 * (bend @ q)
            way, way_rate = U + bend, _rows([S @ v for S in short], v)
        linear = rotation.T @ way
        linear_rate = rotation.T @ way_rate
        omega = angular @ v
        for k in range(self.nv):
            linear_rate[:, k] = linear_rate[:, k] - cross(omega, linear[:, k])
        return JointMotion(rotation, position, angular, linear, angular_rate, linear_rate)


def _rows(rows: list[Array], *like: Array) -> Array:
    out = zeros((3, len(rows[0])), *like)
    for k, row in enumerate(rows):
        out[k] = row
    return out
