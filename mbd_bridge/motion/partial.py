"""Motions of which a part is recorded: actuated joints, or the pose of a platform or tool.

The recorded columns are read, differentiated and checked as a motion of their own
(`given_columns`); the loops then tell all other coordinates, velocities and accelerations
(`kinematics.completion`).

How exactly a completed motion is known: the errors of what is recorded, carried to all of it.

Let δ be the error of one recorded degree of freedom. To first order the completed motion is off by

    δq = d δ,    δv = (∂v/∂δ) δ + d δ̇,    δv̇ = (∂v̇/∂δ) δ + (∂v̇/∂δ̇) δ̇ + d δ̈,

with d and the derivatives from differences of the equations of the completion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import by_name, finite_numbers, name_list
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.assumptions import Assumption, Number, replaced
from mbd_bridge.base.errors import ModelError, SolveError, StateError, count, some, unknown_name
from mbd_bridge.files.table import Column, ColumnTable
from mbd_bridge.model import Model
from mbd_bridge.model.quaternions import matrices_of
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.columns import TURN, GivenColumns, is_partial
from mbd_bridge.motion.completion import Completed, Completion
from mbd_bridge.motion.frames import Frames, find_frame
from mbd_bridge.motion.given import (
    ACTUATED,
    GIVEN,
    REST,
    FrameRows,
    GivenMotion,
    GivenRows,
    RowSelection,
    select,
)
from mbd_bridge.motion.motion import Motion, motion_from_table
from mbd_bridge.motion.reading import Reading
from mbd_bridge.motion.smoothing import Channel, MotionUncertainty
from mbd_bridge.motion.smoothing.spline import at_times
from mbd_bridge.motion.table import without_efforts
from mbd_bridge.motion.warnings import MotionWarnings, without_unit
from mbd_bridge.solve.assembly import check_tolerance, initial_position
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.solve.moves import moved

# The motion of a stand-in model (`given_columns`) as coordinates of the machine and poses.

TURNS = (3, 4, 5)
"""Rows of a frame's orientation."""


def frame_rows(model: Model, columns: GivenColumns, frames: Frames) -> tuple[FrameRows, ...]:
    """Return the frames of which something is given."""
    names = dict.fromkeys([*columns.origins, *columns.orientations])
    return tuple(
        FrameRows(
            find_frame(model, name, frames),
            (*columns.origins.get(name, ()), *(TURNS if name in columns.orientations else ())),
        )
        for name in names
    )


def given_motion(
    model: Model,
    columns: GivenColumns,
    frames: tuple[FrameRows, ...],
    near: Array,
    motion: Motion,
) -> GivenMotion:
    """Return the values of the stand-in's motion as the machine's; else those of a guess."""
    stand_in, N = columns.stand_in, len(motion.time)
    q = np.tile(near, (N, 1))
    v, a = np.zeros((2, N, model.nv))
    F = len(frames)
    x, R = np.zeros((N, F, 3)), np.tile(np.eye(3), (N, F, 1, 1))
    twist, change = np.zeros((2, N, F, 6))
    places = {own.frame.name: f for f, own in enumerate(frames)}
    own_bodies = stand_in.bodies[: len(columns.sources)]  # <mimic> joints come last
    for own, source in zip(own_bodies, columns.sources, strict=True):
        parts = motion.q[:, own.q], motion.v[:, own.v], motion.a[:, own.v]
        if isinstance(source, int):
            body = model.bodies[model.joints[source].body]
            q[:, body.q], v[:, body.v], a[:, body.v] = parts
        elif source[1] == TURN:
            f = places[source[0]]
            R[:, f] = matrices_of(parts[0])
            twist[:, f, 3:] = np.einsum("nij,nj->ni", R[:, f], parts[1])
            change[:, f, 3:] = np.einsum("nij,nj->ni", R[:, f], parts[2])
        else:
            f, k = places[source[0]], source[1]
            x[:, f, k], twist[:, f, k], change[:, f, k] = (part[:, 0] for part in parts)
    return GivenMotion(motion.time, q, v, a, x, R, twist, change)


ROWS = 1000
"""Rows of a motion, at most, at which derivatives are computed; between them they are linear."""
STEP = 1e-5
"""rad or m, of the differences over positions: as many digits are lost as the square of it leaves
out."""
RATE_STEP = 1.0
"""rad/s or m/s, of the differences over velocities: accelerations are quadratic in them, and of
quadratic functions such differences are exact."""


