"""Loop joints in the URDF itself: Isaac Sim's ``<loop_joint>`` and urdfdom's ``<constraint>``.

A ``mask`` says with six of 0 or 1 what it forbids, and ``<coupling>`` is a pair of gears, a rack, a
belt: q(joint) = ratio * q(follows) + offset, or a differential, with several that it follows.

::

    <loop_joint name="pin" type="revolute">            Isaac Sim; <axis> is our addition
      <link1 link="coupler" xyz="0 0 1" rpy="0 0 0"/>
      <link2 link="base" xyz="1 0 1" rpy="0 0 0"/>
      <axis xyz="0 1 0"/>
    </loop_joint>

    <constraint name="pin" type="revolute">            urdfdom pull request 264
      <parent link="coupler"/> <parent_origin xyz="0 0 1"/> <parent_axis xyz="0 1 0"/>
      <child link="base"/>     <child_origin xyz="1 0 1"/>  <child_axis xyz="0 1 0"/>
    </constraint>

    <loop_joint name="slot" type="mask" rows="0 1 1 0 0 0">    held: y and z of link1's frame
      <link1 link="slider"/> <link2 link="pin" xyz="0 0 0.1"/>
    </loop_joint>
    <loop_joint name="contact" type="rolling" radius="0.3">    a wheel with a knife edge: link2
      <link1 link="ground"/>        on the plane through link1's frame with the normal <axis>
      <link2 link="wheel"/>         its frame at the wheel's centre, <axis2> the wheel's axis
      <axis xyz="0 0 1"/> <axis2 xyz="0 1 0"/>
    </loop_joint>
    <coupling name="mesh" joint="wheel" follows="pinion" ratio="-0.5" offset="0"/>
    <coupling name="differential" joint="cage">
      <follows joint="left" ratio="0.5"/> <follows joint="right" ratio="0.5"/>
    </coupling>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mbd_bridge.files.document import Document, parse_numbers, unknown
from mbd_bridge.files.elements import DEFAULT_AXIS, ONE_FREEDOM
from mbd_bridge.files.xml_reader import Element, line_of
from mbd_bridge.model.description import (
    Coupling,
    Joint,
    Loop,
    LoopEnd,
    Vector3,
    parallel,
    perpendicular,
)
from mbd_bridge.model.spatial import Array, Frame, skew

LOOP_TYPES = (
    "distance",
    "planar",
    "spherical",
    "cylindrical",
    "universal",
    "revolute",
    "translational",
    "fixed",
    "mask",
    "rolling",
)

ALIASES = {"continuous": "revolute", "prismatic": "translational"}
"""URDF's names for two of the types."""

TYPES_WITH_AXIS = frozenset(
    {"planar", "cylindrical", "universal", "revolute", "translational", "rolling"}
)


def read_loops(document: Document, robot: Element) -> list[Loop]:
    """Return the loops that the URDF's own elements say."""
    loops = [_read_loop_joint(document, e) for e in robot.findall("loop_joint")]
    loops += [_read_constraint(document, e) for e in robot.findall("constraint")]
    return sorted(loops, key=lambda loop: loop.line or 0)


def read_couplings(document: Document, robot: Element) -> list[Coupling]:
    """Return the gears that the URDF's own elements say."""
    gears = (e for e in robot.findall("coupling") if e.find("predecessor") is None)
    return [_read_coupling(document, element) for element in gears]


def _read_coupling(document: Document, element: Element) -> Coupling:
    offset = document.optional_number(element, "offset")
    leaders = element.findall("follows")
    if leaders and element.get("follows") is not None:
        raise document.error(element, "'follows' is an attribute and an element; leave one out")
    if leaders:
        follows = tuple(_leader(document, leader, "joint") for leader in leaders)
    else:
        follows = (_leader(document, element, "follows"),)
    return Coupling(
        document.attribute(element, "name"),
        document.attribute(element, "joint"),
        follows,
        0.0 if offset is None else offset,
        line_of(element),
        document.file,
    )


