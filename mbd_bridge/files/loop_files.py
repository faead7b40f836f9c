"""Loops for a file that cannot or must not be changed, and as other programs write them.

``NAME.loops.yaml`` beside ``NAME.urdf``::

    loops:
      - name: coupler_pin
        type: revolute
        predecessor: {link: coupler, xyz: [0, 0, 1], rpy: [0, 0, 0]}
        successor:   {link: base,    xyz: [1, 0, 1], rpy: [0, 0, 0]}
        axis: [0, 1, 0]      # in the predecessor's frame; universal: axis2 in the successor's
      - name: slot
        type: mask
        predecessor: {link: slider}
        successor:   {link: pin, xyz: [0, 0, 0.1]}
        rows: [0, 1, 1, 0, 0, 0]    # held: along x, y, z, about x, y, z of the predecessor's frame
      - name: contact             # a wheel with a knife edge, the successor, rolls on a plane
        type: rolling
        predecessor: {link: ground}     # its frame's origin lies in the plane
        successor: {link: wheel}        # its frame's origin is the wheel's centre
        axis: [0, 0, 1]                 # normal of the plane, in the predecessor's frame
        axis2: [0, 1, 0]                # axis of the wheel, in the successor's frame
        radius: 0.3
    couplings:                      # gears: joint = ratio * follows + offset
      - {name: mesh, joint: wheel, follows: pinion, ratio: -0.5, offset: 0}
      - {name: differential, joint: cage, follows: {left: 0.5, right: 0.5}}   # names and ratios
      - {name: brake, joint: elbow, follows: {}, offset: 0.3}    # none: locked at 0.3 rad
    actuated: [crank]               # actuated joints; without it the <transmission>s tell
    planar: true                    # loads out of the plane in which all joints move are zero
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mbd_bridge.files.checks import check_couplings, check_loops
from mbd_bridge.files.document import Document, pose, unit_vector, unknown
from mbd_bridge.files.elements import DEFAULT_AXIS
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.loops import TYPES_WITH_AXIS, check_radius, check_ratio, loop_type, mask_of
from mbd_bridge.files.sidecars import existing_sidecar
from mbd_bridge.files.xml_reader import decode, read_bytes
from mbd_bridge.files.yaml_text import MAX_BYTES, Node, read_yaml
from mbd_bridge.model.description import (
    Coupling,
    Description,
    Joint,
    Limits,
    Link,
    Loop,
    LoopEnd,
    Vector3,
    parallel,
)
from mbd_bridge.model.spatial import Frame

SIDES = {
    "parent": "predecessor",
    "link1": "predecessor",
    "child": "successor",
    "link2": "successor",
}
"""What others call the two sides of a loop joint."""
KEYS = ("name", "type", "predecessor", "successor", "axis", "axis2", "length", "rows", "radius")
COUPLING_KEYS = ("name", "joint", "follows", "ratio", "offset")
SIDE_KEYS = ("link", "xyz", "rpy")


class Sidecar(NamedTuple):
    """What a sidecar says; `actuated` is None where it does not say which joints are actuated."""

    loops: tuple[Loop, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    actuated: tuple[Node, ...] | None = None
    planar: bool = False


def read_sidecar(path: str | Path) -> Sidecar:
    """Return what a sidecar file says; names are checked with the robot's."""
    root = read_yaml(path)
    table = root.table(("loops", "couplings", "actuated", "planar"))
    return Sidecar(
        tuple(_loop(node) for node in root.listed("loops")),
        tuple(_coupling(node) for node in root.listed("couplings")),
        tuple(table["actuated"].items()) if "actuated" in table else None,
        table["planar"].flag() if "planar" in table else False,
    )


def with_sidecar(description: Description) -> Description:
    """Return a description with what the sidecar beside its file adds, if there is one."""
    file = description.source or ""
    path = existing_sidecar(file) if file else None
    if path is None:
        return description
    beside = read_sidecar(path)
    loops = (*description.loops, *beside.loops)
    couplings = (*description.couplings, *beside.couplings)
    check_loops(loops, description.links, description.joints, file)
    check_couplings(couplings, loops, description.joints, file)
    actuated = description.actuated
    if beside.actuated is not None:
        actuated = actuated_names(beside.actuated, description.joints, loops)
    return replace(
        description, loops=loops, couplings=couplings, actuated=actuated, planar=beside.planar
    )


