"""Rotations, frames, 6-vectors and inertias, for numbers and for symbols alike.

Every function here works on arrays of floats and on object arrays of symbolic scalars:
it allocates with the type of its input and branches on structure, never on values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Small vectors whose scalars are floats or symbols.

Array: TypeAlias = NDArray[Any]
"""An array of floats, or an object array whose entries are floats and symbolic scalars."""


def result_type(*arrays: Array) -> np.dtype[Any]:
    """Return ``object`` if any array is symbolic, ``float64`` otherwise."""
    symbolic = any(np.asarray(a).dtype == object for a in arrays)
    return np.dtype(object) if symbolic else np.dtype(np.float64)


def constant(value: Any, shape: tuple[int, ...]) -> Array:
    """Return a read-only copy as an array of floats; symbols stay symbols."""
    array = np.array(value)
    if array.dtype != object:
        array = array.astype(np.float64)
    array = array.reshape(shape)
    array.flags.writeable = False
    return array


def is_zero(value: Any) -> bool:
    """Return whether all entries are known to be 0: a symbol never is."""
    entries = np.asarray(value)
    if entries.dtype != object:
        return not np.any(entries)
    return all(isinstance(x, float | int) and x == 0.0 for x in entries.flat)


def zeros(shape: int | tuple[int, ...], *like: Array) -> Array:
    """Return zeros that can hold whatever the arrays `like` hold: floats or symbols."""
    out = np.empty(shape, dtype=result_type(*like))
    out[...] = 0.0
    return out


def cross(a: Array, b: Array) -> Array:
    """Return the cross product a × b of two 3-vectors."""
    out = np.empty(3, dtype=result_type(a, b))
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    return out


def skew(a: Array) -> Array:
    """Return ã, the matrix with ã b = a × b."""
    out = zeros((3, 3), a)
    out[0, 1], out[0, 2] = -a[2], a[1]
    out[1, 0], out[1, 2] = a[2], -a[0]
    out[2, 0], out[2, 1] = -a[1], a[0]
    return out


# Rotation matrices from axes, angles, quaternions and the file's roll, pitch and yaw.

ROUNDING = 4.0 * np.finfo(np.float64).eps
"""Entries of a constant rotation below this come from cos(pi/2) and the like: they are zero."""


def axis_angle_matrix(axis: Array, cosine: Any, sine: Any) -> Array:
    """Return the rotation about a constant unit axis u: R = u uᵀ + c (1 - u uᵀ) + s ũ.

    Written so that every entry that is structurally 0 or 1 stays exactly so for an axis along
    x, y or z, which is what lets a kernel drop it.
    """
    outer = np.outer(axis, axis)
    out: Array = outer + cosine * (np.eye(3) - outer) + sine * skew(axis)
    return out


def quaternion_matrix(quaternion: Array) -> Array:
    """Return the rotation of a unit quaternion (x, y, z, w)."""
    x, y, z, w = quaternion
    out = np.empty((3, 3), dtype=quaternion.dtype)
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    out[0, 0], out[0, 1], out[0, 2] = 1.0 - 2.0 * (yy + zz), 2.0 * (xy - wz), 2.0 * (xz + wy)
    out[1, 0], out[1, 1], out[1, 2] = 2.0 * (xy + wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz - wx)
    out[2, 0], out[2, 1], out[2, 2] = 2.0 * (xz - wy), 2.0 * (yz + wx), 1.0 - 2.0 * (xx + yy)
    return out


def matrix_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll), URDF's fixed-axis angles, with rounding noise removed."""
    cr, sr, cp, sp = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch)
    cy, sy = np.cos(yaw), np.sin(yaw)
    out = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    return clean(out)


def clean(rotation: Array) -> Array:
    """Return a constant rotation whose entries at rounding distance from 0 or ±1 are exact.

    Entries that are symbols stay as they are.
    """
    if rotation.dtype == object:
        known = np.vectorize(lambda x: isinstance(x, float), otypes=[bool])(rotation)
        out = rotation.copy()
        out[known] = clean(rotation[known].astype(np.float64))
        return out
    out = np.where(np.abs(rotation) < ROUNDING, 0.0, rotation)
    return np.where(np.abs(np.abs(out) - 1.0) < ROUNDING, np.sign(out), out)


def rotation_that_takes_z_to(axis: Array) -> Array:
    """Return a constant rotation whose third column is the unit vector `axis`.

    For an axis along a coordinate direction it is a signed permutation, so that frames turned
    by it keep their zeros.
    """
    helper = np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3]
    first = np.cross(helper, axis)
    first /= np.linalg.norm(first)
    return clean(np.column_stack([first, np.cross(axis, first), axis]))


def homogeneous(position: ArrayLike, rotation: ArrayLike | None = None) -> Array:
    """Return the matrix (4, 4) that turns, where a rotation (3, 3) is given, and moves points."""
    out = np.eye(4)
    out[:3, 3] = position
    if rotation is not None:
        out[:3, :3] = rotation
    return out


