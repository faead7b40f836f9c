"""A link cut free: all that acts on it, in equilibrium with its inertia.

    Σ f_joints + m g + Σ f_external - m r̈_c = 0
    Σ (r × f + n)_joints + c × m g + Σ n_external - c × m r̈_c - (J α + ω × J ω) = 0

in the link's axes, about its frame's origin; c is the centre of mass, J the inertia about it. Of a
link that bends gravity and inertia are sums over its nodes (`spread`). The inertia is the
description's own, the motion that of `link_motion`; neither comes from what computed the loads.

Where joints hold a link: the tree's joints, fixed ones too, and those that close loops.

A link is what the file calls a link, not the body that it moves with. Gears are not among them:
they act along coordinates, between each joint's own two links, so their force is part of the loads
of these joints.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.applications.free_body.spread import LinkMotion, Spread, link_motion, lumped, spread
from mbd_bridge.base.arguments import as_floats, finite_numbers
from mbd_bridge.base.errors import ModelError, StateError, count, unknown_name
from mbd_bridge.base.named import Named
from mbd_bridge.base.readable import instant, on_clock
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.loads.convention import Convention
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.model import GROUND, Cut, Model, ModelJoint
from mbd_bridge.model.spatial import Array, Inertia
from mbd_bridge.motion.peak import first_largest, is_larger
from mbd_bridge.motion.table import COMPONENTS, FORCES


@dataclass(frozen=True, slots=True, eq=False)
class Attachment:
    """A joint that holds a link.

    Attributes
    ----------
    joint : its name
    other : the link at its other side, or "ground"
    child : index of the link that the joint's load acts on, in whose axes it is given
    child_origin : (3,) m of the joint on that link, in that link's frame
    here : (3,) m of the joint on the link in question, in its frame
    is_child : whether that link is the one in question; else the opposite acts on it
    """

    joint: str
    other: str
    child: int
    child_origin: Array
    here: Array
    is_child: bool


def attachments(model: Model, link: str) -> tuple[Attachment, ...]:
    """Return the joints that hold a link: the tree's in their order, then those of loops."""
    number = model.link_number(link)
    found = [_of_tree(model, joint, number) for joint in model.joints]
    found += [_of_loop(model, cut, number) for cut in model.cuts if _holds(cut)]
    held = tuple(one for one in found if one is not None)
    if not held:
        raise ModelError(f"no joint holds the link {link!r}: it has no free body to cut out")
    return held


def _of_tree(model: Model, joint: ModelJoint, link: int) -> Attachment | None:
    child, parent = joint.child, joint.parent
    own, other = joint.child_frame.translation, joint.parent_frame.translation
    if joint.turned:  # the load is in the described sense (`mechanism.recut`)
        child, parent = parent, child
        own, other = other, own
    return _seen_from(model, joint.name, (child, own), (parent, other), link)


def _of_loop(model: Model, cut: Cut, link: int) -> Attachment | None:
    before, behind = cut.links
    on_behind = (model.links[behind].frame.inverse() @ cut.described).translation
    on_before = (model.links[before].frame.inverse() @ cut.a).translation
    return _seen_from(model, cut.name, (behind, on_behind), (before, on_before), link)


def _holds(cut: Cut) -> bool:
    """Return whether a cut joint exerts wrenches: gears and free joints do not."""
    return bool(cut.rows) and cut.type != "coupling"


def _seen_from(
    model: Model, name: str, child: tuple[int, Array], parent: tuple[int, Array], link: int
) -> Attachment | None:
    if link == child[0]:
        other = GROUND if parent[0] < 0 else model.links[parent[0]].name
        return Attachment(name, other, *child, child[1], True)
    if link == parent[0]:
        return Attachment(name, model.links[child[0]].name, *child, parent[1], False)
    return None


GRAVITY, INERTIA, EXTERNAL = "gravity", "inertia", "external"
"""Names of what acts on a link beside its joints."""

NOTHING = 1e-9
"""Share of a component that makes another one depend on it: below are roundings of rotations."""


