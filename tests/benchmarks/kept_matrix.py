"""Steps with one matrix each (Lee94 (30)) beside those that form M at every stage.

``python -m tests.benchmarks kept_matrix``. Operations are those of a whole Runge-Kutta step; times
as in `null_space`; errors are those of the last position.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.integrators import KeptMatrix
from mbd_bridge.kernels.march import MOST_LANES
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.compiled import SystemStep
from mbd_bridge.simulation.steps.schemes import RK4
from mbd_bridge.simulation.steps.trusted_step import Now
from tests.benchmarks import null_space
from tests.robots import own_urdfs
from tests.vehicles.scripts import example

SCHEMES = {"a matrix a stage": RK4, "a matrix a step": KeptMatrix()}
MACHINES = (*null_space.MACHINES, "tracked vehicle", "kuka_iiwa")
SECONDS, STEP = 0.4, 1e-3


def run() -> list[dict[str, Any]]:
    """Print and return the figures."""
    print(f"{'':34}{'operations':>19}{'us a step':>18}{'in a lane':>19}  matrices  error, rad")
    return [row for name in MACHINES for row in figures(name)]


def system_of(name: str) -> tuple[mbd.System, np.ndarray, np.ndarray]:
    """Return a system and a state of it in motion."""
    if name == "tracked vehicle":
        made = example("tracked_vehicle")
        vehicle = made["vehicle"]
        system = mbd.System(vehicle, forces=[*vehicle.forces, *made["loose"]])
        return system, made["q"], made["v"]
    if name == "kuka_iiwa":
        arm = mbd.load(own_urdfs()[name])
        return mbd.System(arm), np.linspace(-0.5, 0.7, 7), np.zeros(7)
    machine, q, v = null_space.machine(name)
    return mbd.System(machine), q, v


def operations(system: mbd.System, rows: tuple[int, ...]) -> list[int]:
    """Return the operations of a step by each scheme."""
    marches = [SystemStep(system, rows, scheme).march() for scheme in SCHEMES.values()]
    return [sum(march.counts.values()) for march in marches]


def figures(name: str) -> list[dict[str, Any]]:
    """Return and print those of one machine."""
    system, q, v = system_of(name)
    rows = independent_rows(system.model, q, None, v)
    times = []
    for lanes in (1, MOST_LANES):
        given = [
            null_space.steps(system, rows, one, Now(0.0, q, v), lanes) for one in SCHEMES.values()
        ]
        best = null_space.best([take for take, _ in given])
        times.append([t / null_space.STEPS / n for t, (_, n) in zip(best, given, strict=True)])
    exact = system.simulate(SECONDS, q=q, v=v, step=STEP / 8, every=10**6).q[-1]
    results: list[dict[str, Any]] = []
    for (title, scheme), count, one, lane in zip(
        SCHEMES.items(), operations(system, rows), *times, strict=True
    ):
        done = system.simulate(SECONDS, q=q, v=v, step=STEP, every=10**6, integrator=scheme)
        matrices = done.facts.get("factorisations", 4 * done.steps) / done.steps
        row = {"machine": name, "scheme": title, "operations": count, "step": one, "lane": lane}
        row |= {"matrices": matrices, "error": float(np.abs(done.q[-1] - exact).max())}
        results.append(row)
        first = results[0]
        print(
            f"{name:16}{title:18}{count:10}{count / first['operations']:8.2f}x"
            f"{1e6 * one:9.2f}{one / first['step']:8.2f}x{1e6 * lane:10.3f}"
            f"{lane / first['lane']:8.2f}x{matrices:10.2f}{row['error']:12.1e}",
            flush=True,
        )
    return results
