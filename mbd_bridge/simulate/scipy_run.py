"""A run by one of SciPy's integrators, its records put onto the constraints.

The integrator sees y' = f(t, y) with the closure pulled (`right_hand_side`); it chooses its own
steps, and its dense output gives the records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mbd_bridge.errors import SolveError, StateError
from mbd_bridge.simulate.compiled_method import CompiledMethod
from mbd_bridge.simulate.hand_run import Problem, Records
from mbd_bridge.simulate.right_hand_side import STABILISATION, RightHandSide, rate_kernel
from mbd_bridge.simulate.start import independent_rows
from mbd_bridge.simulate.step import normalised
from mbd_bridge.spatial import Array

SCIPY = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
"""Integrators of `scipy.integrate` that go by their names."""


def run_by_scipy(
    problem: Problem, name: str, tolerance: float, progress: Callable[[int], None] | None
) -> Records:
    """Return the motion by a method of `scipy.integrate.solve_ivp`."""
    import scipy.integrate as scipy  # here, so that importing the package does not load SciPy

    if name not in SCIPY:
        raise StateError(f"integrator='scipy:{name}' is not known; SciPy has {', '.join(SCIPY)}")
    model = problem.model
    rows = independent_rows(model, problem.q, problem.motions)
    kernel = rate_kernel(model, rows, problem.forces, problem.motions, STABILISATION)
    y0 = np.concatenate([problem.q, problem.v])
    rate = RightHandSide(model, y0, kernel)
    settler = CompiledMethod(model, None, problem.motions)
    settler.init(problem.q, problem.v, problem.start)

    def settled(t: float, y: Array) -> Array:
        q, v = rate.split(y)
        return np.concatenate(settler.settle(normalised(model, q), v, t))

    count = -(-problem.steps // problem.every)
    marks = np.minimum(np.arange(1, count + 1) * problem.every, problem.steps)
    grid = problem.start + marks * problem.h
    times, states, status, steps = [problem.start], [y0], "finished", 0
    way: Any = getattr(scipy, name)(
        rate, problem.start, y0, grid[-1], rtol=tolerance, atol=tolerance
    )
    try:
        while way.status == "running":
            trouble = way.step()
            steps += 1
            if way.status == "failed":
                raise SolveError(str(trouble))
            dense = way.dense_output()
            for t in grid[len(times) - 1 :]:
                if t > way.t:
                    break
                states.append(settled(float(t), dense(t)))
                times.append(float(t))
            if progress is not None:
                progress(steps)
    except (SolveError, np.linalg.LinAlgError) as met:
        status = f"stopped at t = {times[-1]:.6g} s: {met}"
    q, v = rate.split(np.array(states))
    facts = {"steps": steps, "evaluations": int(way.nfev), "rows": rows}
    return Records(np.array(times), q, v, steps, status, facts)
