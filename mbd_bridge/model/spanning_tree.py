"""Which joints carry the tree and which are cut: distance matrix, Dijkstra, path matrix (Lee94).

Bodies are nodes, joints are edges; the weight of an edge is its joint's weighting factor
(Lee94 Table 1). The tree of the shortest ways from the base holds one way to each body; an edge
that is not in it closes a loop and is cut. A file's own tree can be exchanged for that one, or for
one with other cuts (`recut`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from mbd_bridge.base.arguments import known_name, name_list
from mbd_bridge.base.errors import ModelError, some, warn
from mbd_bridge.model.cut_table import CUT_ROWS
from mbd_bridge.model.description import Description, Joint, Loop, LoopEnd, Vector3, second_axis
from mbd_bridge.model.joint_table import JOINT_TYPES
from mbd_bridge.model.spatial import Array


class Edge(NamedTuple):
    """A joint between two nodes, with its weight."""

    name: str
    first: int
    second: int
    weight: float


class TreeEdge(NamedTuple):
    """An edge of the tree, walked from `parent` to `child`."""

    edge: int
    parent: int
    child: int


def distance_matrix(count: int, edges: Sequence[Edge]) -> Array:
    """Return D: the (smallest) weight of the joints between i and j, 0 where there is none."""
    matrix = np.zeros((count, count))
    for edge in edges:
        old = matrix[edge.first, edge.second]
        new = edge.weight if old == 0.0 else min(old, edge.weight)
        matrix[edge.first, edge.second] = matrix[edge.second, edge.first] = new
    return matrix


def spanning_tree(
    count: int, edges: Sequence[Edge], base: int = 0
) -> tuple[list[TreeEdge], list[int]]:
    """Return the edges of the tree of shortest ways from `base`, and the indices of the cut ones.

    Ties are settled by the order of the edges, so that the result is always the same. Bodies
    that no way reaches are absent from the tree.
    """
    at: list[list[int]] = [[] for _ in range(count)]
    for index, edge in enumerate(edges):
        at[edge.first].append(index)
        at[edge.second].append(index)
    reached: set[int] = set()
    tree: list[TreeEdge] = []
    queue: list[tuple[float, int, int, int]] = [(0.0, -1, base, base)]
    while queue:
        distance, via, parent, node = heapq.heappop(queue)
        if node in reached:
            continue
        reached.add(node)
        if via >= 0:
            tree.append(TreeEdge(via, parent, node))
        for index in at[node]:
            edge = edges[index]
            other = edge.second if edge.first == node else edge.first
            if other not in reached:
                heapq.heappush(queue, (distance + edge.weight, index, node, other))
    used = {edge.edge for edge in tree}
    return tree, [index for index in range(len(edges)) if index not in used]


def path_matrix(parents: Sequence[int]) -> Array:
    """Return π: π_ij is true where body j lies between the base and body i, i itself included.

    ``parents[i]`` is the parent of body i, -1 for the base; parents come before children.
    """
    count = len(parents)
    path = np.eye(count, dtype=bool)
    for i, parent in enumerate(parents):
        if parent >= 0:
            path[i] |= path[parent]
    return path


# Choose which joints carry the tree and which are cut, whatever the file says of it.
#
# A joint is the same joint in the tree and as a cut: a frame A on its parent, a frame B on its
# child, and a motion T(q) of B in A. A file's own tree (``cuts="authored"``) can be exchanged for
# another: a loop joint may carry the tree, a joint of the tree may be cut, and where the way from
# the root now leads through a joint from its child to its parent, it is *turned*:
#
#     T⁻¹ for revolute, continuous, prismatic, helical, cylindrical:  the same q about -axis
#     (Rz(q1) Ru(q2))⁻¹ = R-u(q2) R-z(q1) for universal:              the same angles, in this
#     order
#     T⁻¹ for spherical, planar:                                      the inverse motion
#
# So coordinates keep their names and their meaning, but for turned spherical and planar joints,
# whose coordinates are those of the described parent in the described child. Loads keep the
# described sense (`ModelJoint.turned`). What a cut does not know is lost with it: limits, damping,
# friction, springs, rotors; where it would act, there is a warning.

# A described joint walked from its child to its parent.

INVERTED = ("spherical", "planar", "fixed", "floating")
"""Joints that are turned by inverting their motion."""


def turn_round(joint: Joint) -> Joint:
    """Return a joint as it is walked from its child to its parent; twice gives the joint itself."""
    axis, axis2 = joint.axis, joint.axis2
    if joint.type == "universal":
        axis, axis2 = _opposite(second_axis(joint)), _opposite(axis)
    elif joint.type not in INVERTED:
        axis = _opposite(axis)
    return replace(
        joint,
        parent=joint.child,
        child=joint.parent,
        origin=joint.child_frame,
        child_frame=joint.origin,
        axis=axis,
        axis2=axis2,
        turned=not joint.turned,
    )


def _opposite(axis: Iterable[float]) -> Vector3:
    x, y, z = (0.0 - float(component) for component in axis)
    return x, y, z


Cuts = Literal["authored", "weighted"] | list[str] | tuple[str, ...]
"""The file's own tree; the tree of shortest ways (Lee94); or the names of the joints to cut."""

