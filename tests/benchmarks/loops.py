"""Loops: a step of a four-bar, batches, a whole simulation, and rows of four-bars, beside peers.

All take steps of 1 ms, in turns, on one thread, the best of several turns, in seconds of the
process's own, which other programs on the machine hardly disturb. Exudyn's linear solver and
Newton's method are those that are quickest for it; MuJoCo's default solver is (its others, dense
Jacobians and fewer iterations were tried). Errors stand beside the times: of the crank's angle
after a second against our own solution with a tenth of the step, and how far the loop stands open.
Needs mujoco and exudyn (they are left out where they are missing) and writes
docs/cost_of_loops.png.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.crosscheck.timing import in_turns
from mbd_bridge.kernels.native import machine
from mbd_bridge.kernels.run.march import MOST_LANES, March, compile_march
from mbd_bridge.simulate.rows import independent_rows
from mbd_bridge.simulate.step import runge_kutta_step
from tests.benchmarks.loop_peers import DEFAULT, NEWTON, STIFF, Exudyn, MuJoCo
from tests.machines import four_bar, n_four_bar

PLOT = Path(__file__).parents[2] / "docs" / "cost_of_loops.png"
H = 1e-3
SECOND = 1000
"""Steps after which errors are looked at."""
SIZES = (1, 2, 5, 10, 20, 40)
TRAJECTORIES = 1024
WHOLE_BATCH = f"ours, whole simulate_batch of {TRAJECTORIES} for 1 s"
MILLION = 1_000_000


class Ours:
    """Our step, marched in machine code: one trajectory, or as many as the lanes take."""

    def __init__(self, bar: Any, q: Any, v: Any, lanes: int = 1) -> None:
        model = bar.model
        step = runge_kutta_step(model, independent_rows(model, q), None)
        sizes = {"q": model.nq, "v": model.nv, "t": 1, "h": 1}
        self.march: March = compile_march(step, sizes, 3, lanes=lanes, name="benchmark")
        self.stage = self.march.start(q, v, np.zeros(1), np.array([H]))

    def steps(self, number: int) -> None:
        self.march.advance(self.stage, number, number)


def peers(bar: Any, q: Any, v: Any) -> list[tuple[str, Any, Callable[[int], object]]]:
    """Return what is there of name, peer, and how it takes steps."""
    found: list[tuple[str, Any, Callable[[int], object]]] = []
    if find_spec("mujoco"):
        for integrator in ("RK4", "Euler"):
            for setting, soft in (("default", DEFAULT), ("stiff", STIFF)):
                one = MuJoCo(bar.model, q, v, H, integrator, soft)
                found.append((f"{one.name}, {setting} loops", one, one.steps))
    if find_spec("exudyn"):
        other = quickest(bar, q, v)
        found.append((other.name, other, other.steps))
    return found


def quickest(bar: Any, q: Any, v: Any) -> Exudyn:
    """Return Exudyn with the linear solver and the kind of Newton's method that suit it best."""
    solvers = ("EXUdense", "EigenDense", "EigenSparse") if bar.model.nv < 20 else ("EigenSparse",)
    trials = [
        Exudyn(bar.model, q, v, H, solver, modified)
        for solver in solvers
        for modified in (False, True)
    ]
    times = [min(trial.steps(100) for _ in range(5)) for trial in trials]
    return trials[int(np.argmin(times))]


def settings() -> dict[str, Any]:
    """Print and return what was measured with what."""
    found: dict[str, Any] = {"python": platform.python_version(), "processor": processor()}
    for name in ("numpy", "llvmlite", "mujoco", "exudyn"):
        found[name] = version(name) if find_spec(name) else "not there"
    found["lanes"] = machine.host().lanes
    found["steps"] = f"{H:g} s, all, of one thread in one process, in turns"
    found["times"] = "the process's own seconds, the best of 5 to 200 turns"
    found["mujoco, default loops"], found["mujoco, stiff loops"] = DEFAULT, STIFF
    found["exudyn, Newton"] = f"relative tolerance {NEWTON:g}; the quickest linear solver"
    for name, value in found.items():
        print(f"  {name}: {value}")
    return found


def processor() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} threads" if names else platform.processor()


