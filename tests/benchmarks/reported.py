"""Loads that steps report while they run: what they add to a step, by either formulation."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.kernels import trace
from mbd_bridge.kernels.march import March
from mbd_bridge.loads.options import Formulation
from mbd_bridge.simulation.steps.compiled import SystemStep

JOINTS = ["crank", "coupler_pin"]
MACHINES = {
    "urdf/kuka_iiwa.urdf": [f"lbr_iiwa_joint_{k}" for k in range(1, 8)],
    "urdf/rrc_arm.urdf": [f"joint_{k}" for k in range(1, 8)],
    "urdf/four_bar.urdf": ["crank", "elbow", "rocker"],
    "urdf/stewart.urdf": ["platform", "swivel_1", "leg_1"],
    "urdf/ralf.urdf": ["theta1", "theta2", "theta3", "theta4"],
}
WAYS: tuple[Formulation, ...] = ("recursive", "non-recursive", "auto")
STEPS, TURNS, H = 100_000, 9, 1e-5


def steps() -> tuple[dict[str, March], list[np.ndarray]]:
    """Return the machine code of a step without and with the loads, and its inputs."""
    bar = mbd.load("urdf/four_bar.urdf")
    start = bar.assemble({"crank": 0.5}, fixed="crank")
    rows = mbd.Equations(bar, q=start.q).rows
    plain, loads = mbd.System(bar), mbd.System(bar, loads=JOINTS)
    code = {"plain": SystemStep(plain, rows).march(), "loads": SystemStep(loads, rows).march()}
    return code, [start.q, start.v, np.zeros(2), np.array([H])]


def operations(
    machine: mbd.Mechanism, loads: list[str] | None, formulation: Formulation = "auto"
) -> int:
    """Return the operations of a step that reports its state, and maybe loads."""
    first = {"first": lambda t, q, v: q[0]}
    system = mbd.System(machine, loads=loads, outputs=first, formulation=formulation)
    rows = mbd.Equations(machine).rows
    return sum(trace(*SystemStep(system, rows).traceable()).counts().values())


def table() -> dict[str, list[tuple[str, int, int, int]]]:
    """Return, by machine, of some joints the operations that their loads add to a step."""
    found = {}
    for path, joints in MACHINES.items():
        machine = mbd.load(path)
        alone = operations(machine, None)
        found[path] = [
            (joint, *(operations(machine, [joint], way) - alone for way in WAYS))
            for joint in joints
        ]
    return found


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
    print("\noperations that the load of one joint adds to a step: recursive, (30), auto")
    for path, rows in table().items():
        for joint, *counts in rows:
            print(f"{Path(path).stem:12} {joint:18}", *(f"{count:6}" for count in counts))
    return found
