"""Cho09 Table 5: steps of the 6x6 with tyres, by integrator, alone and in vector lanes."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.kernels import machine
from mbd_bridge.kernels.march import March, compile_march
from mbd_bridge.simulation.steps.compiled import Start, SystemStep
from mbd_bridge.simulation.steps.schemes import RK4
from mbd_bridge.simulation.steps.trusted_step import Now
from mbd_bridge.simulation.trajectory import Trajectory
from tests.vehicles.scripts import example

DURATION = 5.5
"""s, of the paper's run."""

SCHEMES = {
    "RK4": RK4,
    "explicit Newmark": mbd.integrators.ExplicitNewmark(),
    "implicit Newmark": mbd.integrators.Newmark(converged=0.01),
    "with fresh J": mbd.integrators.Newmark(converged=0.01, jacobian="fresh"),
}
"""The implicit ones as in the paper: two iterations, whatever is left at the edges of bumps; with
the Jacobian of an earlier step where that is good enough, or with that of the first iteration."""

PAPER = {
    "RK4": (3.6525, 1.8929),
    "explicit Newmark": (1.0502, 0.6207),
    "implicit Newmark": (1.9698, 1.3297),
    "with fresh J": (1.9698, 1.3297),
}
"""s, for steps of 10 and of 20 ms: MATLAB, Athlon 64 X2 3800+."""

STEPS, H, TURNS = 200, 1e-3, 30
"""Steps on the level road before the bumps."""

SOFT = (1.0, 1.0)
"""Slip stiffness of whole rides: the explicit methods come through the bumps with it at 10 ms."""


def run() -> dict[str, dict[str, float]]:
    """Print and return the time of a step and the paper's rows."""
    made = example("six_wheeler")
    system, q, v = made["system"], made["q"], made["v"]
    soft = [replace(tyre, slip_stiffness=SOFT) for tyre in made["tyres"]]
    over_bumps = mbd.System(made["vehicle"], forces=[*made["vehicle"].forces, *soft])
    lanes, results = machine.host().lanes, {}
    print(f"  one core, the code of the steps alone, and {lanes} vehicles in lanes")
    print(f"  {'':<18}operations  us a step  in lanes   whole rides at 10 and 20 ms; the paper's")
    for name, scheme in SCHEMES.items():
        row = {}
        for count in (1, lanes):
            march, state = marched(system, scheme, q, v, count)
            row[f"{count} lanes"] = timed(march, state) / count
        row["operations"] = float(sum(march.counts.values()))
        said = []
        for h, paper in zip((0.01, 0.02), PAPER[name], strict=True):
            for count in (1, lanes):
                march, state = marched(over_bumps, scheme, q, v, count)
                ride = timed(march, (*state[:3], np.array([h])), round(DURATION / h))
                row[f"{count} lanes, ride at {1e3 * h:g} ms"] = ride * round(DURATION / h) / count
            alone, many = (row[f"{count} lanes, ride at {1e3 * h:g} ms"] for count in (1, lanes))
            said.append(
                f"does not come through; {paper:.4f} s"
                if np.isnan(alone)
                else f"{1e3 * alone:.2f} ms, {DURATION / alone:.0f} times real time, in lanes "
                f"{DURATION / many:.0f}; {paper:.4f} s"
            )
        results[name] = row
        alone, many = row["1 lanes"], row[f"{lanes} lanes"]
        print(
            f"  {name:<18}{row['operations']:>10.0f}{1e6 * alone:>11.2f}{1e6 * many:>10.2f}   "
            + "\n".ljust(54).join(said)
        )
    return results


def marched(
    system: Any, scheme: Any, q: Any, v: Any, lanes: int
) -> tuple[March, tuple[np.ndarray, ...]]:
    """Return the machine code of steps, and the state that they begin with."""
    made = SystemStep(system, (), scheme)
    step, sizes = made.traceable()
    begun = Start(Trajectory(system), made).begun(Now(0.0, q, v, np.zeros(0)))
    t = np.concatenate([np.zeros(2), begun.carried])
    march = compile_march(step, sizes, 3, lanes=lanes, name="benchmark", cache=None)
    return march, (q, v, t, np.array([H]))


def timed(march: March, state: tuple[np.ndarray, ...], steps: int = STEPS) -> float:
    """Return the processor's seconds of a step, of all lanes; nan if they do not come through."""
    stage, least = march.start(*state), np.inf
    places = np.zeros((len(march.shapes), march.lanes), np.int64)  # no records
    for _ in range(TURNS):
        march.put(stage, *state)
        start = time.process_time()
        if march.advance_into(stage, steps, 1, places) < steps:
            return np.nan  # it has run away
        least = min(least, time.process_time() - start)
    return least / steps
