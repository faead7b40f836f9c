"""Rotation matrices from axes, angles, quaternions and the file's roll, pitch and yaw."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd_bridge.model.spatial.arrays import Array, skew

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