def actuated_names(
    nodes: Sequence[Node], joints: Sequence[Joint], loops: Sequence[Loop]
) -> tuple[str, ...]:
    """Return the names of the actuated joints, each a joint that can have one."""
    free = [j.name for j in joints if j.type != "fixed" and j.mimic is None]
    known = [*free, *(loop.name for loop in loops)]
    for node in nodes:
        if node.text() not in known:
            raise node.error(unknown("joint that can be actuated", node.text(), known))
    return tuple(node.text() for node in nodes)


def _coupling(node: Node) -> Coupling:
    table = node.table(COUPLING_KEYS)
    name = node.required("name").text()
    node = node.named(f"coupling {name!r}")
    follows = node.required("follows")
    if isinstance(follows.value, dict):
        if "ratio" in table:
            raise table["ratio"].error("each of several leaders has its ratio there; remove this")
        leaders = tuple((leader, _ratio(ratio)) for leader, ratio in follows.value.items())
    else:
        leaders = ((follows.text(), _ratio(node.required("ratio"))),)
    return Coupling(
        name,
        node.required("joint").text(),
        leaders,
        table["offset"].number() if "offset" in table else 0.0,
        node.line,
        node.file,
    )


def _ratio(node: Node) -> float:
    ratio = node.number()
    with node.placed(ValueError):
        check_ratio(ratio)
    return ratio


def _loop(node: Node) -> Loop:
    for side in node.value if isinstance(node.value, dict) else ():
        if side in SIDES:
            raise node.error(
                f"{side}: the sides of a loop joint are called predecessor and successor; write "
                f"{SIDES[side]}: {{link: NAME, xyz: [x, y, z]}}"
            )
    table = node.table(KEYS)
    name = node.required("name").text()
    node = node.named(f"loop {name!r}")
    type_node = node.required("type")
    with type_node.placed(ValueError):
        kind = loop_type(type_node.text())
    if kind in TYPES_WITH_AXIS and "axis" not in table:
        raise node.error(f"a {kind} loop needs an axis; write axis: [0, 0, 1]")
    axis2 = None
    axis = _direction(table["axis"]) if "axis" in table else DEFAULT_AXIS
    if kind == "universal" and "axis2" in table:
        axis2 = _direction(table["axis2"])
        if parallel(axis, axis2):
            raise node.error(f"axis {axis} and axis2 {axis2} are parallel; write two directions")
    if kind == "rolling":
        axis2 = _direction(node.required("axis2"))
    length = table["length"].number() if "length" in table else None
    if length is not None and (kind != "distance" or length <= 0.0):
        raise table["length"].error("length is for distance loops, above 0 m; correct or remove it")
    rows = None
    if kind == "mask":
        wanted = node.required("rows")
        with wanted.placed(ValueError):
            rows = mask_of(tuple(number.number() for number in wanted.items()))
    elif "rows" in table:
        raise table["rows"].error(f"rows are for masks, a {kind} loop has its own; remove them")
    return Loop(
        name=name,
        type=kind,
        predecessor=_end(node.required("predecessor")),
        successor=_end(node.required("successor")),
        axis=axis,
        axis2=axis2,
        length=length,
        rows=rows,
        line=node.line,
        source=node.file,
        radius=_radius(table, node, kind),
    )


def _radius(table: dict[str, Node], node: Node, kind: str) -> float | None:
    """Return the radius of a rolling wheel, m, None for other types."""
    if kind != "rolling":
        if "radius" in table:
            raise table["radius"].error(f"a radius is for rolling loops, not {kind}; remove it")
        return None
    radius = node.required("radius")
    with radius.placed(ValueError):
        return check_radius(radius.number())


def _end(node: Node) -> LoopEnd:
    table = node.table(SIDE_KEYS)
    zero = (0.0, 0.0, 0.0)
    xyz = table["xyz"].vector() if "xyz" in table else zero
    rpy = table["rpy"].vector() if "rpy" in table else zero
    link = node.required("link").text()
    with table.get("xyz", node).placed(ValueError):
        return LoopEnd(link, pose(xyz, rpy))


