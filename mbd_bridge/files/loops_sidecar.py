"""``NAME.loops.yaml`` beside ``NAME.urdf``: loops for a file that cannot or must not be changed.

::

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

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mbd_bridge.files.checks import check_couplings, check_loops
from mbd_bridge.files.document import pose, unit_vector, unknown
from mbd_bridge.files.elements import DEFAULT_AXIS
from mbd_bridge.files.loops import TYPES_WITH_AXIS, check_radius, check_ratio, loop_type, mask_of
from mbd_bridge.files.sidecars import existing_sidecar
from mbd_bridge.files.yaml_text import Node, read_yaml
from mbd_bridge.model.description import (
    Coupling,
    Description,
    Joint,
    Loop,
    LoopEnd,
    Vector3,
    parallel,
)

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
