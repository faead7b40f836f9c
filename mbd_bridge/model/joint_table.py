"""The joint table: one entry a type, used by tree joints and by cut joints.

An entry tells how the child's frame moves in the joint's frame, for coordinates q and their
velocities v. Joint frames are turned so that the (first) axis is z; ``model`` does the turning.

    R, p    rotation of the child and position of its origin, in the joint's frame
    H, T    angular and linear velocity of the child against the parent are H v and T v,
            in the child's axes                     (H: KimYou97 (3); T: ∂d/∂q of KimYou97 (4))
    Ḣ, Ṫ    the rates at which the entries of H and T change

To add a joint type, write one frozen class here and put it in `JOINT_TYPES`
(docs/develop/add_a_joint.md leads through it).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from mbd_bridge.model.quaternions import (
    conjugate,
    exponential,
    left_jacobian,
    logarithm,
    product,
)
from mbd_bridge.model.spatial import Array, axis_angle_matrix, cross, quaternion_matrix, skew, zeros

X, Y, Z = np.eye(3)


class JointMotion(NamedTuple):
    """How a joint moves its child at one state (see the module's text)."""

    rotation: Array
    position: Array
    angular: Array
    linear: Array
    angular_rate: Array
    linear_rate: Array


class JointType(ABC):
    """What every entry of the joint table promises.

    Attributes
    ----------
    name : as the files write it
    nq, nv : number of coordinates and of velocity coordinates
    cut_rows : constraint rows when the joint is cut (Lee94 Table 1)
    weight : weighting factor of the joint in the distance matrix (Lee94 Table 1)
    coordinates, velocities : suffixes of the coordinates' names; one empty suffix is the joint's
        own name
    """

    name: ClassVar[str]
    nq: int
    nv: int
    cut_rows: ClassVar[int]
    weight: ClassVar[float]
    coordinates: tuple[str, ...] = ("",)
    velocities: tuple[str, ...] = ("",)

    @abstractmethod
    def motion(self, q: Array, v: Array) -> JointMotion:
        """Return the motion for coordinates q (nq,) and velocities v (nv,)."""

    def neutral(self) -> Array:
        """Return the coordinates at which the child's frame is the joint's frame."""
        return np.zeros(self.nq)

    def integrate(self, q: Array, step: Array) -> Array:
        """Return the coordinates after moving with the constant velocity `step` for one second."""
        return q + step

    def difference(self, start: Array, end: Array) -> Array:
        """Return the constant velocity that leads from one to the other in one second."""
        return end - start

    def coordinate_rate(self, q: Array, v: Array) -> Array:
        """Return q̇ (nq,), for floats and symbols."""
        return v

    def slides(self) -> tuple[bool, ...]:
        """Return which velocities are translations (m/s), the others being rotations (rad/s).

        One that turns the child is a rotation, even if it moves it along as well (a screw).
        """
        motion = self.motion(self.neutral(), np.zeros(self.nv))
        return tuple(not np.any(motion.angular[:, k]) for k in range(self.nv))

    def normalise(self, q: Array) -> Array:
        """Return q with its quaternion, if it has one, made a unit quaternion."""
        return q


def _columns(*columns: Array) -> Array:
    return np.column_stack(columns)


NONE = np.zeros(3)
STILL = np.zeros((3, 1))
ALONG_Z = _columns(Z)


@dataclass(frozen=True)
class Fixed(JointType):
    """A weld: no degree of freedom."""

    name, nq, nv, cut_rows, weight = "fixed", 0, 0, 6, 0.0
    coordinates = velocities = ()

    def motion(self, q: Array, v: Array) -> JointMotion:
        """Return the identity."""
        none = np.zeros((3, 0))
        return JointMotion(np.eye(3), NONE, none, none, none, none)


@dataclass(frozen=True)
class Revolute(JointType):
    """One rotation about z, rad."""

    name, nq, nv, cut_rows, weight = "revolute", 1, 1, 5, 1.5

    def motion(self, q: Array, v: Array) -> JointMotion:
        """Return R = Rz(q)."""
        rotation = axis_angle_matrix(Z, np.cos(q)[0], np.sin(q)[0])
        return JointMotion(rotation, NONE, ALONG_Z, STILL, STILL, STILL)


@dataclass(frozen=True)
class Continuous(Revolute):
    """A revolute joint without limits: still one angle."""

    name = "continuous"


@dataclass(frozen=True)
class Prismatic(JointType):
    """One translation along z, m."""

    name, nq, nv, cut_rows, weight = "prismatic", 1, 1, 5, 1.0

    def motion(self, q: Array, v: Array) -> JointMotion:
        """Return p = z q."""
        return JointMotion(np.eye(3), Z * q[0], STILL, ALONG_Z, STILL, STILL)


@dataclass(frozen=True)
class Helical(JointType):
    """A screw: rotation about z by q, translation along z by pitch * q (pitch in m/rad)."""

    pitch: float
    name, nq, nv, cut_rows, weight = "helical", 1, 1, 5, 1.5

    def motion(self, q: Array, v: Array) -> JointMotion:
        """Return R = Rz(q), p = z h q."""
        turn = Revolute().motion(q, v)
        return turn._replace(position=Z * (self.pitch * q[0]), linear=self.pitch * ALONG_Z)


@dataclass(frozen=True)
class Cylindrical(JointType):
    """Rotation about z, then translation along z: q = (angle, displacement)."""

    name, nq, nv, cut_rows, weight = "cylindrical", 2, 2, 4, 2.0
    coordinates = velocities = (".angle", ".displacement")

    def motion(self, q: Array, v: Array) -> JointMotion:
        """Return R = Rz(q1), p = z q2."""
        rotation = axis_angle_matrix(Z, np.cos(q)[0], np.sin(q)[0])
        none = np.zeros((3, 2))
        return JointMotion(rotation, Z * q[1], _columns(Z, NONE), _columns(NONE, Z), none, none)


@dataclass(frozen=True)
class Universal(JointType):
    """Rotation about z (fixed in the parent), then about `second` (fixed in the child).

    second : a unit vector, at any angle to z but along it
    """

    second: tuple[float, float, float] = (1.0, 0.0, 0.0)
    name, nq, nv, cut_rows, weight = "universal", 2, 2, 4, 2.1
    coordinates = velocities = (".first", ".second")

    def motion(self, q: Array, v: Array) -> JointMotion:
        """Return R = Rz(q1) Ru(q2); H = [Ruᵀ z, u], of which the first turns."""
        u, none = np.array(self.second), np.zeros((3, 2))
        cosine, sine = np.cos(q), np.sin(q)
        inner = axis_angle_matrix(u, cosine[1], sine[1])
        rotation = axis_angle_matrix(Z, cosine[0], sine[0]) @ inner
        first = inner.T @ Z
        rate = _columns(cross(first, u) * v[1], NONE)
        return JointMotion(rotation, NONE, _columns(first, u), none, rate, none)


@dataclass(frozen=True)
class TurnedUniversal(Universal):
    """A universal joint walked from its child (`recut`): angles keep the names of their axes."""

    coordinates = velocities = (".second", ".first")


@dataclass(frozen=True)
class Spherical(JointType):
    """A ball: q is the unit quaternion (x, y, z, w), v the angular velocity in child axes."""

    name, nq, nv, cut_rows, weight = "spherical", 4, 3, 3, 3.0
    coordinates = (".qx", ".qy", ".qz", ".qw")
    velocities = (".wx", ".wy", ".wz")

    def motion(self, q: Array, v: Array) -> JointMotion:
        """Return R of the quaternion; H = 1."""
        none = np.zeros((3, 3))
        return JointMotion(quaternion_matrix(q), NONE, np.eye(3), none, none, none)

    def neutral(self) -> Array:
        """Return the unit quaternion of no rotation."""
        return np.array([0.0, 0.0, 0.0, 1.0])

    def integrate(self, q: Array, step: Array) -> Array:
        """Return q ⊗ exp(step / 2)."""
        return product(q, exponential(step))

    def coordinate_rate(self, q: Array, v: Array) -> Array:
        """Return q ⊗ (v, 0) / 2."""
        return quaternion_rate(q, v)

    def difference(self, start: Array, end: Array) -> Array:
        """Return the rotation vector of start⁻¹ ⊗ end, the shorter way round."""
        return logarithm(product(conjugate(start), end))

    def normalise(self, q: Array) -> Array:
        """Return q / |q|."""
        return np.asarray(q / np.linalg.norm(q))


@dataclass(frozen=True)
class Planar(JointType):
    """Motion in the plane normal to z: q = (x, y, angle), x and y along the joint frame's axes."""

    name, nq, nv, cut_rows, weight = "planar", 3, 3, 3, 2.9
    coordinates = velocities = (".x", ".y", ".angle")

    def motion(self, q: Array, v: Array) -> JointMotion:
        """Return R = Rz(q3), p = (q1, q2, 0); T = [Rᵀ x, Rᵀ y, 0] turns against the child."""
        rotation = axis_angle_matrix(Z, np.cos(q)[2], np.sin(q)[2])
        along_x, along_y = rotation.T @ X, rotation.T @ Y
        linear = _columns(along_x, along_y, NONE)
        rate = _columns(along_y * -v[2], along_x * v[2], NONE)
        position = X * q[0] + Y * q[1]
        angular = _columns(NONE, NONE, Z)
        return JointMotion(rotation, position, angular, linear, np.zeros((3, 3)), rate)


@dataclass(frozen=True)
class Floating(JointType):
    """A free body: q = (x, y, z, qx, qy, qz, qw), v = (linear, angular) in the body's own axes."""

    name, nq, nv, cut_rows, weight = "floating", 7, 6, 0, 6.0
    coordinates = (".x", ".y", ".z", ".qx", ".qy", ".qz", ".qw")
    velocities = (".vx", ".vy", ".vz", ".wx", ".wy", ".wz")

    def motion(self, q: Array, v: Array) -> JointMotion:
        """Return R of the quaternion and p; H and T are constant in the body's own axes."""
        none, still = np.zeros((3, 3)), np.zeros((3, 6))
        angular, linear = np.hstack([none, np.eye(3)]), np.hstack([np.eye(3), none])
        return JointMotion(quaternion_matrix(q[3:]), q[:3], angular, linear, still, still)

    def neutral(self) -> Array:
        """Return the origin and no rotation."""
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])

    def integrate(self, q: Array, step: Array) -> Array:
        """Return the pose after the constant twist `step` for one second (SE(3) exponential)."""
        rotation = quaternion_matrix(q[3:])
        position = q[:3] + rotation @ left_jacobian(step[3:]) @ step[:3]
        return np.concatenate([position, Spherical().integrate(q[3:], step[3:])])

    def coordinate_rate(self, q: Array, v: Array) -> Array:
        """Return (R v_linear, quaternion ⊗ (v_angular, 0) / 2)."""
        way = quaternion_matrix(q[3:]) @ v[:3]
        return np.concatenate([way, quaternion_rate(q[3:], v[3:])])

    def difference(self, start: Array, end: Array) -> Array:
        """Return the twist of start⁻¹ end (SE(3) logarithm)."""
        turn = Spherical().difference(start[3:], end[3:])
        way = quaternion_matrix(start[3:]).T @ (end[:3] - start[:3])
        return np.concatenate([np.linalg.solve(left_jacobian(turn), way), turn])

    def normalise(self, q: Array) -> Array:
        """Return the pose with a unit quaternion."""
        return np.concatenate([q[:3], Spherical().normalise(q[3:])])


