"""A joint's reaction in a bearing's terms: radial, axial and tilting moment, with directions.

With the reaction f, m of the parent on the child at the joint's origin, the axis n, and a point at
s n on it:

    axial  F_a = f · n          radial  F_r = f - F_a n
    tilting moment at the point  M = m - (m · n) n - s n × F_r

A pair of bearings at s_A and s_B carries force and tilting moment statically determined:

    R_A + R_B = F_r,   s_A R_A + s_B R_B = -n × M(0)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.loads.planar import joint_sides
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.model import GROUND, Model

# The two sides of a joint with one axis: their frames, and the axis, which is fixed in both.
#
# The child's ring has the axes of the child link, in which the joint's load is given
# (`Convention`), the parent's ring the same axes at zero coordinate: they differ by the joint's
# angle about the axis.


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


@dataclass(frozen=True, eq=False)
class BearingTerms:
    """The reaction of one joint along a motion; all of the parent on the child.

    Attributes
    ----------
    frames : of the two rings; angles count about the axis, from `frames.first`
    time : (N,) s
    axial : (N,) N, along the axis
    radial : (N, 3) N, across it, in the child's axes
    to_parent : (N, 3, 3) rotations from the child's ring to the parent's
    moment : (N, 3) N m, the tilting moment about the joint's origin, in the child's axes
    torque : (N,) N m, about the axis: of a slide what its guide carries
    speed : (N,) rad/s, of the child's ring against the parent's; m/s of a slide
    determined : of axial, radial force and tilting moment: whether rigid-body mechanics does
    """

    frames: RingFrames
    time: Floats
    axial: Floats
    radial: Floats
    to_parent: Floats
    moment: Floats
    torque: Floats
    speed: Floats
    determined: tuple[bool, bool, bool]

    @property
    def in_parent(self) -> Floats:
        """The radial force (N, 3) N in the parent's ring."""
        return np.asarray(np.einsum("nij,nj->ni", self.to_parent, self.radial))

    def tilting(self, position: float = 0.0) -> Floats:
        """Return the tilting moment (N, 3) N m about a point of the axis, m from the origin."""
        lever = np.cross(self.frames.axis, self.radial)
        return np.asarray(self.moment - position * lever)

    def angle(self, vectors: Floats) -> Floats:
        """Return the directions (N,) of vectors (N, 3) across the axis, rad."""
        frames = self.frames
        return np.asarray(np.arctan2(vectors @ frames.second, vectors @ frames.first))

    def pair(self, positions: tuple[float, float]) -> tuple[Floats, Floats]:
        """Return the radial forces (N, 3) N of two bearings, m along the axis from the origin."""
        a, b = positions
        if not a != b:
            raise StateError(f"positions: expected two places on the axis, got {a:g} twice")
        balance = -np.cross(self.frames.axis, self.moment)
        first = (b * self.radial - balance) / (b - a)
        return first, self.radial - first


def bearing_terms(
    frames: RingFrames, loads: JointLoads, child: Floats, parent: Floats, speed: Floats
) -> BearingTerms:
    """Return a joint's loads in a bearing's terms.

    Parameters
    ----------
    loads : with reactions, at the joints' origins, in child axes, of the parent on the child
    child, parent : (N, 3, 3) rotations of the two links, to the world
    speed : (N,) of the child's ring against the parent's
    """
    assert loads.reaction_force is not None
    assert loads.reaction_moment is not None
    assert loads.reaction_unique is not None
    assert loads.time is not None
    k, n = loads.joints.index(frames.joint), frames.axis
    force, moment = loads.reaction_force[:, k], loads.reaction_moment[:, k]
    axial, torque = force @ n, moment @ n
    radial = force - axial[:, None] * n
    from_world = np.swapaxes(parent @ frames.in_parent, -1, -2)
    sure = np.asarray(loads.reaction_unique[:, k].all(axis=0))
    along, across = np.abs(n) > ALONG, np.abs(n) < 1.0 - ALONG
    determined = (
        bool(sure[:3][along].all()),
        bool(sure[:3][across].all()),
        bool(sure[3:][across].all()),
    )
    return BearingTerms(
        frames,
        loads.time,
        axial,
        radial,
        from_world @ child,
        moment - torque[:, None] * n,
        torque,
        speed,
        determined,
    )
