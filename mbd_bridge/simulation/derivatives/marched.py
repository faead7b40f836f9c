"""The motion that is derived: its steps, their states kept or marched again, its end at an event.

The motion is that of `simulate` with the same options: the same steps, of the same numbers. Its
derivatives are those of the steps as they are computed, exact to rounding.

Backward the states are needed in reverse. They are kept if they are few; of long motions only the
states between parts are, and each part is marched once more: memory grows with the root of the
number of steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isqrt
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.march import March, OneStep
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.derivatives.start import StartColumns
from mbd_bridge.simulation.derivatives.steps import STATE, StepDerivatives
from mbd_bridge.simulation.run.events import HALVINGS
from mbd_bridge.simulation.signals.tables import SHARP, length_to, on_grid
from mbd_bridge.simulation.steps.schemes import Scheme
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.tolerances import STEP_RISK

KEPT = 2**22
"""Numbers of states that are kept at a time (32 MiB)."""


class EqualSteps(NamedTuple):
    """Steps of one length.

    Attributes
    ----------
    first, stop : the first one, and the one behind the last
    h : their length, s
    stream : (steps, S, 1) tables there
    slopes : (steps, S, T) of these by their rows, if they move
    """

    first: int
    stop: int
    h: float
    stream: Array | None
    slopes: Array | None = None

    def parts(self, most: int) -> Iterator[EqualSteps]:
        """Yield parts of so many steps at most."""
        for first in range(self.first, self.stop, most):
            yield self.part(first, min(first + most, self.stop))

    def part(self, first: int, stop: int) -> EqualSteps:
        """Return some of the steps."""
        rows = slice(first - self.first, stop - self.first)
        stream, slopes = (None if x is None else x[rows] for x in (self.stream, self.slopes))
        return EqualSteps(first, stop, self.h, stream, slopes)

    def moved(self, changes: Array) -> EqualSteps:
        """Return the steps with changes (T,) of the rows of tables."""
        if self.slopes is None or self.stream is None or not changes.any():
            return self
        return self._replace(stream=self.stream + (self.slopes @ changes)[:, :, None])


class StepGrid(NamedTuple):
    """The steps of a motion.

    Attributes
    ----------
    times : (M + 1,) s, between which they are
    pieces : they themselves
    records : which of the times are recorded
    """

    times: Array
    pieces: tuple[EqualSteps, ...]
    records: Array

    @staticmethod
    def of(
        trajectory: Trajectory,
        scheme: Scheme,
        start: float,
        h: float,
        n: int,
        every: int,
        columns: StartColumns,
    ) -> StepGrid:
        """Return n steps of h, which end where tables bend or jump, every `every`-th recorded."""
        whole = np.add.accumulate(np.concatenate([[start], np.full(n, h)]))
        knots, moving = trajectory.system.knots(start, h, scheme).times, "stream" in columns.moving
        for table in columns.tables.values() if moving else ():
            own = table.times  # with other values it may bend or jump at each of them
            short = np.diff(own) < SHARP * h
            jump = np.append(short, False) | np.insert(short, 0, False)
            off = ~on_grid(own, start, h)
            knots = np.union1d(knots, own[jump | off])
        if scheme.remembers and len(knots):
            raise StateError(
                "integrator: its steps begin anew where a table jumps; take 'rk4', or a formula"
            )
        times = np.union1d(whole, knots[(knots > start) & (knots < whole[-1])])
        ends = np.searchsorted(times, whole)
        lengths, grid = np.full(len(times) - 1, h), np.isin(times, whole)
        for k in np.flatnonzero(~(grid[:-1] & grid[1:])).tolist():
            lengths[k] = length_to(float(times[k]), float(times[k + 1]))
        edges = [0, *(np.flatnonzero(np.diff(lengths)) + 1).tolist(), len(lengths)]
        pieces = [
            EqualSteps(
                a,
                b,
                float(lengths[a]),
                trajectory.stream(times[a : b + 1], lengths[a]),
                columns.table_slopes(times[a : b + 1], lengths[a]) if moving else None,
            )
            for a, b in pairwise(edges)
        ]
        return StepGrid(times, tuple(pieces), np.append(ends[:-1][::every], ends[-1]))

    def until(self, step: int, h: float, trajectory: Trajectory) -> StepGrid:
        """Return the grid whose last step is this one, of the length h; its end is recorded."""
        times = np.append(self.times[: step + 1], self.times[step] + h)
        before = [
            one.part(one.first, min(one.stop, step)) for one in self.pieces if one.first < step
        ]
        last = EqualSteps(step, step + 1, h, trajectory.stream(times[step:], h))
        records = np.append(self.records[self.records <= step], step + 1)
        return StepGrid(times, (*before, last), records)


@dataclass(frozen=True, eq=False)
class DerivedMotion:
    """A motion, from where it starts.

    Attributes
    ----------
    steps : its marches
    held, p : what stays as it is
    state : q, v, t at the start
    rates : (n, K) of these by the K numbers, by name
    trusted : (K,) which of them are sound
    grid : of the steps
    """

    steps: StepDerivatives
    held: Array
    p: Array
    state: tuple[Array, Array, Array]
    rates: dict[str, Array]
    trusted: Array
    grid: StepGrid

    @property
    def constant(self) -> list[Array]:
        """What steps take beside state and length."""
        known = {"held": self.held, "p": self.p}
        return [known[name] for name in known if name in self.steps.sizes]

    def until(self, step: int, h: float, trajectory: Trajectory) -> DerivedMotion:
        """Return the motion whose last step is this one, of the length h."""
        return replace(self, grid=self.grid.until(step, h, trajectory))

    def begun(self, march: March) -> Array:
        """Return a stage of the steps themselves, at the start."""
        stage = march.start()
        march.put(stage, *self.state, np.zeros(1), *self.constant)
        return stage

    def recorded(self, march: March, stage: Array, rows: Array) -> Iterator[list[Array]]:
        """Yield q, v, dq and dv (records, lanes, size), from the start to the end.

        Parameters
        ----------
        rows : (lanes, T) rates of the rows of tables
        """
        places = (0, 1, len(STATE), len(STATE) + 1)

        def now() -> list[Array]:
            state = march.state_of(stage)
            return [state[k].reshape(1, march.lanes, -1) for k in places]

        yield now()
        for piece in self.grid.pieces:
            count, stream = piece.stop - piece.first, piece.stream
            inside = self.grid.records - piece.first
            inside = inside[(inside > 0) & (inside <= count)]
            every = int(inside[0]) if len(inside) else count
            if (inside[:-1] % every).any() or len(inside) > count // every + 1:
                every = 1
            self.enter(march, stage, piece)
            if stream is not None:
                stream = np.repeat(stream, march.lanes, axis=2)
            if stream is not None and piece.slopes is not None:
                stream = np.concatenate([stream, piece.slopes @ rows.T], axis=1)
            taken, out = march.advance(stage, count, every, STEP_RISK, stream)
            steps = int(march.steps_of(stage).min())
            if taken < count or steps < count:
                raise self._stopped(piece.first + steps)
            kept = inside[inside % every == 0] // every - 1
            yield [out[k].reshape(-1, march.lanes, out[k].shape[-1])[kept] for k in places]
            if len(kept) < len(inside):
                yield now()

    def enter(self, march: March, stage: Array, piece: EqualSteps) -> None:
        """Write time and length of a piece's steps into a stage."""
        for name, value in (("t", self.grid.times[piece.first]), ("h", piece.h)):
            place = march.place_of(name)
            stage[place : place + march.lanes] = value

    def parts(self) -> list[EqualSteps]:
        """Return the steps in parts whose states can be kept."""
        most = max(isqrt(len(self.grid.times)), KEPT // sum(map(len, self.state)))
        return [part for piece in self.grid.pieces for part in piece.parts(most)]

    def backward(self) -> Iterator[tuple[EqualSteps, list[Array]]]:
        """Yield the parts, the last one first, with q, v, t (steps + 1, size) there.

        Raises
        ------
        SolveError
            A step is not trusted.
        """
        march, parts, begins = self.steps.run, self.parts(), []
        stage = self.begun(march)
        for part in parts[:-1]:
            begins.append(march.state_of(stage))
            self.marched(march, stage, part, keep=False)
        for k in reversed(range(len(parts))):
            if k < len(begins):
                march.put(stage, *begins[k])
            yield parts[k], self.marched(march, stage, parts[k])

    def marched(
        self, march: March, stage: Array, part: EqualSteps, keep: bool = True
    ) -> list[Array]:
        """Take the steps of a part; return their states (steps + 1, size), if they are kept."""
        self.enter(march, stage, part)
        count, now = part.stop - part.first, march.state_of(stage)
        places, kept = np.zeros((len(march.shapes), 1), dtype=np.int64), []
        for k, x in enumerate(now if keep else ()):
            kept.append(np.empty((count + 1, len(x))))
            kept[k][0], places[k] = x, kept[k][1:].ctypes.data
        taken = march.advance_into(stage, count, 1, places, STEP_RISK, part.stream)
        if taken < count:
            raise self._stopped(part.first + taken)
        return kept

    def _stopped(self, step: int) -> SolveError:
        return SolveError(
            f"the step from t = {self.grid.times[step]:.6g} s is not trusted: a singular position "
            f"is near, the step is too long, or not finite. Derivatives end there; take shorter "
            f"ones (step=), a shorter duration, or see what simulate tells"
        )


# The end of a motion where a function g(t, q, v) changes its sign, and how it moves.
#
# The last step, from x_k, has the length h at which g is zero. With the derivatives S of its end
# at a fixed length, and x_h that by its length,
#
#     dx = S + x_h dh,   dh = -(g_x S) / (g_x x_h + g_t)
#
# so that g stays zero: the saltation of the state, of the step as it is computed. Where the motion
# touches g = 0 along it, the denominator vanishes, and there is no derivative.

GRAZING = 1e-5
"""Part of a step, about, that the end is from where the motion would only touch g = 0."""


class Turn(NamedTuple):
    """The end of a motion at g = 0.

    Attributes
    ----------
    by_q, by_v : derivatives of g there
    rate_q, rate_v : derivatives of the end by the length of the last step
    rate : that of g; nan where g = 0 is only touched
    """

    by_q: Array
    by_v: Array
    rate_q: Array
    rate_v: Array
    rate: float


class Until:
    """Where a motion ends.

    Parameters
    ----------
    kernel : of g and its derivatives by t, q and v
    direction : 1: only where g grows, -1: where it falls
    """

    def __init__(self, kernel: Kernel, direction: float, trajectory: Trajectory) -> None:
        self._kernel, self._direction, self._trajectory = kernel, direction, trajectory

    def cut(self, motion: DerivedMotion) -> tuple[DerivedMotion, Turn]:
        """Return the motion up to where g first changes its sign, and its end.

        Raises
        ------
        SolveError
            It does not.
        """
        march, sign = motion.steps.run, 0.0
        stage = motion.begun(march)
        for part in motion.parts():
            q, v, t = motion.marched(march, stage, part)
            signs = np.nan_to_num(np.sign(self._kernel(t[:, :1], q, v)[0][:, 0]))
            for k in np.flatnonzero(signs).tolist():
                if sign and signs[k] != sign and self._direction * signs[k] >= 0.0:
                    return self._located(motion, part, k - 1, (q[k - 1], v[k - 1], t[k - 1]), sign)
                sign = signs[k]
        raise SolveError(
            f"until: the function does not change its sign up to t = {motion.grid.times[-1]:.6g} "
            f"s; take a longer duration, or another start"
        )

    def _located(
        self,
        motion: DerivedMotion,
        part: EqualSteps,
        k: int,
        state: tuple[Array, Array, Array],
        sign: float,
    ) -> tuple[DerivedMotion, Turn]:
        """Return the motion whose last step, the k-th of a part, ends where g is zero."""
        step, once = part.first + k, OneStep(motion.steps.run)
        start, before, h = float(motion.grid.times[step]), 0.0, part.h

        def stream(h: float) -> Array | None:
            return self._trajectory.stream(np.array([start, start + h]), h)

        def inputs(h: float) -> list[Array]:
            return [*state, np.array([h]), *motion.constant]

        for _ in range(HALVINGS):
            middle = 0.5 * (before + h)
            if not before < middle < h:
                break
            q, v, t, *_ = once(*inputs(middle), stream=stream(middle))
            if np.sign(self._kernel(t[:1], q, v)[0][0]) == sign:
                before = middle
            else:
                h = middle
        q, v, t, *_ = once(*inputs(h), stream=stream(h))
        before, tables = float(self._kernel(state[2][:1], *state[:2])[0][0]), stream(h)
        more = [] if tables is None else [tables.ravel()]
        rate_q, rate_v = motion.steps.by_length(*inputs(h), *more)
        _, by_t, by_q, by_v = self._kernel(t[:1], q, v)
        rate = float(by_q @ rate_q + by_v @ rate_v + by_t[0])
        if abs(rate) <= GRAZING * abs(before) / h:
            rate = np.nan
        turn = Turn(by_q, by_v, rate_q, rate_v, rate)
        return motion.until(step, h, self._trajectory), turn
