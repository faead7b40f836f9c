"""A run in Python, state by state: any method with any integrator.

It costs some hundred microseconds a step, where the compiled step costs one or less; it is there to
compare methods, and for variable steps. Past singular positions it goes as the compiled run does
(`passage`); method and integrator start anew behind them.

The power of what acts on a motion, at one state: integrated, it is the work of `guards.energy`.

    P = v·τ;  with prescribed motions, whose forces are not known, P = v·(M a + h),

since loops do no work; and P = -η̇ D η̇ of flexible links more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.equations.flexible import damping_forces
from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.guards import messages
from mbd_bridge.simulation.guards.loops import opening
from mbd_bridge.simulation.guards.step_length import StateWatch, too_long
from mbd_bridge.simulation.outcome import Outcome
from mbd_bridge.simulation.rates import Rate
from mbd_bridge.simulation.reference.integrators import (
    BudgetError,
    FormulaSteps,
    PythonIntegrator,
    make_integrator,
)
from mbd_bridge.simulation.reference.methods import (
    CompiledMethod,
    Method,
    ReferenceEquations,
    make_method,
)
from mbd_bridge.simulation.run.problem import History, Problem, Records, SolutionMethod
from mbd_bridge.simulation.run.time_loop import Log, MotionRun
from mbd_bridge.simulation.steps.compiled import passage_of
from mbd_bridge.simulation.steps.passage import Passage
from mbd_bridge.simulation.steps.runge_kutta import normalised
from mbd_bridge.simulation.steps.schemes import RK4, Integrator, NullSpace
from mbd_bridge.simulation.steps.trusted_step import Now
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve import prepare
from mbd_bridge.solve.bases import DEPENDENT_ROWS
from mbd_bridge.solve.tolerances import STAGE_RISK


class Recorder:
    """Writes down steps as they are taken."""

    def __init__(self, system: ReferenceEquations, start: float) -> None:
        self._system, self._start = system, start
        self._steps: list[tuple[float, int, float]] = []

    def __len__(self) -> int:
        return len(self._steps)

    def step(self, t: float, order: int, q: Array, v: Array) -> None:
        """Write down a step that ends at t and leaves q and v."""
        left = np.abs(self._system.residual(q, v, t).phi).max(initial=0.0)
        self._steps.append((t, order, float(left)))

    def back(self, count: int) -> None:
        """Forget all steps but the first so many."""
        del self._steps[count:]

    def history(self) -> History:
        """Return all steps."""
        rows = np.array(self._steps).reshape(-1, 3)
        size = np.diff(rows[:, 0], prepend=self._start)
        return History(rows[:, 0], size, rows[:, 1].astype(int), rows[:, 2])


class Power:
    """Of the forces and prescribed motions of a problem, W."""

    def __init__(self, problem: Problem) -> None:
        self._model, self._forces = problem.model, problem.forces
        prescribed_velocities = problem.motions is not None
        self._inverse = (
            prepare(problem.model, "inverse_dynamics") if prescribed_velocities else None
        )

    @property
    def none(self) -> bool:
        """Whether nothing acts."""
        nothing = self._forces is None and self._inverse is None
        return nothing and damping_forces(self._model, np.zeros(self._model.nv)) is None

    def __call__(self, t: float, q: Array, v: Array, z: Array, a: Array) -> float:
        """Return the power in a state whose acceleration is a (nv,)."""
        damping = damping_forces(self._model, v)
        lost = 0.0 if damping is None else float(v @ damping)
        if self._inverse is not None:
            (tau,) = self._inverse(q, v, a)
            return float(v @ np.asarray(tau)) + lost
        if self._forces is None:
            return lost
        return float(v @ np.asarray(self._forces(t, q, v, z))) + lost


def growth(c: float, x: Array) -> Array:
    """Return a rate that tells formulas apart."""
    return (1.0 + c) * x[::-1]


EACH = 200
"""Evaluations that variable steps may take for each step of the grid: smooth motions take fifty."""


INSTANT = 1e-12
"""Of a step, or of the time: nothing moves in a jump that is shorter."""


LOOKS = 12
"""Steps that are compared with two of half their length."""


class PythonRun(MotionRun):
    """State, records, method and integrator on their way."""

    begins_anew = True

    def __init__(self, problem: Problem, options: SolutionMethod) -> None:
        self._options, model = options, problem.model
        super().__init__(problem, Log(len(problem.z)))
        self._nq, self._plain = model.nq, model.nq == model.nv
        self._nv_end = model.nq + model.nv
        self._end = self._nv_end + len(problem.z)
        self.method = make_method(problem, options)
        # a second one looks whether steps are too long, so that the first does not notice
        stateless = isinstance(self.method, CompiledMethod)
        self._second = self.method if stateless else make_method(problem, options)
        self.way = self._way()
        self.way.counted = self._end
        self._fixed = self.way.fixed
        # variable steps end at the records, fixed ones at every step
        self._stride = 1 if self._fixed else problem.every
        self._watch = StateWatch(problem.trajectory.system.states.names)
        self._stride_look, self._looks = max(1, problem.steps // LOOKS), 0
        self._power = Power(problem)
        # y: coordinates, velocities, states of force elements, and the work if something acts
        work = [] if self._power.none else [0.0]
        self.t, self.y = problem.start, np.concatenate([problem.q, problem.v, problem.z, work])
        self._steps, self._begun = 0, False
        self._met: Exception = SolveError(DEPENDENT_ROWS)
        self._recorder: Recorder | None = None
        if options.history:
            equations = ReferenceEquations(model, problem.forces, problem.motions)
            self._recorder = Recorder(equations, problem.start)
        self.record()

    def _way(self) -> PythonIntegrator:
        options, p = self._options, self.problem
        scheme = options.scheme
        if isinstance(scheme, NullSpace):
            scheme = scheme.integrator
        assert isinstance(scheme, Integrator), "others are compiled"
        given = self._rate, self._settle, options.tolerance, p.start + p.steps * p.h
        return make_integrator(options.integrator, scheme, *given)

    def begin(self) -> None:
        """Let method and integrator start here; in a singular position a detour comes first."""
        self.way.forget()
        try:
            self.method.init(*self._state(self.y), self.t)
            self._begun = True
        except (SolveError, np.linalg.LinAlgError) as met:
            self._begun, self._met = False, met

    def some(self, wanted: int) -> None:
        """Go to the next step or record."""
        p = self.problem
        taken = min(self._stride - self.done % self._stride, p.steps - self.done)
        end = p.start + (self.done + taken) * p.h
        if self._fixed and p.loops is not None and self._ahead.blocked(self.now):
            self._pass(taken, SolveError(DEPENDENT_ROWS))
            return
        if self._begun and self._looks <= self.done:
            self._looks = self.done + self._stride_look
            if self._fixed:
                self._judge(end)
            self._check_loops()
        self._allow(taken)
        y = self._advanced(end)
        if y is None and self._begun and not isinstance(self._met, BudgetError):
            self.begin()  # once more, with bases chosen here
            y = self._advanced(end)
        if y is None:
            if isinstance(self._met, BudgetError):
                raise self._met
            self._pass(taken, self._met)
            return
        self._arrive(end, y, taken)

    def _check_loops(self) -> None:
        """Complain of accelerations that lead off the loops."""
        p, (q, v), z = self.problem, self._state(self.y), self._z(self.y)
        if p.loops is None:
            return
        try:
            if self._risk is not None and not self._risk(self.t, q, v, z)[1] < STAGE_RISK:
                return
            self._second.init(q, v, self.t)
            a = self._second.acceleration(q, v, self.t, z)
        except (SolveError, np.linalg.LinAlgError):
            return  # the step itself will tell
        problem = opening(p.model, p.loops.values, p.rows, q, v, a)
        if problem is not None:
            raise SolveError(problem)

    def _allow(self, steps: int) -> None:
        """Let variable steps evaluate as often as so many steps may, and what is left of before."""
        if not self._fixed:
            left = min(self.way.allowed - self.way.evaluations, self._options.evaluations)
            self.way.allowed = self.way.evaluations + max(0.0, left) + EACH * steps

    def _arrive(self, t: float, y: Array, steps: int) -> None:
        self.t, self.y, self.done = t, y, self.done + steps
        if self.done % self.problem.every == 0 or self.done == self.problem.steps:
            self.record()

    def _advanced(self, end: float) -> Array | None:
        """Return the state at `end`, None if the method cannot go there."""
        if not self._begun:
            return None
        before, written = self.way.steps, len(self._recorder or ())
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                return self._in_parts(end, before)
        except (SolveError, np.linalg.LinAlgError) as met:
            self._met = met
            self.way.steps = before
            if self._recorder is not None:
                self._recorder.back(written)
            return None

    def _in_parts(self, end: float, steps: int) -> Array:
        """Return the state at `end`; integrators start anew where forces jump."""
        knots, t, y = self.problem.knots, self.t, self.y
        for knot in knots.within(t, end, sharp=not self._fixed):
            if knot - t > INSTANT * max(self.problem.h, abs(end)):
                self.way.last = knots.jump_after(t)
                y = self.way.advance(t, y, knot)
            t = knot
            self.way.forget()
        self.way.last = knots.jump_after(t)
        y = self.way.advance(t, y, end)
        if self._fixed:
            self.way.steps = steps + 1
        return y

    def record(self) -> None:
        """Record the state, if it is not yet."""
        if not self.log.ends_at(self.t):
            work = 0.0 if self._power.none else self.y[-1]
            at = np.array([[self.t, work, *self._z(self.y)]])
            self.log.add(at, *(part[None] for part in self._state(self.y)))

    @property
    def steps(self) -> int:
        """Steps of the integrator."""
        return self._steps + self.way.steps

    def facts(self) -> dict[str, Any]:
        """Return what was counted."""
        return {**self.method.facts(), **self.way.facts(), "detours": self.detours}

    def records(self, outcome: Outcome) -> Records:
        """Return what there is."""
        history = None if self._recorder is None else self._recorder.history()
        return self.log.records(self.steps, outcome, self.facts(), history)

    def _rate(self, t: float, y: Array) -> Array:
        if self._risk is not None:
            q, v = self._state(y)
            if not self._risk(t, q, v, self._z(y))[1] < STAGE_RISK:
                raise SolveError(DEPENDENT_ROWS)
        return self._rate_of(self.method, t, y)

    @cached_property
    def _risk(self) -> Rate | None:
        """Tells how near a singular position is, where neither method nor steps do."""
        p = self.problem
        if self._fixed or not p.model.has_loops or isinstance(self.method, CompiledMethod):
            return None
        return Rate(p.trajectory.without_torques(), p.rows)

    def _rate_of(self, method: Method, t: float, y: Array) -> Array:
        (q, v), z = self._state(y), self._z(y)
        dq = v if self._plain else coordinate_rates(self.problem.model, q, v)
        a = method.acceleration(q, v, t, z)
        dz = z if self.problem.rates is None else self.problem.rates(t, q, v, z)
        power = [] if self._power.none else [self._power(t, q, v, z, a)]
        return np.concatenate([dq, a, dz, power])

    def _state(self, y: Array) -> tuple[Array, Array]:
        """Return q and v of one y, or of many."""
        return y[..., : self._nq], y[..., self._nq : self._nv_end]

    def _z(self, y: Array) -> Array:
        """Return states of force elements of one y, or of many."""
        return y[..., self._nv_end : self._end]

    def _settle(self, t: float, y: Array) -> Array:
        model, (q, v) = self.problem.model, self._state(y)
        if not np.all(np.isfinite(y)):
            raise messages.runs_away(model, self._state(self.y)[1])
        q = q if self._plain else normalised(model, q)
        if self._recorder is not None:
            self._recorder.step(t, self.way.order, q, v)
        return np.concatenate([*self.method.settle(q, v, t), y[self._nv_end :]])

    @cached_property
    def _passage(self) -> Passage:
        return self._passage_of(self.problem.trajectory)

    def _passage_of(self, trajectory: Trajectory) -> Passage:
        p = self.problem
        return passage_of(trajectory, p.rows, p.h, most_strayed=self.method.most_strayed)

    @cached_property
    def _ahead(self) -> Passage:
        """Looks ahead in compiled steps: without forces that cannot be traced."""
        if self._passage.traced:
            return self._passage
        return self._passage_of(self.problem.trajectory.without_torques())

    @property
    def now(self) -> Now:
        """The state."""
        return Now(self.t, *self._state(self.y), self._z(self.y))

    def _pass(self, taken: int, met: Exception) -> None:
        """Go on past a singular position; with none near, the trouble is the method's own."""
        p, end = self.problem, self.done + taken
        singular = False
        ahead: list[Now] = []
        while self.done + len(ahead) < end:
            now = ahead[-1] if ahead else self.now
            if self._passage.blocked(now):
                if ahead:
                    break  # what there is comes first
                singular = True
                with p.trajectory.holding(now):
                    ahead = self._passage.over(now, p.steps - self.done, begins=not self.done)
            else:
                ahead.append(self._passage.controlled(now, now.t + p.h))
        if not singular and len(ahead) >= taken:
            raise met
        # energy that is kept there is checked by the passage
        energy, work = self._passage.energy, self.y[self._end :]
        if len(work):
            work = work - energy(*self._state(self.y))
        for place in ahead:
            self.detours += 1
            self._steps += 1
            t = p.start + (self.done + 1) * p.h
            done = work + energy(place.q, place.v) if len(work) else work
            self._arrive(t, np.concatenate([place.q, place.v, place.carried, done]), 1)
        self.begin()

    def _judge(self, end: float) -> None:
        """Complain of a step that is too long."""
        second = self._second
        whole = FormulaSteps(RK4, lambda t, y: self._rate_of(second, t, y), lambda _, y: y)
        half = 0.5 * (self.t + end)
        try:
            if second is not self.method:
                second.init(*self._state(self.y), self.t)
            with np.errstate(over="ignore", invalid="ignore"):
                one = whole.advance(self.t, self.y, end)
                two = whole.advance(half, whole.advance(self.t, self.y, half), end)
        except (SolveError, np.linalg.LinAlgError):
            return  # the step itself will tell
        model, nq = self.problem.model, self._nq
        if np.all(np.isfinite(one)) and np.all(np.isfinite(two)):
            problem = too_long(model, one[:nq], two[:nq], self.problem.h)
            if problem is not None:
                raise problem
        self._watch.compare(self._z(self.y), self._z(one), self._z(two), self.problem.h)

    def told_by(self) -> tuple[object, ...]:
        """Return the options, and numbers of a user's formula."""
        scheme = self._options.scheme
        if scheme == RK4 or not isinstance(scheme, Integrator):
            return (self._options,)
        x = np.array([1.0, 0.3])
        one, _ = scheme.step(growth, x, 0.1, scheme.start(growth, x))
        return self._options, one.tolist()

    def state(self) -> Array:
        """Return t and y."""
        return np.concatenate([[self.t], self.y])

    def restore(self, state: Array, steps: int) -> None:
        """Go on from a state."""
        self.t, self.y, self._steps = float(state[0]), state[1:], steps

    def probe(self) -> Array:
        """Return accelerations at the start, and there halfway."""
        p = self.problem
        half = p.start + 0.5 * p.steps * p.h
        found = []
        self.begin()
        for t in (p.start, half):
            try:
                found.append(self.method.acceleration(p.q, p.v, t, p.z))
            except SolveError:  # in a singular position there is none
                found.append(np.zeros(p.model.nv))
        return np.concatenate(found)
