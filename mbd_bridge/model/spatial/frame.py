"""A constant frame: where something sits and how it is turned.

Its entries are numbers, or symbols where a kernel takes them as parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.model.spatial.arrays import Array, constant
from mbd_bridge.model.spatial.rotation import clean, matrix_from_rpy


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

    def rpy(self) -> tuple[float, float, float]:
        """Return URDF's roll, pitch and yaw of this frame, rad."""
        r = self.rotation
        pitch = float(np.arctan2(-r[2, 0], np.hypot(r[0, 0], r[1, 0])))
        if np.hypot(r[0, 0], r[1, 0]) > 1e-12:
            return float(np.arctan2(r[2, 1], r[2, 2])), pitch, float(np.arctan2(r[1, 0], r[0, 0]))
        return float(np.arctan2(-r[1, 2], r[1, 1])), pitch, 0.0
