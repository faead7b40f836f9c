"""Simulate a mechanism, with or without loops, in compiled steps.

Rows of the constraints that are independent are chosen where the motion starts; the compiled step
uses them, and stops by itself where its pivots tell that they become dependent. Such a step is
taken in unequal parts, which carries it over an isolated singular position; if that does not help,
by the readable road with singular values, whose rank may change from step to step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.errors import SolveError, StateError, unknown_name
from mbd_bridge.kernels.march import March, compile_march
from mbd_bridge.mechanism import Model, digest
from mbd_bridge.simulate.motions import Prescribed, PrescribedMotions, prescribe
from mbd_bridge.simulate.reference_step import ReferenceStep
from mbd_bridge.simulate.simulation import Simulation
from mbd_bridge.simulate.start import independent_rows as independent_rows
from mbd_bridge.simulate.start import start_state
from mbd_bridge.simulate.step import Torque, runge_kutta_step
from mbd_bridge.spatial import Array

RISK = 1e12
"""Sum of S_kk / pivot_k above which a step is not trusted: a millionth from a singular position."""

PARTS = (0.37, 0.63)
"""Unequal parts of a step that is too risky whole."""

MOST_STEPS = 200_000_000
"""A simulation of more steps is refused as a slip of the pen."""

Drive = Mapping[str, float] | ArrayLike | Torque | None
"""Constant forces by velocity name, a vector (nv,), a traceable function of (t, q, v), or none."""


def simulate(
    model: Model,
    duration: float,
    *,
    step: float = 1e-3,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    torque: Drive = None,
    drives: Mapping[str, Prescribed] | None = None,
    every: int = 1,
    start: float = 0.0,
    check: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Simulation:
    """Return the motion of a mechanism from a state that satisfies its loops.

    Parameters
    ----------
    duration, step : s; the last step ends at start + duration
    q, v : state at the start; if not given, zero position and rest, or what the drives prescribe
        and the nearest to it that closes the loops
    torque : generalised forces along the velocities, see `Drive`; a function is traced, and so
        made of + - * / and NumPy's sin, cos, sqrt
    drives : motions prescribed by coordinate name, whatever force they take: a number (0 locks the
        joint), a function of t made like that of the torque, or a table (times, values), through
        which a cubic spline goes. `Simulation.drives` has the forces
    every : record every so many steps (the start and the end are always recorded)
    check : raise if the motion cannot be continued; False returns what there is, with a status
    progress : is called with the number of steps taken since the last call
    """
    steps = _number_of_steps(duration, step, every)
    h = duration / steps
    motions = prescribe(model, drives, start, start + duration) if drives else None
    q0, v0 = start_state(model, q, v, motions, start)
    rows, forces = independent_rows(model, q0, motions), _torque(model, torque)
    march = _compiled(model, rows, forces, motions)
    stage = march.start(q0, v0, np.array([start]), np.array([h]))
    run = _Run(march, stage, h, ReferenceStep(model, forces, motions))
    records = [(np.array([[start]]), q0[None], v0[None])]
    status, done = "finished", 0
    block = every * max(1, 20_000 // every)
    while done < steps:
        wanted = min(block, steps - done)
        taken, (qs, vs, ts, _) = march.advance(stage, wanted, every, RISK)
        records.append((ts, qs, vs))
        done += taken
        if taken < wanted:
            # a march that stops between records starts the next one in step with them again
            behind = taken % every
            try:
                done += run.across(behind, every, steps - done, records)
            except (SolveError, np.linalg.LinAlgError) as problem:
                status = f"stopped at t = {run.time():.6g} s: {problem}"
                break
        if progress is not None:
            progress(taken)
    time, qs, vs = (np.concatenate(column) for column in zip(*records, strict=True))
    last_t, last_q, last_v = run.now()
    if time[-1, 0] < last_t:
        time = np.vstack([time, [[last_t]]])
        qs, vs = np.vstack([qs, last_q]), np.vstack([vs, last_v])
    if status != "finished" and check:
        raise SolveError(f"{status}. check=False returns the motion up to there")
    tau = _forces_along(model, forces, time[:, 0], qs, vs)
    facts = {"rows": rows, "operations": sum(march.counts.values())}
    return Simulation(model, time[:, 0], qs, vs, tau, done, h, status, run.detours, facts, motions)


class _Run:
    """The march as it goes, and its detours."""

    def __init__(self, march: March, stage: Array, h: float, slow: ReferenceStep) -> None:
        self.march, self.stage, self.h = march, stage, h
        self.detours = 0
        self._slow = slow

    def now(self) -> tuple[float, Array, Array]:
        """Return time, q and v."""
        q, v, t = self.march.state_of(self.stage)
        return float(t[0]), q, v

    def time(self) -> float:
        """Return the time, s."""
        return self.now()[0]

    def across(self, behind: int, every: int, left: int, records: list[Any]) -> int:
        """Take steps one by one until the next record; return how many."""
        for count in range(1, min(every - behind, left) + 1):
            self._one()
            if (behind + count) % every == 0:
                t, q, v = self.now()
                records.append((np.array([[t]]), q[None], v[None]))
        return count

    def _one(self) -> None:
        taken, _ = self.march.advance(self.stage, 1, 1, RISK)
        if taken:
            return
        self.detours += 1
        t, q, v = self.now()
        time = np.array([t])
        for part in PARTS:
            self.march.put(self.stage, *self.now_arrays(), np.array([part * self.h]))
            taken, _ = self.march.advance(self.stage, 1, 1, RISK)
            if not taken:
                q, v = self._slow(q, v, t, self.h)
                if not (np.all(np.isfinite(q)) and np.all(np.isfinite(v))):
                    raise SolveError("the motion runs away: numbers overflow. Take shorter steps")
                self.march.put(self.stage, q, v, time + self.h, np.array([self.h]))
                return
        self.march.put(self.stage, *self.now_arrays(), np.array([self.h]))

    def now_arrays(self) -> tuple[Array, Array, Array]:
        """Return q, v and time as the march's inputs."""
        q, v, t = self.march.state_of(self.stage)
        return q, v, t


