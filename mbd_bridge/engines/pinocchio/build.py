"""A ``pinocchio.Model`` of our model, as pinocchio's own URDF reader would make it.

Joints keep their names; a joint's frame is its child link's frame. Fixed joints and links become
frames, with their inertia in the joint that moves them. Joints that ``<mimic>`` another are
independent in pinocchio (see `Twin`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from mbd_bridge.base.errors import ModelError
from mbd_bridge.engines.pinocchio.twin import Twin, TwinPlace, armature, place
from mbd_bridge.files import Limits
from mbd_bridge.model import Body, Model
from mbd_bridge.model.joint_table import Helical, Universal
from mbd_bridge.model.spatial import Array, Frame, Inertia

ALIGNED = {
    "revolute": (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ),
    "continuous": (pin.JointModelRUBX, pin.JointModelRUBY, pin.JointModelRUBZ),
    "prismatic": (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ),
}
SKEW = {
    "revolute": pin.JointModelRevoluteUnaligned,
    "prismatic": pin.JointModelPrismaticUnaligned,
}


def to_pinocchio(ours: Model) -> Twin:
    """Return the twin of a model: ``.model`` is the ``pinocchio.Model``."""
    model = pin.Model()
    model.name = ours.name
    model.gravity = pin.Motion(np.concatenate([ours.gravity, np.zeros(3)]))
    numbers: dict[int, int] = {}  # body -> pinocchio joint
    frames: dict[int, Frame] = {}  # body -> pinocchio's joint frame in our body frame
    limits = {joint.name: joint.limits for joint in ours.description.joints}
    places: list[TwinPlace] = []
    for index, body in enumerate(ours.bodies):
        joint = ours.joints[body.joint]
        if not joint.moving:
            numbers[index], frames[index] = 0, Frame.identity()
            model.appendBodyToJoint(0, _inertia(body.inertia), _se3(body.placement))
            continue
        frames[index] = Frame.identity() if _needs_z(body, joint.frame) else joint.frame
        placed = body.placement @ frames[index]
        if body.parent >= 0:
            placed = frames[body.parent].inverse() @ placed
            if numbers[body.parent] == 0:
                placed = ours.bodies[body.parent].placement @ placed
        entry = _joint_model(body, frames[index].rotation.T @ np.array([0.0, 0.0, 1.0]), ours)
        carrier = numbers.get(body.parent, 0)
        number = model.addJoint(carrier, entry, _se3(placed), joint.name)
        inertia = body.inertia.seen_from(frames[index].inverse())
        model.appendBodyToJoint(number, _inertia(inertia), pin.SE3.Identity())
        numbers[index] = number
        turn = ours.links[joint.child].frame.rotation.T @ frames[index].rotation
        places.append(replace(place(body, joint.name, model, number), turn=turn))
        _limit(model, number, limits.get(joint.name))
    _frames(ours, model, numbers, frames)
    model.armature = armature(places, model.nv)
    return Twin(ours, model, tuple(places))


def _needs_z(body: Body, link: Frame) -> bool:
    """Return whether pinocchio has the joint only along z: then its frame is our body's.

    Its plane is always that of x and y, and its continuous joint about a skew axis cannot be made
    from Python.
    """
    skew = not np.any(link.rotation[2] == 1.0)
    return body.type.name == "planar" or (body.type.name == "continuous" and skew)


def _joint_model(body: Body, axis: Array, ours: Model) -> Any:
    kind = body.type.name
    if kind in ALIGNED:
        along = np.flatnonzero(axis == 1.0)
        return ALIGNED[kind][along[0]]() if len(along) else SKEW[kind](*axis)
    if kind == "cylindrical":
        both = pin.JointModelComposite(pin.JointModelRevoluteUnaligned(*axis))
        both.addJoint(pin.JointModelPrismaticUnaligned(*axis), pin.SE3.Identity())
        return both
    if isinstance(body.type, Universal):
        second = ours.joints[body.joint].frame.rotation.T @ np.array(body.type.second)
        return pin.JointModelUniversal(axis, second)
    if isinstance(body.type, Helical):
        return pin.JointModelHelicalUnaligned(axis, body.type.pitch)
    simple = {
        "spherical": pin.JointModelSpherical,
        "floating": pin.JointModelFreeFlyer,
        "planar": pin.JointModelPlanar,
    }
    if kind not in simple:
        raise ModelError(f"pinocchio has no counterpart of the joint type {kind!r}")
    return simple[kind]()


def _frames(
    ours: Model, model: pin.Model, numbers: dict[int, int], frames: dict[int, Frame]
) -> None:
    """Add a frame for each link and each fixed joint."""
    ids: dict[int, int] = {}
    for joint in ours.joints:
        number = numbers[joint.body]
        inside = frames[joint.body].inverse() @ ours.links[joint.child].frame
        if number == 0:
            inside = ours.bodies[joint.body].placement @ inside
        before = ids.get(joint.parent, 0)
        if joint.moving:
            before = model.addJointFrame(number, before)
        elif joint.parent >= 0:
            kind = pin.FrameType.FIXED_JOINT
            before = model.addFrame(pin.Frame(joint.name, number, before, _se3(inside), kind))
        # The link's own inertia goes with its frame: pinocchio's joint has it lumped already.
        link = ours.links[joint.child]
        own = link.inertia.seen_from(link.frame.inverse())
        weight = pin.Inertia.Zero() if joint.moving else _inertia(own)
        frame = pin.Frame(link.name, number, before, _se3(inside), pin.FrameType.BODY, weight)
        ids[joint.child] = model.addFrame(frame, False)


def _limit(model: pin.Model, number: int, limits: Limits | None) -> None:
    if limits is None or model.nvs[number] != 1:
        return
    v, q = model.idx_vs[number], model.idx_qs[number]
    if limits.effort is not None:
        model.upperEffortLimit[v], model.lowerEffortLimit[v] = limits.effort, -limits.effort
    if limits.velocity is not None:
        model.upperVelocityLimit[v] = limits.velocity
        model.lowerVelocityLimit[v] = -limits.velocity
    if model.nqs[number] == 1 and limits.lower is not None and limits.upper is not None:
        model.lowerPositionLimit[q] = limits.lower
        model.upperPositionLimit[q] = limits.upper


def _se3(frame: Frame) -> pin.SE3:
    return pin.SE3(np.array(frame.rotation), np.array(frame.translation))


def _inertia(inertia: Inertia) -> pin.Inertia:
    # The constructor refuses inertias that no body has; files have them, and its reader takes them.
    out = pin.Inertia.Zero()
    out.mass, out.lever = inertia.mass, np.array(inertia.centre)
    out.inertia = np.array(inertia.central)
    return out
