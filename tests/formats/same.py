"""Whether a description is the mechanism that pinocchio reads from the same file."""

import numpy as np
import pinocchio as pin
import pytest

from mbd_bridge.model.description import Description
from mbd_bridge.model.spatial import Frame, Inertia, lump

ROUNDING = 1e-11
"""Relative: a handful of products of rotations; pinocchio rounds elsewhere than we do."""


def link_frames(description: Description) -> dict[str, Frame]:
    """Where each link is in the root, at zero coordinates."""
    children: dict[str, list] = {}
    for joint in description.joints:
        children.setdefault(joint.parent, []).append(joint)
    below = {joint.child for joint in description.joints}
    root = next(link.name for link in description.links if link.name not in below)
    frames, waiting = {root: Frame.identity()}, [root]
    while waiting:
        parent = waiting.pop()
        for joint in children.get(parent, ()):
            frames[joint.child] = frames[parent] @ joint.origin
            waiting.append(joint.child)
    return frames


def assert_same_mechanism(description: Description, model: pin.Model) -> None:
    bodies = [f.name for f in model.frames if f.type == pin.FrameType.BODY]
    edges = (pin.FrameType.JOINT, pin.FrameType.FIXED_JOINT)
    joints = [f.name for f in model.frames if f.type in edges and f.name != "universe"]
    assert sorted(bodies) == sorted(link.name for link in description.links)
    assert sorted(set(joints) - {"root_joint"}) == sorted(j.name for j in description.joints)

    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    frames = link_frames(description)
    for index, frame in enumerate(model.frames):
        if frame.type == pin.FrameType.BODY:
            placement = data.oMf[index]
            mine = frames[frame.name]
            np.testing.assert_allclose(mine.rotation, placement.rotation, atol=ROUNDING)
            np.testing.assert_allclose(mine.translation, placement.translation, atol=ROUNDING)

    whole = lump(
        link.inertia.seen_from(frames[link.name]) for link in description.links if link.inertia
    )
    total = pin.Inertia.Zero()
    for placement, inertia in zip(data.oMi, model.inertias, strict=True):
        if inertia.mass or np.any(inertia.inertia):
            total += placement.act(inertia)
    assert_same_inertia(whole, total)


def assert_same_inertia(mine: Inertia, other: pin.Inertia) -> None:
    assert mine.mass == pytest.approx(other.mass, rel=ROUNDING)
    if not mine.mass:  # pinocchio loses the moments of massless bodies when it adds them
        return
    a = mine.about_origin()
    c = other.lever
    b = other.inertia + other.mass * (c @ c * np.eye(3) - np.outer(c, c))
    np.testing.assert_allclose(mine.centre, c, atol=ROUNDING * (1 + np.abs(c).max()))
    np.testing.assert_allclose(a, b, atol=ROUNDING * (1 + np.abs(b).max()))
