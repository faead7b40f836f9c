"""Rotations, frames, 6-vectors and inertias, for numbers and for symbols alike.

Every function here works on arrays of floats and on object arrays of symbolic scalars:
it allocates with the type of its input and branches on structure, never on values.
"""

from mbd_bridge.model.spatial.arrays import (
    Array,
    constant,
    cross,
    is_zero,
    result_type,
    skew,
    zeros,
)
from mbd_bridge.model.spatial.frame import Frame
from mbd_bridge.model.spatial.inertia import Inertia, lump
from mbd_bridge.model.spatial.rotation import (
    axis_angle_matrix,
    matrix_from_rpy,
    quaternion_matrix,
    rotation_that_takes_z_to,
)

__all__ = [
    "Array",
    "Frame",
    "Inertia",
    "axis_angle_matrix",
    "constant",
    "cross",
    "is_zero",
    "lump",
    "matrix_from_rpy",
    "quaternion_matrix",
    "result_type",
    "rotation_that_takes_z_to",
    "skew",
    "zeros",
]