def _direction(node: Node) -> Vector3:
    with node.placed(ValueError):
        return unit_vector(node.vector())


# Loops as other programs write them for a URDF: in the file, in its names, in a file beside it.

# What a reader of another program's convention returns.


@dataclass(frozen=True, slots=True)
class Told:
    """Joints as they are to be, loops, and the actuated joints (None: nothing is said)."""

    joints: tuple[Joint, ...]
    loops: tuple[Loop, ...] = ()
    actuated: tuple[str, ...] | None = None


# Loops of Gepetto's example-parallel-robots: ``NAME.yaml`` beside ``NAME.urdf``.
#
# ::
#
#     closed_loop: [[foot_frame, rod_frame], [a, b]]   # frames: links, or joints' children
#     type: [3d, 6d]                # 3d: their origins meet; 6d: they are welded (the default)
#     name_mot: [hip, knee]         # actuated joints, by name or by a part of it
#     joint_name: [rod_ball, u]     # joints that are another type than the URDF can say:
#     joint_type: [SPHERICAL, UJOINT_XY]     # also UJOINT_YZ, ZX, ZY, CARDAN (XY), FIXED

GEPETTO_KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
SIGNS = ("closed_loop", "joint_type")
"""Words one of which such a file has; others of this name are for other programs."""

TYPES = {"6d": "fixed", "3d": "spherical"}
AXES: dict[str, Vector3] = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
JOINT_TYPES = ("SPHERICAL", "FIXED", "CARDAN", "UJOINT_XY", "UJOINT_YZ", "UJOINT_ZX", "UJOINT_ZY")


def find_gepetto(path: Path) -> Path | None:
    """Return the file that goes with a robot file, if it is one of these."""
    beside = path.with_suffix(".yaml")
    if beside == path or file_beside(beside, path) is None:
        return None
    if beside.stat().st_size > MAX_BYTES:
        return None
    text = decode(read_bytes(beside, MAX_BYTES), str(beside))
    return beside if any(f"{sign}:" in text for sign in SIGNS) else None


def read_gepetto(
    document: Document, path: Path, links: Sequence[Link], joints: tuple[Joint, ...]
) -> Told:
    """Return the loops, the joints with their types, and which are actuated."""
    table = read_yaml(path).table(GEPETTO_KEYS)
    frames = {joint.name: joint.child for joint in joints} | {
        link.name: link.name for link in links
    }
    pairs = _items(table, "closed_loop")
    types = _items(table, "type")
    if types and len(types) != len(pairs):
        raise table["type"].error(f"expected {len(pairs)}, one for each pair, got {len(types)}")
    loops = []
    for k, pair in enumerate(pairs):
        ends = pair.items()
        if len(ends) != 2:
            raise pair.error(f"expected the names of two frames, got {len(ends)}")
        kind = "fixed" if not types else _type(types[k])
        for end in ends:
            if end.text() not in frames:
                raise end.error(unknown("link or joint", end.text(), frames))
        name = "-".join(end.text() for end in ends)
        a, b = (LoopEnd(frames[end.text()], Frame.identity()) for end in ends)
        loops.append(Loop(name, kind, a, b, line=pair.line, source=str(path)))
    return Told(_retyped(table, joints), tuple(loops), _motors(table, joints))


def _items(table: dict[str, Node], key: str) -> list[Node]:
    return table[key].items() if key in table else []


def _type(node: Node) -> str:
    kind = TYPES.get(node.text().lower())
    if kind is None:
        raise node.error(unknown("type of closing", node.text(), TYPES))
    return kind


