"""Implicit steps beside the Runge-Kutta step: operations, time in one lane and in vector lanes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.kernels.march import MOST_LANES, March
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.compiled import Start, SystemStep
from mbd_bridge.simulation.steps.schemes import RK4
from mbd_bridge.simulation.steps.trusted_step import Now
from mbd_bridge.simulation.trajectory import Trajectory
from tests.robots import own_urdfs

STEPS, TURNS = 2_000, 7
"""Steps of a measurement; measurements, of which the fastest counts."""

SCHEMES: dict[str, Any] = {
    "rk4": RK4,
    "explicit_newmark": mbd.integrators.ExplicitNewmark(),
    "newmark": mbd.integrators.Newmark(jacobian="fresh"),
    "newmark, 1 iteration": mbd.integrators.Newmark(iterations=1, jacobian="fresh"),
    "hht": mbd.integrators.HHT(jacobian="fresh"),
    "generalised_alpha": mbd.integrators.GeneralisedAlpha(jacobian="fresh"),
}


def systems() -> dict[str, tuple[mbd.System, np.ndarray]]:
    """Return machines and where they start, at rest."""
    bar = mbd.load(own_urdfs()["four_bar"])
    stewart = mbd.load(own_urdfs()["stewart"])
    iiwa = mbd.load(own_urdfs()["kuka_iiwa"])
    wheeler = mbd.load(own_urdfs()["six_wheeler"], floating=True)
    names = [name for name in wheeler.model.velocity_names if not name.startswith("root_joint")]
    springs = [mbd.forces.JointSpring(name, 5e4, 2e3) for name in names]
    return {
        "four_bar": (mbd.System(bar), bar.assemble().q),
        "stewart": (mbd.System(stewart), stewart.assemble().q),
        "kuka_iiwa": (mbd.System(iiwa), np.linspace(-0.5, 0.7, 7)),
        "six_wheeler, sprung": (mbd.System(wheeler, forces=springs), wheeler.model.neutral()),
    }


def run() -> dict[str, Any]:
    """Print a table."""
    found: dict[str, Any] = {}
    print(f"  {'machine':20} {'integrator':22} {'operations':>10} {'us':>8} {'us in lanes':>12}")
    for machine, (system, q) in systems().items():
        found[machine] = {}
        for name, scheme in SCHEMES.items():
            row = _measured(system, q, scheme)
            found[machine][name] = row
            print(f"  {machine:20} {name:22} {row[0]:10} {row[1]:8.3f} {row[2]:12.3f}")
    return found


def _measured(system: mbd.System, q: np.ndarray, scheme: Any) -> tuple[int, float, float]:
    """Return operations, and us of a step alone and in lanes."""
    trajectory, v = Trajectory(system), np.zeros(system.model.nv)
    rows = independent_rows(system.model, q)
    now, marches = Now(0.0, q, v), []
    for lanes in (1, MOST_LANES):
        marches.append(SystemStep(system, rows, scheme).march(lanes))
    now = Start(trajectory, SystemStep(system, rows, scheme)).begun(now)
    given = [q, v, now.fed_back, np.array([1e-4]), *trajectory.more(0.0, q, v)]
    alone, together = (_microseconds(march, given) for march in marches)
    return sum(marches[0].counts.values()), alone, together


def _microseconds(march: March, given: list[np.ndarray]) -> float:
    stage, best = march.start(), np.inf
    for _ in range(TURNS):
        march.put(stage, *given)
        begin = time.perf_counter()
        taken, _ = march.advance(stage, STEPS, STEPS + 1)
        best = min(best, time.perf_counter() - begin)
        assert taken == STEPS
    return 1e6 * best / (STEPS * march.lanes)
