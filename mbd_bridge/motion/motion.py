"""A motion: times, and the coordinates, velocities and accelerations of a model at these times.

It is read from a table whose columns are named after the model's coordinates:

    time                       s, growing from row to row
    <coordinate>               rad or m, e.g. elbow; a ball joint has hip.qx, .qy, .qz, .qw
    <velocity>.vel             rad/s or m/s, e.g. elbow.vel, hip.wx.vel
    <velocity>.acc             rad/s² or m/s², e.g. elbow.acc, hip.wx.acc
    <velocity>.effort          N m or N that was measured, e.g. elbow.effort (see `efforts`)

A unit in brackets is obeyed: ``elbow [deg]``. Velocities and accelerations that are not there are
derived. Where positions (and velocities) are exact, by an interpolating spline (see
`derivatives`): accelerations from the velocities where the table has them, from the positions
otherwise. Where they are noisy, by smoothing splines through both (see `smoothing`). What was
derived, smoothed or held still is said in `Motion.notes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import finite_numbers, name_list
from mbd_bridge.base.arrays import Flags, Floats
from mbd_bridge.base.assumptions import Assumption, replaced
from mbd_bridge.base.errors import StateError, count, some
from mbd_bridge.base.table import AlongTime, Arrays, Series, Table
from mbd_bridge.base.units import find_unit
from mbd_bridge.files.table import Column, ColumnTable
from mbd_bridge.model import Body, Model, ModelJoint
from mbd_bridge.model.units import RATE, model_units
from mbd_bridge.motion.columns import check_names, compare_followers, in_our_words, times
from mbd_bridge.motion.derivatives import FEWEST, degree, derivatives, rates_of
from mbd_bridge.motion.deviations import onto_loops
from mbd_bridge.motion.smoothing import (
    OFF,
    Channel,
    JointToSmooth,
    MotionNoise,
    MotionUncertainty,
    Plan,
    Smoothing,
    States,
    blocks_of,
    coordinate_noise,
    make_plan,
)
from mbd_bridge.motion.smoothing.records import fluctuation_doubts, noise_notes
from mbd_bridge.motion.table import (
    TIME,
    motion_series,
    save_motion,
    saved_efforts,
    state_arrays,
    without_efforts,
)
from mbd_bridge.motion.warnings import MotionWarnings, without_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mbd_bridge.motion.completion import Completed


UNIT = 1e-3
"""How far from 1 the length of a quaternion may be: files round to a few digits."""


@dataclass(frozen=True, slots=True, eq=False)
class Motion(AlongTime):
    """States of a model along time.

    Attributes
    ----------
    time : (N,) s
    q, v, a : (N, nq), (N, nv), (N, nv): rad or m, and their rates
    coordinates, velocities : names of the entries of q, and of v and a
    notes : what was derived, smoothed, held still or looks odd
    model : whose states these are
    assumed : what was done to it (topics completed, rates, smoothing, uncertainty, ...), which
        loads along it assume
    completed : how well the recorded part determines it, of a motion that was completed; else None
    noise : found in the data, and what was done about it; None: nobody looked for noise
    uncertainty : how exactly the states are known; None: as exactly as the numbers
    efforts : (N, nv) N m or N measured, nan where not; None: none. Loads are compared with them
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
    noise: MotionNoise | None = None
    uncertainty: MotionUncertainty | None = None
    efforts: Floats | None = None

    def part(self, rows: slice | NDArray[np.intp]) -> Motion:
        """Return some of the states."""
        names = ("time", "q", "v", "a", *(("efforts",) if self.efforts is not None else ()))
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    @property
    def _machine(self) -> Model:
        if self.model is None:
            raise StateError("this motion does not know its mechanism, so its units neither")
        return self.model

    def tables(self) -> tuple[Table, ...]:
        """Return coordinates, velocities and accelerations, columns as files have them."""
        columns = motion_series(self._machine, self.q, self.v, self.a)
        time = Series("time", "s", self.time)
        return (Table(repr(self), time, columns, long=True, notes=self.notes),)

    def _arrays(self) -> Arrays:
        states = {"q": self.q, "v": self.v, "a": self.a}
        states |= {} if self.efforts is None else {"efforts": self.efforts}
        return state_arrays(self._machine, self.time, states)

    def save(self, path: str | PathLike[str], *, digits: int | None = None) -> None:
        """Write the motion, rates and all, to .csv, .parquet, .npz or .h5, with units.

        Parameters
        ----------
        digits : significant digits in a text; None for all. The other kinds hold all
        """
        model, parts = self._machine, [self.time, self.q, self.v, self.a]
        measured, own = saved_efforts(model, self.efforts), self.notes
        gaps = None if measured is None else True
        save_motion(path, model, parts, beside=measured, digits=digits, notes=own, gaps=gaps)

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
        from mbd_bridge.motion.pictures import plot_motion

        asked = name_list("quantities", quantities, "q, v, a")
        parts = {what: np.asarray(getattr(self, what, ())) for what in asked}
        return plot_motion(self.model, self.time, parts, names, ax=ax)

    def __repr__(self) -> str:
        return (
            f"Motion({count(len(self.time), 'state')} from {self.time[0]:g} to {self.time[-1]:g} "
            f"s; {count(len(self.coordinates), 'coordinate')}; {count(len(self.notes), 'note')})"
        )


