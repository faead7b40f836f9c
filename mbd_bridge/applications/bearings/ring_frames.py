"""The two sides of a joint with one axis: their frames, and the axis, which is fixed in both.

The child's ring has the axes of the child link, in which the joint's load is given (`Convention`),
the parent's ring the same axes at zero coordinate: they differ by the joint's angle about the axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import ModelError
from mbd_bridge.loads.planar import joint_sides
from mbd_bridge.model import GROUND, Model

Floats = NDArray[np.float64]

TURNING = ("revolute", "continuous", "cylindrical", "helical")
SLIDING = ("prismatic", "translational", "cylindrical", "helical")
"""Joints with one axis about, or along, which the child moves."""

ALONG = 1e-9
"""Component of a unit vector below which a direction lies across it."""


@dataclass(frozen=True, eq=False)
class RingFrames:
    """Both sides of a joint.

    Attributes
    ----------
    joint, kind : name and type
    child, parent : links that carry the rings; "ground" for the world
    in_parent : (3, 3) rotation of the rings' axes in the parent
    axis : (3,) unit vector, in either ring's axes
    first, second : (3,) unit vectors across the axis: angles count from the first to the second
    """

    joint: str
    kind: str
    child: str
    parent: str
    in_parent: Floats
    axis: Floats
    first: Floats
    second: Floats

    @staticmethod
    def of(model: Model, name: str) -> RingFrames:
        """Return those of a joint of the tree, or of one that is cut."""
        kind, *ends, turn, axis, _ = joint_sides(model, name)
        if kind not in (*TURNING, *SLIDING):
            raise ModelError(
                f"joint {name!r} is {kind}: bearing terms are those of joints with one axis "
                f"({', '.join(dict.fromkeys((*TURNING, *SLIDING)))})"
            )
        axis = np.asarray(axis) / np.linalg.norm(axis)
        first = _across(axis)
        child, parent = (model.links[k].name if k >= 0 else GROUND for k in ends)
        second = np.cross(axis, first)
        return RingFrames(name, kind, child, parent, turn, axis, first, second)

    @property
    def turns(self) -> bool:
        """Whether the child turns about the axis."""
        return self.kind in TURNING


def bearing_joints(model: Model) -> tuple[str, ...]:
    """Return the names of the joints with one axis, those that are cut last."""
    kinds = {*TURNING, *SLIDING}
    names = [joint.name for joint in model.joints[1:] if joint.type.name in kinds]
    return (*names, *(cut.name for cut in model.cuts if cut.type in kinds))


def _across(axis: Floats) -> Floats:
    """Return the direction from which angles count: the axis of the frame that follows the one
    which is nearest to the joint's, across the joint's.
    """
    start = np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3]
    first = start - (start @ axis) * axis
    return np.asarray(first / np.linalg.norm(first))