@dataclass(frozen=True, eq=False)
class LinkAction:
    """What one joint, gravity, inertia or the outside does to a link, at K instants.

    Attributes
    ----------
    name : the joint's, or "gravity", "inertia", "external"
    other : the link at the joint's other side, or "ground"; "" for what is no joint
    point : (3,) m where it acts, in the link's frame
    force, moment : (K, 3) N, (K, 3) N m about that point, in the link's axes
    unique : (6,) whether rigid-body mechanics determines the component
    """

    name: str
    other: str
    point: Array
    force: Array
    moment: Array
    unique: NDArray[np.bool_]

    @property
    def wrench(self) -> Array:
        """Force and moment, (K, 6)."""
        return np.concatenate([self.force, self.moment], axis=1)

    def about_origin(self) -> Array:
        """Return force and moment about the origin of the link's frame, (K, 6)."""
        return np.concatenate([self.force, self.moment + np.cross(self.point, self.force)], axis=1)


@dataclass(frozen=True, eq=False)
class FreeBody(Tabular, Named[LinkAction], entries="wrench on {0.link!r}"):
    """All that acts on one link, at K instants.

    Attributes
    ----------
    mechanism, link : names
    time : (K,) s; nan where states have none
    labels : (K,) what each instant is, "" for nothing special
    acting : joints in their order, external, gravity, inertia (the negative of m r̈ and of the
        rate of angular momentum)
    motion : of the link, in its axes; `acceleration` is that of its centre of mass, or
        of the origin of its frame if it bends
    inertia : of the link alone, in its frame
    machine : the sizes up to which loads are rounding errors beside the machine's weight
    nodes : of a link that bends, its gravity and inertia node by node; None for rigid ones. What
        `acting` has of them are their sums
    """

    mechanism: str
    link: str
    time: Array
    labels: tuple[str, ...]
    acting: tuple[LinkAction, ...]
    motion: LinkMotion
    inertia: Inertia
    machine: RoundOff
    nodes: Spread | None = None

    @property
    def round_off(self) -> RoundOff:
        """The sizes up to which loads are rounding errors, beside those on the link too."""
        force, moment = (
            max(float(np.abs(part).max(initial=0.0)) for part in parts)
            for parts in zip(*((one.force, one.moment) for one in self.acting), strict=True)
        )
        return self.machine.including(force, moment)

    @property
    def names(self) -> tuple[str, ...]:
        """Joints, external, gravity, inertia."""
        return tuple(one.name for one in self.acting)

    def _entry(self, name: str) -> LinkAction:
        return self.acting[self.names.index(name)]

    @property
    def joints(self) -> tuple[LinkAction, ...]:
        """What joints do."""
        return tuple(one for one in self.acting if one.other)

    @property
    def sum(self) -> Array:
        """Sum of all forces and moments about the link's origin, (K, 6): rounding errors."""
        return np.asarray(np.sum([one.about_origin() for one in self.acting], axis=0))

    @property
    def residual(self) -> Array:
        """Largest of force and moment of `sum`, relative to the largest single one, (K,)."""
        lengths = np.array([_lengths(one.about_origin()) for one in self.acting])
        arms = [np.linalg.norm(one.point) * _lengths(one.force) for one in self.acting]
        largest = lengths.max(axis=0)
        largest[:, 1] = np.maximum(largest[:, 1], np.max(arms, axis=0)[:, 0])
        safe = np.where(largest > 0.0, largest, 1.0)
        return np.asarray((_lengths(self.sum) / safe).max(axis=1))

    def at(self, when: str | ArrayLike = "peak") -> FreeBody:
        """Return the free body at chosen instants.

        Parameters
        ----------
        when : "peak" for the instants at which any component of any joint on the link is largest
            in size; such as "elbow.fx" or "elbow" for the peaks of this one; or times, s, of which
            the nearest instants are taken; of motions with stamps of a clock, also s after the
            first one
        """
        if not isinstance(when, str):
            nearest = NearestInstants(when)
            nearest.add(self)
            return nearest.body()
        instants = PeakInstants()
        instants.add(self)
        return instants.body(None if when == "peak" else when)

    def pick(self, rows: Sequence[int]) -> FreeBody:
        """Return the free body at some of its instants, by their numbers."""
        places = np.asarray(rows, dtype=int)
        return replace(
            self,
            time=self.time[places],
            labels=tuple(self.labels[k] for k in places),
            acting=tuple(
                replace(one, force=one.force[places], moment=one.moment[places])
                for one in self.acting
            ),
            motion=LinkMotion(*(part[places] for part in self.motion)),
            nodes=None if self.nodes is None else self.nodes.pick(places),
        )

    def with_more(
        self, others: Sequence[FreeBody], labels: Iterable[str] | None = None
    ) -> FreeBody:
        """Return the free body at its instants and then at those of others of the same link."""
        every = [self, *others]
        together = zip(*(body.acting for body in every), strict=True)
        return replace(
            self,
            time=np.concatenate([body.time for body in every]),
            labels=tuple(labels or [label for body in every for label in body.labels]),
            acting=tuple(
                replace(
                    ones[0],
                    force=np.concatenate([one.force for one in ones]),
                    moment=np.concatenate([one.moment for one in ones]),
                    unique=np.logical_and.reduce([one.unique for one in ones]),
                )
                for ones in together
            ),
            motion=LinkMotion(*map(np.concatenate, zip(*(b.motion for b in every), strict=True))),
            nodes=Spread.joined([b.nodes for b in every if b.nodes is not None]),
        )

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        length: Literal["m", "mm"] = "m",
        first: int = 1,
        system: int = 0,
        mass: Literal["points", "distributed"] = "points",
    ) -> None:
        """Write a table (.csv) or load cards (.bdf, .inp, .comm); see `files.write_free_body`."""
        from mbd_bridge.applications.free_body.files import write_free_body

        write_free_body(self, path, length=length, first=first, system=system, mass=mass)

    def tables(self) -> tuple[Table, ...]:
        """Return all that acts on the link, an instant each; see `_table` for all of them."""
        whole, number = self._table(), len(self.acting)
        return tuple(
            replace(
                whole.rows(slice(k * number, (k + 1) * number)),
                title=f"instant {k + 1}, t = {instant(time)} s{f': {label}' if label else ''}",
                notes=(f"equilibrium residual {self.residual[k]:.0e} (relative)",),
            )
            for k, (time, label) in enumerate(zip(self.time.tolist(), self.labels, strict=True))
        )

    def _table(self) -> Table:
        """Return all instants below each other."""
        each = [(k, one) for k in range(len(self.time)) for one in self.acting]
        wrenches = np.array([one.wrench[k] for k, one in each]).reshape(-1, 6)
        places = [" ".join(f"{x:.4g}" for x in (one.point + 0.0).tolist()) for _, one in each]
        units = {name: "N" if name in FORCES else "N m" for name in COMPONENTS}
        sure = np.array([one.unique for _, one in each]).reshape(-1, 6)
        columns = [
            Series("time", "s", [float(self.time[k]) for k, _ in each], listed=False),
            Series("instant", "", [self.labels[k] for k, _ in each], listed=False),
            Series("from", "", [one.other for _, one in each]),
            Series("at", "m", places),
            *(
                Series(name, unit, wrenches[:, j], sure=sure[:, j])
                for j, (name, unit) in enumerate(units.items())
            ),
        ]
        labels = Series("what", "", [one.name for _, one in each])
        return Table(repr(self), labels, columns, floors=self.round_off.floors, brackets=True)

    def __repr__(self) -> str:
        return (
            f"FreeBody({self.link!r} of {self.mechanism!r}: {count(len(self.time), 'instant')}, "
            f"{', '.join(one.name for one in self.acting)}; residual {self.residual.max():.1e})"
        )