def motion_from_table(
    table: ColumnTable,
    model: Model,
    *,
    rest: bool = False,
    smoothing: Smoothing | Plan | None = None,
    warnings: MotionWarnings | None = None,
) -> Motion:
    """Return the motion that a table gives to a model.

    Parameters
    ----------
    table : see the module's text
    rest : hold the coordinates that the table has not at zero (no rotation), at rest
    smoothing : how noise is kept out of rates that are derived; None: ``Smoothing()``. Or the plan
        that was made for the whole motion of which the table is a piece
    warnings : what takes in what looks odd, of a motion in pieces; else this is among the notes

    Raises
    ------
    FileError
        Columns are missing or unknown, times do not grow, a quaternion is none, or there are too
        few rows to derive what is missing. The row's line and the column are named.
    """
    found = MotionWarnings(model) if warnings is None else warnings
    table, efforts = without_efforts(in_our_words(table, model), model)
    reader = _Reader(table, model, rest)
    with np.errstate(over="ignore", invalid="ignore"):  # rates that are not finite are told
        read = reader.motion(Smoothing() if smoothing is None else smoothing, found)
        motion = onto_loops(read, found, reader.derives)
    motion = motion if efforts is None else replace(motion, efforts=efforts)
    if warnings is not None:
        return motion
    assumed = replaced(motion.assumed, found.assumed)
    return replace(motion, notes=(*motion.notes, *found.notes()), assumed=assumed)


def motion_from_arrays(
    model: Model,
    time: ArrayLike,
    q: ArrayLike,
    v: ArrayLike | None,
    a: ArrayLike | None,
    smoothing: Smoothing,
) -> Motion:
    """Return the motion of states in arrays, as of a table with these columns."""
    t = finite_numbers("time", time)
    if t.ndim != 1 or not len(t):
        raise StateError(f"time: expected (N,) s, got the shape {t.shape}")
    if a is not None and v is None:
        raise StateError("a: accelerations need their velocities, v=")
    if isinstance(q, Mapping):
        raise StateError("q: expected (N, nq); robot.complete({'crank': angles}, time) takes names")
    given = {"q": (q, model.nq), "v": (v, model.nv), "a": (a, model.nv)}
    states = [
        finite_numbers(name, array, (len(t), size))
        for name, (array, size) in given.items()
        if array is not None
    ]
    columns = [Column(one.name, one.plain_unit) for one in motion_series(model, *states)]
    table = ColumnTable((TIME, *columns), np.column_stack([t, *states]), None, "motion")
    return motion_from_table(table, model, smoothing=smoothing)


