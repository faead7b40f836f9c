"""Loops of sw2robot, an exporter of CAD assemblies: ``loop_closures.yaml``.

::

    closures:
      - {link_a: coupler, link_b: base, point: [1, 0, 0.5], axis: [0, 1, 0]}   # a hinge
    dependent: [coupler__rocker]        # joints that follow from the loop
    independent: [base__crank]          # joints with an actuator

Point (m) and axis are given in the root link's frame, with all coordinates zero. The exporter also
writes ``<mimic>`` where a loop is a parallelogram, for programs that know no loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mbd_bridge.files.document import Document, unit_vector, unknown
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.loop_dialects.told import Told
from mbd_bridge.files.yaml_reader import Node, read_yaml
from mbd_bridge.model.description import Joint, Link, Loop, LoopEnd
from mbd_bridge.model.spatial import Frame

FILE = "loop_closures.yaml"
KEYS = ("closures", "dependent", "independent")


def find(path: Path) -> Path | None:
    """Return the file that goes with a robot file: beside it, or in the package around it."""
    folder = path.absolute().parent
    places = (folder / FILE, folder.parent / FILE, folder.parent / "config" / FILE)
    return next((place for place in places if file_beside(place, path) is not None), None)


def read(document: Document, path: Path, links: Sequence[Link], joints: tuple[Joint, ...]) -> Told:
    """Return the loops, and the joints without the mimics that stand for them."""
    table = read_yaml(path).table(KEYS)
    items = table["closures"].items() if "closures" in table else []
    names = [link.name for link in links]
    closures = [item.table(("link_a", "link_b", "point", "axis")) for item in items]
    ends = [_needed(one, key, item).text() for one, item in zip(closures, items, strict=True)
            for key in ("link_a", "link_b")]  # fmt: skip
    if items and not set(ends) & set(names):
        document.remark("not read, since it names no link of this robot", str(path))
        return Told(joints)
    poses = _poses(joints)
    loops = []
    for item, one in zip(items, closures, strict=True):
        point = Frame(np.eye(3), np.array(_needed(one, "point", item).vector()))
        axis = _needed(one, "axis", item)
        for key in ("link_a", "link_b"):
            if one[key].text() not in names:
                raise one[key].error(unknown("link", one[key].text(), names))
        with axis.placed(ValueError):
            direction = unit_vector(axis.vector())
        a, b = (
            LoopEnd(link, poses.get(link, Frame.identity()).inverse() @ point)
            for link in (one["link_a"].text(), one["link_b"].text())
        )
        name = f"{a.link}-{b.link}"
        loops.append(Loop(name, "revolute", a, b, direction, line=item.line, source=str(path)))
    return Told(_free(document, joints, table), tuple(loops), _independent(table, joints))


def _needed(table: dict[str, Node], key: str, item: Node) -> Node:
    if key not in table:
        raise item.error(f"the key {key!r} is missing (keys here: {', '.join(table)}); add it")
    return table[key]


def _poses(joints: Sequence[Joint]) -> dict[str, Frame]:
    """Return the frame of each link but the root in the root's, with all coordinates zero."""
    above = {joint.child: joint for joint in joints}
    found: dict[str, Frame] = {}
    for link in above:
        path = []
        while link in above and link not in found:
            path.append(link)
            link = above[link].parent
        for child in reversed(path):
            found[child] = found.get(above[child].parent, Frame.identity()) @ above[child].origin
    return found


def _free(
    document: Document, joints: tuple[Joint, ...], table: dict[str, Node]
) -> tuple[Joint, ...]:
    """Return the joints; those that a loop moves do not mimic another one besides."""
    named = table["dependent"].items() if "dependent" in table else []
    dependent = {node.text() for node in named}
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
