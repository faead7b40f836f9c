"""Loops: a step of a four-bar, batches, threads, a million steps, rows of four-bars, beside peers.

All take steps of 1 ms, in turns, on one thread, the best of several turns, in seconds of the
process's own, which other programs on the machine hardly disturb. Errors stand beside the times,
each measured of the run that was timed: of the worst angle, against motions that need no multibody
code (tests/oracles/four_bars.py) or, of batches whose trajectories differ, against the same batch
with a tenth of the step; and how far the loops stand open. Needs mujoco and exudyn (they are left
out where they are missing) and writes docs/reference/cost_of_loops.png.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.engines.crosscheck.bench import in_turns
from mbd_bridge.kernels.march import MOST_LANES
from tests.benchmarks.engines import H, OurCall, Ours, error_in, peers, settings
from tests.benchmarks.peer_mujoco import MuJoCo, Rollout
from tests.benchmarks.planar import Engine, gap, least_seconds, seconds_of
from tests.machines import four_bar, n_four_bar, turning
from tests.oracles.four_bars import FourBar, row_of_parallelograms, wrapped

PLOT = Path(__file__).parents[2] / "docs" / "reference" / "cost_of_loops.png"
SECOND = 1000
"""Steps of a run of the four-bar."""
SIZES = (1, 2, 5, 10, 20, 40)
ROW_STEPS = 500
"""Of a run of a row; a machine whose step takes longer than `SLOW` has `FEW`."""
SLOW, FEW = 5e-3, 10
TRAJECTORIES = 1024
ROLLED = 16
"""Trajectories of a rollout of MuJoCo: more cost the same each."""
LENGTHS = 1, 2, 2.5, 2.5
MILLION = 1_000_000


@dataclass
class Row:
    """One line of the table: how to run, what a run is, how to see what came out of it."""

    name: str
    steps: int
    run: Callable[[], float]
    error: Callable[[], float]
    open: Callable[[], float]


class Batch:
    """A whole call of `simulate_batch`: trajectories of one second from one start."""

    def __init__(self, bar: mbd.Mechanism, q: Any, v: Any, **options: Any) -> None:
        self.bar, self.options = bar, options
        self.start = {"q": np.tile(q, (TRAJECTORIES, 1)), "v": np.tile(v, (TRAJECTORIES, 1))}
        self.ends = self.start["q"]
        finer = options | {"every": 10 * SECOND}
        self.exact = bar.simulate(1.0, step=H / 10, **self.start, **finer).q[:, -1]

    def run(self) -> float:
        """Simulate; return the processor's seconds."""

        def call() -> None:
            found = self.bar.simulate(1.0, step=H, **self.start, **self.options)
            self.ends = found.q[:, -1].copy()  # not a view that keeps all of it

        return seconds_of(call)

    def error(self) -> float:
        """Return how far the worst angle of all trajectories is off, rad."""
        return float(np.abs(self.ends - self.exact).max())

    def open(self) -> float:
        """Return how far the loop of any trajectory stands open, m."""
        return max(gap(self.bar.model, q) for q in self.ends)


def run() -> dict[str, Any]:
    results: dict[str, Any] = {"settings": settings(), "four_bar": one_step()}
    results["threads"] = threads()
    results["million"] = million()
    results["rows"] = rows()
    plot(results["rows"])
    return results


def started() -> tuple[Any, Any, Any]:
    bar, at = turning(four_bar(*LENGTHS), 2.0)
    return bar, at.q, at.v


def row_of(engine: Engine, exact: np.ndarray, name: str = "", number: int = 1) -> Row:
    """Return the line of an engine that goes for a second, with so many trajectories at once."""
    chosen = getattr(engine, "chosen", "")
    return Row(
        name or engine.name + (f", {chosen}" if chosen else ""),
        SECOND * number,
        partial(engine.run, SECOND),
        partial(error_in, engine, exact, wrapped),
        engine.open,
    )


def one_step() -> list[dict[str, Any]]:
    """A step of one trajectory, and of one among many."""
    bar, q, v = started()
    exact = FourBar(*LENGTHS).after(1.0, q, 2.0)
    many = Ours(bar.model, q, v, H, MOST_LANES)
    lanes = many.march.lanes
    table = [
        row_of(Ours(bar.model, q, v, H), exact),
        row_of(many, exact, f"ours, {lanes} trajectories in the lanes, each", lanes),
        row_of(OurCall(bar, q, v, H), exact, "ours, whole simulate, every step kept"),
    ]
    others = peers(bar.model, q, v, default=True)
    table += [row_of(peer, exact) for peer in others]
    masses = {"coupler.mass": np.linspace(1.0, 3.0, TRAJECTORIES)}
    torques = np.linspace(0.0, 1.0, 21), np.random.default_rng(0).normal(size=(TRAJECTORIES, 21))
    batches: dict[str, dict[str, Any]] = {
        "ends kept": {"every": SECOND},
        "every tenth step kept": {"every": 10},
        "every step kept": {},
        "a mass of its own, ends kept": {"every": SECOND, "parameters": masses},
        "a torque table of its own, every step kept": {"torque": {"crank": torques}},
    }
    for name, options in batches.items():
        batch = Batch(bar, q, v, **options)
        work = batch.run, batch.error, batch.open
        title = f"ours, whole simulate_batch of {TRAJECTORIES}, {name}"
        table.append(Row(title, TRAJECTORIES * SECOND, *work))
    for peer in others:
        if isinstance(peer, MuJoCo):
            for number in (1, ROLLED):
                table.append(row_of(Rollout(peer, number, SECOND), exact, number=number))
    found = measured(table)
    print("  times ours:")
    batch_ns = next(row["ns"] for row in found if "simulate_batch" in row["what"])
    for row in found:
        if not row["what"].startswith("ours"):
            many_of = row["what"].endswith(f"rollout of {ROLLED}")
            row["ratio"] = row["ns"] / (batch_ns if many_of else found[0]["ns"])
            print(f"    {row['what']:<74} {row['ratio']:7.1f}")
    return found


