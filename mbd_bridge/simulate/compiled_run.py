"""A run in compiled steps: the march as it goes, its detours, its checkpoints.

The compiled step stops by itself where its pivots tell that rows become dependent. Such a step is
taken in unequal parts, which carries it over an isolated singular position; if that does not help,
by the readable road with singular values, whose rank may change from step to step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from mbd_bridge.errors import SolveError
from mbd_bridge.kernels.graph.symbol import TracingError
from mbd_bridge.kernels.run.march import March, OneStep, compile_march
from mbd_bridge.lazy import cached_property
from mbd_bridge.mechanism import digest
from mbd_bridge.simulate.checkpoint import Checkpoint, Kept
from mbd_bridge.simulate.energy import energy_kernel
from mbd_bridge.simulate.identity import identity_of
from mbd_bridge.simulate.knotted_step import step_in_parts
from mbd_bridge.simulate.pace import Pace
from mbd_bridge.simulate.passage import Passage
from mbd_bridge.simulate.problem import Problem, Records
from mbd_bridge.simulate.reference_step import ReferenceStep
from mbd_bridge.simulate.rows import independent_rows
from mbd_bridge.simulate.step import runge_kutta_step
from mbd_bridge.simulate.trust import TRUSTED, Now, Taken, taken
from mbd_bridge.simulate.watch import too_long
from mbd_bridge.spatial import Array

LOOKS = 8
"""Records at which a step is compared with two of half its length."""


def run_compiled(
    problem: Problem,
    progress: Callable[[int], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Records:
    """Return the motion in compiled steps."""
    rows = independent_rows(problem.model, problem.q, problem.motions, problem.v, problem.loops)
    march = compiled_step(problem, rows)
    run = _Run(problem, march, rows)
    if checkpoint is not None:
        run.resume(checkpoint)
    status = "finished"
    pace = Pace(problem.every)
    while run.done < problem.steps:
        before = run.done
        wanted = min(pace.steps(before), problem.steps - before)
        if checkpoint is not None:
            wanted = min(wanted, checkpoint.left(before, problem.every))
        try:
            run.some(wanted)
        except (SolveError, np.linalg.LinAlgError) as met:
            status = f"stopped at t = {run.now()[0]:.6g} s: {met}"
            break
        pace.took(run.done - before)
        if checkpoint is not None and checkpoint.is_due(run.done, problem.steps, problem.every):
            checkpoint.write(run.kept())
        if progress is not None:
            progress(run.done - before)
    run.record_end()
    at, q, v = run.recorded()
    facts = {"rows": rows, "operations": sum(march.counts.values()), "detours": run.detours}
    found = Records(at[:, 0], q, v, run.done, status, facts, work=at[:, 1])
    return found if status != "finished" else run.judged(found)


def compiled_step(problem: Problem, rows: tuple[int, ...]) -> March:
    """Return the machine code of one Runge-Kutta step with projection."""
    model, forces, motions = problem.model, problem.forces, problem.motions
    inputs = {"q": model.nq, "v": model.nv, "t": 2, "h": 1}
    # forces and motions are constants and formulas in the code: its graph is its address
    plain = forces is None and motions is None
    identity = f"{digest(model)} rk4 {rows}" if plain else None
    step = runge_kutta_step(model, rows, forces, motions)
    return compile_march(step, inputs, 3, name="rk4", identity=identity)


def passage_of(
    problem: Problem, rows: tuple[int, ...] | None = None, march: March | None = None
) -> Passage:
    """Return the way past singular positions in compiled steps; rows may be known already."""
    model = problem.model
    if rows is None:
        rows = independent_rows(model, problem.q, problem.motions, problem.v, problem.loops)
    once: Callable[..., Sequence[Array]]
    traced = True
    try:
        once = OneStep(compiled_step(problem, rows) if march is None else march)
    except TracingError:  # the same step, state by state
        once, traced = runge_kutta_step(model, rows, problem.forces, problem.motions), False
    kernel = energy_kernel(model)

    def step(q: Array, v: Array, t: float, h: float) -> Taken:
        return taken(once(q, v, np.array([t, 0.0]), np.array([h])))

    def energy(q: Array, v: Array) -> float:
        return float(kernel(q, v)[0][0])

    slow = partial(ReferenceStep, model, problem.forces, problem.motions, rows)
    return Passage(model, step, problem.h, slow, energy, traced)


class _Run:
    """The march as it goes, and its detours."""

    def __init__(self, problem: Problem, march: March, rows: tuple[int, ...]) -> None:
        self.problem, self.march, self.h, self._rows = problem, march, problem.h, rows
        start = np.array([problem.start, 0.0])
        self.stage = march.start(problem.q, problem.v, start, np.array([self.h]))
        self.done = self.detours = 0
        self._records = [(start[None], problem.q[None], problem.v[None])]

    @cached_property
    def _passage(self) -> Passage:
        return passage_of(self.problem, self._rows, self.march)

    def now(self) -> tuple[float, Array, Array]:
        """Return time, q and v."""
        q, v, t = self.march.state_of(self.stage)
        return float(t[0]), q, v

    def some(self, wanted: int) -> None:
        """Take steps; where one is not trusted, as many as lead past that place."""
        every = self.problem.every
        t = self.now()[0]
        wanted, inside = min(wanted, self.problem.knots.steps_before(t, self.h)), []
        if not wanted:
            wanted, inside = 1, self.problem.knots.within(t, t + self.h)
        if inside:
            self._over(t, inside)
            return
        beyond = self.done % every
        if beyond:  # records go on in step with the march again
            wanted = min(wanted, every - beyond)
        taken, (qs, vs, ts, *_) = self.march.advance(self.stage, wanted, every, TRUSTED)
        self._records.append((ts, qs, vs))
        self.done += taken
        if beyond and taken and self.done % every == 0:
            self._record()
        if taken < wanted:
            self._pass()

    def _over(self, t: float, knots: list[float]) -> None:
        """Take a step in parts that end where forces jump or bend."""
        if not step_in_parts(self.march, self.stage, t, knots, self.h).all():
            self._pass()
            return
        self.done += 1
        if self.done % self.problem.every == 0:
            self._record()

    def _pass(self) -> None:
        """Go on past a singular position; energy that is kept there is checked by the passage."""
        problem, energy = self.problem, self._passage.energy
        t, q, v = self.now()
        work = float(self.march.state_of(self.stage)[2][1]) - energy(q, v)
        left, begins = problem.steps - self.done, self.done == 0
        for place in self._passage.over(Now(t, q, v), left, begins):
            at = np.array([place.t, work + energy(place.q, place.v)])
            self.march.put(self.stage, place.q, place.v, at, np.array([self.h]))
            self.detours += 1
            self.done += 1
            if self.done % problem.every == 0:
                self._record()

    def _record(self) -> None:
        q, v, t = self.march.state_of(self.stage)
        self._records.append((t[None], q[None], v[None]))

    def record_end(self) -> None:
        """Record the last state if it is not yet."""
        if self.recorded()[0][-1, 0] < self.now()[0]:
            self._record()

    def recorded(self) -> tuple[Array, Array, Array]:
        """Return times and works (K, 2), q and v of all records."""
        times, q, v = (np.concatenate(column) for column in zip(*self._records, strict=True))
        self._records = [(times, q, v)]
        return times, q, v

    def judged(self, found: Records) -> Records:
        """Return the motion up to where its steps are too long, if they are."""
        model = self.problem.model
        looks = np.linspace(0, len(found.time) - 2, min(LOOKS, len(found.time) - 1)).astype(int)
        for k in np.unique(looks):
            whole, halves = (self._step(found, int(k), parts) for parts in (1, 2))
            if whole is None or halves is None:
                continue  # near a singular position, where steps are taken with more care
            problem = too_long(model, whole, halves, self.h)
            if problem is not None:
                return found.until(int(k), problem, self.problem)
        return found

    def _step(self, found: Records, k: int, parts: int) -> Array | None:
        """Return the position a step after a record, made of so many parts."""
        now = np.array([found.time[k], 0.0])
        at = found.q[k], found.v[k], now, np.array([self.h / parts])
        stage = self.march.start(*at)
        taken, _ = self.march.advance(stage, parts, 1, TRUSTED)
        return self.march.state_of(stage)[0] if taken == parts else None

    def kept(self) -> Kept:
        """Return what a checkpoint keeps: counts, the state, and the records."""
        q, v, t = self.march.state_of(self.stage)
        state = np.concatenate([t, q, v])
        return Kept(self.done, self.done, self.detours, state, *self.recorded())

    def resume(self, checkpoint: Checkpoint) -> None:
        """Go on from where a checkpoint was written, if there is one."""
        found = checkpoint.read(identity_of(self.problem, "projection", "rk4"), self._probe())
        if found is None:
            return
        self.done, self.detours, state = found.done, found.detours, found.state
        nq = self.problem.model.nq
        self.march.put(
            self.stage, state[2 : nq + 2], state[nq + 2 :], state[:2], np.array([self.h])
        )
        self._records = [(found.time, found.q, found.v)]

    def _probe(self) -> Array:
        """Return numbers that tell whether machine code rounds as it did.

        Two single steps from the start, one of them at a time halfway.
        """
        p = self.problem
        half = p.start + 0.5 * p.steps * p.h
        found = [np.array([p.start, p.h, p.steps, p.every], dtype=np.float64), p.q, p.v]
        for t in (p.start, half):
            stage = self.march.start(p.q, p.v, np.array([t, 0.0]), np.array([p.h]))
            self.march.advance(stage, 1, 1)
            found += self.march.state_of(stage)
        return np.concatenate(found)
