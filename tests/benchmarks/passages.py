"""Passages: machines that pass flat positions beside ones that never do, and beside MuJoCo.

The parallelogram `urdf/four_bar.urdf`, a row of ten four-bars and a crossed four-bar fall from
rest, all round or to and fro through their flat positions; hung beside their lowest position, the
same machines pass none. Times are the processor's seconds of whole calls; `mujoco.rollout` keeps
every state, too.
Errors: how much the energy changes by its largest part, and how far loops stand open.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import mbd_bridge as mbd
from tests.benchmarks.engines import H, settings
from tests.benchmarks.peer_mujoco import MuJoCo, Rollout, stiff
from tests.benchmarks.planar import gap, least_seconds, seconds_of
from tests.crossings import curve
from tests.machines import n_four_bar
from tests.robots import own_urdfs

SINGLE, BATCH = 20_000, 2_000
"""Steps of one motion, and of each in a batch."""

TRAJECTORIES, ROLLED = 1024, 16
"""Of ours; and of MuJoCo, where more cost the same each."""

RELEASED = np.pi / 6
"""rad, of one motion from upright."""

PASSING, HANGING = np.linspace(0.2, 1.3, TRAJECTORIES), np.linspace(2.4, 3.0, TRAJECTORIES)
"""rad, of batches from upright."""


def run() -> dict[str, Any]:
    found: dict[str, Any] = {"settings": settings()}
    for name, bar in (
        ("four_bar.urdf", mbd.load(own_urdfs()["four_bar"])),
        ("ten four-bars", n_four_bar(10)),
    ):
        bars = [joint.startswith(("bar", "elbow")) for joint in bar.coordinate_names]
        turns = np.where(bars, -1.0, 1.0)
        found[name] = _machine(name, bar, partial(np.multiply, turns))
    found["crossed four-bar"] = _machine("crossed four-bar", *_crossed())
    return found


def _crossed() -> tuple[mbd.Mechanism, Callable[[float], Any]]:
    """Return a crossed four-bar, and its position between the highest, 0, and the lowest, pi."""
    way, angles = curve("crossed"), np.linspace(0.0, 2.0 * np.pi, 500)
    heights = [way.energies(s)[1] for s in angles]
    highest, lowest = angles[np.argmax(heights)], angles[np.argmin(heights)]
    part = (lowest - highest) / np.pi
    return way.machine, lambda angle: way.state(highest + angle * part, 0.0)[0]


def _machine(name: str, bar: mbd.Mechanism, at: Callable[[float], Any]) -> dict[str, Any]:
    """Measure a machine whose position is a function of an angle; print and return the figures."""
    ends: dict[str, Any] = {}

    def one(angle: float) -> Callable[[], float]:
        def work() -> None:
            ends["run"] = bar.simulate(SINGLE * H, step=H, q=at(angle), every=100)

        return lambda: seconds_of(work)

    def many(angles: Any) -> Callable[[], float]:
        start = np.array([at(angle) for angle in angles])

        def work() -> None:
            options = {"step": H, "every": BATCH, "threads": 1}
            ends["batch"] = bar.simulate(BATCH * H, q=start, **options)

        return lambda: seconds_of(work)

    works = {
        "one motion, never flat": (one(np.pi - RELEASED), SINGLE),
        "one motion, passing": (one(RELEASED), SINGLE),
        f"batch of {TRAJECTORIES}, never flat": (many(HANGING), TRAJECTORIES * BATCH),
        f"batch of {TRAJECTORIES}, passing": (many(PASSING), TRAJECTORIES * BATCH),
    }
    if find_spec("mujoco"):
        peer = MuJoCo(bar.model, at(RELEASED), np.zeros(bar.model.nv), H, "RK4", stiff(H))
        rollout = Rollout(peer, ROLLED, BATCH)
        works[f"mujoco.rollout of {ROLLED}, passing"] = (
            lambda: rollout.run(BATCH),
            ROLLED * BATCH,
        )
    best = least_seconds([work for work, _ in works.values()])
    ns = {
        what: least / steps * 1e9
        for (what, (_, steps)), least in zip(works.items(), best, strict=True)
    }
    for what, value in ns.items():
        print(f"{name:16s} {what:42s} {value:10.1f} ns a step")
    figures = list(ns.values())
    ratios = {"single": figures[1] / figures[0], "batch": figures[3] / figures[2]}
    ratios |= {"rollout": figures[4] / figures[3]} if len(figures) > 4 else {}
    print(
        f"{name:16s} passing by never flat: one {ratios['single']:.2f}, of a batch "
        f"{ratios['batch']:.2f}; rollout by batch {ratios.get('rollout', np.nan):.0f}"
    )
    one(RELEASED)()
    many(PASSING)()
    single, batch = ends["run"], ends["batch"]
    assert single.finished and all(status == "finished" for status in batch.status)
    lost = float(np.ptp(single.energy) / np.abs(single.energy).max())
    apart = max(gap(bar.model, q) for q in (*single.q, *batch.q[:, -1]))
    print(f"{name:16s} {single.detours} steps led past; energy off {lost:.1e}, open {apart:.1e} m")
    return {"ns": ns, "ratios": ratios, "detours": single.detours, "energy": lost, "open": apart}
