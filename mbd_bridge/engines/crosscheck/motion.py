"""The states, forces and loops of a job, given to other engines: loads joint by joint.

Another engine gets q, v, a of a motion and, as wrenches w on the links of its open tree, all that
acts there: external forces, what loop joints carry and what force elements exert. Its inverse
dynamics tells without our equations

    generalised forces(q, v, a; external, loops) = actuators + force elements + gears
    loads of the joints(q, v, a; external, loops, force elements)

Loads of loop joints are wrong if passive joints do not come out free of forces there. The laws of
force elements are ours on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.arguments import flag
from mbd_bridge.base.errors import MissingPackageError, ModelError, count, whole_number
from mbd_bridge.base.readable import instant
from mbd_bridge.engines.crosscheck.compare import Referee, Report, Row
from mbd_bridge.equations.external import add
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.loads import JointLoads
from mbd_bridge.loads.observers import Needs
from mbd_bridge.loads.selected import COUPLING
from mbd_bridge.model import Cut, Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import ExternalForces
from mbd_bridge.solve import prepare
from mbd_bridge.solve.applied import element_links
from mbd_bridge.solve.prepared import Prepared

ROWS = 1000
"""Rows of a piece of a motion that are compared, beside those of the largest loads."""

LOAD, FORCES = "load of ", "actuators' forces"
"""Rows of a joint's load, and of the generalised forces."""


class _Worst(NamedTuple):
    """The largest difference so far, and where: a coordinate, and a time, s."""

    error: float
    place: str
    time: float


class _State(NamedTuple):
    """What another engine is asked about, and our answers.

    Attributes
    ----------
    pushes, elements : wrenches of external forces and loops, and of force elements
    forces : (nv,) what should move the tree without `elements`
    wrench : (J, 6) loads of the joints
    """

    time: float
    q: Array
    v: Array
    a: Array
    pushes: dict[int, Array]
    elements: dict[int, Array]
    forces: Array
    wrench: Array


