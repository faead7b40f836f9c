"""Couplings of two joints as SDF says them: gearboxes, else mimics.

    gearbox    theta_child = -ratio theta_parent, turns of two links against a third
    mimic      q = multiplier (q_leader - reference) + offset

A gearbox keeps both coordinates, as a coupling does. A joint that mimics another one has none of
its own in the file that is read back.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.formats.description import Coupling, Description, Joint, Mimic
from mbd_bridge.formats.left_out import LeftOut
from mbd_bridge.formats.sdf.joints import GEARBOX
from mbd_bridge.formats.turn import turn_round
from mbd_bridge.formats.write.values import child, number, numbers, said
from mbd_bridge.formats.xml_reader import Element
from mbd_bridge.spatial import Frame

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
    joints = {one.name: turn_round(one) if one.turned else one for one in description.joints}
    mimics: dict[str, Mimic] = {}
    for coupling in description.couplings:
        if not coupling.follows:
            left_out.add("locks of coordinates", coupling.name)
            continue
        (leader, ratio), *others = coupling.follows
        one, other = joints.get(coupling.joint), joints.get(leader)
        if others or one is None or other is None:
            left_out.add("gears (couplings) of several leaders", coupling.name)
        elif (at := _reference(one, other)) and not coupling.offset and ratio:
            _gearbox(model, coupling.name, (other, one), at, ratio, places)
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
    links = [one.child if one.parent == reference else one.parent for one in pair]
    element = child(model, "joint", name=name, type=GEARBOX)
    said(element, "parent", links[0])
    said(element, "child", links[1])
    senses = [1.0 if one.parent == reference else -1.0 for one in pair]
    said(element, "gearbox_ratio", number(-ratio * senses[1] * senses[0]))
    said(element, "gearbox_reference_body", reference)
    here = places[links[1]].rotation
    for tag, one in zip(("axis", "axis2"), pair, strict=True):
        at = places[one.child].rotation @ one.child_frame.rotation
        said(child(element, tag), "xyz", numbers(here.T @ at @ np.array(one.axis)))


def _can_mimic(
    coupling: Coupling,
    description: Description,
    joints: dict[str, Joint],
    mimics: dict[str, Mimic],
) -> bool:
    """Return whether the follower may lose its coordinate: nothing else asks for it."""
    leader = coupling.follows[0][0]
    pair = joints[coupling.joint], joints[leader]
    if any(one.type not in AXES for one in pair) or pair[0].mimic is not None:
        return False
    named = [
        name
        for one in description.couplings
        for name in (one.joint, *(followed for followed, _ in one.follows))
    ]
    if named.count(coupling.joint) > 1:
        return False
    chain = leader
    while chain != coupling.joint:
        found = mimics.get(chain) or joints[chain].mimic
        if found is None:
            return True
        chain = found.joint
    return False