def _leader(document: Document, element: Element, attribute: str) -> tuple[str, float]:
    """Return the name of a coordinate that is followed, and the ratio."""
    ratio = document.number(element, "ratio")
    document.understood(element, "ratio", check_ratio, ratio)
    return document.attribute(element, attribute), ratio


def check_ratio(ratio: float) -> None:
    """Refuse gears that turn nothing (ValueError)."""
    if ratio == 0.0:
        raise ValueError(
            "expected a number other than 0, in joint = ratio * follows + offset; to hold "
            "a joint still make it fixed, or let it follow none: {} in the sidecar"
        )


def mask_of(numbers: tuple[float, ...]) -> tuple[int, ...]:
    """Return what a mask forbids; ValueError with advice if these are not six of 0 or 1."""
    if len(numbers) != 6 or not set(numbers) <= {0.0, 1.0} or not any(numbers):
        shown = " ".join(f"{number:g}" for number in numbers)
        raise ValueError(
            f"a mask has six of 0 or 1 with some 1, where 1 forbids a displacement along x, "
            f"y, z, then a turn about x, y, z of the predecessor's frame, such as 1 1 1 0 0 1; got "
            f"{shown}"
        )
    return tuple(int(number) for number in numbers)


def loop_type(name: str) -> str:
    """Return the type that a file's name means; ValueError with the list if there is none."""
    kind = ALIASES.get(name, name)
    if kind not in LOOP_TYPES:
        raise ValueError(unknown("loop type", name, (*LOOP_TYPES, *ALIASES)))
    return kind


def _type(document: Document, element: Element) -> str:
    return document.understood(element, "", loop_type, document.attribute(element, "type"))


def _axis(document: Document, element: Element, tag: str, default: Vector3) -> Vector3:
    child = document.child(element, tag)
    return default if child is None else document.direction(child, "xyz", default)


def _length(document: Document, element: Element, kind: str) -> float | None:
    """Return the length of a distance joint, m, or None if it is that of the reference position."""
    length = document.optional_number(element, "length") if kind == "distance" else None
    if length is not None and length <= 0.0:
        raise document.error(
            element,
            f"a distance joint needs a length above 0 m, got {length:g}; "
            "a length of 0 is a spherical joint",
        )
    return length


def check_radius(radius: float) -> float:
    """Return the radius of a rolling wheel, m; ValueError if it is none."""
    if not radius > 0.0:
        raise ValueError(f"expected the radius of a wheel, above 0 m; got {radius:g}")
    return radius


def _radius(document: Document, element: Element, kind: str) -> float | None:
    """Return the radius of a rolling wheel, m, None for other types."""
    if kind != "rolling":
        if element.get("radius") is not None:
            message = f"a radius is for rolling loops, this one is {kind}; remove it"
            raise document.error(element, message)
        return None
    return document.understood(element, "radius", check_radius, document.number(element, "radius"))


def _mask(document: Document, element: Element, kind: str) -> tuple[int, ...] | None:
    """Return the rows of a mask, None for other types."""
    if kind != "mask":
        if element.get("rows") is not None:
            raise document.error(element, f"rows are for masks, a {kind} loop has its own; remove")
        return None
    numbers = document.understood(
        element, "rows", parse_numbers, document.attribute(element, "rows"), 6
    )
    return document.understood(element, "rows", mask_of, numbers)


def _read_loop_joint(document: Document, element: Element) -> Loop:
    kind = _type(document, element)
    form = '<{tag} link="..." xyz="..." rpy="..."/>'
    ends = _ends(document, element, ("link1", "link2"), form, document.frame)
    axis, axis2 = _axes(document, element, kind, ("axis", "axis2"))
    if kind == "rolling":
        wheel = document.needed_child(element, "axis2", '<axis2 xyz="0 1 0"/>')
        axis2 = document.direction(wheel, "xyz")
    loop = _loop(document, element, kind, ends, axis, axis2)
    return replace(loop, radius=_radius(document, element, kind))


