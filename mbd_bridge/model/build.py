"""From a description to a model: walk the tree, join what fixed joints hold, place the axes.

Names of a mechanism and its parts: what tables, C files and terminals show as it stands.

Gears: a coordinate that follows others by a constraint row, with a load of its own.

    q_j - Σ ratio q_i - offset = 0

A ``<mimic>`` takes the coordinate out of the mechanism; a coupling keeps both and has a multiplier,
which is the load of the transmission. So it may join coordinates that loops hold too, and of
joints with several. Without leaders it locks its coordinate.

Described loop joints as cuts: frames with z along the axis, rows of the joint's type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers, flag, known_name
from mbd_bridge.base.errors import ModelError, is_plain, unknown_name
from mbd_bridge.model.cut_table import (
    CUT_ROWS,
    Coupled,
    Cut,
    Distance,
    Place,
    Row,
    mask_rows,
    rolling_rows,
    universal_rows,
)
from mbd_bridge.model.description import (
    Coupling,
    Description,
    Joint,
    Loop,
    LoopEnd,
    axis_turn,
    oblique,
    second_direction,
    second_turn,
)
from mbd_bridge.model.flexible_links import Expanded, FlexibleBody, expand, in_body
from mbd_bridge.model.joint_table import (
    JOINT_TYPES,
    Fixed,
    Floating,
    Helical,
    JointType,
    TurnedUniversal,
    Universal,
)
from mbd_bridge.model.model import (
    GROUND,
    RANK_TOLERANCE,
    ROOT_JOINT,
    Body,
    Model,
    ModelJoint,
    ModelLink,
)
from mbd_bridge.model.spanning_tree import Cuts, recut
from mbd_bridge.model.spatial import Array, Frame, Inertia, lump, rotation_that_takes_z_to


def check_names(description: Description) -> None:
    """Refuse names with characters that tables, C files and terminals take for something else."""
    kinds = {
        "mechanism": [description.name],
        "link": [link.name for link in description.links],
        "joint": [joint.name for joint in description.joints],
        "loop": [loop.name for loop in description.loops],
        "coupling": [coupling.name for coupling in description.couplings],
    }
    for kind, names in kinds.items():
        for name in names:
            if not is_plain(name):
                raise ModelError(
                    f"the {kind} {name!r:.80} has a line end or a control character in its "
                    f"name; write letters, digits and signs"
                )


def coupling_cuts(
    couplings: Sequence[Coupling],
    names: Sequence[str],
    bodies: Sequence[tuple[tuple[int, int], int, JointType]],
    reserved: set[str],
) -> list[Cut]:
    """Return the couplings as constraint rows.

    Parameters
    ----------
    names : of the joint that moves each body
    bodies : of each body the indices of its joint's two links, that of the parent body, and its
        joint's type
    reserved : names of joints and loops
    """
    places = {
        name + suffix: Place(b, k)
        for b, (name, (*_, kind)) in enumerate(zip(names, bodies, strict=True))
        if kind.nq == kind.nv  # the rates of the others' coordinates are not their velocities
        for k, suffix in enumerate(kind.coordinates)
    }
    cuts = []
    for coupling in couplings:
        where = f"coupling {coupling.name!r}: "
        if coupling.name in reserved:
            raise ModelError(f"{where}a joint has this name; choose another one")
        for name in (coupling.joint, *(leader for leader, _ in coupling.follows)):
            if name not in places:
                raise ModelError(
                    where + unknown_name("coordinate of the tree that can follow", name, places)
                )
        follower = places[coupling.joint]
        leaders = tuple((places[leader], ratio) for leader, ratio in coupling.follows)
        if follower in (leader for leader, _ in leaders):
            raise ModelError(f"{where}{coupling.joint!r} follows itself; name two coordinates")
        row = Coupled(follower, leaders, coupling.offset)
        (parent, child), before, _ = bodies[follower.body]
        if leaders:
            before = leaders[0][0].body
            (_, parent), *_ = bodies[before]
        ends, links = (before, follower.body), (parent, child)
        here = Frame.identity()
        cuts.append(Cut(coupling.name, "coupling", *ends, links, here, here, (row,), here))
    return cuts


OTHERS = ("distance", "mask", "rolling")
"""Types whose rows have numbers of their own."""


class CutEnd(NamedTuple):
    """One side of a loop joint: its link and body by index, the joint's frame in the body."""

    link: int
    body: int
    frame: Frame