@dataclass(frozen=True, eq=False)
class CompletedChannel:
    """The errors of one recorded degree of freedom, and what they do to a completed motion.

    Attributes
    ----------
    model : of the whole machine
    recorded : the errors of what is recorded
    times : (K,) s
    derivatives : (K, 4, nv) there, linear between: d, ∂v/∂δ, ∂v̇/∂δ and ∂v̇/∂δ̇
    """

    model: Model
    recorded: Channel
    times: Array
    derivatives: Array

    def roots(self, time: Array) -> Array:
        """Return directions (N, 3, 3) of one standard deviation at times; see `Channel`."""
        return self.recorded.roots(time)

    def standard_deviations(self, time: Array, q: Array, nv: int) -> Array:
        """Return those of position, velocity and acceleration, (3, N, nv); see `Channel`."""
        roots = self.recorded.roots(time)
        ways = np.stack([self._ways(time, roots[:, :, k]) for k in range(3)])
        return np.asarray(np.linalg.norm(ways, axis=0))

    def displaced(
        self, time: Array, q: Array, v: Array, a: Array, way: Array
    ) -> tuple[Array, Array, Array]:
        """Return states (N, n) moved by a direction (N, 3) of position, velocity, acceleration."""
        position, velocity, acceleration = self._ways(time, way)
        return moved(self.model, q, position), v + velocity, a + acceleration

    def _ways(self, time: Array, way: Array) -> Array:
        """Return by how much states are off, (3, N, nv), for errors (N, 3) of what is recorded."""
        d, v, a, a_of_v = np.moveaxis(at_times(time, self.times, self.derivatives), 1, 0)
        first, second, third = (way[:, k : k + 1] for k in range(3))
        return np.stack(
            [d * first, v * first + d * second, a * first + a_of_v * second + d * third]
        )


