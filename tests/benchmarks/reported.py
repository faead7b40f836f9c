"""Loads that steps report while they run: what they add to a step, by either formulation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.engines.crosscheck.bench import in_turns
from mbd_bridge.kernels import trace
from mbd_bridge.kernels.march import March
from mbd_bridge.loads.options import Formulation
from mbd_bridge.simulation.steps.compiled import SystemStep
from tests.robots import robots

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

TALOS = {"erd/talos/talos_reduced": ["leg_left_1_joint", "leg_left_4_joint", "arm_left_1_joint"]}
"""Of a wheel; standing free, with 38 degrees of freedom."""

PLACES = 3
"""In memory, of the numbers of a step: some places are slower."""

TIMED = 0.003
"""s, of a turn, some: short ones meet quiet moments."""


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
    return sum(trace(*SystemStep(system, rows).traceable(), calls=True).counts().values())


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


class Added(NamedTuple):
    """What one joint's loads add to a step.

    Attributes
    ----------
    operations : of a step without them, and more by recursion, by (30), by the fewer of both
    times : ns, likewise
    difference : of the loads of both formulations, relative to the largest
    """

    machine: str
    joint: str
    operations: list[int]
    times: list[float]
    difference: float


def timed() -> Iterator[Added]:
    """Yield operations and times for the joints of all machines, Talos among them if there."""
    machines = [(mbd.load(path), joints) for path, joints in MACHINES.items()]
    known = robots()
    machines += [(mbd.load(known[k], floating=True), x) for k, x in TALOS.items() if k in known]
    for machine, joints in machines:
        for joint in joints:
            yield added(machine, joint)


def added(machine: mbd.Mechanism, joint: str) -> Added:
    """Return what the loads of a joint add to a step of a machine."""
    first = {"first": lambda t, q, v: q[0]}
    plain = mbd.System(machine, outputs=first)
    options = [{"loads": [joint], "formulation": way} for way in WAYS]
    systems = [plain, *(mbd.System(machine, outputs=first, **each) for each in options)]
    equations = mbd.Equations(plain)
    nq, nv = machine.model.nq, machine.model.nv
    x = equations.start.copy()
    if not machine.model.has_loops:
        x[nq : nq + nv] = np.random.default_rng(3).normal(size=nv)
    marches = [SystemStep(system, equations.rows).march() for system in systems]
    inputs = x[:nq], x[nq : nq + nv], np.zeros(2), np.array([1e-7])
    steps = max(10, int(TIMED / (2e-9 * sum(marches[0].counts.values()))))
    works = [
        partial(march.advance, march.start(*inputs), steps, steps)
        for march in marches
        for _ in range(PLACES)
    ]
    each = np.array(in_turns(works, time.process_time)).reshape(-1, PLACES)
    best = (1e9 * each.min(axis=1) / steps).tolist()
    counts = [sum(march.counts.values()) for march in marches]
    loads = [mbd.Equations(system).outputs(0.0, x) for system in systems[1:3]]
    keys = "force", "moment", "actuation"
    weight = 9.81 * sum(machine.model.masses)  # the load of a joint that is free is rounding
    size = max(weight, *(np.abs(loads[0][key]).max(initial=0.0) for key in keys))
    apart = max(np.abs(loads[0][k] - loads[1][k]).max(initial=0.0) for k in keys) / size
    more = [[x[0], *(one - x[0] for one in x[1:])] for x in (counts, best)]
    return Added(machine.name, joint, *more, float(apart))


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
    print("\na step, and what the load of one joint adds to it: recursive, (30), auto")
    for machine, joint, counts, times, difference in timed():
        numbers = " ".join(f"{count:6}" for count in counts)
        ns = " ".join(f"{time:7.1f}" for time in times)
        print(f"{machine:14} {joint:18}{numbers} | {ns} ns | apart {difference:.0e}")
    return found