def measured_states(
    table: ColumnTable, model: Model, rest: bool = False
) -> tuple[States, list[JointToSmooth]]:
    """Return what a table says of a model's states, and the joints whose rates are not all there.

    From some such pieces of a motion a `smoothing.Plan` is made; see `motion_from_table`.
    """
    reader = _Reader(without_efforts(in_our_words(table, model), model)[0], model, rest)
    return States(reader.time, reader.q, reader.v), reader.to_smooth()


class _Reader:
    """The motion as far as it is known: the entries of q, v and a, and which of them are known."""

    def __init__(self, table: ColumnTable, model: Model, rest: bool) -> None:
        self.table, self.model = table, model
        self.notes, self.assumed = list[str](), list[Assumption]()
        self.beside = list[ModelJoint]()  # interpolated already, but not by one spline
        self.derives = False
        self.time = times(table)
        check_names(table, model)
        of_q, of_v = model_units(model)
        self.q, self.has_q = self._columns(model.coordinate_names, "", of_q)
        names, (_, per_s, per_s2) = model.velocity_names, RATE
        self.v, self.has_v = self._columns(names, ".vel", [unit + per_s for unit in of_v])
        self.a, self.has_a = self._columns(names, ".acc", [unit + per_s2 for unit in of_v])
        self._hold(rest)
        for joint, body in _independent(model):
            if joint.type.nq > joint.type.nv:
                place = slice(body.q.stop - 4, body.q.stop)
                _scale_quaternions(self.table, model.coordinate_names[place], self.q[:, place])

    def motion(self, smoothing: Smoothing | Plan, warnings: MotionWarnings) -> Motion:
        """Return the whole motion."""
        model = self.model
        warnings.compare_rates(self.time, self.q, self.v, self.has_v)
        compare_followers(self.table, model, self.q)
        measured = self.q.copy()
        smoothed, noise, uncertainty = self._smooth(smoothing, warnings)
        derived = [*smoothed, *self._derive()]
        self.derives = bool(derived)
        warnings.unitless = without_unit(self.table)
        warnings.add(self.time, self.q, derived, measured, self.v, self.a)
        names = model.coordinate_names, model.velocity_names
        states = self.time, self.q, self.v, self.a
        notes, assumed = tuple(self.notes), tuple(self.assumed)
        return Motion(*states, *names, notes, model, assumed, None, noise, uncertainty)

    def _say(self, topic: str, note: str) -> None:
        """Note what was done to the motion: loads along it assume it."""
        self.notes.append(note)
        self.assumed.append(Assumption(topic, note))

    def to_smooth(self) -> list[JointToSmooth]:
        """Return the joints whose accelerations are to be derived from all that is measured."""
        found = []
        for joint, body in _independent(self.model):
            has_v, has_a = self.has_v[body.v], self.has_a[body.v]
            if has_a.any() or (has_v.any() and not has_v.all()):
                continue
            columns = [
                self.table.columns[self.table.names.index(name)]
                for name in self.model.coordinate_names[body.q]
            ]
            units = [find_unit(column.unit or "1") for column in columns]
            factors = tuple(unit.factor for unit in units if unit is not None)
            found.append(JointToSmooth(joint, body, bool(has_v.any()), factors))
        return found

    def _smooth(
        self, smoothing: Smoothing | Plan, warnings: MotionWarnings
    ) -> tuple[list[ModelJoint], MotionNoise | None, MotionUncertainty | None]:
        """Smooth what is noisy; return the joints, what was found, and what is left of it."""
        joints = self.to_smooth()
        if not joints or smoothing == OFF or len(self.time) < FEWEST:
            return [], None, None
        states = States(self.time, self.q, self.v)
        if isinstance(smoothing, Smoothing):
            smoothing = make_plan(smoothing, joints, blocks_of(states))
        self.time = smoothing.times(self.time)
        states = replace(states, time=self.time)
        channels, found = list[Channel](), list[ModelJoint]()
        for one in joints:
            channels += smoothing.remaining(one, states)
            motion = smoothing.smoothed(one, states)
            if motion is None:
                continue
            self.q[:, one.body.q] = motion.q
            self.v[:, one.body.v], self.a[:, one.body.v] = motion.v, motion.a
            self.has_v[one.body.v] = self.has_a[one.body.v] = True
            channels += motion.channels
            warnings.add_stretches(one.joint.name, motion.stretches)
            (found if smoothing.smooths(one.joint.name) else self.beside).append(one.joint)
        method = smoothing.options.method
        noisy = coordinate_noise(smoothing, joints)
        noise = MotionNoise(method, noisy, smoothing.clock, fluctuation_doubts(noisy))
        for note in noise_notes(noise, len(list(_independent(self.model)))):
            self._say("smoothing", note)
        doubts = warnings.doubts()
        self.assumed += [Assumption("smoothing", doubt) for doubt in doubts]
        noise = replace(noise, doubts=(*noise.doubts, *doubts))
        if found:
            names = some([joint.name for joint in found])
            self.assumed.append(Assumption("rates", f"those of the smoothing: {names}"))
        return found, noise, MotionUncertainty(tuple(channels)) if channels else None

    def _columns(
        self, names: Sequence[str], suffix: str, units: Sequence[str]
    ) -> tuple[Floats, Flags]:
        """Return the columns in SI units (zero where there are none), and which ones there are."""
        values = np.zeros((len(self.time), len(names)))
        known = np.zeros(len(names), dtype=bool)
        for k, (name, unit) in enumerate(zip(names, units, strict=True)):
            if name + suffix in self.table.names:
                values[:, k] = self.table.in_si(name + suffix, unit)
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
                f"expected a column for each coordinate, {len(missing)} missing: "
                f"{', '.join(missing)}; add them, or hold them at zero with --rest (rest=True)"
            )
        for joint, body in _independent(model):
            self._hold_joint(joint, body)
        self._say("completed", f"held in the neutral position, at rest: {some(missing)}")

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

    def _derive(self) -> list[ModelJoint]:
        """Derive unknown rates; return the joints whose positions were differentiated."""
        if self.has_v.all() and self.has_a.all() and not self.beside:
            return []
        if (rows := len(self.time)) == 1:
            self._say("rates", "a pose at rest: velocities and accelerations that one row has not")
            return []
        if rows < FEWEST:
            absent = [
                name + suffix
                for suffix, known in ((".vel", self.has_v), (".acc", self.has_a))
                for name, has in zip(self.model.velocity_names, known, strict=True)
                if not has
            ]
            raise self.table.error(
                f"expected {FEWEST} rows or more to derive velocities and accelerations by a "
                f"spline, got {rows}; add rows, or the columns {some(absent)}"
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
            message = (
                f"the rates of {self.model.velocity_names[k]!r} are not finite: too large numbers, "
                f"or times too near each other; correct these"
            )
            raise self.table.error(message, int(row))
        spline = f"derived by an interpolating spline of degree {degree(rows)} through"
        interpolated = *from_q, *self.beside
        from_q = [joint for joint, _ in _independent(self.model) if joint in interpolated]
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
        return f": {some(names)}"


def _independent(model: Model) -> Iterator[tuple[ModelJoint, Body]]:
    """Yield the joints that have coordinates of their own, with their bodies."""
    for joint in model.joints:
        if joint.moving and joint.follows is None:
            yield joint, model.bodies[joint.body]


def _scale_quaternions(table: ColumnTable, names: Sequence[str], quaternions: Floats) -> None:
    """Scale a table's quaternions (N, 4), in the columns of these names, to length 1, in place."""
    with np.errstate(over="ignore"):  # a length of inf is refused
        length = np.linalg.norm(quaternions, axis=1)
    bad = np.flatnonzero(np.abs(length - 1.0) > UNIT)
    if len(bad):
        row = int(bad[0])
        raise table.error(
            f"expected a unit quaternion in {', '.join(names)}, got the length "
            f"{length[row]:.6g}; the order is x, y, z, w",
            row,
        )
    quaternions /= length[:, None]