class MotionCheck:
    """Observer that compares the loads along a motion with those of other engines.

    Its ``with`` block disconnects them.

    Parameters
    ----------
    prepared : the machine
    external, forces : what acts along the motion
    rows : of a piece that are compared, evenly; those of the joints' largest loads are beside them
    pybullet : ask pybullet too; None: if it can be asked
    """

    def __init__(
        self,
        prepared: Prepared,
        external: ExternalForces | None,
        forces: tuple[ForceElement, ...],
        rows: int | None = None,
        pybullet: bool | None = None,
    ) -> None:
        rows = ROWS if rows is None else whole_number("states", rows)
        pybullet = None if pybullet is None else flag("pybullet", pybullet)
        self._prepared, self._external, self._forces = prepared, external, forces
        self._rows, self.model, self._count = rows, prepared.model, 0
        self._referees, self._absent = _referees(self.model, pybullet)
        self._worst: dict[tuple[Referee, str], _Worst] = {}
        self._joints: tuple[str, ...] = ()

    def __enter__(self) -> MotionCheck:
        return self

    def __exit__(self, *error: object) -> None:
        for referee in self._referees:
            with suppress(AttributeError):
                referee.close()  # type: ignore[attr-defined]

    def needs(self) -> Needs:
        """Return the loads of all joints that move or are cut, and what actuators do."""
        cuts = self.model.cuts
        moving = (joint.name for joint in self.model.joints if joint.moving)
        joints = (*moving, *(cut.name for cut in cuts))
        return Needs(joints, reaction=bool(cuts), efforts=True)

    def add(self, motion: Motion, loads: JointLoads) -> None:
        """Compare some rows of the next piece."""
        if not len(motion.time) or not loads.joints:
            return
        every = np.linspace(0, len(motion.time) - 1, min(self._rows, len(motion.time)))
        largest = np.abs(loads.wrench).max(axis=-1).argmax(axis=0)
        rows = np.unique([*every.astype(int), *largest])
        self._count, self._joints = self._count + len(rows), loads.joints
        for state in self._states(motion.part(rows), loads, rows):
            for referee in self._referees:
                self._compare(referee, state)

    def result(self) -> Report:
        """Return the comparison, joint by joint."""
        rows = []
        for referee in self._referees:
            tolerance = referee.tolerance
            asked = [LOAD + name for name in referee.joints] + [FORCES] * bool(self.model.nv)
            note = "" if referee.joints else "it gives no loads of joints"
            for quantity in asked if self._count else ():
                error, place, time = self._worst[referee, quantity]
                worst = ", ".join(filter(None, (place, f"{instant(time)} s"))) if error else ""
                passed = bool(error <= tolerance)  # false for nan
                row = Row(quantity, referee.name, error, tolerance, worst, passed, note)
                rows.append(row)
        names = tuple(referee.name for referee in self._referees)
        where = f"{count(self._count, 'state')} of the motion"
        return Report(self.model.name, self._count, tuple(rows), names, self._absent, where=where)

    def _compare(self, referee: Referee, state: _State) -> None:
        """Compare one state with what another engine says of it."""
        _, q, v, a, pushes, elements, forces, wrench = state
        tau, theirs = referee.inverse(q, v, a, pushes)
        if elements:
            both = dict(pushes)
            add(both, elements)
            theirs = referee.inverse(q, v, a, both)[1]
        parts = [tau, theirs, wrench, *pushes.values(), *elements.values()]
        size = max(float(np.abs(x).max(initial=0.0)) for x in parts) or 1.0
        differences = np.abs(forces - tau)
        if len(differences):
            at = int(np.argmax(differences))
            self._note(
                referee, FORCES, differences[at] / size, state, self.model.velocity_names[at]
            )
        for name, load in zip(referee.joints, theirs, strict=True):
            difference = np.abs(wrench[self._joints.index(name)] - load).max()
            self._note(referee, LOAD + name, difference / size, state)

    def _note(
        self, referee: Referee, quantity: str, error: float, state: _State, place: str = ""
    ) -> None:
        known = self._worst.get((referee, quantity))
        if known is None or not error <= known.error:
            self._worst[referee, quantity] = _Worst(float(error), place, state.time)

    def _states(self, motion: Motion, loads: JointLoads, rows: Array) -> Iterator[_State]:
        """Yield the states of some rows with all that acts there."""
        q, v, time, model = motion.q, motion.v, motion.time, self.model
        a = motion.a if loads.a is None else loads.a[rows]
        assert loads.efforts is not None, "they are among the needs"
        forces, wrench = loads.efforts[rows], loads.wrench[rows]
        pushes: list[dict[int, Array]] = [{} for _ in rows]
        elements: list[dict[int, Array]] = [{} for _ in rows]
        if self._external is not None:
            for link, pushed in self._external.along(time, q, v).items():
                _push(pushes, model.link_number(link), pushed)
        if self._forces:
            total, packed = self._prepared.element_forces(self._forces, q, v, time)
            forces = forces + total
            for k, number in enumerate(element_links(model, self._forces)):
                _push(elements, number, packed[:, 6 * k : 6 * k + 6])
        if model.cuts:
            assert loads.reaction_force is not None
            assert loads.reaction_moment is not None
            pure = np.concatenate([loads.reaction_force, loads.reaction_moment], axis=-1)[rows]
            for cut in model.cuts:
                self._cut(pushes, cut, pure[:, loads.joints.index(cut.name)], q)
            forces = forces + self._gears(q, v, loads, rows)
        for k in range(len(rows)):
            answers = forces[k], wrench[k]
            yield _State(float(time[k]), q[k], v[k], a[k], pushes[k], elements[k], *answers)

    def _cut(self, pushes: list[dict[int, Array]], cut: Cut, load: Array, q: Array) -> None:
        """Add what a loop joint does to its two links, given at its frame on the successor."""
        before, after = cut.links
        frame = self.model.links[after].frame
        origin = frame.rotation.T @ (cut.described.translation - frame.translation)
        force = load[:, :3]
        wrench = np.concatenate([force, load[:, 3:] + np.cross(origin, force)], axis=-1)
        _push(pushes, after, wrench)
        names = [self.model.links[k].name for k in cut.links]
        places = [self._prepared.placement(name)(q)[0] for name in names]
        step = np.linalg.solve(*places)
        turn, way = step[:, :3, :3], step[:, :3, 3]
        force = np.einsum("nij,nj->ni", turn, force)
        moment = np.einsum("nij,nj->ni", turn, wrench[:, 3:]) + np.cross(way, force)
        _push(pushes, before, -np.concatenate([force, moment], axis=-1))

    def _gears(self, q: Array, v: Array, loads: JointLoads, rows: Array) -> Array:
        """Return the generalised forces (N, nv) of gears that are cut."""
        out, row = np.zeros((len(q), self.model.nv)), 0
        for cut in self.model.cuts:
            if cut.type == COUPLING:
                J = prepare(self.model, "constraints")(q, v)[1][:, row]
                out += J * loads[cut.name].actuation[rows]
            row += len(cut.rows)
        return out