def loop_cut(
    loop: Loop,
    find: Callable[[LoopEnd, str], CutEnd],
    at_zero: Callable[[CutEnd], np.ndarray],
) -> Cut:
    """Return the cut of a described loop joint.

    Parameters
    ----------
    find : returns a described end in the model; its second argument begins messages
    at_zero : returns where an end is in the world with every joint in its zero position
    """
    where = _where(loop)
    p, s = find(loop.predecessor, where), find(loop.successor, where)
    if p.body == s.body:
        raise ModelError(
            f"{where}both ends move together, on {loop.predecessor.link!r} and "
            f"{loop.successor.link!r}; a loop joint holds two links that can move against each "
            f"other"
        )
    a, b = p.frame, s.frame
    cut = Cut(loop.name, loop.type, p.body, s.body, (p.link, s.link), a, b, (), b)
    if loop.type == "distance":
        return replace(cut, rows=(Distance(_length(loop, lambda: at_zero(s) - at_zero(p))),))
    if loop.type == "mask":
        return replace(cut, rows=_mask(loop))
    if loop.type == "rolling":
        return _wheel(loop, cut)
    known_name("loop type", loop.type, (*CUT_ROWS, *OTHERS), where, ModelError)
    turn = _turn(loop.axis)
    if loop.type == "universal":
        rows = universal_rows(oblique(loop, where))
        return replace(cut, a=a @ turn, b=b @ second_turn(loop, where), rows=rows)
    return replace(cut, a=a @ turn, b=b @ turn, rows=CUT_ROWS[loop.type])


def _turn(axis: tuple[float, float, float]) -> Frame:
    return Frame(rotation_that_takes_z_to(np.asarray(axis)), np.zeros(3))


def _wheel(loop: Loop, cut: Cut) -> Cut:
    """Return the cut of a rolling wheel: z of a is the plane's normal, z of b its axis."""
    radius: Any = loop.radius
    known = isinstance(radius, float | int)  # no symbol
    if loop.axis2 is None or radius is None or (known and not radius > 0.0):
        raise ModelError(
            f"{_where(loop)}a rolling wheel needs axis= (normal of the plane, in the predecessor's "
            f"frame), axis2= (the wheel's axis, in the successor's frame) and a radius= above 0 m; "
            f"got axis2={loop.axis2}, radius={loop.radius}"
        )
    a, b = cut.a @ _turn(loop.axis), cut.b @ _turn(loop.axis2)
    return replace(cut, a=a, b=b, rows=rolling_rows(radius))


def _mask(loop: Loop) -> tuple[Row, ...]:
    mask = loop.rows
    if mask is None or len(mask) != 6 or not set(mask) <= {0, 1} or not any(mask):
        raise ModelError(
            f"{_where(loop)}a mask has rows=(x, y, z, turns about x, y, z), six of 0 or "
            f"1 with some 1, e.g. (1, 1, 1, 0, 0, 1); got {mask}"
        )
    return mask_rows(mask)


def _length(loop: Loop, way: Callable[[], np.ndarray]) -> Any:
    """Return the length of a distance joint: given, or that of the way at zero coordinates."""
    if loop.length is not None:
        length: Any = loop.length
    else:
        between = way()
        length = np.sqrt(between @ between)
    if isinstance(length, float):  # no symbol
        length = float(length)
        if not length > 0.0:
            raise ModelError(
                f"{_where(loop)}a distance joint of length {length} holds nothing at a "
                f"distance; use a spherical joint for a common point"
            )
    return length


def _where(loop: Loop) -> str:
    """Return what a message about a loop begins with: file and line, if it has them, and name."""
    where = ":".join(str(part) for part in (loop.source, loop.line) if part is not None)
    return f"{where}: loop {loop.name!r}: " if where else f"loop {loop.name!r}: "


EARTH = (0.0, 0.0, -9.81)
"""Standard gravity of robotics files, m/s²."""

FAR = 100.0
"""Distance of the ground's origin, in lengths of the machine, from which on its digits count."""

SMALLEST_TOLERANCE, LARGEST_TOLERANCE = 1e-12, 1e-2
"""Of rank: what arithmetic itself leaves, and what no longer is a rounding of numbers."""


