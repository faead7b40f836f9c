"""URDF+ (arXiv 2411.19753): loops and couplings as elements of the URDF.

::

    <loop name="pin" type="revolute">          revolute continuous prismatic planar fixed, and ours
      <predecessor link="coupler"><origin xyz="1 0 0" rpy="0 0 0"/></predecessor>
      <successor link="base"><origin xyz="2 0 0"/></successor>
      <axis xyz="0 0 1"/>                      in the predecessor's frame; 1 0 0 if left out
    </loop>
    <coupling name="belt">                     ratio * (sum of the coordinates from the nearest
      <predecessor link="thigh"/>              common ancestor to the predecessor) = the sum to the
      <successor link="rotor"/>                successor
      <ratio value="6"/>
    </coupling>
"""

from __future__ import annotations

from collections.abc import Sequence

from mbd_bridge.files.document import Document, unknown
from mbd_bridge.files.joints import DEFAULT_AXIS, ONE_FREEDOM
from mbd_bridge.files.loops import TYPES_WITH_AXIS, check_ratio, loop_type
from mbd_bridge.files.xml_reader import Element, line_of
from mbd_bridge.model.description import Coupling, Joint, Loop, LoopEnd

BEYOND = ("distance", "mask", "rolling")
"""Types of loops that need more than such an element says."""


def read_loops(document: Document, robot: Element) -> list[Loop]:
    """Return the loops of the ``<loop>`` elements."""
    for joint in robot.findall("joint"):
        if joint.get("independent") is not None:
            kind = "independent= is not used: any coordinates may be given, and rank tells the rest"
            document.remark_at(kind, joint)
    return [_read_loop(document, element) for element in robot.findall("loop")]


def _read_loop(document: Document, element: Element) -> Loop:
    try:
        kind = loop_type(document.attribute(element, "type"))
    except ValueError as error:
        raise document.error(element, str(error)) from None
    if kind in BEYOND:
        message = f"a {kind} loop is written as a <loop_joint>: a <loop> has no place for its data"
        raise document.error(element, message)
    ends = []
    for tag in ("predecessor", "successor"):
        side = document.needed_child(element, tag, f'<{tag} link="..."><origin xyz="..."/></{tag}>')
        ends.append(LoopEnd(document.attribute(side, "link"), document.origin(side)))
    axis = document.child(element, "axis")
    return Loop(
        name=document.attribute(element, "name"),
        type=kind,
        predecessor=ends[0],
        successor=ends[1],
        axis=DEFAULT_AXIS
        if axis is None or kind not in TYPES_WITH_AXIS
        else document.direction(axis, "xyz", DEFAULT_AXIS),
        line=line_of(element),
        source=document.file,
    )


def read_couplings(document: Document, robot: Element, joints: Sequence[Joint]) -> list[Coupling]:
    """Return the gears of the ``<coupling>`` elements with predecessor and successor."""
    above = {joint.child: joint for joint in joints}
    found = (e for e in robot.findall("coupling") if e.find("predecessor") is not None)
    return [_read_coupling(document, element, above) for element in found]


def _read_coupling(document: Document, element: Element, above: dict[str, Joint]) -> Coupling:
    chains = []
    for tag in ("predecessor", "successor"):
        side = document.needed_child(element, tag, f'<{tag} link="..."/>')
        link = document.attribute(side, "link")
        if link not in above and link not in {joint.parent for joint in above.values()}:
            raise document.error(side, unknown("link", link, above))
        chains.append(_chain(link, above))
    value = document.needed_child(element, "ratio", '<ratio value="6"/>')
    ratio = document.number(value, "value")
    try:
        check_ratio(ratio)
    except ValueError as error:
        raise document.error(value, f"value: {error}") from None
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
    (joint, own), *others = terms
    return Coupling(
        document.attribute(element, "name"),
        joint,
        tuple((name, -factor / own) for name, factor in others),
        line=line_of(element),
        source=document.file,
    )


def _chain(link: str, above: dict[str, Joint]) -> list[Joint]:
    """Return the joints from a link up to the root."""
    found = []
    while link in above:
        found.append(above[link])
        link = above[link].parent
    return found


def _coordinate(document: Document, element: Element, joint: Joint) -> str:
    """Return the name of a joint's coordinate, "" for a fixed joint."""
    if joint.type == "fixed":
        return ""
    if joint.type not in ONE_FREEDOM:
        message = f"joint {joint.name!r} between the links is {joint.type}; a sum needs one each"
        raise document.error(element, message)
    return joint.name
