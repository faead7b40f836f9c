"""Loops that hold one coordinate of a joint of the tree: MJCF says them of the joint itself."""

from __future__ import annotations

import numpy as np

from mbd_bridge.formats.description import Description, Loop
from mbd_bridge.formats.write.values import ROUND
from mbd_bridge.spatial import Frame, axis_angle_matrix

LOCKED = {"prismatic": (0, 0, 1, 0, 0, 0), "revolute": (0, 0, 0, 0, 0, 1)}
"""Masks along and about z that hold a slide and a hinge."""


def locks(description: Description) -> dict[str, tuple[str, float]]:
    """Return the loops that lock a joint: by name the joint and the coordinate at which it is."""
    joints = {(joint.parent, joint.child): joint for joint in description.joints}
    found = {}
    for loop in description.loops:
        joint = joints.get((loop.predecessor.link, loop.successor.link))
        if joint is None or loop.rows is None or loop.rows != LOCKED.get(joint.type):
            continue
        q = _coordinate(loop, np.array(joint.axis), joint.type, (joint.origin, joint.child_frame))
        if q is not None:
            found[loop.name] = joint.name, q
    return found


def _coordinate(
    loop: Loop, axis: np.ndarray, kind: str, frames: tuple[Frame, Frame]
) -> float | None:
    """Return q where the loop's frames meet by the joint's motion, None if they never do."""
    origin, on_child = frames
    there = on_child.inverse() @ loop.successor.frame  # in the joint's frame on the child
    if np.abs(there.rotation[:, 2] - axis).max() > ROUND or np.abs(there.translation).max() > ROUND:
        return None
    moved = origin.inverse() @ loop.predecessor.frame @ there.inverse()
    if kind == "prismatic":
        q = float(axis @ moved.translation)
        rotation, translation = np.eye(3), axis * q
    else:
        r = moved.rotation
        sine = axis @ np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / 2.0
        q = float(np.arctan2(sine, (np.trace(r) - 1.0) / 2.0))
        rotation, translation = axis_angle_matrix(axis, np.cos(q), np.sin(q)), np.zeros(3)
    apart = max(
        float(np.abs(moved.rotation - rotation).max()),
        float(np.abs(moved.translation - translation).max()),
    )
    return q if apart < ROUND else None