def _loop(
    document: Document,
    element: Element,
    kind: str,
    ends: Ends,
    axis: Vector3,
    axis2: Vector3 | None,
) -> Loop:
    """Return a loop with its length or its rows, where its type has such."""
    return Loop(
        document.attribute(element, "name"),
        kind,
        *ends,
        axis,
        axis2,
        length=_length(document, element, kind),
        rows=_mask(document, element, kind),
        line=line_of(element),
        source=document.file,
    )


Ends = tuple[LoopEnd, LoopEnd]


def _ends(
    document: Document,
    element: Element,
    tags: tuple[str, str],
    form: str,
    place: Callable[[Element], Frame],
) -> Ends:
    """Return both sides of a loop joint.

    Parameters
    ----------
    tags : of their elements, which are written in such a form
    place : returns the frame that such an element says
    """
    sides = [document.needed_child(element, tag, form.format(tag=tag)) for tag in tags]
    first, second = (LoopEnd(document.attribute(side, "link"), place(side)) for side in sides)
    return first, second


def _read_constraint(document: Document, element: Element) -> Loop:
    """Return the loop of a ``<constraint>``.

    Its axes are given in two frames that need not agree; ours have one axis with the same
    coordinates in both. So the child's frame is turned by the smallest rotation that takes
    parent_axis to child_axis.
    """
    kind = _type(document, element)
    parent = document.needed_child(element, "parent", '<parent link="..."/>')
    child = document.needed_child(element, "child", '<child link="..."/>')
    if kind == "rolling":
        raise document.error(element, "a rolling wheel is written as a <loop_joint>")
    frame = document.origin(element, "child_origin")
    axis, axis2 = _axes(document, element, kind, ("parent_axis", "child_axis"))
    if axis2 is not None and not perpendicular(axis, axis2):
        raise document.error(
            element,
            f"the axes {axis} and {axis2} are not perpendicular, and their frames need not "
            "agree, so the angle of the cross is not told; write it as a <loop_joint>",
        )
    if kind != "universal" and kind in TYPES_WITH_AXIS:
        on_child = _axis(document, element, "child_axis", axis)
        if on_child != axis:
            turn = rotation_between(np.array(axis), np.array(on_child))
            frame = frame @ Frame(turn, np.zeros(3))
    links = [document.attribute(side, "link") for side in (parent, child)]
    ends = LoopEnd(links[0], document.origin(element, "parent_origin")), LoopEnd(links[1], frame)
    return _loop(document, element, kind, ends, axis, axis2)


def _axes(
    document: Document, element: Element, kind: str, tags: tuple[str, str]
) -> tuple[Vector3, Vector3 | None]:
    """Return the axis, and of a universal joint the second one where the file gives it."""
    axis = DEFAULT_AXIS
    if kind in TYPES_WITH_AXIS:
        axis = _axis(document, element, tags[0], DEFAULT_AXIS)
    child = document.child(element, tags[1]) if kind == "universal" else None
    if child is None:
        return axis, None
    axis2 = document.direction(child, "xyz")
    if parallel(axis, axis2):
        message = f"the axes {axis} and {axis2} are parallel; write two directions"
        raise document.error(element, message)
    return axis, axis2


def rotation_between(a: Array, b: Array) -> Array:
    """Return the smallest rotation that takes unit vector a to unit vector b.

    R = 1 + ṽ + ṽ² / (1 + a·b), v = a × b; for opposite vectors half a turn about a normal of a.
    """
    cosine = float(a @ b)
    if cosine < -1.0 + 1e-12:  # half a turn: 1 + a·b has no digits left
        normal = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))])
        normal /= np.linalg.norm(normal)
        return 2.0 * np.outer(normal, normal) - np.eye(3)
    v = skew(np.cross(a, b))
    return np.eye(3) + v + v @ v / (1.0 + cosine)


