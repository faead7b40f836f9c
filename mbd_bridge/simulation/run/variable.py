"""Steps whose lengths vary: as long as their error allows.

    e = c h² |q̈' - q̈|,   c = |β + (α_m - α_f) / 2 - 1/6|

is the leading error of a step's position (Zienkiewicz and Xie 1991). The next step is shorter or
longer by (tolerance / e)^(1/3). States of force elements do not take part in the choice. Records
are on the grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.kernels.march import OneStep
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards.loops import opening
from mbd_bridge.simulation.guards.step_by_step import LOOK
from mbd_bridge.simulation.outputs import REPORTED, STATE
from mbd_bridge.simulation.run.march import Log, MotionRun, probe
from mbd_bridge.simulation.run.problem import Problem
from mbd_bridge.simulation.steps.compiled import Start, SystemStep
from mbd_bridge.simulation.steps.halves import why_not
from mbd_bridge.simulation.steps.schemes import ImplicitScheme
from mbd_bridge.simulation.steps.trusted_step import Now, StepResult, taken

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

    def __init__(self, problem: Problem, scheme: ImplicitScheme) -> None:
        assert scheme.tolerance is not None
        self._scheme = scheme
        trajectory, system = problem.trajectory, problem.trajectory.system
        if system.sampled:
            raise StateError("tolerance: steps of variable length do not go with mbd.Sampled")
        self._tolerance = scheme.tolerance
        number = scheme.coefficients
        c = abs(number.beta + 0.5 * (number.alpha_m - number.alpha_f) - 1.0 / 6.0)
        self._error = max(c, LEAST)
        step = SystemStep(system, problem.rows, scheme)
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
