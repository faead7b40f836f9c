"""The model of a mechanism: what its description means, as immutable index data, without state.

Links that fixed joints hold together move as one *body*. A body's frame has its origin at the
moving joint and is turned so that the joint's axis is z; links sit in it at constant frames.
A joint's load is what passes through a *section*: the whole body for a moving joint, the part
of the body beyond it for a fixed one.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arguments import known_name
from mbd_bridge.base.errors import ModelError, count, unknown_name
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.model.cut_table import Across, Coupled, Cut, Height, Row, Slip
from mbd_bridge.model.description import Description, Loop
from mbd_bridge.model.flexible_links import FlexibleBody
from mbd_bridge.model.joint_table import Deflection, JointType
from mbd_bridge.model.spanning_tree import path_matrix
from mbd_bridge.model.spatial import Array, Frame, Inertia

GROUND = "ground"
"""What carries the root joint."""
ROOT_JOINT = "root_joint"
"""The joint between the ground and the root link: a weld, or free for a floating base."""

RANK_TOLERANCE = 1e-5
"""Relative size below which a constraint row that others make up, but for so much, counts as made
up by them. A file that says 1.5708 for pi/2 is off by 3.7e-6, with 3.1416 for pi by 7.3e-6."""


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """Links that move as one.

    Attributes
    ----------
    parent : index of the parent body, -1 for the root body
    joint : index of the joint that moves it
    type : entry of the joint table
    placement : frame of the joint (z along its axis) in the parent body's frame
    inertia : of all its links, in the body's frame
    q, v : its places in the mechanism's coordinates and velocities
    coupled : whether it follows another joint's coordinate (``<mimic>``)
    ratio, offset : its own coordinate is then ratio * q + offset
    rotor : inertia of what turns faster than the joint (kg m², of a slide kg), as each of its own
        velocities feels it
    """

    parent: int
    joint: int
    type: JointType
    placement: Frame
    inertia: Inertia
    q: slice
    v: slice
    coupled: bool = False
    ratio: float = 1.0
    offset: float = 0.0
    rotor: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ModelLink:
    """A link: the body that it moves with, its frame in that body and its own inertia there."""

    name: str
    body: int
    frame: Frame
    inertia: Inertia


@dataclass(frozen=True, slots=True, eq=False)
class ModelJoint:
    """A joint of the tree and the section that its load passes through.

    Attributes
    ----------
    type : entry of the joint table
    parent, child : link indices; the parent of the root joint is -1 (ground)
    parent_frame, axis : of the joint in the parent link, as the description gives them
    body : the body that its child link belongs to
    frame : of the joint on its child, in that body: its load is given at its origin, along the
        axes of the child link, whose frame it is where the file gives the joint none of its own
    beyond : links of this body on the child's side
    inertia : of those links, in the body's frame
    children : bodies whose joints sit on those links
    follows : index of the joint whose coordinate this one follows (``<mimic>``), or None
    child_frame : of the joint in its child link
    turned : the tree walks it from its described child (`recut`). Its load is then what the
        described parent, here the child, exerts on the described child, at the origin of
        `parent_frame`
    """

    name: str
    type: JointType
    parent: int
    child: int
    parent_frame: Frame
    axis: tuple[float, float, float]
    body: int
    frame: Frame
    beyond: tuple[int, ...]
    inertia: Inertia
    children: tuple[int, ...]
    follows: int | None = None
    child_frame: Frame = field(default_factory=Frame.identity)
    turned: bool = False

    @property
    def moving(self) -> bool:
        """Whether the joint has degrees of freedom."""
        return self.type.nv > 0

    @property
    def is_station(self) -> bool:
        """Whether it holds a station of a flexible link: its coordinates are those of modes."""
        return isinstance(self.type, Deflection)


@dataclass(frozen=True, eq=False)
class Model:
    """A mechanism as index data: bodies, links, joints, loops.

    Attributes
    ----------
    name : of the mechanism
    bodies : parents before children; body 0 is the root body
    links, joints : in the order of a depth-first walk; joint 0 is the root joint
    loops : joints that close loops, as described
    cuts : the same, as they are cut
    nq, nv : number of independent coordinates and velocities
    gravity : (3,) array, m/s², in the world's axes
    description : what the model was built from
    flexible : what flexible links add to their bodies
    rank_tolerance : relative size (rad, or parts of `size`) below which constraint rows that are
        not quite dependent are due to rounded numbers in the file; see `RANK_TOLERANCE`
    """

    name: str
    bodies: tuple[Body, ...]
    links: tuple[ModelLink, ...]
    joints: tuple[ModelJoint, ...]
    loops: tuple[Loop, ...]
    cuts: tuple[Cut, ...]
    nq: int
    nv: int
    gravity: Array
    description: Description = field(repr=False)
    rank_tolerance: float = RANK_TOLERANCE
    flexible: tuple[FlexibleBody, ...] = ()

    @cached_property
    def link_index(self) -> dict[str, int]:
        """Index of each link by name."""
        return {link.name: i for i, link in enumerate(self.links)}

    @cached_property
    def joint_index(self) -> dict[str, int]:
        """Index of each joint by name."""
        return {joint.name: i for i, joint in enumerate(self.joints)}

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Child bodies of each body."""
        children: list[list[int]] = [[] for _ in self.bodies]
        for index, body in enumerate(self.bodies):
            if body.parent >= 0:
                children[body.parent].append(index)
        return tuple(map(tuple, children))

    @cached_property
    def path(self) -> Array:
        """Path matrix of the bodies (Lee94): [i, j] is true if body j carries body i."""
        return path_matrix([body.parent for body in self.bodies])

    @property
    def summary(self) -> str:
        """Name and sizes in a few words."""
        base = "floating" if self.floating else "fixed"
        loops = f", {count(len(self.loops), 'loop joint')}" if self.loops else ""
        return (
            f"{self.name!r}: {count(len(self.links), 'link')}, "
            f"{count(len(self.joints) - 1, 'joint')}{loops}, "
            f"{count(self.nv, 'degree of freedom')}, "
            f"{base} base"
        )

    def __repr__(self) -> str:
        return f"Model({self.summary})"

    @cached_property
    def has_loops(self) -> bool:
        """Whether any cut forbids anything (a free joint that is cut does not)."""
        return any(cut.rows for cut in self.cuts)

    @property
    def floating(self) -> bool:
        """Whether the root link is free."""
        return self.bodies[0].type.nv == 6

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates, in the order of q."""
        return self._names("coordinates")

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the velocity coordinates, in the order of v, a and of generalised forces."""
        return self._names("velocities")

    def _names(self, which: str) -> tuple[str, ...]:
        names: list[str] = []
        for joint in self.joints:
            if joint.moving and joint.follows is None:
                names += [joint.name + suffix for suffix in getattr(joint.type, which)]
        return tuple(names)

    def joint(self, name: str | int) -> ModelJoint:
        """Return a joint by name or index."""
        return self.joints[self.joint_number(name)]

    def joint_number(self, name: str | int) -> int:
        """Return a joint's index by its name (or check an index)."""
        if isinstance(name, int | np.integer) and not isinstance(name, bool):
            if not 0 <= name < len(self.joints):
                raise ModelError(f"no joint number {name!r:.60}: there are {len(self.joints)}")
            return int(name)
        if not isinstance(name, str) or name not in self.joint_index:
            raise ModelError(self.no_joint(name))
        return self.joint_index[name]

    def no_joint(self, name: object, others: Iterable[str] = ()) -> str:
        """Say that no joint is called so; of a link, which joint carries it."""
        known = isinstance(name, str)  # what is compared with an array is an array
        above = [
            joint.name for joint in self.joints if known and self.links[joint.child].name == name
        ]
        if above:
            return f"{name!r} is a link, no joint; the joint that carries it is {above[0]!r}"
        return unknown_name("joint", name, [*self.joint_index, *others])

    def joint_numbers(self, names: Iterable[str | int] | str | None) -> tuple[int, ...]:
        """Return indices of the joints asked for.

        None stands for all but the root joint and those of stations.
        """
        if names is None:
            return tuple(k for k, joint in enumerate(self.joints) if k and not joint.is_station)
        if isinstance(names, str) or not isinstance(names, Iterable):
            names = (names,)
        return tuple(self.joint_number(name) for name in names)

    def link_number(self, name: str) -> int:
        """Return a link's index by its name."""
        return self.link_index[known_name("link", name, self.link_index, error=ModelError)]

    def neutral(self) -> Array:
        """Return the coordinates with every joint in its zero position."""
        q = np.zeros(self.nq)
        for body in self.bodies:
            if not body.coupled:
                q[body.q] = body.type.neutral()
        return q

    @property
    def configurations(self) -> dict[str, Array]:
        """Named configurations of the file by name, each q (nq,): an MJCF's keyframes, group states
        of ``NAME.srdf``. Joints that one does not name stand at their neutral position.

        They are as the file says: loops that they leave open are closed by `assemble`.
        """
        configurations: dict[str, Array] = {}
        for name, values in self.description.configurations.items():
            q = self.neutral()
            for body in self.bodies:
                stated = values.get(self.joints[body.joint].name, ())
                if len(stated) == body.type.nq and not body.coupled:  # a fixed base has none
                    q[body.q] = body.type.normalise(np.array(stated))
            configurations[name] = q
        return configurations

    def integrate(self, q: Array, step: Array) -> Array:
        """Return q moved by the velocities `step` for one second."""
        if self._adds_up:
            return np.asarray(q, dtype=np.float64) + step
        out = np.array(q, dtype=np.float64)
        for body in self.bodies:
            if not body.coupled:
                out[body.q] = body.type.integrate(out[body.q], np.asarray(step)[body.v])
        return out

    def difference(self, start: Array, end: Array) -> Array:
        """Return the velocities (nv,) that lead from one position to another in one second."""
        if self._adds_up:
            return np.asarray(end - start, dtype=np.float64)
        out = np.zeros(self.nv)
        for body in self.bodies:
            if not body.coupled:
                out[body.v] = body.type.difference(start[body.q], end[body.q])
        return out

    @cached_property
    def _adds_up(self) -> bool:
        """Whether each coordinate changes by its velocity: no joint has a quaternion."""
        kinds = [type(body.type) for body in self.bodies if not body.coupled]
        return all(
            kind.integrate is JointType.integrate and kind.difference is JointType.difference
            for kind in kinds
        )

    @cached_property
    def size(self) -> float:
        """A length (m) typical of the mechanism: the largest way between joints of one body.

        Where a machine stands on the ground is no part of its size.
        """
        ways = [body.placement.translation for body in self.bodies[1:] if body.parent != 0]
        root = [body.placement.translation for body in self.bodies[1:] if body.parent == 0]
        root += [np.zeros(3)] if self.floating else []
        for cut in self.cuts:
            for body, frame in ((cut.predecessor, cut.a), (cut.successor, cut.b)):
                (ways if body else root).append(frame.translation)
            radii = (row.radius for row in cut.rows if isinstance(row, Height))
            ways += [np.array([radius, 0.0, 0.0]) for radius in radii]
        ways += [point - other for k, point in enumerate(root) for other in root[:k]]
        return float(max((np.linalg.norm(way) for way in ways), default=0.0)) or 1.0

    @cached_property
    def velocity_scale(self) -> Array:
        """Scale of each velocity: 1 for turns, `size` for translations (nv,)."""
        scale = np.ones(self.nv)
        for body in self.bodies:
            if not body.coupled:
                scale[body.v] = np.where(body.type.slides(), self.size, 1.0)
        return scale

    @cached_property
    def rotors(self) -> Array | None:
        """Inertia of rotors along each velocity (nv,), kg m² or kg: M has it on its diagonal.

        None if there are none.
        """
        rotors = np.zeros(self.nv)
        for body in self.bodies:
            rotors[body.v] += body.ratio**2 * body.rotor
        return rotors if rotors.any() else None

    @cached_property
    def masses(self) -> tuple[float, ...]:
        """Mass of each body, kg, with that of its flexible links."""
        masses = [body.inertia.mass for body in self.bodies]
        for part in self.flexible:
            masses[part.body] = masses[part.body] + part.integrals.mass
        return tuple(masses)

    @cached_property
    def row_scale(self) -> Array:
        """Scale of each constraint row: `size` for rows that are lengths, 1 for angles (m,)."""
        return np.array([self._scale(row) for cut in self.cuts for row in cut.rows])

    @cached_property
    def velocity_rows(self) -> NDArray[np.bool_]:
        """Which constraint rows (m,) constrain velocities only: a wheel's that does not slip.

        Their Φ is 0 everywhere, their Φ_q v = 0 no derivative of a position.
        """
        rows = [isinstance(row, Slip) for cut in self.cuts for row in cut.rows]
        return np.array(rows, dtype=bool)

    def scaled_jacobian(self, phi_q: Array) -> Array:
        """Return Φ_q (..., m, nv) without dimension: by the scales of its rows and velocities."""
        return np.asarray(phi_q / self.row_scale[:, None] * self.velocity_scale)

    def _scale(self, row: Row) -> float:
        if isinstance(row, Coupled):
            body = self.bodies[row.own.body]
            return float(self.velocity_scale[body.v.start + row.own.coordinate])
        return 1.0 if isinstance(row, Across) else self.size