# URDF+ (arXiv 2411.19753): loops and couplings as elements of the URDF.
#
# ::
#
#     <loop name="pin" type="revolute">          revolute continuous prismatic planar fixed, ours
#       <predecessor link="coupler"><origin xyz="1 0 0" rpy="0 0 0"/></predecessor>
#       <successor link="base"><origin xyz="2 0 0"/></successor>
#       <axis xyz="0 0 1"/>                      in the predecessor's frame; 1 0 0 if left out
#     </loop>
#     <coupling name="belt">                     ratio * (sum of the coordinates from the nearest
#       <predecessor link="thigh"/>              common ancestor to the predecessor) = the sum to
#       <successor link="rotor"/>                the successor
#       <ratio value="6"/>
#     </coupling>

BEYOND = ("distance", "mask", "rolling")
"""Types of loops that need more than such an element says."""


def read_urdf_plus_loops(document: Document, robot: Element) -> list[Loop]:
    """Return the loops of the ``<loop>`` elements."""
    for joint in robot.findall("joint"):
        if joint.get("independent") is not None:
            kind = "independent= is not used: any coordinates may be given, and rank tells the rest"
            document.remark_at(kind, joint)
    return [_read_loop(document, element) for element in robot.findall("loop")]


def _read_loop(document: Document, element: Element) -> Loop:
    kind = _type(document, element)
    if kind in BEYOND:
        message = f"a {kind} loop is written as a <loop_joint>: a <loop> has no place for its data"
        raise document.error(element, message)
    form = '<{tag} link="..."><origin xyz="..."/></{tag}>'
    ends = _ends(document, element, ("predecessor", "successor"), form, document.origin)
    axis = DEFAULT_AXIS
    if kind in TYPES_WITH_AXIS:
        axis = _axis(document, element, "axis", DEFAULT_AXIS)
    name, line = document.attribute(element, "name"), line_of(element)
    return Loop(name, kind, *ends, axis, line=line, source=document.file)


def read_urdf_plus_couplings(
    document: Document, robot: Element, joints: Sequence[Joint]
) -> list[Coupling]:
    """Return the gears of the ``<coupling>`` elements with predecessor and successor."""
    above = {joint.child: joint for joint in joints}
    gears = (e for e in robot.findall("coupling") if e.find("predecessor") is not None)
    return [_read_urdf_plus_coupling(document, element, above) for element in gears]


def _read_urdf_plus_coupling(
    document: Document, element: Element, above: dict[str, Joint]
) -> Coupling:
    chains = []
    for tag in ("predecessor", "successor"):
        side = document.needed_child(element, tag, f'<{tag} link="..."/>')
        link = document.attribute(side, "link")
        if link not in above and link not in {joint.parent for joint in above.values()}:
            raise document.error(side, unknown("link", link, above))
        chains.append(joints_above(link, above))
    value = document.needed_child(element, "ratio", '<ratio value="6"/>')
    ratio = document.number(value, "value")
    document.understood(value, "value", check_ratio, ratio)
    to_predecessor, to_successor = chains
    shared = {joint.name for joint in to_predecessor} & {joint.name for joint in to_successor}
    terms = [(_coordinate(document, element, joint), 1.0) for joint in to_successor]
    terms += [(_coordinate(document, element, joint), -ratio) for joint in to_predecessor]
    terms = [(name, factor) for name, factor in terms if name and name not in shared]
    if len(terms) < 2:
        raise document.error(
            element,
            f"between the two links and their nearest common ancestor {len(terms)} joints move; "
            f"a coupling needs two or more",
        )
    (joint, factor_of_joint), *others = terms
    return Coupling(
        document.attribute(element, "name"),
        joint,
        tuple((name, -factor / factor_of_joint) for name, factor in others),
        line=line_of(element),
        source=document.file,
    )


def joints_above(link: str, above: Mapping[str, Joint]) -> list[Joint]:
    """Return the joints from a link up to the root; `above` holds the joint that carries each."""
    chain = []
    while link in above:
        chain.append(above[link])
        link = above[link].parent
    return chain


def _coordinate(document: Document, element: Element, joint: Joint) -> str:
    """Return the name of a joint's coordinate, "" for a fixed joint."""
    if joint.type == "fixed":
        return ""
    if joint.type not in ONE_FREEDOM:
        message = f"joint {joint.name!r} between the links is {joint.type}; a sum needs one each"
        raise document.error(element, message)
    return joint.name
