"""A run in compiled steps, of fixed length or as long as their error allows.

The compiled step is not taken where its pivots tell that rows become dependent. The march leads
past an isolated singular position by itself (`steps.detour`); if it finds no way it stops, and the
passage in Python goes on (`steps.passage`), which has the reference with singular values, too.

Of steps whose lengths vary

    e = c h² |q̈' - q̈|,   c = |β + (α_m - α_f) / 2 - 1/6|

is the leading error of a step's position (Zienkiewicz and Xie 1991). The next step is shorter or
longer by (tolerance / e)^(1/3). States of force elements do not take part in the choice. Records
are on the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbd_bridge.base.errors import FunctionError, SolveError, StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels.march import OneStep
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards.loops import opening
from mbd_bridge.simulation.guards.step_by_step import LOOK
from mbd_bridge.simulation.guards.step_length import StepCheck
from mbd_bridge.simulation.outcome import FINISHED, Outcome
from mbd_bridge.simulation.outputs import REPORTED, STATE
from mbd_bridge.simulation.run.problem import Problem, Records
from mbd_bridge.simulation.run.time_loop import Log, MotionRun, probe
from mbd_bridge.simulation.steps.compiled import (
    Start,
    SystemStep,
)
from mbd_bridge.simulation.steps.detour import Passing
from mbd_bridge.simulation.steps.halves import why_not
from mbd_bridge.simulation.steps.passage import Passage
from mbd_bridge.simulation.steps.schemes import ImplicitScheme, Scheme
from mbd_bridge.simulation.steps.stepping import StepsInPlace
from mbd_bridge.simulation.steps.trusted_step import WORK, Now, StepResult, carried, taken
from mbd_bridge.solve.tolerances import STEP_RISK

STREAM_NUMBERS = 2**18
"""Numbers of tables that are made at a time (2 MiB)."""


class CompiledRun(MotionRun):
    """The march as it goes, and its detours."""

    def __init__(self, problem: Problem, scheme: Scheme) -> None:
        system = problem.trajectory.system
        code = self._code = StepsInPlace(problem.trajectory, problem.rows, scheme, problem.h)
        self.march, self._begin, self._scheme = code.march, code.start, scheme
        super().__init__(problem, Log.of(system, self.march))
        self.h, self.stage = problem.h, code.stage
        self._passing = Passing(self.march, code.stage)
        size = self.march.inputs.get("stream", 0)
        self._portion = max(1, STREAM_NUMBERS // size) if size else problem.steps
        self._sampled = system.sampled
        if self._sampled:  # each step begins in Python
            self._portion = 1
        self._reports = system.outputs is not None
        start = Now(problem.start, problem.q, problem.v, problem.z)
        self._put(self._begin.begun(start), 0.0)
        self.record()

    @cached_property
    def check(self) -> StepCheck:
        """The look back at the steps."""
        return StepCheck(self.problem, self.march, self._begin)

    @cached_property
    def _passage(self) -> Passage:
        return self._code.passage(self.h)

    def _put(self, now: Now, work: float) -> None:
        """Go on from a state, with the samples that Python gives there."""
        held = self.problem.trajectory.sampled(now.t, now.q, now.v)
        self._code.put(now, work)
        if self._sampled and self._code.held is not None:
            self._code.held[:] = held
        self._passing.allow()

    @property
    def now(self) -> Now:
        """The state."""
        return self._code.now

    def some(self, wanted: int) -> None:
        """Take steps; where one is not trusted, as many as lead past that place."""
        every, t, code = self.problem.every, float(self._code.t[0]), self._code
        if self._begin.remembers and self.problem.knots.at(t, self.h):
            code.renew()
        wanted, inside = min(wanted, self.problem.knots.steps_before(t, self.h)), []
        if not wanted:
            wanted, inside = 1, self.problem.knots.within(t, t + self.h)
        if inside:
            self._over(inside)
            return
        before, beyond = self.done, self.done % every
        if beyond and (
            self._sampled or not self._reports
        ):  # records go on in step with the march again
            wanted = min(wanted, every - beyond)
        wanted = min(wanted, self._portion)
        if self._portion < every or self._sampled:
            every = wanted + 1  # records are taken between calls
        stream = self._stream(wanted)
        if self._reports and not self._sampled:
            self.done += self._advance_reporting(wanted, stream)
            self.detours += self._passing.count()
            if self.done < before + wanted:
                self._pass()
            return
        taken, (qs, vs, ts, *_) = self.march.advance(self.stage, wanted, every, STEP_RISK, stream)
        self.log.add(ts, qs, vs)
        self.done += taken
        self.detours += self._passing.count()
        if taken and self._sampled:
            self._put(code.now, code.work)
        if (beyond or every > wanted) and taken and self.done % self.problem.every == 0:
            self.record()
        if taken < wanted:
            self._pass()

    def _advance_reporting(self, wanted: int, stream: Array | None) -> int:
        """Take steps, whose outputs of the state that they begin with are the records."""
        every, taken = self.problem.every, 0
        known = self.log.ends_at(float(self._code.t[0]))
        ahead = -self.done % every
        first = 2 if known and not ahead else 1  # one step, recorded if it is not yet
        for count, each in ((ahead, ahead + 1), (1, first), (wanted, every)):
            count = min(count, wanted - taken)
            if count <= 0:
                continue
            part = None if stream is None else stream[taken : taken + count]
            got, out = self.march.advance(self.stage, count, each, STEP_RISK, part)
            self.log.add(*out[REPORTED:-1])
            taken += got
            if got < count:
                break
        return taken

    def _over(self, knots: list[float]) -> None:
        """Take a step in parts that end where forces jump or bend."""
        if self._reports and self.done % self.problem.every == 0:
            self.record()
        if not self._code.in_parts(knots):
            self._pass(knots)
            return
        if self._sampled:
            self._put(self._code.now, self._code.work)
        self._count()

    def _count(self, detours: int = 0) -> None:
        """Count a step that was taken by itself, and record it if it is to be."""
        self.detours += detours
        self.done += 1
        if self.done % self.problem.every == 0:
            self.record()

    def facts(self) -> dict[str, Any]:
        """Return rows, operations, and Newton matrices formed where these are kept."""
        facts = {"rows": self.problem.rows, "operations": sum(self.march.counts.values())}
        formed = self._begin.jacobians(self.now) if self._begin.remembers else None
        facts["detours"] = self.detours
        if self.march.ways:
            facts["formulations"] = dict(self.march.ways)
        facts |= self._begin.counted(self.now)
        return facts if formed is None else facts | {"jacobians": self._code.formed + formed}

    def _pass(self, knots: Sequence[float] = ()) -> None:
        """Go on past a singular position; energy that is kept there is checked by the passage."""
        problem, code, now = self.problem, self._code, self._code.now
        if self._reports and self.done % problem.every == 0:
            self.record()
        if self._begin.remembers:
            code.in_halves([*knots, now.t + self.h])
            self._put(code.now, code.work)
            self._count(detours=1)
            return
        energy = self._passage.energy
        work = code.work - energy(now.q, now.v)
        left, begins = problem.steps - self.done, self.done == 0
        resumed = self._passing.resumed(problem.trajectory.system, 0)
        one = code.once(now, self.h)
        if resumed is None and one.near < STEP_RISK:
            fault = self.check.opening(now.q, now.v, one.a)
            if fault is not None:  # why the step is not trusted
                raise SolveError(fault)
        with problem.trajectory.holding(now):
            led = self._passage.over(self._begin.bare(now), left, begins, resumed)
        for place in led:
            behind = self._begin.behind(place, now, anew=place is led[-1])
            self._put(behind, work + energy(place.q, place.v))
            self._count(detours=1)

    def record(self) -> None:
        """Record the state, if it is not yet."""
        q, v, t = self.march.state_of(self.stage)
        if self.log.ends_at(t[0]):
            return
        self.log.add(t[None], q[None], v[None], *(self._report(q, v, t) if self._reports else ()))
        if self._sampled and self._code.held is not None:
            self.log.samples.append(self._code.held.copy())

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

    def _stream(self, steps: int) -> Array | None:
        if "stream" not in self.march.inputs:
            return None
        times = np.add.accumulate(np.concatenate([self._code.t[:1], np.full(steps, self.h)]))
        return self.problem.trajectory.stream(times, self.h)

    def records(self, outcome: Outcome) -> Records:
        """Return what there is, up to where steps are too long."""
        found = super().records(outcome)
        return found if outcome != FINISHED else self.check.checked(found)

    def told_by(self) -> tuple[object, ...]:
        """Return the method and the scheme."""
        return ("compiled", self._scheme)

    def state(self) -> Array:
        """Return t, q, v, and where a passage is on its way."""
        code = self._code
        return np.concatenate([code.t, code.q, code.v, self._passing.registers[:, 0]])

    def restore(self, state: Array, steps: int) -> None:
        """Go on from a state."""
        nq, beside = self.problem.model.nq, self.march.inputs["t"]
        t, q, v, registers = np.split(state, np.cumsum([beside, nq, self.problem.model.nv]))
        self._put(Now(float(t[0]), q, v, carried(t)), float(t[WORK]))
        self._passing.registers[:, 0] = registers

    def probe(self) -> Array:
        """Return numbers of single steps."""
        return probe(self.problem, self._code.once, self._begin)


SAFETY, SLOWEST, FASTEST = 0.9, 0.2, 2.0
"""Part of the step that the estimate allows; bounds of the change from step to step."""


GROWTH = 1.2
"""Gain in step below which nothing is changed."""


LEAST = 1.0 / 24.0
"""Least c: with β = 1/6 the leading error vanishes, the next one does not."""


SHORTEST = 2.0**-24
"""Of the distance of records: a shorter step is not tried."""


class VariableRun(MotionRun):
    """Steps that satisfy a tolerance, on their way."""

    def __init__(self, problem: Problem, scheme: Scheme) -> None:
        formula = scheme.formula
        assert isinstance(formula, ImplicitScheme)
        assert formula.tolerance is not None
        self._scheme = scheme
        trajectory, system = problem.trajectory, problem.trajectory.system
        if system.sampled:
            raise StateError("tolerance: steps of variable length do not go with mbd.Sampled")
        self._tolerance = formula.tolerance
        number = formula.coefficients
        c = abs(number.beta + 0.5 * (number.alpha_m - number.alpha_f) - 1.0 / 6.0)
        self._error = max(c, LEAST)
        step = SystemStep.of(system, problem.rows, scheme)
        self._march, self._memory = step.march(), step.memory
        super().__init__(problem, Log.of(system, self._march))
        self._once, self._start = OneStep(self._march), Start(trajectory, step)
        begin = Now(problem.start, problem.q, problem.v, problem.z)
        self._now, self.work = self._start.begun(begin), 0.0
        self._last = self._next = self._first(problem.every * problem.h)
        self._taken, self._rejected, self._shortest, self._longest = 0, 0, np.inf, 0.0
        self._reports = system.outputs is not None
        self.record()

    @property
    def now(self) -> Now:
        """The state."""
        return self._now

    def some(self, wanted: int) -> None:
        """Go on to the next record."""
        p = self.problem
        steps = min((self.done // p.every + 1) * p.every, p.steps)
        self._advance(p.start + steps * p.h)
        self.done = steps
        self.record()

    def _advance(self, end: float) -> None:
        """Go on to a time; steps end where forces jump."""
        knots = self.problem.knots.within(self._now.t, end)
        for stop in (*knots, end):
            while self._now.t < stop:
                self._take(stop)
            if stop != end or self.problem.knots.within(stop - 1e-9 * abs(stop), end + 1e-9):
                self._now = self._start.begun(self._now)

    def record(self) -> None:
        """Record the state, if it is not yet."""
        now = self._now
        if self.log.ends_at(now.t):
            return
        reported: list[Array] = []
        if self._reports:
            out = self._outputs(now, self._last)
            reported = [array[None].copy() for array in out[REPORTED + len(STATE) : -1]]
        at = np.array([[now.t, self.work, *now.carried]])
        self.log.add(at, now.q[None], now.v[None], *reported)

    @property
    def steps(self) -> int:
        """Steps of the grid up to where it is."""
        return round((self._now.t - self.problem.start) / self.problem.h)

    def facts(self) -> dict[str, Any]:
        """Return what was counted."""
        facts = {
            "rows": self.problem.rows,
            "operations": sum(self._march.counts.values()),
            "steps": self._taken,
            "rejected": self._rejected,
            "shortest_step": min(self._shortest, self._longest),
            "longest_step": self._longest,
        }
        if self._march.ways:
            facts["formulations"] = dict(self._march.ways)
        formed = self._start.jacobians(self._now)
        return facts if formed is None else facts | {"jacobians": formed}

    def told_by(self) -> tuple[object, ...]:
        """Return the method and the scheme."""
        return ("compiled", self._scheme)

    def probe(self) -> Array:
        """Return numbers of single steps."""

        def step(now: Now, length: float) -> StepResult:
            return taken(self._outputs(now, length))

        return probe(self.problem, step, self._start)

    def state(self) -> Array:
        """Return what was counted, the lengths of steps, t, q, v and what goes along."""
        now, lengths = self._now, (self._shortest, self._longest, self._next, self._last)
        counted = [self._taken, self._rejected, *lengths, self.work, now.t]
        return np.concatenate([counted, now.q, now.v, now.carried])

    def restore(self, state: Array, steps: int) -> None:
        """Go on from a state."""
        self._taken, self._rejected = int(state[0]), int(state[1])
        self._shortest, self._longest, self._next, self._last = state[2:6].tolist()
        self.work, model = float(state[6]), self.problem.model
        q, v, more = np.split(state[8:], [model.nq, model.nq + model.nv])
        self._now = Now(float(state[7]), q, v, more)

    def _take(self, stop: float) -> None:
        """Take one step that satisfies the tolerance."""
        now, whole = self._now, stop - self._now.t
        while True:
            parts = max(1, int(np.ceil(whole / self._next - 1e-9)))
            length = whole / parts
            begin = self._start.stretched(now, min(FASTEST, length / self._last))
            with np.errstate(all="ignore"):
                found = taken(self._outputs(begin, length))
                good = found.trusted
                error = self._estimate(begin, found.carried, length) if good else np.inf
            if error <= self._tolerance:
                break
            self._rejected += 1
            if not length > SHORTEST * self.problem.every * self.problem.h:
                raise why_not(self.problem.model, now, found, length)
            self._next = length * max(SLOWEST, self._gain(error)) if good else 0.5 * length
        self._check(now, found)
        gain = min(FASTEST, self._gain(error))
        if gain > GROWTH or gain < 1.0:
            self._next = length * gain
        self._last = length
        self.work += found.work
        self._taken += 1
        self._shortest, self._longest = min(self._shortest, length), max(self._longest, length)
        self._now = now.after(length, found)._replace(t=stop if parts == 1 else now.t + length)

    def _check(self, now: Now, found: StepResult) -> None:
        """Look, now and then, whether accelerations keep the loops closed."""
        p = self.problem
        if p.loops is not None and self._taken % LOOK == 0:
            fault = opening(p.model, p.loops.values, p.rows, now.q, now.v, found.a)
            if fault is not None:
                raise SolveError(fault)

    def _gain(self, error: float) -> float:
        return float(SAFETY * (self._tolerance / max(error, 1e-300)) ** (1.0 / 3.0))

    def _outputs(self, now: Now, length: float) -> list[Array]:
        trajectory, t = self.problem.trajectory, now.t
        given = [now.q, now.v, now.fed_back, np.array([length]), *trajectory.more(t, now.q, now.v)]
        return self._once(*given, stream=trajectory.stream(np.array([t, t + length]), length))

    def _estimate(self, begin: Now, carried: Array, length: float) -> float:
        """Return the error of a step, rad or sizes."""
        nz, scale = len(self.problem.z), self.problem.model.velocity_scale
        before, after = (
            self._memory.acceleration(x[nz:])[: len(scale)] for x in (begin.carried, carried)
        )
        most = np.abs((after - before) / scale).max(initial=0.0)
        return float(self._error * length * length * most)

    def _first(self, most: float) -> float:
        """Return the length of the first step: the change of velocity in it is small."""
        scale = self.problem.model.velocity_scale
        a = self._memory.acceleration(self._now.carried[len(self.problem.z) :])[: len(scale)]
        size = float(np.abs(a / scale).max(initial=0.0))
        return float(min(most, (self._tolerance / max(size, 1e-300)) ** 0.5))