def joints_of(model: Model, link: str) -> tuple[str, ...]:
    """Return the names of the joints whose loads `free_body` needs."""
    return tuple(one.joint for one in attachments(model, link))


def free_body(
    model: Model,
    link: str,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    loads: JointLoads,
    *,
    external: ArrayLike | None = None,
) -> FreeBody:
    """Return all that acts on a link.

    Parameters
    ----------
    link : its name
    q, v, a : (n,) or (K, n)
    loads : of the joints `joints_of` the link at these states, in the default convention
    external : (6,) or (K, 6) N and N m on this link, at its origin, in its axes; it must be part of
        what the loads were computed for
    """
    if loads.convention != Convention():
        raise StateError(
            f"a free body needs loads in the default convention ({Convention()}), got "
            f"{loads.convention}"
        )
    q, v, a = (np.atleast_2d(as_floats(n, x)) for n, x in (("q", q), ("v", v), ("a", a)))
    if not len(loads.force):
        raise StateError("q, v, a: expected one state or more, got none")
    states = max(len(x) for x in (q, v, a))
    number = model.link_number(link)
    bends = next((part for part in model.flexible if part.link == number), None)
    described = next(one for one in model.description.links if one.name == link)
    inertia = described.inertia or Inertia.zero()
    held = attachments(model, link)
    others = tuple(dict.fromkeys(one.child for one in held if not one.is_child))
    wide = [np.broadcast_to(x, (states, x.shape[1])) for x in (q, v, a)]
    centre = np.zeros(3) if bends else inertia.centre
    motion = link_motion(model, number, centre, others, *wide)
    acting = [_acting(one, loads, motion, others) for one in held]
    if external is not None:
        wrench = np.broadcast_to(np.asarray(external, dtype=np.float64), (states, 6))
        sure = np.ones(6, dtype=bool)
        outside = LinkAction(EXTERNAL, "", np.zeros(3), wrench[:, :3], wrench[:, 3:], sure)
        acting.append(outside)
    nodes = None
    if bends is None:
        acting += _of_mass(inertia, motion)
    else:
        flexible = next(one for one in model.description.flexible if one.link == link)
        parts = lumped(model, flexible)
        inertia, nodes = parts.inertia(), spread(bends, parts, motion, *wide)
        acting += _of_nodes(nodes, np.array(inertia.centre))
    times = np.full(states, np.nan) if loads.time is None else loads.time
    labels = ("",) * states
    machine = RoundOff.of(model)
    return FreeBody(model.name, link, times, labels, tuple(acting), motion, inertia, machine, nodes)


