"""Work and precision: error at the end against time, of a four-bar and of forty in a row.

Each engine takes steps of many sizes, in turns, the best of several; the error is that of the worst
joint's angle against motions that need no multibody code (tests/oracles/four_bars.py). Needs mujoco
and exudyn (left out where they are missing); writes docs/reference/work_precision.png.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.plot_style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, style
from tests.benchmarks.engines import OurCall, Ours, error_in, settings
from tests.benchmarks.peer_exudyn import Exudyn, ExudynBodies, ExudynTree, quickest
from tests.benchmarks.peer_mujoco import PERIODS, MuJoCo, stiff
from tests.benchmarks.peer_pinocchio import Pinocchio
from tests.benchmarks.planar import Engine, least_seconds
from tests.machines import four_bar, n_four_bar, turning
from tests.oracles.four_bars import FourBar, row_of_parallelograms, wrapped

PLOT = Path(__file__).parents[2] / "docs" / "reference" / "work_precision.png"
STEPS = tuple(25 * 2**k for k in range(10))
LONGEST = 0.3
"""s of the processor: an engine whose run would take longer takes no smaller steps."""
LOST = 0.1
"""rad: an error beyond which a motion is another one; not shown."""
TOLERANCES = (1e-5, 1e-7, 1e-9)
"""Relative, of Exudyn's Newton iterations, from loose to tight."""
NO_WORSE = 1.2
"""Times the least error: what a looser tolerance may cost."""
COLOURS = {
    "ours, RK4 with projection": BLUE,
    "ours, whole simulate": SKY,
    "MuJoCo RK4": VERMILION,
    "MuJoCo Euler": ORANGE,
    "Exudyn bodies, generalized alpha": GREEN,
    "Exudyn kinematic tree, generalized alpha": PURPLE,
    "pinocchio constraintDynamics, RK4 in Python": BLACK,
}


class Problem(NamedTuple):
    """A machine, where it starts, and where it is at the end."""

    title: str
    machine: Any
    q: np.ndarray
    v: np.ndarray
    seconds: float
    exact: np.ndarray


def problems() -> list[Problem]:
    """Return the four-bar and the row of forty."""
    lengths = 1, 2, 2.5, 2.5
    bar, at = turning(four_bar(*lengths), 2.0)
    exact = FourBar(*lengths).after(1.0, at.q, 2.0)
    first = Problem("four-bar, 1 s", bar, at.q, at.v, 1.0, exact)
    row = n_four_bar(40)
    at = row.assemble(velocity={"crank0": 1.0}, fixed="crank0")
    angle = row_of_parallelograms(40, 1.0, 0.5)
    exact = np.array([angle if n.startswith("crank") else -angle for n in row.coordinate_names])
    return [first, Problem("forty in a row, 0.5 s", row, at.q, at.v, 0.5, exact)]


def engines(problem: Problem) -> list[Callable[[float], Engine]]:
    """Return what makes each engine of the problem, for a step of so many seconds."""
    model, q, v = problem.machine.model, problem.q, problem.v
    found: list[Callable[[float], Engine]] = [
        lambda h: Ours(model, q, v, h),
        lambda h: OurCall(problem.machine, q, v, h),
    ]
    if find_spec("mujoco"):
        for integrator in ("RK4", "Euler"):
            found.append(lambda h, i=integrator: most_exact_mujoco(problem, h, i))
    if find_spec("exudyn"):
        for kind in (ExudynBodies, ExudynTree):
            best = quickest(kind, model, q, v, 1e-3)
            print(f"  {best.name}: {best.chosen}; explicit RK44: {best.explicit()}")
            if best.step_seconds * STEPS[0] > LONGEST:
                print(f"    left out: a step takes {1e3 * best.step_seconds:.0f} ms")
                continue
            how = kind, best.solver, best.modified
            found.append(lambda h, how=how: loosest_exudyn(problem, h, *how))
    found.append(lambda h: Pinocchio(model, q, v, h))
    return found


def most_exact_mujoco(problem: Problem, h: float, integrator: str) -> MuJoCo:
    """Return MuJoCo with the time constant of its loops that makes the error least."""
    trials = [
        MuJoCo(problem.machine.model, problem.q, problem.v, h, integrator, stiff(h, period))
        for period in PERIODS
    ]
    for trial in trials:
        trial.run(round(problem.seconds / h))
    errors = [np.nan_to_num(error_in(one, problem.exact, wrapped), nan=np.inf) for one in trials]
    best = int(np.argmin(errors))
    trials[best].chosen = f"time constant {PERIODS[best]} h"
    return trials[best]


def loosest_exudyn(
    problem: Problem, h: float, kind: type[Exudyn], solver: str, modified: bool
) -> Exudyn:
    """Return Exudyn with the loosest tolerance of Newton's method that costs it no accuracy."""
    model, q, v = problem.machine.model, problem.q, problem.v
    trials = [kind(model, q, v, h, solver, modified, newton) for newton in TOLERANCES]
    for trial in trials:
        trial.run(round(problem.seconds / h))
    errors = [error_in(one, problem.exact, wrapped) for one in trials]
    best = next(k for k, error in enumerate(errors) if error < NO_WORSE * min(errors))
    return trials[best]


def measure(problem: Problem) -> list[dict[str, Any]]:
    """Measure one problem; print and return its rows."""
    makers = engines(problem)
    rows: list[dict[str, Any]] = []
    for steps in STEPS:
        present = [make(problem.seconds / steps) for make in makers]
        times = least_seconds([partial(engine.run, steps) for engine in present], LONGEST)
        for engine, seconds in zip(present, times, strict=True):
            row = {"problem": problem.title, "engine": engine.name, "steps": steps}
            row |= {"seconds": seconds, "error": error_in(engine, problem.exact, wrapped)}
            row |= {"open": engine.open(), "chosen": getattr(engine, "chosen", "")}
            rows.append(row)
        makers = [m for m, t in zip(makers, times, strict=True) if 2 * t < LONGEST]
    print(f"{problem.title:<46} steps        ms  angle off  loop open, m")
    for row in sorted(rows, key=lambda row: list(COLOURS).index(row["engine"])):
        print(
            f"  {row['engine']:<44} {row['steps']:5} {1e3 * row['seconds']:9.3f}  "
            f"{row['error']:9.1e}  {row['open']:12.1e}  {row['chosen']}"
        )
    return rows


def run() -> dict[str, Any]:
    results: dict[str, Any] = {"settings": settings()}
    found = [measure(problem) for problem in problems()]
    plot(found)
    return results | {"rows": [row for rows in found for row in rows]}


def plot(problems: list[list[dict[str, Any]]]) -> None:
    """Draw error over time, one panel a problem."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with style():
        figure, panels = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained", sharey=True)
        for axes, rows in zip(panels, problems, strict=True):
            for name, colour in COLOURS.items():
                line = [r for r in rows if r["engine"] == name and r["error"] < LOST]
                marker = "o-" if name.startswith("ours") else "s--"
                times, errors = [[r[key] for r in line] for key in ("seconds", "error")]
                axes.loglog(times, errors, marker, color=colour, markersize=3.5, label=name)
            axes.set_title(rows[0]["problem"])
            axes.set_xlabel("processor time of the motion, s (one thread)")
        panels[0].set_ylabel("error of the worst angle at the end, rad")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        figure.savefig(PLOT, dpi=110)
        plt.close(figure)
    print(f"plot: {PLOT}")
