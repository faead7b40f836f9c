"""Loads that the steps of a four-bar report while it runs: what they add to a step."""

from __future__ import annotations

import time

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.kernels.march import March
from mbd_bridge.simulation.steps.compiled import SystemStep

JOINTS = ["crank", "coupler_pin"]
STEPS, TURNS, H = 100_000, 9, 1e-5


def steps() -> tuple[dict[str, March], list[np.ndarray]]:
    """Return the machine code of a step without and with the loads, and its inputs."""
    bar = mbd.load("urdf/four_bar.urdf")
    start = bar.assemble({"crank": 0.5}, fixed="crank")
    rows = mbd.Equations(bar, q=start.q).rows
    plain, loads = mbd.System(bar), mbd.System(bar, loads=JOINTS)
    code = {"plain": SystemStep(plain, rows).march(), "loads": SystemStep(loads, rows).march()}
    return code, [start.q, start.v, np.zeros(2), np.array([H])]


def run() -> dict[str, float]:
    code, inputs = steps()
    operations = {name: sum(march.counts.values()) for name, march in code.items()}
    best = dict.fromkeys(code, np.inf)
    for _ in range(TURNS):
        for name, march in code.items():
            stage, begin = march.start(*inputs), time.process_time()
            taken, _ = march.advance(stage, STEPS, STEPS)
            assert taken == STEPS
            best[name] = min(best[name], (time.process_time() - begin) / STEPS)
    found = {
        "operations of a step": operations["plain"],
        "more for loads of two joints, %": 100 * (operations["loads"] / operations["plain"] - 1),
        "a step, ns": 1e9 * best["plain"],
        "longer with the loads, %": 100 * (best["loads"] / best["plain"] - 1),
    }
    for name, value in found.items():
        print(f"{name:34} {value:8.1f}")
    return found