# What follows from a model alone is found once for each.

T = TypeVar("T")


def once_a_model(function: Callable[[Model], T]) -> Callable[[Model], T]:
    """Return a function that keeps what it has found as long as the model lives.

    Models are frozen. Of two threads that ask at once both compute, and the first answer stays.
    """
    known: WeakKeyDictionary[Model, T] = WeakKeyDictionary()

    @wraps(function)
    def asked(model: Model) -> T:
        kept = known.get(model)
        return known.setdefault(model, function(model)) if kept is None else kept

    return asked


# Content addresses: models with the same digest have the same equations, requests with the same
# address the same machine code. Both walk over fields; nobody writes one by hand.


@once_a_model
def digest(model: Model) -> str:
    """Return the SHA-256 of everything that the equations of a model depend on, and of its names.

    A renamed joint moves in the same way, but force elements and parameters find their places by
    names: with two of them exchanged they act elsewhere.
    """
    walk = _Walk()
    take = walk.take
    take((model.coordinate_names, model.velocity_names, model.gravity))
    for kind in sorted({type(body.type) for body in model.bodies}, key=lambda k: k.__qualname__):
        # Types of this package are covered by the address of its source; others bring their own.
        if not kind.__module__.startswith("mbd_bridge."):
            take((kind.__module__, kind.__qualname__, _source(kind)))
    take((model.bodies, model.links, model.joints, model.flexible, model.cuts))
    if model.cuts:
        take(model.rank_tolerance)  # which rows a kernel leaves out
    return walk.sink.hexdigest()


