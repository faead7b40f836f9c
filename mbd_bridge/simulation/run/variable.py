"""Steps whose lengths vary: halves of one that is not trusted, or as long as their error allows.

    e = c h² |q̈' - q̈|,   c = |β + (α_m - α_f) / 2 - 1/6|

is the leading error of a step's position (Zienkiewicz and Xie 1991). The next step is shorter or
longer by (tolerance / e)^(1/3). States of force elements do not take part in the choice. Records
are on the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.kernels.march import OneStep
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards import messages
from mbd_bridge.simulation.outcome import FINISHED, Outcome
from mbd_bridge.simulation.outputs import REPORTED, STATE, without_doubt
from mbd_bridge.simulation.run.problem import Problem, Records
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.compiled import Start, SystemStep
from mbd_bridge.simulation.steps.schemes import ImplicitScheme
from mbd_bridge.simulation.steps.step_result import WORK, Now, Step, StepResult, carried, taken
from mbd_bridge.solve.tolerances import STEP_RISK

if TYPE_CHECKING:
    from mbd_bridge.simulation.run.lookout import Lookout


MOST_HALVINGS = 12
"""Times that a step is halved, at most."""


class Halves:
    """Steps of a scheme in parts.

    Parameters
    ----------
    step : takes any step
    start : makes memories
    """

    def __init__(self, model: Model, step: Step, start: Start) -> None:
        self._model, self._step, self._start = model, step, start

    def over(self, now: Now, h: float, ends: Sequence[float]) -> tuple[Now, float]:
        """Return the state after steps to `ends`, times one after the other, and the work, J.

        Between two of them forces jump.

        Parameters
        ----------
        h : s, length of the step that was not trusted

        Raises
        ------
        SolveError
            The motion cannot be continued: why, and what to try.
        """
        work = 0.0
        for number, end in enumerate(ends):
            if number:
                now = self._start.begun(now)
            for halvings in range(0 if len(ends) > 1 else 1, MOST_HALVINGS + 1):
                parts = 2**halvings
                found = self._in_parts(now, end, parts, (end - now.t) / (parts * h))
                if not isinstance(found, StepResult):
                    break
            if isinstance(found, StepResult):
                raise why_not(self._model, now, found, (end - now.t) / parts, self._start.implicit)
            now, done = found
            work += done
        return now, work

    def _in_parts(
        self, now: Now, end: float, parts: int, ratio: float
    ) -> tuple[Now, float] | StepResult:
        """Return the state at the end and the work; or the first part that is not trusted."""
        first, work, length = now, 0.0, (end - now.t) / parts
        now = self._start.stretched(now, ratio)
        for part in range(parts):
            with np.errstate(all="ignore"):
                taken = self._step(now, length)
            if not taken.trusted:
                return taken
            now = now.after(length, taken)._replace(t=first.t + (part + 1) * length)
            work += taken.work
        return self._start.like(now._replace(t=end), first), work


def why_not(
    model: Model, now: Now, taken: StepResult, length: float, implicit: bool = True
) -> SolveError:
    """Return why no step is taken from a state, and what to try.

    Parameters
    ----------
    implicit : whether the step iterates
    """
    if not taken.finite:
        return messages.runs_away(model, now.v)
    if not taken.near < STEP_RISK:
        steps = "implicit steps do" if implicit else "explicit_newmark does"
        return SolveError(
            f"the motion is near a singular position of its loops, which {steps} not pass; "
            f"integrator='rk4' does"
        )
    if not implicit:
        found = (
            f"the motion cannot be put back onto its loops after steps of {length:.2g} s either: "
        )
        return messages.step_too_long(length, found)
    if not taken.risk < STEP_RISK:
        return SolveError(
            f"Newton's iterations do not converge, in steps of {length:.2g} s neither: forces jump "
            f"or are not smooth here. Make them smoother (tanh(v/0.01) for sign(v)), or allow more "
            f"iterations=, with refresh=1 a Jacobian for each of them"
        )
    return SolveError(
        f"the tolerance is not met with steps of {length:.2g} s: the motion has a jump here, or "
        f"the tolerance is too small"
    )


SAFETY, SLOWEST, FASTEST = 0.9, 0.2, 2.0
"""Part of the step that the estimate allows; bounds of the change from step to step."""


GROWTH = 1.2
"""Gain in step below which nothing is changed."""


LEAST = 1.0 / 24.0
"""Least c: with β = 1/6 the leading error vanishes, the next one does not."""


SHORTEST = 2.0**-24
"""Of the distance of records: a shorter step is not tried."""


def run_variable(
    problem: Problem,
    scheme: ImplicitScheme,
    progress: Callable[[int], None] | None = None,
    lookout: Lookout | None = None,
) -> Records:
    """Return the motion in steps of variable length."""
    run = _Variable(problem, scheme)
    outcome = FINISHED
    for record in range(1, -(-problem.steps // problem.every) + 1):
        steps = min(record * problem.every, problem.steps)
        try:
            run.advance(problem.start + steps * problem.h)
        except SolveError as met:
            outcome = Outcome.stopped(run.now.t, met)
            run.record()
            break
        run.record()
        if progress is not None:
            progress(steps - (record - 1) * problem.every)
        if lookout is not None and lookout.sees(*run.last()):
            break
    return run.records(outcome)


class _Variable:
    """The motion as it goes."""

    def __init__(self, problem: Problem, scheme: ImplicitScheme) -> None:
        assert scheme.tolerance is not None
        trajectory, system = problem.trajectory, problem.trajectory.system
        if system.sampled:
            raise StateError("tolerance: steps of variable length do not go with mbd.Sampled")
        self._problem, self._tolerance = problem, scheme.tolerance
        number = scheme.coefficients
        c = abs(number.beta + 0.5 * (number.alpha_m - number.alpha_f) - 1.0 / 6.0)
        self._error = max(c, LEAST)
        self._rows = independent_rows(
            problem.model, problem.q, problem.motions, problem.v, problem.loops
        )
        step = SystemStep(system, self._rows, scheme)
        self._march, self._memory = step.march(), step.memory
        self._once, self._start = OneStep(self._march), Start(trajectory, step)
        begin = Now(problem.start, problem.q, problem.v, problem.z)
        self.now, self.work = self._start.begun(begin), 0.0
        self._next = self._first(problem.every * problem.h)
        self._last = self._next
        self.lengths: list[float] = []
        self.rejected = 0
        outputs = system.outputs
        self._reported = () if outputs is None else outputs.names[len(STATE) :]
        self._records: list[tuple[Array, ...]] = []
        self.record()

    def advance(self, end: float) -> None:
        """Go on to a time; steps end where forces jump."""
        knots = self._problem.knots.within(self.now.t, end)
        for stop in (*knots, end):
            while self.now.t < stop:
                self._take(stop)
            if stop != end or self._problem.knots.within(stop - 1e-9 * abs(stop), end + 1e-9):
                self.now = self._start.begun(self.now)

    def record(self) -> None:
        """Record the state."""
        now = self.now
        at = np.array([now.t, self.work, *now.carried])
        reported: list[Array] = []
        if self._reported:
            out = self._outputs(now, self._last)
            reported = [array[None].copy() for array in out[REPORTED + len(STATE) : -1]]
        self._records.append((at[None], now.q[None], now.v[None], *reported))

    def last(self) -> tuple[Array, Array, Array]:
        """Return time, q and v of the last record."""
        at, q, v, *_ = self._records[-1]
        return at[:, 0], q, v

    def records(self, outcome: Outcome) -> Records:
        """Return all of it."""
        at, q, v, *columns = (np.concatenate(part) for part in zip(*self._records, strict=True))
        reported = None
        if self._reported:
            shapes = self._march.shapes[REPORTED + len(STATE) : -1]
            each = zip(self._reported, columns, shapes, strict=True)
            found = {name: column.reshape(len(column), *shape) for name, column, shape in each}
            reported = without_doubt(found)
        lengths = self.lengths or [0.0]
        facts = {
            "rows": self._rows,
            "operations": sum(self._march.counts.values()),
            "steps": len(self.lengths),
            "rejected": self.rejected,
            "shortest_step": min(lengths),
            "longest_step": max(lengths),
        }
        formed = self._start.jacobians(self.now)
        facts |= {} if formed is None else {"jacobians": formed}
        problem = self._problem
        z = carried(at)[:, : problem.trajectory.system.nz]
        done = round((float(at[-1, 0]) - problem.start) / problem.h)
        return Records(at[:, 0], q, v, z, done, outcome, facts, work=at[:, WORK], reported=reported)

    def _take(self, stop: float) -> None:
        """Take one step that satisfies the tolerance."""
        now, whole = self.now, stop - self.now.t
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
            self.rejected += 1
            if not length > SHORTEST * self._problem.every * self._problem.h:
                raise why_not(self._problem.model, now, found, length)
            self._next = length * max(SLOWEST, self._gain(error)) if good else 0.5 * length
        gain = min(FASTEST, self._gain(error))
        if gain > GROWTH or gain < 1.0:
            self._next = length * gain
        self._last = length
        self.work += found.work
        self.lengths.append(length)
        self.now = now.after(length, found)._replace(t=stop if parts == 1 else now.t + length)

    def _gain(self, error: float) -> float:
        return float(SAFETY * (self._tolerance / max(error, 1e-300)) ** (1.0 / 3.0))

    def _outputs(self, now: Now, length: float) -> list[Array]:
        trajectory, t = self._problem.trajectory, now.t
        given = [now.q, now.v, now.fed_back, np.array([length]), *trajectory.more(t, now.q, now.v)]
        return self._once(*given, stream=trajectory.stream(np.array([t, t + length]), length))

    def _estimate(self, begin: Now, carried: Array, length: float) -> float:
        """Return the error of a step, rad or sizes."""
        nz, scale = len(self._problem.z), self._problem.model.velocity_scale
        before, after = (
            self._memory.acceleration(x[nz:])[: len(scale)] for x in (begin.carried, carried)
        )
        most = np.abs((after - before) / scale).max(initial=0.0)
        return float(self._error * length * length * most)

    def _first(self, most: float) -> float:
        """Return the length of the first step: the change of velocity in it is small."""
        scale = self._problem.model.velocity_scale
        a = self._memory.acceleration(self.now.carried[len(self._problem.z) :])[: len(scale)]
        size = float(np.abs(a / scale).max(initial=0.0))
        return float(min(most, (self._tolerance / max(size, 1e-300)) ** 0.5))
