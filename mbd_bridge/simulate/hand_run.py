"""A run that is driven from Python, state by state: any method with any of our integrators.

It costs some hundred microseconds a step, where the compiled step costs one or less; it is there to
compare methods, and for variable steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.errors import SolveError
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.compiled_method import CompiledMethod
from mbd_bridge.simulate.integrators import INTEGRATORS
from mbd_bridge.simulate.method import Method
from mbd_bridge.simulate.motions import PrescribedMotions
from mbd_bridge.simulate.multiplier_method import MultiplierMethod
from mbd_bridge.simulate.reduced_method import ReducedMethod
from mbd_bridge.simulate.step import Torque, coordinate_rates, normalised
from mbd_bridge.simulate.system import System
from mbd_bridge.solve.bases import BASES
from mbd_bridge.spatial import Array

METHODS = ("projection", *BASES, "multipliers")
"""Names of the methods."""


class Problem(NamedTuple):
    """What is to be simulated: so many steps of h seconds, every `every`-th recorded."""

    model: Model
    forces: Torque | None
    motions: PrescribedMotions | None
    q: Array
    v: Array
    start: float
    h: float
    steps: int
    every: int


class Records(NamedTuple):
    """Times (K,), coordinates (K, nq) and velocities (K, nv), and what is to be told of them."""

    time: Array
    q: Array
    v: Array
    steps: int
    status: str
    facts: dict[str, Any]


def make_method(problem: Problem, name: str) -> Method:
    """Return one of the methods by its name."""
    model, forces, motions = problem.model, problem.forces, problem.motions
    if name == "projection":
        return CompiledMethod(model, forces, motions)
    system = System(model, forces, motions)
    return MultiplierMethod(system) if name == "multipliers" else ReducedMethod(system, BASES[name])


def run_by_hand(
    problem: Problem,
    method: Method,
    integrator: str,
    tolerance: float,
    progress: Callable[[int], None] | None,
) -> Records:
    """Return the motion by a method and one of `INTEGRATORS`."""
    model, h, every = problem.model, problem.h, problem.every
    nq, plain = model.nq, model.nq == model.nv

    def rate(t: float, y: Array) -> Array:
        q, v = y[:nq], y[nq:]
        dq = v if plain else coordinate_rates(model, q, v)
        return np.concatenate([dq, method.acceleration(q, v, t)])

    def settle(t: float, y: Array) -> Array:
        if not np.all(np.isfinite(y)):
            raise SolveError("the motion runs away: numbers overflow. Take shorter steps")
        q = y[:nq] if plain else normalised(model, y[:nq])
        return np.concatenate(method.settle(q, y[nq:], t))

    way = INTEGRATORS[integrator](rate, settle, tolerance)
    y, t, status, done = np.concatenate([problem.q, problem.v]), problem.start, "finished", 0
    times, states = [t], [y]
    # variable steps end at the records, fixed ones at every step
    stride = every if integrator == "abm" else 1
    try:
        method.init(problem.q, problem.v, t)
        while done < problem.steps:
            taken = min(stride, problem.steps - done)
            end = problem.start + (done + taken) * h
            with np.errstate(over="ignore", invalid="ignore"):
                y = way.advance(t, y, end)
            t, done = end, done + taken
            if done % every == 0 or done == problem.steps:
                times.append(t)
                states.append(y)
            if progress is not None:
                progress(taken)
    except (SolveError, np.linalg.LinAlgError) as problem_met:
        status = f"stopped at t = {t:.6g} s: {problem_met}"
        if times[-1] < t:
            times.append(t)
            states.append(y)
    whole = np.array(states)
    facts = {**method.facts(), **way.facts()}
    return Records(np.array(times), whole[:, :nq], whole[:, nq:], way.steps, status, facts)
