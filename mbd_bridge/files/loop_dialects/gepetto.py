"""Loops of Gepetto's example-parallel-robots: ``NAME.yaml`` beside ``NAME.urdf``.

::

    closed_loop: [[foot_frame, rod_frame], [a, b]]   # pairs of frames: links, or joints' children
    type: [3d, 6d]                # 3d: their origins meet; 6d: they are welded (the default)
    name_mot: [hip, knee]         # actuated joints, by name or by a part of it
    joint_name: [rod_ball, u]     # joints that are another type than the URDF can say:
    joint_type: [SPHERICAL, UJOINT_XY]     # also UJOINT_YZ, ZX, ZY, CARDAN (XY), FIXED
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mbd_bridge.files.document import Document, unknown
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.loop_dialects.told import Told
from mbd_bridge.files.xml_reader import decode, read_bytes
from mbd_bridge.files.yaml_reader import MAX_BYTES, Node, read_yaml
from mbd_bridge.model.description import Joint, Limits, Link, Loop, LoopEnd, Vector3
from mbd_bridge.model.spatial import Frame

KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
SIGNS = ("closed_loop", "joint_type")
"""Words one of which such a file has; others of this name are for other programs."""

TYPES = {"6d": "fixed", "3d": "spherical"}
AXES: dict[str, Vector3] = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
JOINT_TYPES = ("SPHERICAL", "FIXED", "CARDAN", "UJOINT_XY", "UJOINT_YZ", "UJOINT_ZX", "UJOINT_ZY")


def find(path: Path) -> Path | None:
    """Return the file that goes with a robot file, if it is one of these."""
    beside = path.with_suffix(".yaml")
    if beside == path or file_beside(beside, path) is None:
        return None
    if beside.stat().st_size > MAX_BYTES:
        return None
    text = decode(read_bytes(beside, MAX_BYTES), str(beside))
    return beside if any(f"{sign}:" in text for sign in SIGNS) else None


def read(document: Document, path: Path, links: Sequence[Link], joints: tuple[Joint, ...]) -> Told:
    """Return the loops, the joints with their types, and which are actuated."""
    table = read_yaml(path).table(KEYS)
    frames = {joint.name: joint.child for joint in joints} | {one.name: one.name for one in links}
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
    found: dict[str, None] = {}
    for one in asked:
        exact = [name for name in movable if name == one.text()]
        named = exact or [name for name in movable if one.text() in name]
        if not named:
            raise one.error(unknown("joint that moves", one.text(), movable))
        found.update(dict.fromkeys(named))
    return tuple(found)