def build_model(
    description: Description,
    *,
    floating: bool = False,
    gravity: ArrayLike | None = None,
    cuts: Cuts = "authored",
    rank_tolerance: float = RANK_TOLERANCE,
) -> Model:
    """Return the model of a described mechanism.

    Parameters
    ----------
    description : links, joints and loops; its joints must form one tree
    floating : give the root link six degrees of freedom instead of welding it to the ground
    gravity : (3,) m/s², in the world's axes; None: the file's, or `EARTH` where it says none
    cuts : which joints are cut: "authored", "weighted" or their names; see `recut`
    rank_tolerance : relative size below which rows of loops that are nearly dependent are due to
        rounded numbers in the file; see `Model`
    """
    if not isinstance(description, Description):
        raise ModelError(
            f"expected a Builder or a Description as the source, got {description!r:.60}"
        )
    floating = flag("floating", floating)
    check_names(description)
    walk = _depth_first(description)
    if not (isinstance(cuts, str) and cuts == "authored"):
        description = recut(description, cuts)
        walk = _depth_first(description)
    expanded = expand(description)
    if description.flexible:
        description = expanded.description
        check_names(description)
        walk = _depth_first(description)
    root_type: JointType = Floating() if floating else Fixed()
    names = {joint.name for joint in description.joints}
    if ROOT_JOINT in names:
        message = f"a joint is called {ROOT_JOINT!r}, as that from the ground to the root link is"
        raise ModelError(f"{message}; rename it")
    if gravity is None:
        gravity = EARTH if description.gravity is None else description.gravity
    vector = finite_numbers("gravity", gravity, (3,), error=ModelError)
    vector.flags.writeable = False
    builder = _Builder(expanded, np.zeros(3) if floating else _middle(description, walk))
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is found below
        builder.add(Joint(ROOT_JOINT, root_type.name, GROUND, walk[0][1]), root_type)
        for joint, _ in walk[1:]:
            assert joint is not None
            builder.add(joint, expanded.types.get(joint.name) or _entry(joint))
        model = builder.model(vector, _tolerance(rank_tolerance))
    _check_inertia(model)
    return model


def _middle(description: Description, walk: list[tuple[Joint | None, str]]) -> Array:
    """Return where the root body's frame is in the root link's, m: the middle of what it holds.

    It is zero unless the ground of a machine with loops has its own origin far away: the equations
    are written in this frame, and a kilometre costs three digits of how well a loop closes.
    """
    places = {walk[0][1]: Frame.identity()}
    held: list[Array] = []
    reach = [0.0]
    if not description.loops:
        return np.zeros(3)
    ends = [end for loop in description.loops for end in (loop.predecessor, loop.successor)]
    frames = [joint.origin for joint, _ in walk if joint is not None]
    if any(
        np.asarray(frame.translation).dtype == object
        for frame in (*frames, *(e.frame for e in ends))
    ):
        return np.zeros(3)  # lengths are parameters
    for joint, _ in walk[1:]:
        assert joint is not None
        if joint.parent not in places:
            reach.append(float(np.linalg.norm(joint.origin.translation)))
            continue
        here = places[joint.parent] @ joint.origin
        if joint.type == "fixed":
            places[joint.child] = here @ joint.child_frame.inverse()
        else:
            held.append(here.translation)
    for end in ends:
        if end.link in places:
            held.append((places[end.link] @ end.frame).translation)
        else:
            reach.append(float(np.linalg.norm(end.frame.translation)))
    if not held:
        return np.zeros(3)
    middle = np.mean(held, axis=0)
    reach += [float(np.linalg.norm(point - middle)) for point in held]
    return middle if np.linalg.norm(middle) > FAR * max(reach) else np.zeros(3)


def _check_inertia(model: Model) -> None:
    """Refuse masses and lengths whose products are no numbers; symbols of variants are left."""
    for link in model.links:
        inertia = link.inertia
        parts = [np.asarray(inertia.mass), inertia.centre, inertia.central]
        if not all(x.dtype == object or np.isfinite(x).all() for x in parts):
            raise ModelError(
                f"link {link.name!r}: its mass, centre, inertia or place are so large that their "
                f"products overflow; check their units"
            )


def rebuilt(model: Model, description: Description) -> Model:
    """Return the model of a changed description, with the base and gravity of a model."""
    return build_model(
        description,
        floating=model.floating,
        gravity=model.gravity,
        rank_tolerance=model.rank_tolerance,
    )


def _tolerance(given: float) -> float:
    number = float(finite_numbers("rank_tolerance", given, (), error=ModelError))
    if not SMALLEST_TOLERANCE <= number <= LARGEST_TOLERANCE:
        raise ModelError(
            f"rank_tolerance: expected {SMALLEST_TOLERANCE:g} (rounding) to {LARGEST_TOLERANCE:g}, "
            f"got {given!r}; {RANK_TOLERANCE:g} suits files with five digits"
        )
    return number


