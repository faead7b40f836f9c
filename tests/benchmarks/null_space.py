"""Steps in the null space of the loops beside those by multipliers: operations, time, digits.

``python -m tests.benchmarks null_space``. Times are of the machine code, the best of several turns
taken one after the other; those in Python are of a few steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.kernels import trace
from mbd_bridge.kernels.march import MOST_LANES
from mbd_bridge.simulation.guards.energy import energy_kernel
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.compiled import Start, SystemStep
from mbd_bridge.simulation.steps.null_space import NullSpaceMemory
from mbd_bridge.simulation.steps.schemes import (
    METHODS,
    RK4,
    Newmark,
    NullSpace,
    Scheme,
    with_method,
)
from mbd_bridge.simulation.steps.trusted_step import Now
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.closed import by_multipliers, closed_acceleration
from tests import car
from tests.benchmarks.peer_exudyn import ExudynBodies, ExudynTree, quickest
from tests.benchmarks.planar import gap
from tests.machines import four_bar, turning
from tests.robots import OWN
from tests.simulate.starts import STARTS

MACHINES = ("crank_rocker", "bricard", "rssr", "ralf", "stewart", "car")
PROTOTYPE = dict(zip(MACHINES, (1.17, 1.04, 1.23, 3.0, 2.8, 4.2), strict=True))
"""Operations of a stage with dense V1 and V2, by those of the default."""

STEP, SECONDS, TURNS, STEPS, IN_PYTHON = 2.5e-4, 0.5, 9, 1000, 40
HEAD = ("operations a stage", "us a step", "in a lane", "Python, us", "decomposed", "q apart, rad")


def run() -> list[dict[str, Any]]:
    """Print and return the figures."""
    print(f"{'':25}" + "".join(f"{one:>20}" for one in HEAD[:3]), *HEAD[3:], sep="  ")
    return [*(row for name in MACHINES for row in figures(name)), *beside_exudyn()]


def beside_exudyn(seconds: float = 1.0, h: float = 1e-3) -> list[dict[str, Any]]:
    """Print and return what steps of a four-bar take and keep, by each method and in Exudyn.

    Errors of the angles, rad; the loops' largest opening where it ends, m; the energy's change,
    by the kinetic energy at the start.
    """
    bar, at = turning(four_bar(1, 2, 1.7, 2.5), 4.0)
    start, count = {"q": at.q, "v": at.v}, round(seconds / h)
    system, model = mbd.System(bar), bar.model
    rows = independent_rows(model, at.q, None, at.v)
    exact = bar.simulate(seconds, step=h / 10, every=10 * count, **start).q[-1]
    energy = energy_kernel(model)
    moving = float(energy(at.q, at.v)[0][0] - energy(at.q, 0.0 * at.v)[0][0])
    ends: dict[str, Any] = {}
    works = []
    for method in METHODS:
        works.append(steps(system, rows, with_method(RK4, method), Now(0.0, at.q, at.v), 1)[0])
        run = bar.simulate(seconds, step=h, every=count, method=method, **start)
        ends[method] = run.q[-1], run.v[-1], gap(model, run.q[-1])
    times = [one / STEPS for one in best(works)]
    if find_spec("exudyn"):
        for kind in (ExudynBodies, ExudynTree):
            peer = quickest(kind, model, at.q, at.v, h)
            times.append(min(peer.run(count) for _ in range(3)) / count)
            ends[f"{peer.name} ({peer.chosen}), {version('exudyn')}"] = (
                peer.q(),
                peer.v(),
                peer.open(),
            )
    found = []
    for (name, (q, v, gaps)), one in zip(ends.items(), times, strict=True):
        change = float(energy(q, v)[0][0] - energy(at.q, at.v)[0][0]) / moving
        apart = np.abs((q - exact + np.pi) % (2 * np.pi) - np.pi).max()
        row = {"engine": name, "step": one, "error": float(apart), "open": gaps, "energy": change}
        found.append(row)
        print(
            f"{1e9 * one:9.0f} ns{one / times[0]:7.2f}x{apart:10.1e} rad{gaps:10.1e} m"
            f"{change:10.1e}  {name}",
            flush=True,
        )
    return found


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


def implicit(system: mbd.System, rows: tuple[int, ...]) -> list[int]:
    """Return the operations of an implicit step.

    By the rows' Schur complement of J, by a basis of their null space with all velocities and with
    independent ones.
    """
    formula = Newmark()
    bases = (NullSpace("svd", formula, coordinates=one) for one in ("all", "independent"))
    graphs = (SystemStep(system, rows, scheme).traceable() for scheme in (formula, *bases))
    return [sum(trace(*one, calls=True).counts().values()) for one in graphs]


def figures(name: str) -> list[dict[str, Any]]:
    """Return and print those of one machine."""
    found, q, v = machine(name)
    system, state = mbd.System(found), Now(0.0, q, v)
    rows = independent_rows(found.model, q, None, v)
    given = {"step": STEP, "q": q, "v": v}
    results: list[dict[str, Any]] = []
    prototype, (by_rows, *by_basis) = PROTOTYPE[name], implicit(system, rows)
    print(
        f"{name:13}prototype {prototype:.2f}x; an implicit step: {by_rows}, by a basis "
        f"{by_basis[0] / by_rows:.2f}x, of z' alone {by_basis[1] / by_rows:.2f}x"
    )
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