AS_LOOP = {"prismatic": "translational", "continuous": "revolute"}
"""Names of cuts of joints whose type the table of cuts calls otherwise."""
AS_JOINT = {"translational": "prismatic"}


@dataclass(frozen=True)
class _Way:
    """A joint between two links, in the tree or not yet.

    Attributes
    ----------
    joint : as it carries the tree from its described parent to its child; None if it cannot
    loop : as a cut; None if it cannot be cut, and then
    why : says why
    """

    name: str
    ends: tuple[str, str]
    joint: Joint | None
    loop: Loop | None
    why: str = ""


def recut(description: Description, cuts: Cuts) -> Description:
    """Return the same mechanism with another choice of cut joints.

    Parameters
    ----------
    description : its joints form a tree
    cuts : "authored" leaves it as it is. "weighted" takes the tree of shortest ways from the root
        over all joints, each as long as its weighting factor (Lee94 Table 1; a weld: 0), so that
        the tree is shallow. Names: exactly these joints are cut, and all others carry the tree
    """
    if isinstance(cuts, str):
        if cuts == "authored":
            return description
        if cuts != "weighted":
            raise ModelError(
                f"cuts={cuts!r} is not known; use 'authored', 'weighted' or a list of joint names, "
                f"cuts=[{cuts!r}]"
            )
    else:
        cuts = name_list("cuts", cuts, "joints")
    ways = _ways(description)
    root = description.root.name
    kept = _shortest(description, ways, root) if isinstance(cuts, str) else _all_but(ways, cuts)
    turned = _walk(description, ways, kept, root)
    joints, loops, lost = [], [], list[str]()
    for index, way in enumerate(ways):
        if index not in turned:
            assert way.loop is not None
            loops.append(way.loop)
            lost += [way.name] if _has_dynamics(description, way.joint) else []
        else:
            assert way.joint is not None
            joints.append(turn_round(way.joint) if turned[index] else way.joint)
    if lost:
        warn(
            f"springs, damping, friction and rotors of cut joints do not act: {some(lost, 4)}; "
            f"keep these joints in the tree (cuts='authored'), or name others to be cut"
        )
    return replace(description, joints=tuple(joints), loops=tuple(loops))


def _has_dynamics(description: Description, joint: Joint | None) -> bool:
    """Return whether a joint has springs, damping, friction or a rotor that act."""
    if joint is None or not description.joint_dynamics:
        return False
    return any((joint.stiffness, joint.damping, joint.friction, joint.name in description.rotors))


def _ways(description: Description) -> list[_Way]:
    followed = {joint.mimic.joint for joint in description.joints if joint.mimic is not None}
    geared = {gear.joint for gear in description.couplings}
    geared |= {leader for gear in description.couplings for leader, _ in gear.follows}
    ways = [_of_joint(joint, followed, geared) for joint in description.joints]
    ways += [_of_loop(loop) for loop in description.loops]
    names = [way.name for way in ways]
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f"two joints are called {name!r}: to choose cuts, rename one of them")
    return ways


def _of_joint(joint: Joint, followed: set[str], geared: set[str]) -> _Way:
    if joint.turned:
        joint = turn_round(joint)
    ends = joint.parent, joint.child
    why = ""
    if joint.mimic is not None:
        why = f"it follows {joint.mimic.joint!r} (<mimic>), and both carry the tree"
    elif joint.name in followed:
        why = "another joint follows it (<mimic>), and both carry the tree"
    elif joint.name in {name.rpartition(".")[0] or name for name in geared} | geared:
        why = "a coupling needs its coordinate"
    elif AS_LOOP.get(joint.type, joint.type) not in CUT_ROWS:
        why = f"there is no cut of the type {joint.type}"
    if why:
        return _Way(joint.name, ends, joint, None, why)
    return _Way(joint.name, ends, joint, as_cut(joint))