def measured(table: list[Row]) -> list[dict[str, Any]]:
    """Measure the lines in turns; print and return them."""
    found = []
    best = least_seconds([row.run for row in table])
    print(f"{'a step of a four-bar':<78}        ns   angle off  loop open, m")
    for row, seconds in zip(table, best, strict=True):
        one = {"what": row.name, "ns": seconds / row.steps * 1e9}
        found.append(one | {"error": row.error(), "open": row.open()})
        print("{what:<78} {ns:9.1f}   {error:9.1e}  {open:12.1e}".format(**found[-1]))
    return found


def threads() -> dict[str, float]:
    """What a second thread gains by the clock on the wall, and what both use together."""
    bar, q, v = started()
    number = 8 * TRAJECTORIES
    starts = {"q": np.tile(q, (number, 1)), "v": np.tile(v, (number, 1))}
    works = [
        partial(mbd.simulation.simulate, bar, 1.0, step=H, every=100, threads=n, **starts)
        for n in (1, 2)
    ]
    one, two = in_turns(works)
    alone, together = (least for least in least_seconds([partial(seconds_of, w) for w in works]))
    print(
        f"two threads, {number} trajectories: {one / two:.2f} times as fast as one by the clock on "
        f"the wall; both use {together / alone:.2f} times the processor's time of one"
    )
    return {"one": one, "two": two, "one's own": alone, "both's own": together}


def million() -> dict[str, float]:
    """How far the loop stands open after a million steps, and what became of the energy."""
    bar, q, v = started()
    motion = bar.simulate(MILLION * H, step=H, q=q, v=v, every=1000)
    drift = float(np.abs(motion.energy - motion.energy[0]).max())
    apart = max(gap(bar.model, q) for q in motion.q)
    print(f"a million steps: loop open {apart:.1e} m, energy off {drift:.1e} J")
    return {"open": apart, "energy": drift}


def rows() -> list[dict[str, Any]]:
    """Rows of four-bars, 1 to 40."""
    found = []
    for n in SIZES:
        bar = n_four_bar(n)
        at = bar.assemble(velocity={"crank0": 1.0}, fixed="crank0")
        many = Ours(bar.model, at.q, at.v, H, MOST_LANES)
        many.name = "ours, in the lanes"
        alone = Ours(bar.model, at.q, at.v, H)
        alone.name = "ours"
        engines = [alone, many, *peers(bar.model, at.q, at.v)]
        steps = [ROW_STEPS if e.run(FEW) / FEW < SLOW else FEW for e in engines]
        best = least_seconds([partial(e.run, k) for e, k in zip(engines, steps, strict=True)])
        for engine, number, seconds in zip(engines, steps, best, strict=True):
            angle = row_of_parallelograms(n, 1.0, number * H)
            names = bar.coordinate_names
            exact = np.array([angle if name.startswith("crank") else -angle for name in names])
            us = seconds / number / (many.march.lanes if engine is many else 1) * 1e6
            row = {"loops": n, "what": engine.name, "us": us, "steps": number}
            row |= {"error": error_in(engine, exact, wrapped), "open": engine.open()}
            found.append(row)
            print(
                f"{n:4} loops  {engine.name:<46} {us:11.3f} us, {number:3} steps: angle off "
                f"{row['error']:.1e}, open {row['open']:.1e} m  {getattr(engine, 'chosen', '')}"
            )
    return found


def plot(found: list[dict[str, Any]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.6), constrained_layout=True)
    for name in dict.fromkeys(row["what"] for row in found):
        line = [row for row in found if row["what"] == name]
        style = "o-" if name.startswith("ours") else "s--"
        axes.loglog([r["loops"] for r in line], [r["us"] for r in line], style, label=name)
    axes.set(xlabel="loops: four-bars in a row", ylabel="time a step of 1 ms, µs (one thread)")
    axes.set_xticks(SIZES, [str(n) for n in SIZES])
    axes.minorticks_off()
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(PLOT, dpi=130)
    print(f"plot: {PLOT}")
