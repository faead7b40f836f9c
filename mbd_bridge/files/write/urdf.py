"""A description as URDF, with loops in a sidecar or as elements of URDF+.

A URDF's link has its frame at its joint. Where a link's is elsewhere, a massless link LINK.joint
stands at the joint and carries it, so that all frames stay what they were.
"""

from __future__ import annotations

from typing import Any

from lxml import etree

from mbd_bridge.files.document import LeftOut
from mbd_bridge.files.loops import joints_above
from mbd_bridge.files.write.values import (
    cannot,
    child,
    mesh_name,
    moments,
    number,
    numbers,
    shapes_of_files,
    stated_limits,
    text_of,
)
from mbd_bridge.files.xml_reader import Element
from mbd_bridge.files.yaml_text import yaml_text
from mbd_bridge.model.description import Coupling, Description, Geometry, Joint, Link, Loop
from mbd_bridge.model.spatial import Frame

TYPES = (
    *("revolute", "continuous", "prismatic", "fixed", "floating"),
    *("planar", "spherical", "universal", "cylindrical"),
)
"""Joints that our own reader of URDF knows; the last three are not URDF's."""

AXIAL = ("revolute", "continuous", "prismatic", "planar", "universal", "cylindrical")

PLUS_TYPES = {"translational": "prismatic"}
"""Names of loops in URDF+ that differ from ours."""

PLUS = ("revolute", "translational", "planar", "fixed", "spherical", "cylindrical")
"""Types of loops that a ``<loop>`` can say; the last two are no part of URDF+, but are read."""


def urdf_text(description: Description, left_out: LeftOut, *, plus: bool) -> tuple[str, str]:
    """Return the URDF and the sidecar with loops ("" if nothing is to be said there)."""
    robot = etree.Element("robot", name=description.name)
    for link in description.links:
        _link(robot, link, left_out)
    for joint in description.joints:
        _joint(robot, joint, left_out)
    for transmission in description.transmissions:
        if transmission.problem:
            left_out.add("transmissions that were not read", transmission.name)
            continue
        element = child(robot, "transmission", name=transmission.name)
        child(element, "type").text = "transmission_interface/SimpleTransmission"
        child(element, "joint", name=transmission.joint)
        motor = child(element, "actuator", name=f"{transmission.joint}_motor")
        if transmission.reduction is not None:
            child(motor, "mechanicalReduction").text = number(transmission.reduction)
        if transmission.rotor_inertia is not None:
            child(motor, "rotor_inertia", value=number(transmission.rotor_inertia))
    loops, couplings = description.loops, description.couplings
    if plus:
        loops = tuple(item for item in loops if not _plus_loop(robot, item))
        couplings = tuple(
            item for item in couplings if not _plus_coupling(robot, description, item)
        )
    return text_of(robot), _sidecar(description, loops, couplings)


def _link(robot: Element, link: Link, left_out: LeftOut) -> None:
    element = child(robot, "link", name=link.name)
    if link.inertia is not None:
        inertial = child(element, "inertial")
        child(inertial, "origin", xyz=numbers(link.inertia.centre), rpy="0 0 0")
        child(inertial, "mass", value=number(link.inertia.mass))
        child(inertial, "inertia", **moments(link.inertia.central))
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for shape in shapes_of_files(shapes, left_out):
            _shape(element, tag, shape)


def _shape(link: Element, tag: str, shape: Geometry) -> None:
    element = child(link, tag)
    _origin(element, shape.origin)
    geometry = child(element, "geometry")
    if shape.kind == "mesh":
        child(geometry, "mesh", filename=mesh_name(shape), scale=numbers(shape.scale))
    elif shape.kind == "box":
        child(geometry, "box", size=numbers(shape.size))
    elif shape.kind == "sphere":
        child(geometry, "sphere", radius=number(shape.size[0]))
    elif shape.kind in ("cylinder", "capsule"):
        radius, length = (number(size) for size in shape.size)
        child(geometry, shape.kind, radius=radius, length=length)
    else:
        child(geometry, shape.kind)
    if shape.colour is not None or shape.texture is not None:
        material = child(element, "material", name="")
        if shape.colour is not None:
            child(material, "color", rgba=numbers(shape.colour))
        if shape.texture is not None:
            child(material, "texture", filename=shape.texture)


def _origin(element: Element, frame: Frame) -> None:
    if not frame.is_identity():
        child(element, "origin", xyz=numbers(frame.translation), rpy=numbers(frame.rpy()))


