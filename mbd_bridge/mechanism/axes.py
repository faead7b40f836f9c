"""Frames of joints and cuts from their axes: z along the axis, x along a second one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbd_bridge.errors import ModelError
from mbd_bridge.formats.description import Joint, Loop
from mbd_bridge.mechanism.joint_table import JointType
from mbd_bridge.spatial import Frame, rotation_that_takes_z_to

PERPENDICULAR = 1e-6
"""Cosine of the angle between axes that a file's digits may leave."""


def second_axis(loop: Loop, where: str) -> Frame:
    """Return the turn of a universal joint's successor frame: x along the second axis."""
    first = np.asarray(loop.axis)
    second = np.asarray(loop.axis2) if loop.axis2 is not None else across(loop.axis)
    second = second / np.linalg.norm(second)
    if not abs(first @ second) < PERPENDICULAR:
        raise ModelError(
            f"{where}the two axes of a universal joint are perpendicular, these are {loop.axis} "
            f"and {loop.axis2}"
        )
    z = first - (first @ second) * second
    z = z / np.linalg.norm(z)
    return Frame(np.column_stack([second, np.cross(z, second), z]), np.zeros(3))


def across(axis: Sequence[float]) -> np.ndarray:
    """Return a unit vector across `axis`: the coordinate direction after its largest component."""
    return rotation_that_takes_z_to(np.asarray(axis))[:, 0]


def axis_turn(joint: Joint, entry: JointType) -> Frame:
    """Return the frame, in the joint's described frame, whose z is the joint's axis."""
    if entry.name in ("fixed", "floating", "spherical"):
        return Frame.identity()
    axis = np.asarray(joint.axis, dtype=np.float64)
    length = np.linalg.norm(axis)
    if not length > 0.0:
        raise ModelError(f"joint {joint.name!r}: its axis is zero; give a direction, e.g. 0 0 1")
    if entry.name == "planar" and axis[2] == length:
        return Frame.identity()
    return Frame(rotation_that_takes_z_to(axis / length), np.zeros(3))
