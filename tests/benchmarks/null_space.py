"""Steps in the null space of the loops beside those by multipliers: operations, time, digits.

``python -m tests.benchmarks null_space``. Times are of the machine code, the best of several turns
taken one after the other; those in Python are of a few steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.kernels import trace
from mbd_bridge.kernels.march import MOST_LANES
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.compiled import Start, SystemStep
from mbd_bridge.simulation.steps.null_space import NullSpaceMemory
from mbd_bridge.simulation.steps.schemes import METHODS, RK4, NullSpace, Scheme, with_method
from mbd_bridge.simulation.steps.trusted_step import Now
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.closed import by_multipliers, closed_acceleration
from tests import car
from tests.robots import OWN
from tests.simulate.starts import STARTS

MACHINES = ("crank_rocker", "bricard", "rssr", "ralf", "stewart", "car")
STEP, SECONDS, TURNS, STEPS, IN_PYTHON = 2.5e-4, 0.5, 9, 1000, 40
HEAD = ("operations a stage", "us a step", "in a lane", "Python, us", "decomposed", "q apart, rad")


def run() -> list[dict[str, Any]]:
    """Print and return the figures."""
    print(f"{'':25}" + "".join(f"{one:>20}" for one in HEAD[:3]), *HEAD[3:], sep="  ")
    return [row for name in MACHINES for row in figures(name)]


def machine(name: str) -> tuple[mbd.Mechanism, np.ndarray, np.ndarray]:
    """Return a machine and a state of it in motion."""
    if name == "car":
        found = car.car()
        return found, *car.start(found)
    found = mbd.load(OWN / f"{name}.urdf")
    at = found.assemble(**STARTS[name])
    return found, at.q, at.v


def stage(system: mbd.System, rows: tuple[int, ...], method: str) -> int:
    """Return the operations of the acceleration in one stage of a step."""
    model, size = system.model, 0
    keep = None
    if method != "multipliers":
        keep = NullSpaceMemory(system, rows, NullSpace(method))
        size = keep.size

    def function(q: Any, v: Any, memory: Any) -> tuple[Any, ...]:
        by = by_multipliers if keep is None else keep.solver(memory)
        return (closed_acceleration(model, rows, q, v, np.zeros(model.nv), by=by).a,)

    return sum(trace(function, {"q": model.nq, "v": model.nv, "memory": size}).counts().values())


def steps(system: mbd.System, rows: tuple[int, ...], scheme: Scheme, state: Now, lanes: int) -> Any:
    """Return what takes steps from a state, in lanes, and how many lanes there are."""
    code = SystemStep(system, rows, scheme)
    march, trajectory = code.march(lanes), Trajectory(system)
    begun = Start(trajectory, code).begun(state)
    more = trajectory.more(state.t, state.q, state.v)
    stage = march.start(state.q, state.v, begun.fed_back, np.array([STEP]), *more)
    first = stage.copy()

    def take() -> None:
        stage[:] = first
        march.advance(stage, STEPS, STEPS)

    return take, march.lanes


def best(works: list[Callable[[], None]]) -> list[float]:
    """Return the least time of each, s, in turns."""
    least = [np.inf] * len(works)
    for _ in range(TURNS):
        for k, work in enumerate(works):
            start = time.process_time()
            work()
            least[k] = min(least[k], time.process_time() - start)
    return least


def figures(name: str) -> list[dict[str, Any]]:
    """Return and print those of one machine."""
    found, q, v = machine(name)
    system, state = mbd.System(found), Now(0.0, q, v)
    rows = independent_rows(found.model, q, None, v)
    given = {"step": STEP, "q": q, "v": v}
    results: list[dict[str, Any]] = []
    times = []
    schemes = [with_method(RK4, method) for method in METHODS]
    for lanes in (1, MOST_LANES):
        works, numbers = zip(
            *(steps(system, rows, one, state, lanes) for one in schemes), strict=True
        )
        whole = best(list(works))
        times.append([one / STEPS / number for one, number in zip(whole, numbers, strict=True)])
    exact = found.simulate(SECONDS, **given)
    for method, single, lane in zip(METHODS, *times, strict=True):
        run = found.simulate(SECONDS, method=method, **given)
        start = time.process_time()
        found.simulate(IN_PYTHON * STEP, method=method, reference=True, **given)
        row: dict[str, Any] = {"machine": name, "method": method}
        row |= {"operations": stage(system, rows, method), "step": single, "lane": lane}
        row |= {"python": (time.process_time() - start) / IN_PYTHON}
        row |= {"decompositions": run.facts.get("decompositions", 0)}
        row |= {"apart": float(np.abs(run.q - exact.q).max())}
        results.append(row)
        first = results[0]
        print(
            f"{name:13}{method:12}{row['operations']:12}"
            f"{row['operations'] / first['operations']:7.2f}x"
            f"{1e6 * single:12.2f}{single / first['step']:7.2f}x"
            f"{1e6 * lane:12.3f}{lane / first['lane']:7.2f}x"
            f"{1e6 * row['python']:12.0f}{row['decompositions']:12d}{row['apart']:14.1e}",
            flush=True,
        )
    return results