def _retyped(table: dict[str, Node], joints: tuple[Joint, ...]) -> tuple[Joint, ...]:
    """Return the joints, those that the file names with the types that it says."""
    names, types = _items(table, "joint_name"), _items(table, "joint_type")
    if len(names) != len(types):
        at = table.get("joint_type") or table["joint_name"]
        raise at.error(f"{len(names)} in joint_name and {len(types)} in joint_type")
    movable = {joint.name: joint for joint in joints if joint.type != "fixed"}
    changed = {}
    for name, kind in zip(names, types, strict=True):
        if name.text() not in movable:
            raise name.error(unknown("joint that moves", name.text(), movable))
        if kind.text() not in JOINT_TYPES:
            raise kind.error(unknown("joint type", kind.text(), JOINT_TYPES))
        free = replace(movable[name.text()], mimic=None, limits=Limits())
        if kind.text() in ("SPHERICAL", "FIXED"):
            changed[free.name] = replace(free, type=kind.text().lower())
        else:
            axes = "XY" if kind.text() == "CARDAN" else kind.text()[-2:]
            changed[free.name] = replace(
                free, type="universal", axis=AXES[axes[0]], axis2=AXES[axes[1]]
            )
    return tuple(changed.get(joint.name, joint) for joint in joints)


def _motors(table: dict[str, Node], joints: Sequence[Joint]) -> tuple[str, ...] | None:
    """Return the actuated joints: those that are named, or whose names have such a part."""
    if "name_mot" not in table:
        return None
    node = table["name_mot"]
    asked = [node] if isinstance(node.value, str) else node.items()
    movable = [joint.name for joint in joints if joint.type != "fixed"]
    chosen: dict[str, None] = {}
    for item in asked:
        exact = [name for name in movable if name == item.text()]
        named = exact or [name for name in movable if item.text() in name]
        if not named:
            raise item.error(unknown("joint that moves", item.text(), movable))
        chosen.update(dict.fromkeys(named))
    return tuple(chosen)


# Loops of onshape-to-robot: pairs of frames (massless links) with names that say so.
#
# A mate ``closing_NAME`` leaves the links ``closing_NAME_1`` and ``closing_NAME_2``; for a
# revolute mate also ``closing_NAME_1_z`` and ``_2_z``, off along the axis. The URDF says nothing
# else, so a mate without these is closed at its point only: a ball, or a weld, as far as the file
# tells.

NAME = re.compile(r"(closing_.+)_1")


def onshape_pairs(links: Sequence[Link]) -> dict[str, str]:
    """Return the types of the loops that the links' names tell, by the name of the mate."""
    frames = {link.name for link in links if link.inertia is None or link.inertia.mass == 0.0}
    pairs = {}
    for link in links:
        match = NAME.fullmatch(link.name)
        if match and link.name in frames and f"{match[1]}_2" in frames:
            turns = f"{match[1]}_1_z" in frames and f"{match[1]}_2_z" in frames
            pairs[match[1]] = "revolute" if turns else "spherical"
    return pairs


def read_onshape(
    document: Document, named: Mapping[str, str], links: Sequence[Link], joints: tuple[Joint, ...]
) -> Told:
    """Return the loops between the frames of each pair."""
    lines = {link.name: link.line for link in links}
    loops = []
    for name, kind in named.items():
        a, b = (LoopEnd(f"{name}_{k}", Frame.identity()) for k in (1, 2))
        line = lines[f"{name}_1"]
        loops.append(Loop(name, kind, a, b, (0.0, 0.0, 1.0), line=line, source=document.file))
        how = "about z" if kind == "revolute" else "a point; if it is welded, say so in .loops.yaml"
        document.remark("loops closed between the frames of onshape-to-robot", f"{name} ({how})")
    return Told(joints, tuple(loops))


# Loops of sw2robot, an exporter of CAD assemblies: ``loop_closures.yaml``.
#
# ::
#
#     closures:
#       - {link_a: coupler, link_b: base, point: [1, 0, 0.5], axis: [0, 1, 0]}   # a hinge
#     dependent: [coupler__rocker]        # joints that follow from the loop
#     independent: [base__crank]          # joints with an actuator
#
# Point (m) and axis are given in the root link's frame, with all coordinates zero. The exporter
# also writes ``<mimic>`` where a loop is a parallelogram, for programs that know no loops.

FILE = "loop_closures.yaml"
SW2ROBOT_KEYS = ("closures", "dependent", "independent")