def _depth_first(description: Description) -> list[tuple[Joint | None, str]]:
    """Return the joints and their child links, each after the joint that carries it."""
    outward: dict[str, list[Joint]] = {link.name: [] for link in description.links}
    carried: set[str] = set()
    for joint in description.joints:
        for end in (joint.parent, joint.child):
            known_name("link", end, outward, f"joint {joint.name!r}: ", ModelError)
        if joint.child in carried:
            raise ModelError(
                f"link {joint.child!r} is the child of two joints; keep one of them and close "
                f"the loop with a loop joint"
            )
        carried.add(joint.child)
        outward[joint.parent].append(joint)
    roots = [name for name in outward if name not in carried]
    if len(roots) != 1:
        raise ModelError(f"a mechanism has one root link, this one has {len(roots)}: {roots[:5]}")
    order: list[tuple[Joint | None, str]] = [(None, roots[0])]
    stack = list(reversed(outward[roots[0]]))
    while stack:
        joint = stack.pop()
        order.append((joint, joint.child))
        stack += reversed(outward[joint.child])
    if len(order) != len(outward):
        raise ModelError("some links are not connected to the root: their joints form a cycle")
    return order


def _entry(joint: Joint) -> JointType:
    """Return the joint table's entry for a described joint."""
    known_name("joint type", joint.type, JOINT_TYPES, f"joint {joint.name!r}: ", ModelError)
    kind = JOINT_TYPES[joint.type]
    if kind is Helical:
        return Helical(joint.pitch)
    if kind is Universal:
        turn = axis_turn(joint, kind())
        second = turn.rotation.T @ second_direction(joint, f"joint {joint.name!r}: ")
        turned = TurnedUniversal if joint.turned else Universal
        return turned(tuple(second.tolist()))
    return kind()