def completed_uncertainty(
    completion: Completion,
    recorded: Motion,
    given: Callable[[Motion], GivenMotion],
    q: Array,
) -> MotionUncertainty | None:
    """Return how exactly a completed motion is known, None if what is recorded is exact.

    Parameters
    ----------
    recorded : the motion of the stand-in (`motions.given_columns`)
    given : makes what is given of such a motion
    q : (N, nq) the completed positions; nan where there is none
    """
    known = recorded.uncertainty
    if known is None or not len(q):
        return None
    rows = np.unique(np.append(np.arange(0, len(q), -(-len(q) // ROWS)), len(q) - 1))
    states = recorded.q[rows], recorded.v[rows], recorded.a[rows]
    time, place = recorded.time[rows], q[rows]
    reached = np.isfinite(place).all(axis=1)[:, None]
    place = np.where(reached, place, completion.model.neutral())

    def rates(channel: Channel, entry: int, size: float, place: Array) -> Array:
        """Return v and v̇ (2, K, nv) with an error of one size at positions."""
        way = np.zeros((len(time), 3))
        way[:, entry] = size
        off = channel.displaced(time, *states, way)
        moved_motion = replace(recorded, time=time, q=off[0], v=off[1], a=off[2])
        return np.stack(completion.rates(place, given(moved_motion))[1:])

    def derivatives(channel: Channel) -> Array:
        ends = [rates(channel, 1, size, place) for size in (RATE_STEP, -RATE_STEP)]
        d, a_of_v = (ends[0] - ends[1]) / (2.0 * RATE_STEP)
        ends = [
            rates(channel, 0, size, moved(completion.model, place, size * d))
            for size in (STEP, -STEP)
        ]
        v, a = (ends[0] - ends[1]) / (2.0 * STEP)
        return np.stack([np.where(reached, x, 0.0) for x in (d, v, a, a_of_v)], axis=1)

    channels = [channel for channel in known.channels if isinstance(channel, Channel)]
    found = [
        CompletedChannel(completion.model, channel, time, derivatives(channel))
        for channel in channels
    ]
    completed = tuple(one for one in found if one.derivatives.any())
    return MotionUncertainty(completed) if completed else None


WELL_CONDITIONED = 1e-3
"""Conditioning below which errors of the recording are more than a thousandfold in the motion."""

SAME = 1e-9
"""rad or m: what is recorded and not needed agrees with the completed motion to rounding."""

UNUSED = 3
"""Class of rows that are compared only."""


class PartialMotion:
    """Completes the motions in tables with the same columns, one piece after another.

    Parameters
    ----------
    columns : what is given
    reading : `rest`: hold what the columns leave open where the guess has it
    """

    def __init__(self, model: Model, columns: GivenColumns, reading: Reading) -> None:
        self.model, self.columns, options = model, columns, reading.completion
        self._tolerance = check_tolerance(options.tolerance)
        self._near = initial_position(model, options.near)
        self._frames = frame_rows(model, columns, options.frames)
        self.rows = GivenRows(model, tuple(range(model.nv)), self._frames)
        classes = self._classes(options.given)
        self.selection: RowSelection = select(model, self.rows, classes, reading.rest)
        self._held = [self.rows.names[k] for k in self.selection.chosen if classes[k] == REST]
        kernel = prepare(model, "constraints")
        compared = (classes != REST) & np.isin(np.arange(len(classes)), self._given_rows())
        self._completion = Completion(
            model, kernel, self.rows, self.selection, compared, self._tolerance
        )
        self._last: tuple[GivenMotion, Array] | None = None
        self._facts, self._rows = _Facts(), 0

    def complete(self, motion: Motion, *, check: bool = True) -> Motion:
        """Return the whole motion, which follows the piece before it, of one of the stand-in.

        Parameters
        ----------
        check : raise at the first time that cannot be reached; else it is nan there
        """
        given = self._given(motion)
        known = self._last is not None
        near = self._near
        if self._last is not None:
            before, near = self._last
            given = before.followed_by(given)
        first = self._rows - known
        found = self._completion.run(given, near, known=known, check=check, first=first)
        if known:
            found, given = found.without_first(), given.part(slice(1, None))
        if found.reached[-1]:
            self._last = given.part(slice(-1, None)), found.q[-1]
        self._facts.add(found, motion.time)
        self._rows += len(motion.time)
        names = self.model.coordinate_names, self.model.velocity_names
        uncertainty = completed_uncertainty(self._completion, motion, self._given, found.q)
        return Motion(
            motion.time,
            found.q,
            found.v,
            found.a,
            *names,
            (*motion.notes, *self.notes),
            self.model,
            (*motion.assumed, *self.assumed),
            found,
            motion.noise,
            uncertainty,
            motion.efforts,
        )

    def _given(self, motion: Motion) -> GivenMotion:
        return given_motion(self.model, self.columns, self._frames, self._near, motion)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was completed, how well it is determined, what was compared."""
        chosen = [k for k in self.selection.chosen if self.rows.names[k] not in self._held]
        names = [self.rows.names[k] for k in chosen]
        determined = len(self.model.coordinate_names)
        lines = [
            f"all {count(determined, 'coordinate')} completed from {some(names)} "
            f"({count(self.selection.dof, 'degree of freedom')}); {self._facts.text}"
        ]
        if self._held:
            lines.append(f"held where the guess has it, at rest: {some(self._held)}")
        if self.selection.spins:
            lines.append(
                f"not determined by what is recorded, and taken as slow as possible: spin of "
                f"{some(self.selection.spins)}"
            )
        return (*self.columns.notes, *lines, *self._facts.notes)

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """How the coordinates came about, as results assume it."""
        numbers = (
            Number("residual", self._facts.residual, "1"),
            Number("conditioning", self._facts.worst, "1"),
        )
        first, *more = self.notes
        return (
            Assumption("completed", first, numbers),
            *(Assumption("completed", note) for note in more),
        )

    def _given_rows(self) -> list[int]:
        model = self.model
        own = [
            k
            for number in self.columns.joints
            for k in range(model.nv)[model.bodies[model.joints[number].body].v]
        ]
        return [*own, *range(model.nv, len(self.rows))]

    def _classes(self, given: Iterable[str] | str | None) -> NDArray[np.int64]:
        """Return the class of each row."""
        model = self.model
        classes = np.full(len(self.rows), REST)
        classes[self._given_rows()] = GIVEN
        for name in model.description.actuated or ():
            number = model.joint_index.get(name)
            if number in self.columns.joints:
                own = model.bodies[model.joints[number].body].v
                classes[own] = ACTUATED
        if given is not None:
            used = name_list("given", given, "joints and frames")
            if not used:
                raise ModelError("given: expected names of joints or frames, got none; None: all")
            self._only(used, classes)
        return classes

    def _only(self, used: tuple[str, ...], classes: NDArray[np.int64]) -> None:
        """Let only columns of some joints and frames determine the motion."""
        model = self.model
        owners: list[str] = []
        for joint in model.joints:
            if joint.moving and joint.follows is None:
                owners += [joint.name] * joint.type.nv
        owners += [own.frame.name for own in self._frames for _ in own.rows]
        known = {owners[k] for k in self._given_rows()}
        for name in used:
            if name not in known:
                raise ModelError("given: " + unknown_name("recorded joint or frame", name, known))
        for k in self._given_rows():
            if owners[k] not in used:
                classes[k] = UNUSED


def whole_motion(table: ColumnTable, model: Model, reading: Reading) -> Motion:
    """Return the motion that a table gives, completed where it has a part of one."""
    options = reading.completion
    if options.given is not None or is_partial(table, model, options.frames):
        return completed_motion(table, model, reading)
    return motion_from_table(table, model, rest=reading.rest, smoothing=reading.smoothing)


def complete_columns(
    model: Model,
    recorded: Mapping[str, ArrayLike],
    time: ArrayLike,
    reading: Reading,
    *,
    check: bool,
) -> Motion:
    """Return the motion that columns (N,) by name determine at times; see `Mechanism.complete`."""
    columns = by_name("recorded", recorded, "{'crank': angles}")
    if not columns:
        raise StateError("recorded: expected columns by name, {'crank': angles}, got none")
    times = finite_numbers("time", time)
    if times.ndim != 1 or not len(times):
        raise StateError(f"time: expected (N,) s, got the shape {times.shape}")
    values = [
        finite_numbers(f"recorded[{name!r}]", column, times.shape)
        for name, column in columns.items()
    ]
    heads = (Column("time", "s"), *(Column(name) for name in columns))
    table = ColumnTable(heads, np.column_stack([times, *values]), None, "recorded")
    return completed_motion(table, model, reading, check=check)


def completed_motion(
    table: ColumnTable, model: Model, reading: Reading, *, check: bool = True
) -> Motion:
    """Return the motion that a table with a part of it determines.

    Parameters
    ----------
    table : see `given_columns`
    reading : `rest`: hold what the columns leave open where the guess has it
    check : raise at the first row that cannot be reached; else it is nan there

    Raises
    ------
    ModelError
        The columns do not determine the motion: what to add.
    SolveError
        The machine cannot be where a row has it.
    """
    table, efforts = without_efforts(table, model)
    columns = GivenColumns(model, table, reading.completion.frames)
    partial = PartialMotion(model, columns, reading)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers beyond all sizes are told below
        given = motion_from_table(columns.of(table), columns.stand_in, smoothing=reading.smoothing)
        motion = partial.complete(replace(given, efforts=efforts), check=check)
    warnings = MotionWarnings(model)
    warnings.unitless = without_unit(table)
    assert motion.completed is not None
    reached = motion.completed.reached
    numbers = np.concatenate([motion.q, motion.v, motion.a], axis=1)
    overflown = np.flatnonzero(reached & ~np.isfinite(numbers).all(axis=1))
    if len(overflown):
        raise SolveError(
            f"row {overflown[0]} (t = {motion.time[overflown[0]]:g} s): numbers so large that the "
            f"machine's rates overflow; check the columns' units"
        )
    time, q, v, a = (getattr(motion, name)[reached] for name in ("time", "q", "v", "a"))
    warnings.add(time, q, (), v=v, a=a)
    return replace(
        motion,
        notes=(*motion.notes, *warnings.beyond_limits()),
        assumed=replaced(motion.assumed, warnings.assumed),
    )


class _Facts:
    """What is to be said of the completed rows so far."""

    def __init__(self) -> None:
        self._rows, self.residual = 0, 0.0
        self.worst, self.worst_time = np.inf, 0.0
        self._events: dict[str, list[float]] = {"jumps": [], "crossings": [], "unreached": []}
        self._compared: dict[str, float] = {}

    def add(self, found: Completed, time: Floats) -> None:
        """Take in a piece."""
        self._rows += len(time)
        self.residual = max(self.residual, float(np.nanmax(found.residual, initial=0.0)))
        if found.reached.any():
            row = int(np.nanargmin(found.conditioning))
            if found.conditioning[row] < self.worst:
                self.worst, self.worst_time = float(found.conditioning[row]), float(time[row])
        for name, rows in (
            ("jumps", found.jumps),
            ("crossings", found.crossings),
            ("unreached", np.flatnonzero(~found.reached)),
        ):
            self._events[name] += [float(time[k]) for k in rows]
        for name, apart in found.compared.items():
            self._compared[name] = max(self._compared.get(name, 0.0), apart)

    @property
    def text(self) -> str:
        """Residual and conditioning in words."""
        return (
            f"residual at most {self.residual:.1e}, conditioning at least {self.worst:.2g} (at "
            f"{self.worst_time:g} s; 0 is a singular position)"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about rows that are not to be trusted, and about what was compared."""
        lines = []
        if self.worst < WELL_CONDITIONED:
            lines.append(
                f"near {self.worst_time:g} s the recorded columns hardly determine the others: "
                f"errors there are multiplied by up to {1.0 / max(self.worst, 1e-16):.1e}; record "
                f"another coordinate too, or choose others with --given (given=)"
            )
        said = {
            "jumps": "no continuous motion leads to the recorded values, so another branch begins",
            "crossings": "a singular position is passed: which way the machine goes on is a guess",
            "unreached": "no position of the machine has the recorded values",
        }
        for name, text in said.items():
            times = self._events[name]
            if times:
                where = some([f"{t:g}" for t in times])
                lines.append(f"at {where} s {text}")
        apart = {name: size for name, size in self._compared.items() if size > SAME}
        if apart:
            worst = sorted(apart, key=lambda name: -apart[name])
            shown = some([f"{name} {apart[name]:.2g}" for name in worst])
            lines.append(
                f"recorded, but determined by the others, and off from the completed motion "
                f"by up to (rad, m): {shown}"
            )
        return tuple(lines)