def _compiled(
    model: Model,
    rows: tuple[int, ...],
    forces: Torque | None,
    motions: PrescribedMotions | None,
) -> March:
    inputs = {"q": model.nq, "v": model.nv, "t": 1, "h": 1}
    # forces and motions are constants and formulas in the code: its graph is its address
    plain = forces is None and motions is None
    identity = f"{digest(model)} rk4 {rows}" if plain else None
    step = runge_kutta_step(model, rows, forces, motions)
    return compile_march(step, inputs, 3, name="rk4", identity=identity)


def _number_of_steps(duration: float, step: float, every: int) -> int:
    if not (np.isfinite(duration) and duration > 0.0):
        raise StateError(f"duration: expected a positive number of seconds, got {duration!r}")
    if not (np.isfinite(step) and step > 0.0):
        raise StateError(f"step: expected a positive number of seconds, got {step!r}")
    if not isinstance(every, int) or every < 1:
        raise StateError(f"every: expected a whole number from 1, got {every!r}")
    steps = max(1, round(duration / step))
    if steps > MOST_STEPS:
        raise StateError(
            f"{steps:,} steps of {step:g} s are more than {MOST_STEPS:,}; choose a longer step, or "
            f"simulate in parts"
        )
    return steps


def _torque(model: Model, torque: Drive) -> Torque | None:
    if torque is None or callable(torque):
        return torque
    constant = np.zeros(model.nv)
    if isinstance(torque, Mapping):
        for name, value in torque.items():
            if name not in model.velocity_names:
                raise StateError(unknown_name("velocity", name, model.velocity_names))
            constant[model.velocity_names.index(name)] = value
    else:
        constant = np.array(torque, dtype=np.float64)
        if constant.shape != (model.nv,):
            raise StateError(f"torque: expected ({model.nv},), got {constant.shape}")
    return lambda t, q, v: constant


def _forces_along(model: Model, forces: Torque | None, time: Array, q: Array, v: Array) -> Array:
    if forces is None:
        return np.zeros_like(v)
    rows = [
        np.asarray(forces(t, *state), dtype=np.float64)
        for t, *state in zip(time, q, v, strict=True)
    ]
    return np.array(rows).reshape(len(time), model.nv)