def quaternion_rate(q: Array, omega: Array) -> Array:
    """Return q ⊗ (ω, 0) / 2 for a quaternion (x, y, z, w) and ω in the turning axes."""
    vector = 0.5 * (omega * q[3] + cross(q[:3], omega))
    out = np.empty(4, dtype=vector.dtype)
    out[:3] = vector
    out[3] = -0.5 * (q[:3] @ omega)
    return out


JOINT_TYPES: dict[str, type[JointType]] = {
    entry.name: entry
    for entry in (
        Fixed,
        Revolute,
        Continuous,
        Prismatic,
        Helical,
        Cylindrical,
        Universal,
        Spherical,
        Planar,
        Floating,
    )
}
"""The table: type name -> entry."""


# The motion of a station of a flexible link against the link's frame, as a joint-table entry.
#
# A station is a cross section (or a node) to which something is attached: a body without mass that
# the link's modal coordinates η move. All stations of a link share these coordinates. With the
# modes' displacement U (3, n), rotation Ψ (3, n) and shortening S (3, n, n) there,
#
#     p = U η + ηᵀ S η / 2,      θ = Ψ η,      R = 1 + d (θ̃ + θ̃ θ̃ / 2),    d = 1 / (1 + θ·θ / 4)
#
# R is the rotation along θ by 2 atan(|θ| / 2): θ to second order, orthogonal for any η, and
# without sines and cosines. In the axes of the station
#
#     H = d (Ψ - θ̃ Ψ / 2)                 T = Rᵀ (U + S η)
#     Ḣ = (ḋ / d) H - d θ̇~ Ψ / 2          Ṫ = Rᵀ S η̇ - (H η̇) × T,      ḋ = -d² θ·θ̇ / 2

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
