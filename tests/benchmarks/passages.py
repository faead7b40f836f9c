"""Passages: machines that pass flat positions beside ones that never do, and beside MuJoCo.

The parallelogram `urdf/four_bar.urdf` and a row of ten four-bars fall from rest, all round or to
and fro through their flat positions; hung beside their lowest position, the same machines pass
none. Times are the processor's seconds of whole calls; `mujoco.rollout` keeps every state, too.
Errors: how much the energy changes by its largest part, and how far loops stand open.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import mbd_bridge as mbd
from tests.benchmarks.engines import H, settings
from tests.benchmarks.peer_mujoco import MuJoCo, Rollout, stiff
from tests.benchmarks.planar import gap, least_seconds, seconds_of
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
        found[name] = _machine(name, bar)
    return found


def _machine(name: str, bar: mbd.Mechanism) -> dict[str, Any]:
    """Measure a machine; print and return the figures."""
    turns = np.array([-1.0 if name.startswith(("bar", "elbow")) else 1.0 for name in _joints(bar)])
    ends: dict[str, Any] = {}

    def one(angle: float) -> Callable[[], float]:
        def work() -> None:
            ends["run"] = bar.simulate(SINGLE * H, step=H, q=angle * turns, every=100)

        return lambda: seconds_of(work)

    def many(angles: Any) -> Callable[[], float]:
        start = angles[:, None] * turns

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
        peer = MuJoCo(bar.model, RELEASED * turns, np.zeros(bar.model.nv), H, "RK4", stiff(H))
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
        print(f"{name:14s} {what:42s} {value:10.1f} ns a step")
    figures = list(ns.values())
    ratios = {"single": figures[1] / figures[0], "batch": figures[3] / figures[2]}
    ratios |= {"rollout": figures[4] / figures[3]} if len(figures) > 4 else {}
    print(
        f"{name:14s} passing by never flat: one {ratios['single']:.2f}, of a batch "
        f"{ratios['batch']:.2f}; rollout by batch {ratios.get('rollout', np.nan):.0f}"
    )
    one(RELEASED)()
    many(PASSING)()
    single, batch = ends["run"], ends["batch"]
    assert single.finished and all(status == "finished" for status in batch.status)
    lost = float(np.ptp(single.energy) / np.abs(single.energy).max())
    apart = max(gap(bar.model, q) for q in (*single.q, *batch.q[:, -1]))
    print(f"{name:14s} {single.detours} steps led past; energy off {lost:.1e}, open {apart:.1e} m")
    return {"ns": ns, "ratios": ratios, "detours": single.detours, "energy": lost, "open": apart}


def _joints(bar: mbd.Mechanism) -> list[str]:
    return list(bar.coordinate_names)
