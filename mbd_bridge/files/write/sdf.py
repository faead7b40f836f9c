"""A description as SDF 1.11: links at their poses with all joints at zero, loops as joints.

A joint has one frame there, so a loop can be said only if it is closed with all joints at zero.

Couplings of two joints as SDF says them: gearboxes, else mimics.

    gearbox    theta_child = -ratio theta_parent, turns of two links against a third
    mimic      q = multiplier (q_leader - reference) + offset

A gearbox keeps both coordinates, as a coupling does. A joint that mimics another one has none of
its own in the file that is read back.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from lxml import etree

from mbd_bridge.files.document import LeftOut
from mbd_bridge.files.sdf_joints import GEARBOX
from mbd_bridge.files.write.values import (
    ROUND,
    at_zero,
    cannot,
    child,
    is_world,
    mesh_name,
    moments,
    number,
    numbers,
    said,
    shapes_of_files,
    stated_limits,
    text_of,
)
from mbd_bridge.files.xml_reader import Element
from mbd_bridge.model.description import (
    Coupling,
    Description,
    Geometry,
    Joint,
    Link,
    Loop,
    Mimic,
    second_axis,
)
from mbd_bridge.model.spanning_tree import turn_round
from mbd_bridge.model.spatial import Frame, Inertia

HINGES = ("revolute", "continuous")
AXES = (*HINGES, "prismatic", "helical")
"""Types of joints that can mimic, and be mimicked."""

AS_MIMIC = "couplings, written as mimics: their followers have no coordinate of their own there"


def written_couplings(
    model: Element, description: Description, places: dict[str, Frame], left_out: LeftOut
) -> dict[str, Mimic]:
    """Write gearboxes, return mimics by the joint that follows, and list the other couplings.

    Parameters
    ----------
    places : frames of links with all joints at zero
    """
    joints = {
        joint.name: turn_round(joint) if joint.turned else joint for joint in description.joints
    }
    mimics: dict[str, Mimic] = {}
    for coupling in description.couplings:
        if not coupling.follows:
            left_out.add("locks of coordinates", coupling.name)
            continue
        (leader, ratio), *others = coupling.follows
        joint, other = joints.get(coupling.joint), joints.get(leader)
        if others or joint is None or other is None:
            left_out.add("gears (couplings) of several leaders", coupling.name)
        elif (at := _reference(joint, other)) and not coupling.offset and ratio:
            _gearbox(model, coupling.name, (other, joint), at, ratio, places)
        elif _can_mimic(coupling, description, joints, mimics):
            left_out.add(AS_MIMIC, coupling.name)
            mimics[coupling.joint] = Mimic(leader, ratio, coupling.offset)
        else:
            left_out.add("gears (couplings) that neither gearboxes nor mimics say", coupling.name)
    return mimics


def _reference(one: Joint, other: Joint) -> str:
    """Return the link against which two hinges turn two links, "" if there is none."""
    if one.type not in HINGES or other.type not in HINGES:
        return ""
    shared = {one.parent, one.child} & {other.parent, other.child}
    return shared.pop() if len(shared) == 1 else ""


def _gearbox(
    model: Element,
    name: str,
    pair: tuple[Joint, Joint],
    reference: str,
    ratio: float,
    places: dict[str, Frame],
) -> None:
    """Write q(second) = ratio q(first); both axes are the hinges' own."""
    links = [hinge.child if hinge.parent == reference else hinge.parent for hinge in pair]
    element = child(model, "joint", name=name, type=GEARBOX)
    said(element, "parent", links[0])
    said(element, "child", links[1])
    senses = [1.0 if hinge.parent == reference else -1.0 for hinge in pair]
    said(element, "gearbox_ratio", number(-ratio * senses[1] * senses[0]))
    said(element, "gearbox_reference_body", reference)
    here = places[links[1]].rotation
    for tag, hinge in zip(("axis", "axis2"), pair, strict=True):
        at = places[hinge.child].rotation @ hinge.child_frame.rotation
        said(child(element, tag), "xyz", numbers(here.T @ at @ np.array(hinge.axis)))


def _can_mimic(
    coupling: Coupling,
    description: Description,
    joints: dict[str, Joint],
    mimics: dict[str, Mimic],
) -> bool:
    """Return whether the follower may lose its coordinate: nothing else asks for it."""
    leader = coupling.follows[0][0]
    pair = joints[coupling.joint], joints[leader]
    if any(item.type not in AXES for item in pair) or pair[0].mimic is not None:
        return False
    named = [
        name
        for item in description.couplings
        for name in (item.joint, *(followed for followed, _ in item.follows))
    ]
    if named.count(coupling.joint) > 1:
        return False
    chain = leader
    while chain != coupling.joint:
        mimic = mimics.get(chain) or joints[chain].mimic
        if mimic is None:
            return True
        chain = mimic.joint
    return False


TYPES = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "spherical": "ball",
    "universal": "universal",
    "helical": "screw",
}
"""Our types, and SDF's."""

VERSION, WITH_SHARED_NAMES = "1.11", "1.6"
"""Of the file; the older one allows a link and a joint of the same name."""

LOOPS = {
    "revolute": "revolute",
    "translational": "prismatic",
    "spherical": "ball",
    "universal": "universal",
    "fixed": "fixed",
}