def address(*values: Any) -> str | None:
    """Return the SHA-256 of all that values hold, such as models and requests, field by field.

    What has an `identity` of its own is told by it. None where something cannot be
    told in a text, such as a caller's function: then only its graph tells the machine code.
    """
    walk = _Walk()
    walk.take(values)
    return walk.sink.hexdigest() if walk.tells else None


class _Walk:
    """Takes in values, field by field; `tells` where all of them could be told."""

    def __init__(self) -> None:
        self.sink, self.tells = hashlib.sha256(), True

    def take(self, value: Any) -> None:
        """Take in all that a value holds."""
        if isinstance(value, Model):
            self.take(digest(value))
        elif isinstance(value, np.ndarray):
            self.sink.update(f"|{value.shape}".encode() + (value + 0.0).tobytes())  # no -0.0
        elif isinstance(value, tuple | list):
            self.sink.update(f"|{type(value).__name__} {len(value)}".encode())
            for item in value:
                self.take(item)
        elif isinstance(value, Mapping):
            self.take(tuple(value.items()))
        elif hasattr(value, "identity") and not isinstance(value, type | Frame):
            self.tells = self.tells and value.identity is not None
            self.sink.update(f"|{type(value).__name__} {value.identity}".encode())
        elif is_dataclass(value) and not isinstance(value, JointType):  # its text says all
            self.sink.update(f"|{type(value).__name__}".encode())
            for name in value.__dataclass_fields__:
                self.take(getattr(value, name))
        elif callable(value):
            self.tells = False
        else:
            said = value + 0.0 if isinstance(value, float) else value
            self.sink.update(f"|{said!r}".encode())


def _source(kind: type) -> str:
    """Return the source of a class, or something that no other class has."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        import uuid

        return uuid.uuid4().hex
