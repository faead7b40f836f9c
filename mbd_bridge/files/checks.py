"""Whether links and joints make one tree, and mimics make sense. Shared by all readers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.document import QUOTED, quote, unknown
from mbd_bridge.files.elements import ONE_FREEDOM
from mbd_bridge.model.description import Coupling, Joint, Link, Loop

MAX_LINKS = 20_000
"""Most links in a file: a hundred times the largest robot we know."""

CLOSE_WITH_LOOP_JOINT = (
    "close loops with a loop joint instead: "
    '<loop_joint name="{name}" type="revolute"><link1 link="{parent}" xyz="..." rpy="..."/>'
    '<link2 link="{child}" xyz="..." rpy="..."/></loop_joint>'
)


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def line(self) -> int | None: ...


def check_tree(links: Sequence[Link], joints: Sequence[Joint], file: str) -> str:
    """Return the name of the root link of the one tree that links and joints make.

    Raises
    ------
    FileError
        No or too many links, a name twice, an unknown link, a link with two parents, a cycle,
        no root or several.
    """
    if not links:
        raise FileError('expected at least one <link name="...">, got none', file, None, "<robot>")
    if len(links) > MAX_LINKS:
        raise FileError(f"{len(links)} links; at most {MAX_LINKS} are read. Split the file", file)
    check_unique("link", links, file)
    check_unique("joint", joints, file)
    names = {link.name for link in links}
    above: dict[str, Joint] = {}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in names:
                message = unknown("link", link, (link.name for link in links))
                raise joint_error(joint, f"{message}. Add the <link> or correct the name", file)
        if joint.parent == joint.child:
            raise joint_error(
                joint, f"parent and child are both {quote(joint.child)}; name two links", file
            )
        other = above.setdefault(joint.child, joint)
        if other is not joint:
            raise joint_error(
                joint,
                f"link {quote(joint.child)} has two parents, {quote(other.parent)} by joint "
                f"{quote(other.name)} (line {other.line}) and {quote(joint.parent)} by this one; "
                + _advice(joint),
                file,
            )
    _check_no_cycle([link.name for link in links], above, file)
    roots = [link for link in links if link.name not in above]
    if len(roots) > 1:
        shown = ", ".join(f"{quote(link.name)} (line {link.line})" for link in roots[:5])
        raise FileError(
            f"expected one root link, got {len(roots)}: {shown}; join them to one tree with "
            '<joint type="fixed"> (or "floating"), or put them into separate files',
            file,
            roots[1].line,
            f"<link name={roots[1].name!r}>",
        )
    return roots[0].name


def check_unique(kind: str, things: Iterable[_Named], file: str) -> None:
    """Refuse two things of one kind with the same name."""
    seen: dict[str, _Named] = {}
    for thing in things:
        first = seen.setdefault(thing.name, thing)
        if first is not thing:
            raise FileError(
                f"a second {kind} is named {quote(thing.name)}, the first is on line {first.line}; "
                "rename one of them",
                file,
                thing.line,
                f"<{kind} name={quote(thing.name)}>",
            )


def _check_no_cycle(names: Iterable[str], above: dict[str, Joint], file: str) -> None:
    """Walk from each link to its root; a walk that meets itself is a cycle."""
    order = {child: position for position, child in enumerate(above)}
    safe: set[str] = set()
    for name in names:
        path: dict[str, None] = {}
        while name in above and name not in safe:
            if name in path:
                links = list(path)[list(path).index(name) :]
                worst = above[max(links, key=lambda link: order[link])]  # the file's last one
                cycle = " -> ".join([*reversed(links), links[-1]][:10])
                raise joint_error(
                    worst,
                    f"links are their own ancestors: {cycle}; so there is no root. A tree has "
                    f"no cycle: {_advice(worst)}",
                    file,
                )
            path[name] = None
            name = above[name].parent
        safe.update(path)


def check_mimics(joints: Sequence[Joint], file: str) -> None:
    """Refuse mimics of joints that have not one degree of freedom, and chains that bite their tail.

    A mimic of an unknown joint is the reader's matter, since real files have it.
    """
    by_name = {joint.name: joint for joint in joints}
    safe: set[str] = set()
    for start in joints:
        path: dict[str, None] = {}
        joint = start
        while joint.mimic is not None and joint.name not in safe:
            path[joint.name] = None
            leader = by_name[joint.mimic.joint]
            if leader.name in path:
                names = " -> ".join([*list(path)[:10], leader.name])
                message = f"joints mimic each other in a circle: {names}; let one be free"
                raise joint_error(start, message, file)
            if leader.type not in ONE_FREEDOM:
                raise joint_error(
                    joint,
                    f"it mimics joint {quote(leader.name)}, which is {leader.type}; only "
                    f"{', '.join(sorted(ONE_FREEDOM))} joints can lead. Name one of those",
                    file,
                )
            joint = leader
        safe.update(path)


def check_loops(
    loops: Sequence[Loop], links: Sequence[Link], joints: Sequence[Joint], file: str
) -> None:
    """Refuse loops with a name twice or taken, of an unknown link, or of a link with itself."""
    names = {link.name for link in links}
    taken: dict[str, Named] = {joint.name: joint for joint in joints}
    for loop in loops:
        where = (loop.source or file, loop.line, f"loop {quote(loop.name)}")
        _take_name(taken, loop, where)
        for end in (loop.predecessor, loop.successor):
            if end.link not in names:
                message = unknown("link", end.link, (link.name for link in links))
                raise FileError(f"{message}. Correct the name or add the <link>", *where)
        if loop.predecessor.link == loop.successor.link:
            message = f"both sides are on link {quote(loop.successor.link)}; a loop joins two links"
            raise FileError(message, *where)


Named = Joint | Loop | Coupling
"""What has a name of its own among the loads."""


def _take_name(taken: dict[str, Named], one: Named, place: tuple[str, int | None, str]) -> None:
    first = taken.setdefault(one.name, one)
    if first is not one:
        where = f" (line {first.line})" if first.line else ""
        message = f"another joint is named {quote(one.name)} too{where}; rename one of them"
        raise FileError(message, *place)


def check_couplings(
    couplings: Sequence[Coupling], loops: Sequence[Loop], joints: Sequence[Joint], file: str
) -> None:
    """Refuse couplings with a name that is taken, of unknown joints, or of one with itself."""
    by_name = {joint.name: joint for joint in joints}
    taken: dict[str, Named] = {**by_name, **{loop.name: loop for loop in loops}}
    for coupling in couplings:
        where = (coupling.source or file, coupling.line, f"coupling {quote(coupling.name)}")
        _take_name(taken, coupling, where)
        for name in (coupling.joint, *(leader for leader, _ in coupling.follows)):
            joint = by_name.get(name) or by_name.get(name.rpartition(".")[0])
            if joint is None:
                known = (other.name for other in joints if other.type != "fixed")
                message = f"{unknown('joint', name, known)}. Couplings join joints of the tree"
                raise FileError(message, *where)
            if joint.type == "fixed" or (joint.name == name and joint.type not in ONE_FREEDOM):
                advice = "it has none" if joint.type == "fixed" else f"name one, such as {name}.x"
                message = f"couplings join coordinates, and {quote(name)} is {joint.type}: {advice}"
                raise FileError(message, *where)
        leaders = [leader for leader, _ in coupling.follows]
        if coupling.joint in leaders:
            message = f"{quote(coupling.joint)} follows itself; name two joints"
            raise FileError(message, *where)
        if len(set(leaders)) < len(leaders):
            raise FileError("it follows a coordinate twice; add the ratios up", *where)


def _advice(joint: Joint) -> str:
    names = {"name": joint.name, "parent": joint.parent, "child": joint.child}
    return CLOSE_WITH_LOOP_JOINT.format(**{key: name[:QUOTED] for key, name in names.items()})


def joint_error(joint: Joint, message: str, file: str) -> FileError:
    """Return an error at a joint, of the file unless it says another one."""
    return FileError(message, joint.source or file, joint.line, f"<joint name={quote(joint.name)}>")
