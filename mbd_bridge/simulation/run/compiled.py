"""A run in compiled steps: the march as it goes, its detours, its checkpoints.

The compiled step stops by itself where its pivots tell that rows become dependent. Such a step is
taken in unequal parts, which carries it over an isolated singular position; if that does not help,
by the Python reference with singular values, whose rank may change from step to step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.errors import FunctionError, SolveError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels.march import March, OneStep
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards.step_length import (
    StepCheck,
)
from mbd_bridge.simulation.outcome import FINISHED, Outcome
from mbd_bridge.simulation.outputs import REPORTED, STATE, without_doubt
from mbd_bridge.simulation.run.checkpoint import Checkpoint, KeptRun, identity_of
from mbd_bridge.simulation.run.problem import Pace, Problem, Records
from mbd_bridge.simulation.run.variable import Halves
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.compiled import (
    Start,
    SystemStep,
    one_step,
    passage_of,
    step_in_parts,
)
from mbd_bridge.simulation.steps.passage import Passage
from mbd_bridge.simulation.steps.schemes import RK4, Scheme
from mbd_bridge.simulation.steps.step_result import CARRIED, WORK, Now, Step, carried
from mbd_bridge.solve.tolerances import (
    STEP_RISK,
)

if TYPE_CHECKING:
    from mbd_bridge.simulation.run.lookout import Lookout


STREAM_NUMBERS = 2**18
"""Numbers of tables that are made at a time (2 MiB)."""


def run_compiled(
    problem: Problem,
    progress: Callable[[int], None] | None = None,
    checkpoint: Checkpoint | None = None,
    lookout: Lookout | None = None,
    scheme: Scheme = RK4,
) -> Records:
    """Return the motion in compiled steps."""
    rows = independent_rows(problem.model, problem.q, problem.motions, problem.v, problem.loops)
    step = SystemStep(problem.trajectory.system, rows, scheme)
    march = step.march()
    run = _Run(problem, march, rows, Start(problem.trajectory, step), scheme)
    if checkpoint is not None:
        run.resume(checkpoint)
    outcome = FINISHED
    pace = Pace(problem.every)
    while run.done < problem.steps:
        before = run.done
        wanted = min(pace.steps(before), problem.steps - before)
        if checkpoint is not None:
            wanted = min(wanted, checkpoint.left(before, problem.every))
        try:
            run.some(wanted)
        except (SolveError, FunctionError, np.linalg.LinAlgError) as met:
            outcome = Outcome.stopped(run.now().t, met)
            break
        pace.took(run.done - before)
        if checkpoint is not None and checkpoint.is_due(run.done, problem.steps, problem.every):
            checkpoint.write(run.kept())
        if progress is not None:
            progress(run.done - before)
        if lookout is not None and lookout.sees(*run.fresh()):
            break
    run.record()
    at, q, v = run.recorded()
    facts: dict[str, Any] = {"rows": rows, "operations": sum(march.counts.values())}
    facts |= {"detours": run.detours} | run.jacobians()
    found = Records(
        at[:, 0],
        q,
        v,
        carried(at)[:, : problem.trajectory.system.nz],
        run.done,
        outcome,
        facts,
        work=at[:, WORK],
        samples=run.samples(),
        reported=run.reported(),
    )
    return found if outcome != FINISHED else run.check.checked(found)


class _Run:
    """The march as it goes, and its detours."""

    def __init__(
        self,
        problem: Problem,
        march: March,
        rows: tuple[int, ...],
        begin: Start,
        scheme: Scheme,
    ) -> None:
        self.problem, self.march, self.h, self._rows = problem, march, problem.h, rows
        self._begin, self._scheme = begin, scheme
        start = self._begin.begun(Now(problem.start, problem.q, problem.v, problem.z))
        self.stage = march.start()
        self._put(problem.q, problem.v, start.fed_back)
        self.done = self.detours = self._formed = 0
        size = march.inputs.get("stream", 0)
        self._portion = max(1, STREAM_NUMBERS // size) if size else problem.steps
        self._sampled = problem.trajectory.system.sampled
        if self._sampled:  # each step begins in Python
            self._portion = 1
        self._samples: list[Array] = []
        outputs = problem.trajectory.system.outputs
        self._reported = () if outputs is None else outputs.names[len(STATE) :]
        self._records: list[tuple[Array, ...]] = []
        self._seen = 0
        self.record()

    @cached_property
    def check(self) -> StepCheck:
        """The look back at the steps."""
        begin = self._begin
        return StepCheck(self.problem, self.march, self._rows, begin.begun, begin.implicit)

    @cached_property
    def _passage(self) -> Passage:
        return passage_of(self.problem, self._rows, self.march)

    def _put(self, q: Array, v: Array, t: Array) -> None:
        more = self.problem.trajectory.more(float(t[0]), q, v)
        self.march.put(self.stage, q, v, t, np.array([self.h]), *more)

    def now(self) -> Now:
        """Return the state."""
        q, v, t = self.march.state_of(self.stage)
        return Now(float(t[0]), q, v, carried(t))

    def some(self, wanted: int) -> None:
        """Take steps; where one is not trusted, as many as lead past that place."""
        every = self.problem.every
        t = self.now()[0]
        if self._begin.remembers and self.problem.knots.at(t, self.h):
            self._renew()
        wanted, inside = min(wanted, self.problem.knots.steps_before(t, self.h)), []
        if not wanted:
            wanted, inside = 1, self.problem.knots.within(t, t + self.h)
        if inside:
            self._over(t, inside)
            return
        before, beyond = self.done, self.done % every
        if beyond and (
            self._sampled or not self._reported
        ):  # records go on in step with the march again
            wanted = min(wanted, every - beyond)
        wanted = min(wanted, self._portion)
        if self._portion < every or self._sampled:
            every = wanted + 1  # records are taken between calls
        stream = self._stream(wanted)
        if self._reported and not self._sampled:
            self.done += self._advance_reporting(wanted, stream)
            if self.done < before + wanted:
                self._pass()
            return
        taken, (qs, vs, ts, *_) = self.march.advance(self.stage, wanted, every, STEP_RISK, stream)
        if len(ts):
            self._records.append((self._without_memory(ts), qs, vs))
        self.done += taken
        if taken and self._sampled:
            self._put(*self.march.state_of(self.stage))
        if (beyond or every > wanted) and taken and self.done % self.problem.every == 0:
            self.record()
        if taken < wanted:
            self._pass()

    def _advance_reporting(self, wanted: int, stream: Array | None) -> int:
        """Take steps, whose outputs of the state that they begin with are the records."""
        every, taken = self.problem.every, 0
        known = self._records[-1][0][-1, 0] == self.now()[0]
        ahead = -self.done % every
        first = 2 if known and not ahead else 1  # one step, recorded if it is not yet
        for count, each in ((ahead, ahead + 1), (1, first), (wanted, every)):
            count = min(count, wanted - taken)
            if count <= 0:
                continue
            part = None if stream is None else stream[taken : taken + count]
            got, out = self.march.advance(self.stage, count, each, STEP_RISK, part)
            if len(out[0]):
                ts, *others = out[REPORTED:-1]
                self._records.append((self._without_memory(ts), *others))
            taken += got
            if got < count:
                break
        return taken

    def _over(self, t: float, knots: list[float]) -> None:
        """Take a step in parts that end where forces jump or bend."""
        trajectory = self.problem.trajectory

        def numbers(a: float, b: float, h: float) -> Array | None:
            return trajectory.stream(np.array([a, b]), h)

        if self._reported and self.done % self.problem.every == 0:
            self.record()
        renew = self._renew if self._begin.remembers else None
        if not step_in_parts(self.march, self.stage, t, knots, self.h, numbers, renew).all():
            self._pass(knots)
            return
        self.done += 1
        if self._sampled:
            self._put(*self.march.state_of(self.stage))
        if self.done % self.problem.every == 0:
            self.record()

    def _renew(self) -> None:
        """Go on where forces have jumped."""
        work, before = self.march.state_of(self.stage)[2][WORK], self.now()
        self._formed += self._begin.jacobians(before) or 0
        now = self._begin.begun(before)
        at = now.fed_back
        at[WORK] = work
        self._put(now.q, now.v, at)

    def jacobians(self) -> dict[str, int]:
        """Return how many Newton matrices steps have formed where these are kept, as a fact."""
        formed = self._begin.jacobians(self.now()) if self._begin.remembers else None
        return {} if formed is None else {"jacobians": self._formed + formed}

    def _halve(self, knots: Sequence[float]) -> None:
        """Take a step in parts."""
        now, work = self.now(), self.march.state_of(self.stage)[2][WORK]
        halves = Halves(self.problem.model, self._once, self._begin)
        with self.problem.trajectory.holding(now):
            end, done = halves.over(now, self.h, (*knots, now.t + self.h))
        at = end.fed_back
        at[WORK] = work + done
        self._put(end.q, end.v, at)

    def _pass(self, knots: Sequence[float] = ()) -> None:
        """Go on past a singular position; energy that is kept there is checked by the passage."""
        if self._begin.remembers:
            if self._reported and self.done % self.problem.every == 0:
                self.record()
            self._halve(knots)
            self.detours += 1
            self.done += 1
            if self.done % self.problem.every == 0:
                self.record()
            return
        problem, energy = self.problem, self._passage.energy
        if self._reported and self.done % problem.every == 0:
            self.record()
        now = self.now()
        work = float(self.march.state_of(self.stage)[2][WORK]) - energy(now.q, now.v)
        left, begins = problem.steps - self.done, self.done == 0
        one = self._once(now, self.h)
        fault = self.check.opening(now.q, now.v, one.a) if one.near < STEP_RISK else None
        if fault is not None:  # why the step is not trusted
            raise SolveError(fault)
        with problem.trajectory.holding(now):
            led = self._passage.over(now, left, begins)
        for place in led:
            at = place.fed_back
            at[WORK] = work + energy(place.q, place.v)
            self._put(place.q, place.v, at)
            self.detours += 1
            self.done += 1
            if self.done % problem.every == 0:
                self.record()

    def record(self) -> None:
        """Record the state, if it is not yet."""
        q, v, t = self.march.state_of(self.stage)
        if self._records and self._records[-1][0][-1, 0] == t[0]:
            return
        reported = self._report(q, v, t) if self._reported else ()
        self._records.append((self._without_memory(t[None]), q[None], v[None], *reported))
        self._samples.append(self._held())

    def _without_memory(self, t: Array) -> Array:
        """Return of t what is recorded."""
        return t[:, : CARRIED + self.problem.trajectory.system.nz]

    def _report(self, q: Array, v: Array, t: Array) -> list[Array]:
        """Return what a step from here tells, nan where it is not trusted."""
        trajectory, now = self.problem.trajectory, float(t[0])
        try:
            more = trajectory.more(now, q, v)
        except FunctionError:  # here the motion ends
            more = [np.full(size, np.nan) for size in trajectory.system.more.values()]
        stream = trajectory.stream(np.array([now, now + self.h]), self.h)
        out = self._single(q, v, t, np.array([self.h]), *more, stream=stream)
        good = out[4][0] < STEP_RISK
        return [
            array[None].copy() if good else np.full_like(array[None], np.nan)
            for array in out[REPORTED + len(STATE) : -1]
        ]

    @cached_property
    def _single(self) -> OneStep:
        return OneStep(self.march)

    def _held(self) -> Array:
        """Return what the step from here holds."""
        if not self._sampled:
            return np.zeros(0)
        place = self.march.place_of("held")
        return self.stage[place : place + self.march.inputs["held"]].copy()

    def fresh(self) -> tuple[Array, Array, Array]:
        """Return time, q and v of the records since the last call."""
        at, q, v = self.recorded()
        new, self._seen = slice(self._seen, None), len(at)
        return at[new, 0], q[new], v[new]

    def samples(self) -> Array | None:
        """Return what the steps from the records held, where Python was called."""
        return np.array(self._samples) if self._sampled else None

    def recorded(self) -> tuple[Array, Array, Array]:
        """Return times and works (K, 2), q and v of all records."""
        columns = tuple(np.concatenate(column) for column in zip(*self._records, strict=True))
        self._records = [columns]
        return columns[0], columns[1], columns[2]

    def reported(self) -> dict[str, Array] | None:
        """Return what the steps from the records reported."""
        if not self._reported:
            return None
        shapes = self.march.shapes[REPORTED + len(STATE) : -1]
        columns = self._records[0][len(STATE) :]
        each = zip(self._reported, columns, shapes, strict=True)
        found = {name: column.reshape(len(column), *shape) for name, column, shape in each}
        return without_doubt(found)

    @cached_property
    def _once(self) -> Step:
        return one_step(self.problem.trajectory, self.march)

    def _stream(self, steps: int) -> Array | None:
        if "stream" not in self.march.inputs:
            return None
        times = np.add.accumulate(np.concatenate([[self.now()[0]], np.full(steps, self.h)]))
        return self.problem.trajectory.stream(times, self.h)

    def kept(self) -> KeptRun:
        """Return what a checkpoint keeps: counts, the state, and the records."""
        q, v, t = self.march.state_of(self.stage)
        state = np.concatenate([t, q, v])
        return KeptRun(self.done, self.done, self.detours, state, *self.recorded())

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from where a checkpoint was written, if there is one."""
        found = checkpoint.read(
            identity_of(self.problem, "projection", self._scheme), self._probe()
        )
        if found is None:
            return
        self.done, self.detours, state = found.done, found.detours, found.state
        nq, beside = self.problem.model.nq, self.march.inputs["t"]
        self._put(state[beside : nq + beside], state[nq + beside :], state[:beside])
        shapes = self.march.shapes[REPORTED + len(STATE) : -1] if self._reported else ()
        none = (np.full((len(found.q), prod(shape)), np.nan) for shape in shapes)
        self._records = [(found.time, found.q, found.v, *none)]

    def _probe(self) -> Array:
        """Return numbers that tell whether machine code rounds as it did.

        Two single steps from the start, one of them at a time halfway.
        """
        p = self.problem
        half = p.start + 0.5 * p.steps * p.h
        found = [np.array([p.start, p.h, p.steps, p.every], dtype=np.float64), p.q, p.v]
        for t in (p.start, half):
            one = self._once(self._begin.begun(Now(t, p.q, p.v, p.z)), p.h)
            found += [one.q, one.v, one.carried]
        return np.concatenate(found)
