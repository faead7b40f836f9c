"""Frames of joints and cuts from their axes: z along the axis, x along a second one."""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.description import Joint, Loop, Vector3
from mbd_bridge.model.joint_table import JointType
from mbd_bridge.model.spatial import Array, Frame, rotation_that_takes_z_to

PERPENDICULAR = 1e-6
"""Cosine of the angle between two axes below which they are taken as perpendicular: a file's digits
leave as much."""

PARALLEL = 1e-9
"""Sine of the angle below which a universal joint's two axes are the same, so a degree of freedom
is lost."""


def parallel(a: Vector3, b: Vector3) -> bool:
    """Return whether two unit vectors are parallel or opposite."""
    cross = (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    return max(map(abs, cross)) < PARALLEL


def perpendicular(a: Vector3, b: Vector3) -> bool:
    """Return whether two unit vectors are perpendicular, as far as a file's digits tell."""
    return abs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) < PERPENDICULAR


def second_axis(joint: Joint | Loop) -> Vector3:
    """Return the second axis of a universal joint; where none is given, one across the first.

    It is the coordinate direction after the first axis' largest component, turned square to it.
    """
    if joint.axis2 is not None:
        return joint.axis2
    x, y, z = rotation_that_takes_z_to(np.asarray(joint.axis))[:, 0].tolist()
    return x, y, z


def second_turn(loop: Loop, where: str) -> Frame:
    """Return the turn of a universal joint's successor frame: x along the second axis."""
    first, second = np.asarray(loop.axis), second_direction(loop, where)
    z = first - (first @ second) * second
    z = z / np.linalg.norm(z)
    return Frame(np.column_stack([second, np.cross(z, second), z]), np.zeros(3))


def second_direction(joint: Joint | Loop, where: str) -> Array:
    """Return a universal joint's second axis, a unit vector that differs from its first."""
    second = np.asarray(second_axis(joint))
    second = np.asarray(second / np.linalg.norm(second))
    x, y, z = second.tolist()
    if parallel(joint.axis, (x, y, z)):
        raise ModelError(
            f"{where}the two axes of a universal joint must differ, these are {joint.axis} and "
            f"{joint.axis2}; for one axis use a revolute joint"
        )
    return second


def oblique(loop: Loop, where: str) -> float:
    """Return the cosine of the angle between a universal cut's axes, 0 where perpendicular."""
    x, y, z = second_direction(loop, where).tolist()
    first = loop.axis
    return 0.0 if perpendicular(first, (x, y, z)) else first[0] * x + first[1] * y + first[2] * z


def axis_turn(joint: Joint, entry: JointType) -> Frame:
    """Return the frame, in the joint's described frame, whose z is the joint's axis."""
    if entry.name in ("fixed", "floating", "spherical", "deflection"):
        return Frame.identity()
    axis = np.asarray(joint.axis, dtype=np.float64)
    length = np.linalg.norm(axis)
    if not length > 0.0:
        raise ModelError(f"joint {joint.name!r}: its axis is zero; give a direction, e.g. 0 0 1")
    if entry.name == "planar" and axis[2] == length:
        return Frame.identity()
    return Frame(rotation_that_takes_z_to(axis / length), np.zeros(3))