def _joint(robot: Element, joint: Joint, left_out: LeftOut) -> None:
    if joint.type not in TYPES:
        raise cannot("URDF", joint, TYPES)
    carried = joint.child
    if not joint.child_frame.is_identity():
        carried = f"{joint.child}.joint"
        child(robot, "link", name=carried)
        held = child(robot, "joint", name=f"{joint.name}.place", type="fixed")
        child(held, "parent", link=carried)
        child(held, "child", link=joint.child)
        _origin(held, joint.child_frame.inverse())
    if joint.turned:
        left_out.add("the described sense of joints walked backwards", joint.name)
    element = child(robot, "joint", name=joint.name, type=joint.type)
    child(element, "parent", link=joint.parent)
    child(element, "child", link=carried)
    _origin(element, joint.origin)
    if joint.type in AXIAL:
        child(element, "axis", xyz=numbers(joint.axis))
    if joint.type == "universal" and joint.axis2 is not None:
        child(element, "axis2", xyz=numbers(joint.axis2))
    if limits := stated_limits(joint.limits):
        child(element, "limit", **limits)
    if joint.damping or joint.friction:
        child(element, "dynamics", damping=number(joint.damping), friction=number(joint.friction))
    if joint.mimic is not None:
        child(
            element,
            "mimic",
            joint=joint.mimic.joint,
            multiplier=number(joint.mimic.multiplier),
            offset=number(joint.mimic.offset),
        )


def _plus_loop(robot: Element, loop: Loop) -> bool:
    """Write a loop as URDF+ does; return whether it could be said."""
    if loop.type not in PLUS:
        return False
    element = child(robot, "loop", name=loop.name, type=PLUS_TYPES.get(loop.type, loop.type))
    for tag, end in (("predecessor", loop.predecessor), ("successor", loop.successor)):
        _origin(child(element, tag, link=end.link), end.frame)
    child(element, "axis", xyz=numbers(loop.axis))
    return True


def _plus_coupling(robot: Element, description: Description, coupling: Coupling) -> bool:
    """Write gears as URDF+ does: between links whose joints they are, without offset."""
    above = {joint.child: joint for joint in description.joints}
    moved = {joint.name: joint for joint in description.joints}
    if len(coupling.follows) != 1 or coupling.offset:
        return False
    (leader, ratio), *_ = coupling.follows
    if leader not in moved or coupling.joint not in moved:
        return False
    links = [moved[name].child for name in (leader, coupling.joint)]
    chains = [
        {joint.name for joint in joints_above(link, above) if joint.type != "fixed"}
        for link in links
    ]
    if chains[0] ^ chains[1] != {leader, coupling.joint}:
        return False
    if coupling.joint not in chains[1] - chains[0] or leader not in chains[0] - chains[1]:
        return False
    element = child(robot, "coupling", name=coupling.name)
    child(element, "predecessor", link=moved[leader].child)
    child(element, "successor", link=moved[coupling.joint].child)
    child(element, "ratio", value=number(ratio))
    return True


def _sidecar(
    description: Description, loops: tuple[Loop, ...], couplings: tuple[Coupling, ...]
) -> str:
    content: dict[str, Any] = {}
    if loops:
        content["loops"] = [_loop(loop) for loop in loops]
    if couplings:
        content["couplings"] = [_coupling(coupling) for coupling in couplings]
    if description.actuated is not None:
        content["actuated"] = list(description.actuated)
    if description.planar:
        content["planar"] = True
    return yaml_text(content) if content else ""


def _loop(loop: Loop) -> dict[str, Any]:
    content: dict[str, Any] = {"name": loop.name, "type": loop.type}
    for key, end in (("predecessor", loop.predecessor), ("successor", loop.successor)):
        side: dict[str, Any] = {"link": end.link}
        if not end.frame.is_identity():
            side |= {"xyz": end.frame.translation.tolist(), "rpy": list(end.frame.rpy())}
        content[key] = side
    if loop.type not in ("distance", "spherical", "fixed", "mask"):
        content["axis"] = list(loop.axis)
    if loop.axis2 is not None:
        content["axis2"] = list(loop.axis2)
    for key in ("length", "radius"):
        if getattr(loop, key) is not None:
            content[key] = getattr(loop, key)
    if loop.rows is not None:
        content["rows"] = list(loop.rows)
    return content


def _coupling(coupling: Coupling) -> dict[str, Any]:
    content: dict[str, Any] = {"name": coupling.name, "joint": coupling.joint}
    if len(coupling.follows) == 1:
        (leader, ratio), *_ = coupling.follows
        content |= {"follows": leader, "ratio": ratio}
    else:
        content["follows"] = dict(coupling.follows)
    return content | {"offset": coupling.offset}