# A constant frame: where something sits and how it is turned.
#
# Its entries are numbers, or symbols where a kernel takes them as parameters.


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The pose of a child frame in a parent frame: x_parent = rotation @ x_child + translation.

    Attributes
    ----------
    rotation : (3, 3) array, read-only
    translation : (3,) array, m, read-only
    """

    rotation: Array
    translation: Array

    def __post_init__(self) -> None:
        for name, shape in (("rotation", (3, 3)), ("translation", (3,))):
            object.__setattr__(self, name, constant(getattr(self, name), shape))

    @staticmethod
    def identity() -> Frame:
        """Return the frame that coincides with its parent."""
        return Frame(np.eye(3), np.zeros(3))

    @staticmethod
    def from_rpy(xyz: ArrayLike = (0, 0, 0), rpy: ArrayLike = (0, 0, 0)) -> Frame:
        """Return the frame of URDF's ``<origin xyz rpy>`` (m, rad)."""
        roll, pitch, yaw = np.asarray(rpy, dtype=np.float64)
        return Frame(matrix_from_rpy(roll, pitch, yaw), np.asarray(xyz, dtype=np.float64))

    def __matmul__(self, other: Frame) -> Frame:
        """Return the pose of a frame given in this one, in this one's parent."""
        return Frame(
            clean(self.rotation @ other.rotation),
            self.rotation @ other.translation + self.translation,
        )

    def inverse(self) -> Frame:
        """Return the pose of the parent in this frame."""
        return Frame(self.rotation.T, -self.rotation.T @ self.translation)

    def is_identity(self) -> bool:
        """Return whether the frame is its parent's, exactly."""
        return bool(np.array_equal(self.rotation, np.eye(3)) and not self.translation.any())

    def matrix(self) -> Array:
        """Return the pose as a homogeneous matrix (4, 4)."""
        return homogeneous(self.translation, self.rotation)

    def rpy(self) -> tuple[float, float, float]:
        """Return URDF's roll, pitch and yaw of this frame, rad."""
        r = self.rotation
        pitch = float(np.arctan2(-r[2, 0], np.hypot(r[0, 0], r[1, 0])))
        if np.hypot(r[0, 0], r[1, 0]) > 1e-12:
            return float(np.arctan2(r[2, 1], r[2, 2])), pitch, float(np.arctan2(r[1, 0], r[0, 0]))
        return float(np.arctan2(-r[1, 2], r[1, 1])), pitch, 0.0


# The inertia of a rigid body: mass, centre of mass, moments about that centre.


@dataclass(frozen=True, slots=True, eq=False)
class Inertia:
    """Mass, centre of mass c in the body's frame and central inertia J along its axes.

    Attributes
    ----------
    mass : float, kg
    centre : (3,) array, m
    central : (3, 3) array, kg m², about the centre of mass, along the body frame's axes
    """

    mass: float
    centre: Array
    central: Array

    def __post_init__(self) -> None:
        for name, shape in (("centre", (3,)), ("central", (3, 3))):
            object.__setattr__(self, name, constant(getattr(self, name), shape))

    @staticmethod
    def zero() -> Inertia:
        """Return the inertia of a massless body."""
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))

    def seen_from(self, frame: Frame) -> Inertia:
        """Return this inertia in the parent of `frame`, the frame in which it is given now."""
        rotation = frame.rotation
        return Inertia(
            self.mass,
            rotation @ self.centre + frame.translation,
            rotation @ self.central @ rotation.T,
        )

    def about_origin(self) -> Array:
        """Return the (3, 3) inertia about the body frame's origin: J + m (c·c 1 - c cᵀ)."""
        c = self.centre
        out: Array = self.central + self.mass * (np.dot(c, c) * np.eye(3) - np.outer(c, c))
        return out

    def is_zero(self) -> bool:
        """Return whether the body has neither mass nor moments of inertia."""
        return is_zero(self.mass) and is_zero(self.central)


def lump(parts: Iterable[Inertia]) -> Inertia:
    """Return the inertia of several bodies rigidly joined, all given in one frame."""
    parts = [part for part in parts if not part.is_zero()]
    if not parts:
        return Inertia.zero()
    if len(parts) == 1:
        return parts[0]
    mass = sum(part.mass for part in parts)
    centre = sum((p.mass * p.centre for p in parts), np.zeros(3))
    centre = centre if is_zero(mass) else centre / mass
    offsets = [Inertia(p.mass, p.centre - centre, p.central) for p in parts]
    return Inertia(mass, centre, sum((p.about_origin() for p in offsets), np.zeros((3, 3))))


__all__ = [
    "Array",
    "Frame",
    "Inertia",
    "axis_angle_matrix",
    "constant",
    "cross",
    "homogeneous",
    "is_zero",
    "lump",
    "matrix_from_rpy",
    "quaternion_matrix",
    "result_type",
    "rotation_that_takes_z_to",
    "skew",
    "zeros",
]