def sdf_text(description: Description, left_out: LeftOut) -> str:
    """Return the SDF."""
    links = {link.name for link in description.links}
    joints = {joint.name for joint in description.joints}
    shared = links & (joints | {loop.name for loop in description.loops})
    root = etree.Element("sdf", version=WITH_SHARED_NAMES if shared else VERSION)
    model = root
    if description.gravity is not None:
        model = child(root, "world", name="world")
        said(model, "gravity", numbers(description.gravity))
    model = child(model, "model", name=description.name)
    places, base = at_zero(description), description.root
    ground = is_world(base)
    if not ground:
        left_out.add("whether the base is fixed or floats", base.name)
    standing = [item for item in description.joints if item.parent == base.name]
    if ground and [item.type for item in standing] == ["floating"]:
        left_out.add("that the base floats (load it with floating=True)", standing[0].child)
    for link in description.links:
        if not (ground and link is base):
            _link(model, link, places[link.name], left_out)
    mimics = written_couplings(model, description, places, left_out)
    for joint in description.joints:
        plain = turn_round(joint) if joint.turned else joint
        plain = replace(plain, mimic=mimics.get(plain.name, plain.mimic))
        _joint(model, plain, (ground, base.name), left_out)
    for loop in description.loops:
        _loop(model, loop, places, left_out)
    for item in description.transmissions:
        left_out.add("transmissions", item.name)
    if description.actuated is not None:
        left_out.add("which joints are actuated")
    return text_of(root)


def _pose(element: Element, frame: Frame, relative: str = "") -> None:
    if frame.is_identity() and not relative:
        return
    attributes = {"relative_to": relative} if relative else {}
    said(element, "pose", numbers((*frame.translation, *frame.rpy())), **attributes)


def _link(model: Element, link: Link, place: Frame, left_out: LeftOut) -> None:
    element = child(model, "link", name=link.name)
    _pose(element, place)
    inertial = child(element, "inertial")
    inertia = link.inertia
    if inertia is None:
        left_out.add("massless links, which other readers may refuse", link.name)
        inertia = Inertia.zero()
    _pose(inertial, Frame(np.eye(3), inertia.centre))
    said(inertial, "mass", number(inertia.mass))
    entries = child(inertial, "inertia")
    for name, value in moments(inertia.central).items():
        said(entries, name, value)
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for k, shape in enumerate(shapes_of_files(shapes, left_out)):
            _shape(element, tag, f"{tag}{k + 1}", shape)


def _shape(link: Element, tag: str, name: str, shape: Geometry) -> None:
    element = child(link, tag, name=name)
    _pose(element, shape.origin)
    geometry = child(child(element, "geometry"), shape.kind)
    if shape.kind == "mesh":
        said(geometry, "uri", mesh_name(shape))
        said(geometry, "scale", numbers(shape.scale))
    elif shape.kind == "box":
        said(geometry, "size", numbers(shape.size))
    else:
        for size, value in zip(("radius", "length"), shape.size, strict=False):
            said(geometry, size, number(value))
    if shape.colour is not None and tag == "visual":
        said(child(element, "material"), "diffuse", numbers(shape.colour))


def _joint(model: Element, joint: Joint, ground: tuple[bool, str], left_out: LeftOut) -> None:
    if joint.type == "floating" and joint.parent == ground[1]:
        if not ground[0]:
            left_out.add("names and places of free joints: what no joint holds floats", joint.name)
        return
    if joint.type not in TYPES:
        raise cannot("SDF", joint, TYPES)
    element = child(model, "joint", name=joint.name, type=TYPES[joint.type])
    _pose(element, joint.child_frame)
    said(element, "parent", joint.parent)
    said(element, "child", joint.child)
    if joint.type == "helical":
        said(element, "screw_thread_pitch", number(2.0 * math.pi * joint.pitch))
    if joint.type in ("fixed", "spherical"):
        if joint.damping or joint.friction:
            left_out.add("damping and friction of balls", joint.name)
        return
    axis = child(element, "axis")
    said(axis, "xyz", numbers(joint.axis))
    if joint.mimic is not None:
        mimic = child(axis, "mimic", joint=joint.mimic.joint)
        said(mimic, "multiplier", number(joint.mimic.multiplier))
        said(mimic, "offset", number(joint.mimic.offset))
    known = replace(joint.limits, acceleration=None, deceleration=None, jerk=None)
    if known != joint.limits:
        left_out.add("limits of accelerations and jerks", joint.name)
    if limits := stated_limits(known):
        limit = child(axis, "limit")
        for name, text in limits.items():
            said(limit, name, text)
    values = {
        "damping": joint.damping,
        "friction": joint.friction,
        "spring_stiffness": joint.stiffness,
        "spring_reference": joint.rest,
    }
    if any(values.values()):
        dynamics = child(axis, "dynamics")
        for tag, value in values.items():
            said(dynamics, tag, number(value))
    if joint.type == "universal":
        said(child(element, "axis2"), "xyz", numbers(second_axis(joint)))


def _loop(model: Element, loop: Loop, places: dict[str, Frame], left_out: LeftOut) -> None:
    if loop.type not in LOOPS:
        left_out.add(f"{loop.type} loops", loop.name)
        return
    first, second = (places[end.link] @ end.frame for end in (loop.predecessor, loop.successor))
    gap = float(np.abs(first.translation - second.translation).max())
    turn = first.rotation.T @ second.rotation
    axis = np.array(loop.axis)
    tilt = np.abs(turn @ axis - axis) if loop.type == "revolute" else np.abs(turn - np.eye(3))
    if gap > ROUND or (loop.type != "spherical" and float(tilt.max()) > ROUND):
        left_out.add("loops that are open with all joints at zero", loop.name)
        return
    element = child(model, "joint", name=loop.name, type=LOOPS[loop.type])
    _pose(element, loop.successor.frame)
    said(element, "parent", loop.predecessor.link)
    said(element, "child", loop.successor.link)
    if loop.type not in ("spherical", "fixed"):
        said(child(element, "axis"), "xyz", numbers(loop.axis))
    if loop.type == "universal":
        said(child(element, "axis2"), "xyz", numbers(second_axis(loop)))
