"""A described joint walked from its child to its parent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mbd_bridge.model.axes import second_axis
from mbd_bridge.model.description import Joint, Vector3

INVERTED = ("spherical", "planar", "fixed", "floating")
"""Joints that are turned by inverting their motion."""


def turn_round(joint: Joint) -> Joint:
    """Return a joint as it is walked from its child to its parent; twice gives the joint itself."""
    axis, axis2 = joint.axis, joint.axis2
    if joint.type == "universal":
        axis, axis2 = _opposite(second_axis(joint)), _opposite(axis)
    elif joint.type not in INVERTED:
        axis = _opposite(axis)
    return replace(
        joint,
        parent=joint.child,
        child=joint.parent,
        origin=joint.child_frame,
        child_frame=joint.origin,
        axis=axis,
        axis2=axis2,
        turned=not joint.turned,
    )


def _opposite(axis: Iterable[float]) -> Vector3:
    x, y, z = (0.0 - float(component) for component in axis)
    return x, y, z