class _Builder:
    """Links, joints and bodies as far as the walk has come."""

    def __init__(self, expanded: Expanded, origin: Array) -> None:
        self.expanded, self.origin = expanded, origin
        self.description = description = expanded.description
        self.described = {link.name: link for link in description.links}
        self.links: list[ModelLink] = []
        self.joints: list[tuple[Joint, JointType, int, int, int]] = []
        self.on_child: list[Frame] = []
        self.bodies: list[tuple[int, int, JointType, Frame]] = []
        self.number: dict[str, int] = {}

    def add(self, joint: Joint, entry: JointType) -> None:
        """Add a joint and the link that it carries."""
        parent = self.number.get(joint.parent, -1)
        if parent < 0 or entry.nv:
            turn = axis_turn(joint, entry)
            carrier = self.links[parent].frame if parent >= 0 else Frame.identity()
            placement = carrier @ joint.origin @ turn
            parent_body = self.links[parent].body if parent >= 0 else -1
            self.bodies.append((parent_body, len(self.joints), entry, placement))
            body, here = len(self.bodies) - 1, turn.inverse()
            if parent < 0 and self.origin.any():
                self.bodies[0] = (*self.bodies[0][:3], Frame(np.eye(3), self.origin))
                here = Frame(np.eye(3), -self.origin)
        else:
            body = self.links[parent].body
            here = self.links[parent].frame @ joint.origin
        frame = here @ joint.child_frame.inverse()
        self.on_child.append(here)
        self.number[joint.child] = len(self.links)
        self.joints.append((joint, entry, parent, len(self.links), body))
        described = self.described[joint.child].inertia
        inertia = described.seen_from(frame) if described is not None else Inertia.zero()
        self.links.append(ModelLink(joint.child, body, frame, inertia))

    def model(self, gravity: np.ndarray, rank_tolerance: float) -> Model:
        """Return the finished model."""
        couplings = self._couplings()
        places: dict[int, tuple[slice, slice]] = {}
        nq = nv = 0
        for _, j, entry, _ in self.bodies:
            if j not in couplings:
                places[j] = slice(nq, nq + entry.nq), slice(nv, nv + entry.nv)
                nq, nv = nq + entry.nq, nv + entry.nv
        parts: list[list[Inertia]] = [[] for _ in self.bodies]
        for link in self.links:
            parts[link.body].append(link.inertia)
        bodies = []
        rotors = self.description.rotors if self.description.joint_dynamics else {}
        for (parent, j, entry, placement), inertias in zip(self.bodies, parts, strict=True):
            leader, ratio, offset = couplings.get(j, (j, 1.0, 0.0))
            q, v = places[leader]
            inertia, rotor = lump(inertias), rotors.get(self.joints[j][0].name, 0.0)
            follows = j in couplings, ratio, offset
            bodies.append(Body(parent, j, entry, placement, inertia, q, v, *follows, rotor))
        return Model(
            self.description.name,
            tuple(bodies),
            tuple(self.links),
            self._joints(couplings),
            self.description.loops,
            (
                *(loop_cut(loop, self._end, self._at_zero) for loop in self.description.loops),
                *self._gears(),
            ),
            nq,
            nv,
            gravity,
            self.description,
            rank_tolerance,
            self._flexible(bodies),
        )

    def _flexible(self, bodies: list[Body]) -> tuple[FlexibleBody, ...]:
        """Return what the flexible links add to their bodies."""
        parts = []
        modal = {self.joints[body.joint][0].name: body for body in bodies}
        for part in self.expanded.parts:
            number = self.number[part.link]
            link, own = self.links[number], modal[part.modal_joint]
            integrals = in_body(part.deformation.integrals, link.frame)
            K, D = part.deformation.stiffness, part.deformation.damping
            parts.append(FlexibleBody(number, link.body, own.q, own.v, integrals, K, D))
        return tuple(parts)

    def _gears(self) -> list[Cut]:
        moved = [self.joints[j] for _, j, _, _ in self.bodies]
        names = [joint.name for joint, *_ in moved]
        reserved = {joint.name for joint, *_ in self.joints}
        reserved |= {loop.name for loop in self.description.loops}
        ends = [
            ((above, child), parent, entry)
            for (parent, *_), (_, entry, above, child, _) in zip(self.bodies, moved, strict=True)
        ]
        return coupling_cuts(self.description.couplings, names, ends, reserved)

    def _end(self, end: LoopEnd, where: str) -> CutEnd:
        known_name("link", end.link, self.number, where, ModelError)
        index = self.number[end.link]
        link = self.links[index]
        return CutEnd(index, link.body, link.frame @ end.frame)

    def _at_zero(self, end: CutEnd) -> np.ndarray:
        """Return where a frame's origin is in the world with every joint in its zero position."""
        body, frame = end.body, end.frame
        while body >= 0:
            frame = self.bodies[body][3] @ frame
            body = self.bodies[body][0]
        return frame.translation

    def _joints(self, couplings: dict[int, tuple[int, float, float]]) -> tuple[ModelJoint, ...]:
        welded: list[list[int]] = [[] for _ in self.links]
        carried: list[list[int]] = [[] for _ in self.links]
        for _, entry, parent, child, body in self.joints[1:]:
            if entry.nv:
                carried[parent].append(body)
            else:
                welded[parent].append(child)
        beyond: dict[int, list[int]] = {}
        sections: dict[int, Inertia] = {}
        for child in range(len(self.links) - 1, -1, -1):  # children before parents
            beyond[child] = [child] + [k for weld in welded[child] for k in beyond[weld]]
            parts = [self.links[child].inertia, *(sections[weld] for weld in welded[child])]
            sections[child] = lump(parts)
        return tuple(
            ModelJoint(
                joint.name,
                entry,
                parent,
                child,
                joint.origin,
                joint.axis,
                body,
                self.on_child[j],
                tuple(beyond[child]),
                sections[child],
                tuple(sorted(b for k in beyond[child] for b in carried[k])),
                couplings[j][0] if j in couplings else None,
                joint.child_frame,
                joint.turned,
            )
            for j, (joint, entry, parent, child, body) in enumerate(self.joints)
        )

    def _couplings(self) -> dict[int, tuple[int, float, float]]:
        """Return, for each joint that follows another: the leader at the end of its chain,
        and its own coordinate as ratio * leader + offset.
        """
        index = {joint.name: j for j, (joint, *_) in enumerate(self.joints)}
        couplings: dict[int, tuple[int, float, float]] = {}
        for j, (joint, entry, *_) in enumerate(self.joints):
            modal = self.expanded.leaders.get(joint.name, joint.name)
            if modal != joint.name:  # another station of one flexible link
                couplings[j] = index[modal], 1.0, 0.0
            if joint.mimic is None or not entry.nv:
                continue
            leader, ratio, offset = j, 1.0, 0.0
            seen = {j}
            while (mimic := self.joints[leader][0].mimic) is not None:
                where = f"joint {self.joints[leader][0].name!r} mimics: "
                known_name("joint", mimic.joint, index, where, ModelError)
                offset += ratio * mimic.offset
                ratio *= mimic.multiplier
                leader = index[mimic.joint]
                if leader in seen:
                    raise ModelError(f"joint {joint.name!r} mimics itself, through other joints")
                seen.add(leader)
            if entry.nq != 1 or self.joints[leader][1].nq != 1:
                raise ModelError(
                    f"joint {joint.name!r} mimics {self.joints[leader][0].name!r}: only joints "
                    f"with one coordinate can be coupled"
                )
            couplings[j] = leader, ratio, offset
        return couplings