def run() -> dict[str, Any]:
    results: dict[str, Any] = {"settings": settings()}
    results |= {"four_bar": one_step(), "whole": whole()}
    results["threads"] = threads()
    results["million"] = million()
    results["rows"] = rows()
    plot(results["rows"])
    return results


def started() -> tuple[Any, Any, Any]:
    bar = four_bar(1, 2, 2.5, 2.5)
    at = bar.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 2.0})
    return bar, at.q, at.v


def one_step() -> list[dict[str, Any]]:
    """A step of one trajectory, and of one among many."""
    bar, q, v = started()
    own = Ours(bar, q, v)
    many = Ours(bar, q, v, MOST_LANES)
    right = mbd.simulate(bar, 1.0, step=H / 10, q=q, v=v, every=10 * SECOND).q[-1, 0]
    mine = mbd.simulate(bar, 1.0, step=H, q=q, v=v)
    others = peers(bar, q, v)
    error, gap = abs(mine.q[-1, 0] - right), gap_of(mine)
    table = [("ours, RK4 with projection", error, gap)]
    table.append((f"ours, {many.march.lanes} trajectories in the lanes, each", error, gap))
    for name, peer, steps in others:
        steps(SECOND)
        table.append((name, abs(peer.first() - right), peer.open()))
        if isinstance(peer, MuJoCo):
            peer.back()
    works: list[Callable[[], object]] = [partial(own.steps, 20_000), partial(many.steps, 5_000)]
    counts = [20_000, 5_000 * many.march.lanes]
    for _, _, steps in others:
        works.append(partial(steps, SECOND))
        counts.append(SECOND)
    batch_q, batch_v = np.tile(q, (TRAJECTORIES, 1)), np.tile(v, (TRAJECTORIES, 1))
    kind = {"step": H, "q": batch_q, "v": batch_v}
    masses = {"coupler.mass": np.linspace(1.0, 3.0, TRAJECTORIES)}
    course = np.linspace(0.0, 1.0, 21), np.random.default_rng(0).normal(size=(TRAJECTORIES, 21))
    batches: list[tuple[str, dict[str, Any]]] = [
        ("ends kept", {"every": SECOND}),
        ("every tenth step kept", {"every": 10}),
        ("every step kept", {}),
        ("a mass of its own, ends kept", {"every": SECOND, "parameters": masses}),
        ("a torque table of its own", {"every": SECOND, "torque": {"crank": course}}),
    ]
    for what, options in batches:
        works.append(partial(mbd.simulate_batch, bar, 1.0, **kind, **options))
        counts.append(TRAJECTORIES * SECOND)
        table.append((f"{WHOLE_BATCH}, {what}", error, gap))
    for name, peer, _ in others:
        if isinstance(peer, MuJoCo):
            works.append(peer.rollout(64, 100))
            counts.append(6400)
            known = next(row[1:] for row in table if row[0] == name)
            table.append((f"{name}, mujoco.rollout of 64", *known))
    best = in_turns(works, time.process_time)
    found = []
    print(f"{'a step of a four-bar':<66}        ns   angle off  loop open, m")
    for (name, off, gap), seconds, count in zip(table, best, counts, strict=True):
        found.append({"what": name, "ns": seconds / count * 1e9, "error": off, "open": gap})
        print(f"{name:<66} {found[-1]['ns']:9.1f}   {off:9.1e}  {gap:12.1e}")
    print("  times ours:", end="")
    for row in found:
        if not row["what"].startswith("ours"):
            batch = next(r for r in found if r["what"] == f"{WHOLE_BATCH}, ends kept")
            base = batch if "rollout" in row["what"] else found[0]
            row["ratio"] = row["ns"] / base["ns"]
            print(f"\n    {row['what']:<62} {row['ratio']:7.1f}", end="")
    print()
    return found


def gap_of(motion: Any) -> float:
    """Return how far the loops stand open, m (the rows of hinges are about a metre in size)."""
    return float(motion.closure.max())