def with_motions(report: Report, motions: Mapping[str, Report]) -> Report:
    """Return a comparison with others along motions by name, a row for the loads of all joints.

    There loops are closed: their loads act on the tree.
    """
    every, where = list(report.rows), [report.at]
    for name, other in motions.items():
        rows = list[Row]()
        where.append(f"{other.at} {name}".rstrip())
        for referee in dict.fromkeys(row.referee for row in other.rows):
            each = [row for row in other.rows if row.referee == referee]
            loads = [row for row in each if row.quantity != FORCES]
            if loads:
                worst = max(loads, key=lambda row: (not row.passed, row.error))
                joint = f"{worst.quantity.removeprefix(LOAD)}, {worst.worst}"
                quantity, place = "joint loads", joint if worst.worst else ""
                rows.append(replace(worst, quantity=quantity, worst=place))
            rows += [row for row in each if row.quantity == FORCES]
        along = f"along {name or 'the motion'}"
        every += [replace(row, quantity=f"{row.quantity} {along}") for row in rows]
    closed = motions and all(other.rows for other in motions.values())
    loops = () if closed else report.open_loops
    return replace(report, rows=tuple(every), open_loops=loops, where=" and ".join(where))


def _push(pushes: list[dict[int, Array]], link: int, wrenches: Array) -> None:
    for each, wrench in zip(pushes, wrenches, strict=True):
        add(each, {link: wrench})


def _referees(model: Model, pybullet: bool | None) -> tuple[list[Referee], tuple[str, ...]]:
    """Return the engines that can be asked about a machine, and why others cannot."""
    referees, absent = list[Referee](), list[str]()

    def ask(make: Callable[[Model], Referee], *, needed: bool = False) -> None:
        try:
            referees.append(make(model))
        except (MissingPackageError, ModelError) as reason:
            if needed:
                raise
            absent.append(str(reason))

    def pinocchio(model: Model) -> Referee:
        from mbd_bridge.engines.pinocchio.referee import PinocchioReferee

        return PinocchioReferee(model)

    def bullet(model: Model) -> Referee:
        from mbd_bridge.engines.pybullet import PybulletReferee

        return PybulletReferee(model)

    def mujoco(model: Model) -> Referee:
        from mbd_bridge.engines.mujoco.twin import MujocoReferee

        return MujocoReferee(model)

    ask(pinocchio)
    if pybullet is not False:
        ask(bullet, needed=bool(pybullet))
    if model.description.format == "MJCF":
        ask(mujoco)
    return referees, tuple(absent)