def as_cut(joint: Joint) -> Loop:
    """Return a joint as one that closes a loop."""
    kind = AS_LOOP.get(joint.type, joint.type)
    sides = LoopEnd(joint.parent, joint.origin), LoopEnd(joint.child, joint.child_frame)
    return Loop(
        joint.name, kind, *sides, joint.axis, joint.axis2, line=joint.line, source=joint.source
    )


def _of_loop(loop: Loop) -> _Way:
    ends = loop.predecessor.link, loop.successor.link
    kind = AS_JOINT.get(loop.type, loop.type)
    if loop.type not in CUT_ROWS or kind not in JOINT_TYPES:
        return _Way(loop.name, ends, None, loop)
    joint = Joint(
        loop.name,
        kind,
        *ends,
        loop.predecessor.frame,
        loop.axis,
        loop.axis2,
        child_frame=loop.successor.frame,
        line=loop.line,
        source=loop.source,
    )
    return _Way(loop.name, ends, joint, loop)


def _shortest(description: Description, ways: Sequence[_Way], root: str) -> set[int]:
    """Return the joints of the tree of shortest ways between bodies (Lee94).

    What cannot be cut, and welds, make one node of the links they hold.
    """
    node = {link.name: k for k, link in enumerate(description.links)}
    carriers = [k for k, way in enumerate(ways) if way.joint is not None]
    rigid = [k for k in carriers if ways[k].loop is None]
    rigid += [k for k in carriers if ways[k].loop is not None and _kind(ways[k]) == "fixed"]
    kept = set()
    for k in rigid:
        first, second = (node[end] for end in ways[k].ends)
        if first != second:
            kept.add(k)
            node = {name: first if at == second else at for name, at in node.items()}
    rest = [k for k in carriers if k not in rigid]
    edges = []
    for k in rest:
        first, second = (node[end] for end in ways[k].ends)
        edges.append(Edge(ways[k].name, first, second, JOINT_TYPES[_kind(ways[k])].weight))
    tree, _ = spanning_tree(len(description.links), edges, node[root])
    return kept | {rest[edge.edge] for edge in tree}


def _kind(way: _Way) -> str:
    assert way.joint is not None
    return way.joint.type


def _all_but(ways: Sequence[_Way], names: Sequence[str]) -> set[int]:
    """Return the joints that are not named."""
    known = {way.name: way for way in ways}
    for name in names:
        known_name("joint", name, known, "cuts: ", ModelError)
        if known[name].loop is None:
            raise ModelError(
                f"joint {name!r} cannot be cut: {known[name].why}; cut another joint of its loop"
            )
    for way in ways:
        if way.joint is None and way.name not in names:
            assert way.loop is not None
            raise ModelError(
                f"loop {way.name!r} is of the type {way.loop.type}, which has no coordinates to "
                f"carry the tree with; name it in cuts=[...] too"
            )
    return {k for k, way in enumerate(ways) if way.name not in names}


def _walk(
    description: Description, ways: Sequence[_Way], kept: set[int], root: str
) -> dict[int, bool]:
    """Return, for each joint of the tree, whether the walk from the root goes through it backward.

    Raises
    ------
    ModelError
        The joints kept do not reach a link, or reach it twice.
    """
    at: dict[str, list[int]] = {link.name: [] for link in description.links}
    for k in sorted(kept):
        for end in ways[k].ends:
            at[end].append(k)
    turned: dict[int, bool] = {}
    came_by: dict[str, tuple[int, str] | None] = {root: None}
    queue = [root]
    for link in queue:
        for k in at[link]:
            if k in turned:
                continue
            first, second = ways[k].ends
            other = second if link == first else first
            if other in came_by:
                names = [*_cycle(ways, came_by, link, other), ways[k].name]
                raise ModelError(
                    f"these cuts leave a loop closed: {', '.join(names)}; add one of these joints "
                    f"to cuts=[...]"
                )
            turned[k] = link != first
            came_by[other] = k, link
            queue.append(other)
    for link in at:
        if link not in came_by:
            ways_here = [
                way.name for k, way in enumerate(ways) if link in way.ends and k not in kept
            ]
            raise ModelError(
                f"these cuts leave link {link!r} without a way from the root {root!r}; keep one "
                f"more joint, take it out of cuts=[...]"
                + (f" (here: {ways_here})" if ways_here else "")
            )
    return turned


def _cycle(
    ways: Sequence[_Way], came_by: dict[str, tuple[int, str] | None], first: str, second: str
) -> list[str]:
    """Return the joints on the way between two links, through the tree so far."""
    paths = []
    for link in (first, second):
        path = []
        while (step := came_by[link]) is not None:
            path.append(step[0])
            link = step[1]
        paths.append(path)
    up, down = paths
    return [ways[k].name for k in up + down if (k in up) != (k in down)]
