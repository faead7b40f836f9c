"""``NAME.loops.yaml`` beside ``NAME.urdf``: loops for a file that cannot or must not be changed.

::

    loops:
      - name: coupler_pin
        type: revolute
        predecessor: {link: coupler, xyz: [0, 0, 1], rpy: [0, 0, 0]}
        successor:   {link: base,    xyz: [1, 0, 1], rpy: [0, 0, 0]}
        axis: [0, 1, 0]      # in the predecessor's frame; universal: axis2 in the successor's
"""

from __future__ import annotations

from pathlib import Path

from mbd_bridge.formats.description import Loop, LoopEnd, Vector3
from mbd_bridge.formats.document import pose, unit_vector
from mbd_bridge.formats.joints import DEFAULT_AXIS, parallel
from mbd_bridge.formats.loops import TYPES_WITH_AXIS, loop_type
from mbd_bridge.formats.yaml_reader import Node, read_yaml

KEYS = ("name", "type", "predecessor", "successor", "axis", "axis2", "length")
SIDE_KEYS = ("link", "xyz", "rpy")
SUFFIX = ".loops.yaml"


def sidecar_path(path: Path) -> Path:
    """Return where the sidecar of a robot file would be: ``a.urdf.xacro`` has ``a.loops.yaml``."""
    name = path.name
    for suffix in (".xacro", ".urdf"):
        name = name.removesuffix(suffix)
    return path.with_name((name or path.name) + SUFFIX)


def read_sidecar(path: str | Path) -> list[Loop]:
    """Return the loops of a sidecar file; its links are checked with the robot's."""
    table = read_yaml(path).table(("loops",))
    loops = table.get("loops")
    return [] if loops is None or loops.value == "" else [_loop(n) for n in loops.items()]


def _needed(table: dict[str, Node], key: str, node: Node) -> Node:
    if key not in table:
        raise node.error(f"the key {key!r} is missing (keys here: {', '.join(table)}); add it")
    return table[key]


def _loop(node: Node) -> Loop:
    table = node.table(KEYS)
    name = _needed(table, "name", node).text()
    node = Node(node.value, node.line, node.file, f"loop {name!r}")
    type_node = _needed(table, "type", node)
    try:
        kind = loop_type(type_node.text())
    except ValueError as error:
        raise type_node.error(str(error)) from None
    if kind in TYPES_WITH_AXIS and "axis" not in table:
        raise node.error(f"a {kind} loop needs an axis; write axis: [0, 0, 1]")
    axis2 = None
    axis = _direction(table["axis"]) if "axis" in table else DEFAULT_AXIS
    if kind == "universal" and "axis2" in table:
        axis2 = _direction(table["axis2"])
        if parallel(axis, axis2):
            raise node.error(f"axis {axis} and axis2 {axis2} are parallel; write two directions")
    length = table["length"].number() if "length" in table else None
    if length is not None and (kind != "distance" or length <= 0.0):
        raise table["length"].error("length is for distance loops, above 0 m; correct or remove it")
    return Loop(
        name=name,
        type=kind,
        predecessor=_end(_needed(table, "predecessor", node)),
        successor=_end(_needed(table, "successor", node)),
        axis=axis,
        axis2=axis2,
        length=length,
        line=node.line,
        source=node.file,
    )


def _end(node: Node) -> LoopEnd:
    table = node.table(SIDE_KEYS)
    zero = (0.0, 0.0, 0.0)
    xyz = table["xyz"].vector() if "xyz" in table else zero
    rpy = table["rpy"].vector() if "rpy" in table else zero
    link = _needed(table, "link", node).text()
    try:
        return LoopEnd(link, pose(xyz, rpy))
    except ValueError as error:
        raise table["xyz"].error(str(error)) from None


def _direction(node: Node) -> Vector3:
    try:
        return unit_vector(node.vector())
    except ValueError as error:
        raise node.error(str(error)) from None
