"""A spanning tree of a graph of links and joints; the joints beside it close loops.

Which joints carry the tree: first those that a cut could not be (screws, springs, gears, mimics),
then those with the fewest degrees of freedom, then in the file's order. So a loop is cut at a ball
rather than at a hinge, which leaves the fewest coordinates and constraints. A joint that the tree
walks from its child to its parent is turned (`formats.turn`).
"""

from __future__ import annotations

from collections.abc import Sequence

from mbd_bridge.formats.description import Joint, Loop, LoopEnd
from mbd_bridge.formats.turn import turn_round

FREEDOMS = {"fixed": 0, "universal": 2, "spherical": 3}
"""Degrees of freedom of types that have not one."""

AS_LOOP = {"prismatic": "translational", "continuous": "revolute"}
"""Names of cuts of joints whose type the table of cuts calls otherwise."""


def spanning_tree(
    links: Sequence[str], joints: Sequence[Joint], kept: set[str], root: str
) -> tuple[list[Joint], list[Joint], list[str]]:
    """Return the joints of the tree as walked, those that close loops, and first links of parts.

    Parameters
    ----------
    links : names, in the file's order; `root` is one of them
    kept : names of joints that cannot be cut

    Returns
    -------
    Joints of the tree; the others, as described; and, of each part that no joint connects with the
    root, the link that the tree starts from.
    """
    group = {link: link for link in links}

    def top(link: str) -> str:
        while group[link] != link:
            group[link] = group[group[link]]
            link = group[link]
        return link

    def rank(index: int) -> tuple[bool, int, int]:
        joint = joints[index]
        return joint.name not in kept, FREEDOMS.get(joint.type, 1), index

    chosen = set()
    for index in sorted(range(len(joints)), key=rank):
        first, second = top(joints[index].parent), top(joints[index].child)
        if first != second:
            group[first] = second
            chosen.add(index)
    at: dict[str, list[int]] = {link: [] for link in links}
    for index in sorted(chosen):
        at[joints[index].parent].append(index)
        at[joints[index].child].append(index)
    carried = {joint.child for joint in joints}
    starts = [root, *(link for link in links if link not in carried), *links]
    reached: set[str] = set()
    walked: dict[int, Joint] = {}
    parts = []
    for start in starts:
        if start in reached:
            continue
        parts.append(start)
        reached.add(start)
        queue = [start]
        for link in queue:
            for index in at[link]:
                if index in walked:
                    continue
                joint = joints[index]
                walked[index] = joint if joint.parent == link else turn_round(joint)
                reached.add(walked[index].child)
                queue.append(walked[index].child)
    tree = [walked[index] for index in sorted(walked)]
    return tree, [joints[k] for k in range(len(joints)) if k not in chosen], parts[1:]


def as_loop(joint: Joint) -> Loop:
    """Return a joint as one that closes a loop."""
    return Loop(
        joint.name,
        AS_LOOP.get(joint.type, joint.type),
        LoopEnd(joint.parent, joint.origin),
        LoopEnd(joint.child, joint.child_frame),
        joint.axis,
        joint.axis2,
        line=joint.line,
        source=joint.source,
    )
