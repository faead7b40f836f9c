"""A motion: times, and the coordinates, velocities and accelerations of a model at these times.

It is read from a table whose columns are named after the model's coordinates:

    time                       s, growing from row to row
    <coordinate>               rad or m, e.g. elbow; a ball joint has hip.qx, .qy, .qz, .qw
    <velocity>.vel             rad/s or m/s, e.g. elbow.vel, hip.wx.vel
    <velocity>.acc             rad/s² or m/s², e.g. elbow.acc, hip.wx.acc

A unit in brackets is obeyed: ``elbow [deg]``. Velocities and accelerations that are not there are
derived by a spline (see `derivatives`): accelerations from the velocities where the table has
them, from the positions otherwise. What was derived or held still is said in `Motion.notes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.arguments import name_list
from mbd_bridge.assumptions import Assumption
from mbd_bridge.errors import StateError, count, some, unknown_name
from mbd_bridge.formats.table import Table
from mbd_bridge.mechanism import Body, Model, ModelJoint
from mbd_bridge.mechanism.units import RATE, model_units
from mbd_bridge.motions.columns import in_si, times
from mbd_bridge.motions.derivatives import FEWEST, degree, derivatives, rates_of
from mbd_bridge.motions.table import LOAD, UNDETERMINED, is_load, save_motion
from mbd_bridge.motions.warnings import NAMED, MotionWarnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mbd_bridge.kinematics.completion import Completed

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_PARENTHESES = re.compile(r"(?P<name>.*\S)\s*\((?P<unit>[^()]*)\)")

LENGTH = 1e-3
"""How far from 1 the length of a quaternion may be: files round to a few digits."""
FOLLOWS = 1e-3
"""How far, rad or m, the column of a ``<mimic>`` joint may be from what its leader makes it."""


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """States of a model along time.

    Attributes
    ----------
    time : (N,) s
    q, v, a : (N, nq), (N, nv), (N, nv): rad or m, and their rates
    coordinates, velocities : names of the entries of q, and of v and a
    notes : what was derived, held still or looks odd
    model : whose states these are
    assumed : what was done to it (topics completed, rates, smoothing, uncertainty, ...), which
        loads along it assume
    completed : how well the recorded part determines it, of a motion that was completed; else None
    """

    time: Floats
    q: Floats
    v: Floats
    a: Floats
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]
    notes: tuple[str, ...] = ()
    model: Model | None = None
    assumed: tuple[Assumption, ...] = ()
    completed: Completed | None = None

    def save(self, path: str | PathLike[str], *, digits: int | None = None) -> None:
        """Write the motion, rates and all, to .csv, .parquet, .npz or .h5, with units.

        Parameters
        ----------
        digits : significant digits in a text; None for all. The other kinds hold all
        """
        if self.model is None:
            raise StateError("this motion does not know its mechanism, so its units neither")
        parts = [self.time, self.q, self.v, self.a]
        save_motion(path, self.model, parts, digits=digits, notes=self.notes)

    def plot(
        self,
        names: Iterable[str] | str | None = None,
        quantities: Iterable[str] | str = ("q", "v"),
        *,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> list[Axes]:
        """Draw the motion along time, and return the axes.

        Parameters
        ----------
        names : of coordinates or joints; None for all
        quantities : of "q", "v" and "a"; angles and lengths have panels of their own
        ax : axes to draw into, one a panel; None makes a figure
        """
        if self.model is None:
            raise StateError("this motion does not know its mechanism, so its units neither")
        from mbd_bridge.motions.pictures import plot_motion

        asked = name_list("quantities", quantities, "q, v, a")
        parts = {what: np.asarray(getattr(self, what, ())) for what in asked}
        return plot_motion(self.model, self.time, parts, names, ax=ax)

    def __repr__(self) -> str:
        return (
            f"Motion({count(len(self.time), 'state')} from {self.time[0]:g} to {self.time[-1]:g} "
            f"s; {count(len(self.coordinates), 'coordinate')}; {count(len(self.notes), 'note')})"
        )


def motion_from_table(
    table: Table, model: Model, *, rest: bool = False, warnings: MotionWarnings | None = None
) -> Motion:
    """Return the motion that a table gives to a model.

    Parameters
    ----------
    table : see the module's text
    rest : hold the coordinates that the table has not at zero (no rotation), at rest
    warnings : what takes in what looks odd, of a motion in pieces; else this is among the notes

    Raises
    ------
    FileError
        Columns are missing or unknown, times do not grow, a quaternion is none, or there are too
        few rows to derive what is missing. The row's line and the column are named.
    """
    found = MotionWarnings(model) if warnings is None else warnings
    motion = _Reader(_in_our_words(table, model), model).motion(rest, found)
    return (
        motion if warnings is not None else replace(motion, notes=(*motion.notes, *found.notes()))
    )


class _Reader:
    """The motion as far as it is known: the entries of q, v and a, and which of them are known."""

    def __init__(self, table: Table, model: Model) -> None:
        self.table, self.model = table, model
        self.notes, self.assumed = list[str](), list[Assumption]()
        self.time = times(table)
        _check_names(table, model)
        of_q, of_v = model_units(model)
        self.q, self.has_q = self._columns(model.coordinate_names, "", of_q)
        names, (_, per_s, per_s2) = model.velocity_names, RATE
        self.v, self.has_v = self._columns(names, ".vel", [unit + per_s for unit in of_v])
        self.a, self.has_a = self._columns(names, ".acc", [unit + per_s2 for unit in of_v])

    def motion(self, rest: bool, warnings: MotionWarnings) -> Motion:
        """Return the whole motion."""
        model = self.model
        self._hold(rest)
        for joint, body in _independent(model):
            if joint.type.nq > joint.type.nv:
                self._unit_quaternion(joint, body)
        given = self.has_v.copy()
        derived = self._derive()
        self._compare_followers()
        warnings.add(self.time, self.q, derived)
        warnings.compare_rates(self.time, self.q, self.v, given)
        names = model.coordinate_names, model.velocity_names
        notes, assumed = tuple(self.notes), tuple(self.assumed)
        return Motion(self.time, self.q, self.v, self.a, *names, notes, model, assumed)

    def _say(self, topic: str, note: str) -> None:
        """Note what was done to the motion: loads along it assume it."""
        self.notes.append(note)
        self.assumed.append(Assumption(topic, note))

    def _columns(
        self, names: Sequence[str], suffix: str, units: Sequence[str]
    ) -> tuple[Floats, Flags]:
        """Return the columns in SI units (zero where there are none), and which ones there are."""
        values = np.zeros((len(self.time), len(names)))
        known = np.zeros(len(names), dtype=bool)
        for k, (name, unit) in enumerate(zip(names, units, strict=True)):
            if name + suffix in self.table.names:
                values[:, k] = in_si(self.table, name + suffix, unit)
                known[k] = True
        return values, known

    def _hold(self, rest: bool) -> None:
        """Hold the coordinates that the table has not at zero, or complain of them."""
        model = self.model
        missing = [
            name for name, has in zip(model.coordinate_names, self.has_q, strict=True) if not has
        ]
        if not missing:
            return
        if not rest:
            raise self.table.error(
                f"expected a column for each coordinate, {len(missing)} are missing: "
                f"{', '.join(missing)}; add them, or hold them at zero with --rest (rest=True)"
            )
        for joint, body in _independent(model):
            self._hold_joint(joint, body)
        self._say("completed", f"held in the neutral position, at rest: {some(missing, NAMED)}")

    def _hold_joint(self, joint: ModelJoint, body: Body) -> None:
        """Hold what the table has not of one joint: single coordinates, or a whole quaternion."""
        held = ~self.has_q[body.q]
        rates = held
        if joint.type.nq > joint.type.nv:
            names = self.model.coordinate_names[body.q]
            absent = [name for name, is_held in zip(names[-4:], held[-4:], strict=True) if is_held]
            if 0 < len(absent) < 4:
                raise self.table.error(
                    f"a quaternion has four columns, {', '.join(absent)} missing; add them"
                )
            rates = np.append(held[:-4], np.repeat(held[-1], 3))
        self.q[:, body.q][:, held] = joint.type.neutral()[held]
        for k in body.v.start + np.flatnonzero(rates):
            for suffix, known in ((".vel", self.has_v), (".acc", self.has_a)):
                if known[k]:
                    raise self.table.error(
                        f"there is a column for the rate, but none for the position of "
                        f"{joint.name!r}; add it, or leave out the rate",
                        column=self.model.velocity_names[k] + suffix,
                    )
                known[k] = True  # it is zero

    def _unit_quaternion(self, joint: ModelJoint, body: Body) -> None:
        """Scale a joint's quaternion to length 1."""
        part = self.q[:, body.q.stop - 4 : body.q.stop]
        length = np.linalg.norm(part, axis=1)
        bad = np.flatnonzero(np.abs(length - 1.0) > LENGTH)
        if len(bad):
            row = int(bad[0])
            names = self.model.coordinate_names[body.q.stop - 4 : body.q.stop]
            raise self.table.error(
                f"expected a unit quaternion in {', '.join(names)}, got the length "
                f"{length[row]:.6g}; the order is x, y, z, w",
                row,
            )
        part /= length[:, None]

    def _derive(self) -> list[ModelJoint]:
        """Derive the velocities and accelerations that are not known.

        Returns the joints whose positions were differentiated.
        """
        if self.has_v.all() and self.has_a.all():
            return []
        rows = len(self.time)
        if rows < FEWEST:
            absent = [
                name + suffix
                for suffix, known in ((".vel", self.has_v), (".acc", self.has_a))
                for name, has in zip(self.model.velocity_names, known, strict=True)
                if not has
            ]
            raise self.table.error(
                f"expected {FEWEST} rows or more to derive velocities and accelerations by a "
                f"spline, got {rows}; add rows, or the columns {some(absent, NAMED)}"
            )
        from_v: list[str] = []
        unknown = [
            (joint, body)
            for joint, body in _independent(self.model)
            if not self.has_v[body.v].all()
        ]
        parts = [(joint.type, self.q[:, body.q]) for joint, body in unknown]
        from_q = [joint for joint, _ in unknown]
        rates = dict(zip(from_q, rates_of(self.time, parts), strict=True))
        for joint, body in _independent(self.model):
            places = np.arange(body.v.start, body.v.stop)
            no_v, no_a = places[~self.has_v[places]], places[~self.has_a[places]]
            by_v = no_a[self.has_v[no_a]]
            if len(by_v):
                (self.a[:, by_v],) = derivatives(self.time, self.v[:, by_v], (1,))
                from_v += [self.model.velocity_names[k] for k in by_v]
            if len(no_v):
                first, second = rates[joint]
                self.v[:, no_v] = first[:, no_v - body.v.start]
                by_q = no_a[~self.has_v[no_a]]
                self.a[:, by_q] = second[:, by_q - body.v.start]
        bad = np.argwhere(~np.isfinite(self.v + self.a))
        if len(bad):
            row, k = bad[0]
            raise self.table.error(
                f"the rates of {self.model.velocity_names[k]!r} are not finite: too large numbers, "
                f"or times too near each other; correct these",
                int(row),
            )
        spline = f"derived by an interpolating spline of degree {degree(rows)} through"
        if from_q:
            moved = [joint.name for joint in from_q]
            self._say("rates", f"rates {spline} the positions{self._of(moved)}")
        if from_v:
            self._say("rates", f"accelerations {spline} the velocities{self._of(from_v)}")
        return from_q

    def _of(self, names: Sequence[str]) -> str:
        """Return which ones, or that it is all of them."""
        every = [joint.name for joint, _ in _independent(self.model)]
        if len(every) > 1 and set(names) in (set(every), set(self.model.velocity_names)):
            return f" of all {count(len(self.model.coordinate_names), 'coordinate')}"
        return f": {some(names, NAMED)}"

    def _compare_followers(self) -> None:
        """Complain of a coupled joint's column that contradicts its leader's."""
        for joint in self.model.joints:
            if joint.follows is None or joint.name not in self.table.names:
                continue
            body = self.model.bodies[joint.body]
            leader = self.model.joints[joint.follows].name
            unit = "m" if joint.type.name == "prismatic" else "rad"
            own = in_si(self.table, joint.name, unit)
            apart = np.abs(own - (body.ratio * self.q[:, body.q.start] + body.offset))
            row = int(np.argmax(apart))
            if apart[row] > FOLLOWS:
                raise self.table.error(
                    f"the joint follows {leader!r} (<mimic>): expected {body.ratio:g} * "
                    f"{leader} + {body.offset:g}, which is {apart[row]:.3g} {unit} away; correct "
                    f"the column, or leave it out",
                    row,
                    joint.name,
                )


