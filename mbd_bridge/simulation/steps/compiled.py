"""The machine code of a step of a system, one step of it, and the way past singular positions."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.kernels.graph.routine import shared
from mbd_bridge.kernels.graph.symbol import TracingError
from mbd_bridge.kernels.graph.trace import Traceable
from mbd_bridge.kernels.run.march import March, OneStep, compile_march
from mbd_bridge.model import digest
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.acting import Acting, instant_in_step
from mbd_bridge.simulation.results.energy import energy_kernel
from mbd_bridge.simulation.rows import independent_rows
from mbd_bridge.simulation.run.problem import Problem
from mbd_bridge.simulation.singular.passage import Passage
from mbd_bridge.simulation.singular.trust import Now, Step, StepResult, taken
from mbd_bridge.simulation.steps.reference import ReferenceStep
from mbd_bridge.simulation.steps.runge_kutta import (
    OF_A_SLOPE,
    corrections,
    runge_kutta_step,
    slopes,
    staged_step,
)
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.closed import Closed
from mbd_bridge.solve.tolerances import STEP_RISK

NONE = np.zeros(0)


class Numbers(NamedTuple):
    """Parameters of a mechanism and what is given from outside at one time of a step."""

    p: Array
    held: Array
    instant: Array

    def acting(self, system: System) -> Acting:
        """Return what acts at that time."""
        own = system.forces_with(self.p)
        return Acting.at(system, system.model_with(self.p), self.held, self.instant, own)


def traceable_step(system: System, rows: tuple[int, ...]) -> tuple[Traceable, dict[str, int]]:
    """Return one Runge-Kutta step with projection, of floats or symbols, and its inputs' sizes.

    step(q, v, t, h, ...) -> q, v, t, a, risks, what the system's outputs tell, risk. t holds the
    time, the work that has been done, and states of force elements (`carried`); the further inputs
    are those of `System.more`.
    """
    more, asked = list(system.more), system.outputs

    def slope_at(
        numbers: Numbers, q: Array, v: Array, t: Any, z: Array
    ) -> tuple[Array, Closed, Any, Array]:
        acting = numbers.acting(system)
        return slopes(acting.model, rows, *acting.stage())(q, v, t, z)

    def correct_at(
        numbers: Numbers, q: Array, v: Array, t: Any, near: Closed
    ) -> tuple[Array, Array, Any, Any]:
        acting = numbers.acting(system)
        return corrections(acting.model, rows, acting.stage().motions)(q, v, t, near)

    def step(q: Array, v: Array, t: Array, h: Array, *rest: Array) -> tuple[Array, ...]:
        own = dict(zip(more, rest, strict=True))
        p, held, stream = (own.get(name, NONE) for name in ("p", "held", "stream"))
        at = [Numbers(p, held, instant_in_step(system, stream, k)) for k in range(3)]
        first, slope = at[0].acting(system), shared(slope_at)
        start, middle, end = (partial(slope, numbers) for numbers in at)
        correct = partial(shared(correct_at, OF_A_SLOPE), at[2])
        report = None if asked is None else partial(asked.values, first, rows)
        return staged_step(first.model, (start, middle, end), correct, report)(q, v, t, h)

    return step, system.fed_back | {"h": 1} | system.more


def compiled_step(system: System, rows: tuple[int, ...], lanes: int = 1) -> March:
    """Return the machine code of one Runge-Kutta step with projection."""
    step, inputs = traceable_step(system, rows)
    identity = system.step_identity
    if identity is not None:
        identity = f"{digest(system.model)} rk4 {lanes} {rows} {identity}"
    streamed = "stream" in inputs
    return compile_march(
        step,
        inputs,
        len(system.fed_back),
        name="rk4",
        identity=identity,
        lanes=lanes,
        streamed=streamed,
    )


def prepared_step(system: System, rows: tuple[int, ...], lanes: int = 1) -> March:
    """Return such machine code, kept with the mechanism where it has an address without tracing."""
    if system.step_identity is None:
        return compiled_step(system, rows, lanes)
    key = f"rk4 {lanes} {rows} {system.step_identity}"
    return system.prepared.get(key, lambda: compiled_step(system, rows, lanes))


def passage_of(
    problem: Problem,
    rows: tuple[int, ...] | None = None,
    march: March | None = None,
    most_strayed: float = STEP_RISK,
) -> Passage:
    """Return the way past singular positions in compiled steps; rows may be known already."""
    model, trajectory = problem.model, problem.trajectory
    if rows is None:
        rows = independent_rows(model, problem.q, problem.motions, problem.v, problem.loops)
    step: Step
    traced = True
    try:
        step = one_step(
            trajectory, prepared_step(trajectory.system, rows) if march is None else march
        )
    except TracingError:  # the same step, state by state
        plain, traced = runge_kutta_step(model, rows, *trajectory.stage), False

        def step(now: Now, h: float) -> StepResult:
            return taken(plain(now.q, now.v, now.fed_back, np.array([h])))

    kernel = energy_kernel(model)

    def energy(q: Array, v: Array) -> float:
        return float(kernel(q, v)[0][0])

    slow = partial(ReferenceStep, model, trajectory.stage, rows)
    return Passage(model, step, problem.h, slow, energy, traced, most_strayed, trajectory.rates)


def one_step(trajectory: Trajectory, march: March) -> Step:
    """Return the step of a march for one trajectory, of any length from any state."""
    once = OneStep(march)

    def step(now: Now, h: float) -> StepResult:
        t, q, v, _ = now
        given = [q, v, now.fed_back, np.array([h]), *trajectory.more(t, q, v)]
        return taken(once(*given, stream=trajectory.stream(np.array([t, t + h]), h)))

    return step
