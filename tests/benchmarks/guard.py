"""What it costs that runs check themselves: a step that tells its work and its risks, or neither.

The step without the guard is the same one, of whose outputs work and risks are not asked for, so
that their operations vanish; that of a near singular position stays, which a step needs to stop.
Whole runs: with the looks back at energy, closure and the step's length, or with none.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.engines.crosscheck.bench import in_turns
from mbd_bridge.kernels.march import MOST_LANES, March, compile_march
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.guards.step_length import StepCheck
from mbd_bridge.simulation.run import single
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.runge_kutta import runge_kutta_step
from tests.machines import four_bar, n_four_bar
from tests.robots import own_urdfs

H = 1e-3
OPERATIONS = 4e6
"""Of a turn: enough for the clock."""


def damped(t: Any, q: Array, v: Array, z: Array | None = None) -> Array:
    """Return forces that do work."""
    return -0.1 * v


def unguarded(step: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    """Return a step of which neither work nor risks but the first are asked for."""

    def bare(q: Array, v: Array, t: Array, h: Array) -> tuple[Array, ...]:
        q_end, v_end, end, a, risks, _ = step(q, v, t, h)
        clock, risk = zeros(2, q, v), zeros(1, q, v)
        clock[0], risk[0] = end[0], risks[0]
        return q_end, v_end, clock, a, risk

    return bare


def marches(machine: mbd.Mechanism, q: Array, lanes: int) -> tuple[March, March]:
    """Return steps with the guard and without."""
    model = machine.model
    step = runge_kutta_step(model, independent_rows(model, q), damped)
    sizes = {"q": model.nq, "v": model.nv, "t": 2, "h": 1}
    with_it, without = (
        compile_march(one, sizes, 3, lanes=lanes, name="guard") for one in (step, unguarded(step))
    )
    return with_it, without


def steps(machine: mbd.Mechanism, q: Array, v: Array, lanes: int) -> tuple[float, float]:
    """Return how many times the operations and the time of a step the guard makes."""
    both = marches(machine, q, lanes)
    counts = [sum(march.counts.values()) for march in both]
    number = max(50, int(OPERATIONS / counts[0]))
    works: list[Callable[[], object]] = []
    for march in both:
        stage = march.start(q, v, np.zeros(2), np.array([H]))
        works.append(partial(march.advance, stage, number, number))
    best = in_turns(works, time.process_time)
    return counts[0] / counts[1], best[0] / best[1]


def unchecked(work: Callable[[], object]) -> None:
    """Run without any look back."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(single, "first_open", lambda *_: None))
        stack.enter_context(patch.object(single, "unbalanced", lambda *_, **__: (0.0, None)))
        stack.enter_context(patch.object(StepCheck, "checked", lambda _, found: found))
        work()


def machines() -> dict[str, tuple[mbd.Mechanism, Array, Array]]:
    """Return machines, closed and on their way."""
    bar, row = four_bar(1, 2, 2.5, 2.5), n_four_bar(10)
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    at = bar.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 2.0})
    side = row.assemble(velocity={"crank0": 1.0}, fixed="crank0")
    return {
        "four-bar": (bar, at.q, at.v),
        "row of ten four-bars": (row, side.q, side.v),
        "iiwa": (arm, np.full(7, 0.3), np.full(7, 0.2)),
    }


def run() -> list[dict[str, Any]]:
    """Print by how much the guard lengthens a step and a run."""
    found: list[dict[str, Any]] = []
    for name, (machine, q, v) in machines().items():
        for lanes in (1, MOST_LANES):
            operations, seconds = steps(machine, q, v, lanes)
            what = f"{name}, a step" + (" in the lanes" if lanes != 1 else "")
            found.append({"what": what, "operations": operations, "time": seconds})
        whole = partial(
            mbd.simulation.simulate, machine, 10.0, step=H, q=q, v=v
        )  # nothing to trace
        best = in_turns([whole, partial(unchecked, whole)], time.process_time)
        found.append({"what": f"{name}, 10 s from Python", "time": best[0] / best[1]})
    for row in found:
        more = f"{100 * (row['operations'] - 1):5.1f} % of operations, " if len(row) == 3 else ""
        print(f"{row['what']:<42} {more:>24}{100 * (row['time'] - 1):5.1f} % of time")
    return found