def _independent(model: Model) -> Iterator[tuple[ModelJoint, Body]]:
    """Yield the joints that have coordinates of their own, with their bodies."""
    for joint in model.joints:
        if joint.moving and joint.follows is None:
            yield joint, model.bodies[joint.body]


def _in_our_words(table: Table, model: Model) -> Table:
    """Return the table with ``t`` called time; complain of units in parentheses."""
    for name in table.names:
        said = _PARENTHESES.fullmatch(name)
        known = name in model.coordinate_names or name in model.joint_index
        if said and not known and not name.endswith(UNDETERMINED):
            message = f"units go in brackets: '{said['name']} [{said['unit']}]'; rename the column"
            raise table.error(message, column=name)
    if "time" in table.names or "t" not in table.names or "t" in model.coordinate_names:
        return table
    columns = [replace(c, name="time") if c.name == "t" else c for c in table.columns]
    return replace(table, columns=tuple(columns))


def _check_names(table: Table, model: Model) -> None:
    """Complain of columns that mean nothing."""
    known = ["time", *model.coordinate_names]
    known += [name + suffix for suffix in (".vel", ".acc") for name in model.velocity_names]
    followers = [joint.name for joint in model.joints if joint.follows is not None]
    known += [name + suffix for name in followers for suffix in ("", ".vel", ".acc")]
    unknown = [name for name in table.names if name not in known]
    if LOAD in table.attributes:  # loads that were written beside the motion
        unknown = [name for name in unknown if not is_load(name, model)]
    if not unknown:
        return
    name = unknown[0]
    joint = model.joint_index.get(name)
    if joint is not None:
        own = [n for n in model.coordinate_names if n.startswith(f"{name}.")]
        instead = f"its coordinates are {', '.join(own)}" if own else "a fixed joint has none"
        message = f"this is a joint, not a coordinate: {instead}"
    else:
        message = unknown_name("coordinate or rate", name, known)
    more = (
        f"; {len(unknown)} columns are unknown: {some(unknown, NAMED)}" if len(unknown) > 1 else ""
    )
    raise table.error(f"{message}{more}; rename or remove what is not known", column=name)