def _acting(
    held: Attachment, loads: JointLoads, motion: LinkMotion, others: tuple[int, ...]
) -> LinkAction:
    """Return what a joint does to the link, from its load on its child."""
    own = loads[held.joint]
    force, moment = np.atleast_2d(own.force), np.atleast_2d(own.moment)
    unique = np.asarray(own.unique.reshape(-1, 6).all(axis=0))
    point = np.array(held.here)
    if held.is_child:
        rotations = np.eye(3)[None]
        arms = np.zeros((1, 3))
    else:
        around = motion.neighbours[:, others.index(held.child)]
        rotations = around[:, :, :3]
        arms = rotations @ held.child_origin + around[:, :, 3] - point
        force = -np.einsum("kij,kj->ki", rotations, force)
        moment = -np.einsum("kij,kj->ki", rotations, moment) + np.cross(arms, force)
    sure = _determined(rotations, arms, unique)
    return LinkAction(held.joint, held.other, point, force, moment, sure)


def _determined(rotations: Array, arms: Array, unique: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which components are determined after turning and moving them, at every instant.

    One that mixes in an undetermined one counts as undetermined.
    """
    if unique.all():
        return unique
    size = max(float(np.abs(arms).max()), 1.0)
    x, y, z = arms.T
    none = np.zeros_like(x)
    tilde = np.array([[none, -z, y], [z, none, -x], [-y, x, none]]).transpose(2, 0, 1)
    whole = np.zeros((max(len(rotations), len(arms)), 6, 6))
    whole[:, :3, :3] = whole[:, 3:, 3:] = rotations
    whole[:, 3:, :3] = tilde @ rotations / size
    mixed = (np.abs(whole) > NOTHING).any(axis=0)
    return np.asarray(~(mixed & ~unique).any(axis=1))


def _of_mass(inertia: Inertia, motion: LinkMotion) -> list[LinkAction]:
    """Return gravity and inertia, at the centre of mass."""
    centre, sure = np.array(inertia.centre), np.ones(6, dtype=bool)
    weight = inertia.mass * motion.gravity
    spin = motion.omega @ inertia.central.T
    rate = motion.alpha @ inertia.central.T + np.cross(motion.omega, spin)
    still = np.zeros_like(weight)
    return [
        LinkAction(GRAVITY, "", centre, weight, still, sure),
        LinkAction(INERTIA, "", centre, -inertia.mass * motion.acceleration, -rate, sure),
    ]


def _of_nodes(nodes: Spread, centre: Array) -> list[LinkAction]:
    """Return gravity and inertia of a flexible link in all, about its undeformed centre of mass."""
    sure, out = np.ones(6, dtype=bool), []
    for name, wrenches in ((GRAVITY, nodes.gravity), (INERTIA, nodes.inertia)):
        total = nodes.total(wrenches, centre)
        out.append(LinkAction(name, "", centre, total[:, :3], total[:, 3:], sure))
    return out


def _lengths(wrench: Array) -> Array:
    """Return the lengths of force and moment (K, 2), or of a force (K, 1)."""
    parts = [wrench[:, k : k + 3] for k in range(0, wrench.shape[1], 3)]
    return np.stack([np.linalg.norm(part, axis=1) for part in parts], axis=1)


# Which instants of a motion to take: those of given times, or of the peaks of a link's loads.
#
# The motion may come in pieces, each as the free body along it; what is asked for is kept.


class PeakInstants:
    """The instants at which components of the joints of one link are largest in size."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[float, int, FreeBody]] = {}
        self._round_off: RoundOff | None = None
        self._rows = 0

    def add(self, body: FreeBody) -> None:
        """Take in the next piece."""
        self._round_off = body.round_off.joined(self._round_off)
        for one in body.joints:
            values = np.abs(one.wrench)
            rows = map(first_largest, values.T)
            for k, (component, row) in enumerate(zip(COMPONENTS, rows, strict=True)):
                value, name = float(values[row, k]), (one.name, component)
                if name not in self._found or is_larger(value, self._found[name][0]):
                    self._found[name] = value, self._rows + row, body.pick([row])
        self._rows += len(body.time)

    def body(self, wanted: str | None = None) -> FreeBody:
        """Return the free body at the peaks, in the order of time; labels say what peaks there.

        Parameters
        ----------
        wanted : a component such as ``elbow.fx``, or a joint; None for all components

        Notes
        -----
        Components that are nothing but rounding errors have no peak.
        """
        peaks: dict[int, tuple[FreeBody, list[str]]] = {}
        for (joint, component), (value, row, body) in self._found.items():
            name = f"{joint}.{component}"
            if wanted not in (None, name, joint):
                continue
            assert self._round_off is not None
            floor = self._round_off.floor("N" if component in FORCES else "N m")
            if wanted == name or value > floor:
                peaks.setdefault(row, (body, []))[1].append(name)
        if not peaks:
            names = [*dict.fromkeys(joint for joint, _ in self._found)]
            names += [f"{joint}.{component}" for joint, component in self._found]
            if wanted is not None and wanted not in names:
                raise StateError(unknown_name("joint or component of the link", wanted, names))
            raise StateError("no load on the link has a peak: all are zero; give times")
        chosen = [peaks[row] for row in sorted(peaks)]
        return joined(
            [body for body, _ in chosen], ["peak of " + ", ".join(names) for _, names in chosen]
        )


class NearestInstants:
    """The instants nearest to some times, s: see `on_clock` for stamps of a clock."""

    def __init__(self, times: ArrayLike) -> None:
        self._given: list[float] = finite_numbers("at", times).reshape(-1).tolist()
        if not self._given:
            raise StateError('at: expected "peak", a component or times, got none')
        self._found: dict[float, FreeBody] = {}
        self._begin, self._end, self._step = np.inf, -np.inf, 0.0

    def add(self, body: FreeBody) -> None:
        """Take in the next piece."""
        time = body.time
        self._begin, self._end = min(self._begin, float(time[0])), float(time[-1])
        self._step = max(self._step, float(np.diff(time).max(initial=0.0)))
        for wanted in self._times():
            row = int(np.argmin(np.abs(time - wanted)))
            before = self._found.get(wanted)
            if before is None or abs(time[row] - wanted) < abs(before.time[0] - wanted):
                self._found[wanted] = body.pick([row])

    def body(self) -> FreeBody:
        """Return the free body at these instants.

        Raises
        ------
        StateError
            A time is not in the motion.
        """
        for wanted in self._times():
            within = 0.5 * self._step
            if not self._begin - within <= wanted <= self._end + within:
                raise StateError(
                    f"t = {instant(wanted)} s is not in the motion, which goes from "
                    f"{instant(self._begin)} to {instant(self._end)} s"
                )
        return joined([self._found[wanted] for wanted in self._times()])

    def _times(self) -> list[float]:
        return [on_clock(given, self._begin) for given in self._given]


def joined(bodies: Iterable[FreeBody], labels: Iterable[str] | None = None) -> FreeBody:
    """Return free bodies of one link at some instants as one."""
    first, *rest = bodies
    return first.with_more(rest, labels)