def find_sw2robot(path: Path) -> Path | None:
    """Return the file that goes with a robot file: beside it, or in the package around it."""
    folder = path.absolute().parent
    places = (folder / FILE, folder.parent / FILE, folder.parent / "config" / FILE)
    return next((file for file in places if file_beside(file, path) is not None), None)


def read_sw2robot(
    document: Document, path: Path, links: Sequence[Link], joints: tuple[Joint, ...]
) -> Told:
    """Return the loops, and the joints without the mimics that stand for them."""
    table = read_yaml(path).table(SW2ROBOT_KEYS)
    items = _items(table, "closures")
    names = [link.name for link in links]
    for item in items:
        item.table(("link_a", "link_b", "point", "axis"))
    ends = [item.required(key).text() for item in items for key in ("link_a", "link_b")]
    if items and not set(ends) & set(names):
        document.remark("not read, since it names no link of this robot", str(path))
        return Told(joints)
    poses = _poses(joints)
    loops = []
    for item in items:
        point = Frame(np.eye(3), np.array(item.required("point").vector()))
        axis, sides = item.required("axis"), [item.required(key) for key in ("link_a", "link_b")]
        for side in sides:
            if side.text() not in names:
                raise side.error(unknown("link", side.text(), names))
        with axis.placed(ValueError):
            direction = unit_vector(axis.vector())
        a, b = (
            LoopEnd(side.text(), poses.get(side.text(), Frame.identity()).inverse() @ point)
            for side in sides
        )
        name = f"{a.link}-{b.link}"
        loops.append(Loop(name, "revolute", a, b, direction, line=item.line, source=str(path)))
    return Told(_free(document, joints, table), tuple(loops), _independent(table, joints))


def _poses(joints: Sequence[Joint]) -> dict[str, Frame]:
    """Return the frame of each link but the root in the root's, with all coordinates zero."""
    above = {joint.child: joint for joint in joints}
    poses: dict[str, Frame] = {}
    for link in above:
        path = []
        while link in above and link not in poses:
            path.append(link)
            link = above[link].parent
        for child in reversed(path):
            poses[child] = poses.get(above[child].parent, Frame.identity()) @ above[child].origin
    return poses


def _free(
    document: Document, joints: tuple[Joint, ...], table: dict[str, Node]
) -> tuple[Joint, ...]:
    """Return the joints; those that a loop moves do not mimic another one besides."""
    dependent = {node.text() for node in _items(table, "dependent")}
    free = []
    for joint in joints:
        if joint.name in dependent and joint.mimic is not None:
            kind = "<mimic> is not used where a loop closes the linkage"
            document.remark(kind, f"line {joint.line} {joint.name!r}")
            joint = replace(joint, mimic=None)
        free.append(joint)
    return tuple(free)


def _independent(table: dict[str, Node], joints: Sequence[Joint]) -> tuple[str, ...] | None:
    if "independent" not in table:
        return None
    movable = [joint.name for joint in joints if joint.type != "fixed"]
    for node in table["independent"].items():
        if node.text() not in movable:
            raise node.error(unknown("joint that moves", node.text(), movable))
    return tuple(node.text() for node in table["independent"].items())


READERS = (
    (find_gepetto, read_gepetto),
    (find_sw2robot, read_sw2robot),
)
"""Of files beside the robot's."""


def told_by_others(
    document: Document,
    path: Path | None,
    links: Sequence[Link],
    joints: tuple[Joint, ...],
    *,
    known: bool,
) -> Told:
    """Return what other programs' conventions say of the loops of a robot file.

    Parameters
    ----------
    path : of the robot file, or None for a text
    known : the file or ``NAME.loops.yaml`` says the loops already: others are remarked on only
    """
    for find, read in READERS:
        beside = None if path is None else find(path)
        if beside is None:
            continue
        if known:
            document.remark("not read, since the loops are told elsewhere", str(beside))
        else:
            return read(document, beside, links, joints)
    pairs = onshape_pairs(links)
    if pairs and known:
        document.remark("not closed, since the loops are told elsewhere", ", ".join(pairs))
    elif pairs:
        return read_onshape(document, pairs, links, joints)
    return Told(joints)