def whole() -> list[dict[str, Any]]:
    """What a Python user waits for: 10 s at 1 ms, every state kept."""
    bar, q, v = started()
    works: list[Callable[[], object]] = [partial(mbd.simulate, bar, 10.0, step=H, q=q, v=v)]
    names = ["ours, mbd.simulate"]
    if find_spec("mujoco"):
        for integrator in ("RK4", "Euler"):
            peer = MuJoCo(bar.model, q, v, H, integrator, STIFF)
            names.append(f"{peer.name}, loop from Python, states kept")
            works.append(partial(peer.python, 10 * SECOND))
    best = in_turns(works, time.process_time)
    for name, seconds in zip(names, best, strict=True):
        print(f"10 s at 1 ms: {name:<52} {seconds * 1e3:8.2f} ms  {seconds / best[0]:6.1f}")
    return [{"what": n, "seconds": s} for n, s in zip(names, best, strict=True)]


def threads() -> dict[str, float]:
    """What a second thread gains by the clock on the wall, and what both use together."""
    bar, q, v = started()
    number = 8 * TRAJECTORIES
    starts = {"q": np.tile(q, (number, 1)), "v": np.tile(v, (number, 1))}
    works = [
        partial(mbd.simulate_batch, bar, 1.0, step=H, every=100, threads=n, **starts)
        for n in (1, 2)
    ]
    one, two = in_turns(works)
    alone, together = in_turns(works, time.process_time)
    print(
        f"two threads, {number} trajectories: {one / two:.2f} times as fast as one by the clock on "
        f"the wall; both use {together / alone:.2f} times the processor's time of one"
    )
    return {"one": one, "two": two, "one's own": alone, "both's own": together}


def million() -> dict[str, float]:
    """How far the loop stands open after a million steps, and what became of the energy."""
    bar, q, v = started()
    motion = mbd.simulate(bar, MILLION * H, step=H, q=q, v=v, every=1000)
    drift = float(np.abs(motion.energy - motion.energy[0]).max())
    print(f"a million steps: loop open {gap_of(motion):.1e}, energy off {drift:.1e} J")
    return {"open": gap_of(motion), "energy": drift}


def rows() -> list[dict[str, Any]]:
    """Rows of four-bars, 1 to 40."""
    found = []
    for n in SIZES:
        bar = n_four_bar(n)
        at = bar.assemble(velocity={"crank0": 1.0}, fixed="crank0")
        q, v = at.q, at.v
        own = Ours(bar, q, v)
        many = Ours(bar, q, v, MOST_LANES)
        number = max(50, 2000 // n)
        cases: list[tuple[str, Callable[[int], object], int]] = [
            ("ours", own.steps, 1),
            ("ours, in the lanes", many.steps, many.march.lanes),
        ]
        right = mbd.simulate(bar, 0.2, step=H / 10, q=q, v=v, every=2000).q[-1, 0]
        errors = [abs(mbd.simulate(bar, 0.2, step=H, q=q, v=v).q[-1, 0] - right)] * 2
        for name, peer, steps in peers(bar, q, v):
            if "default" in name:
                continue
            try:
                steps(200)
                errors.append(abs(peer.first() - right))
            except (RuntimeError, ValueError) as problem:
                print(f"  {name}: {problem}")
                continue
            cases.append((name, steps, 1))
        best = in_turns([partial(steps, number) for _, steps, _ in cases], time.process_time)
        for (name, _, lanes), seconds, off in zip(cases, best, errors, strict=True):
            us = seconds / number / lanes * 1e6
            found.append({"loops": n, "what": name, "us": us, "error": off})
            print(f"{n:4} loops  {name:<50} {us:10.3f} us  angle off {off:.1e}")
    return found


def same(what: str) -> str:
    """Return a peer's name whatever linear solver it took."""
    return what.split(", EXUdense")[0].split(", Eigen")[0]


def plot(found: list[dict[str, Any]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.6), constrained_layout=True)
    for name in dict.fromkeys(same(row["what"]) for row in found):
        own = [row for row in found if same(row["what"]) == name]
        style = "o-" if name.startswith("ours") else "s--"
        axes.loglog([r["loops"] for r in own], [r["us"] for r in own], style, label=name)
    axes.set(xlabel="loops: four-bars in a row", ylabel="time a step of 1 ms, µs (one thread)")
    axes.set_xticks(SIZES, [str(n) for n in SIZES])
    axes.minorticks_off()
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(PLOT, dpi=130)
    print(f"plot: {PLOT}")
