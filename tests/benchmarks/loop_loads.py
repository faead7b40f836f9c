"""Loads in loops of many states: kernels with chosen rows, beside one state after the other.

Both with multipliers and flags, one thread, the best of several turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import mbd_bridge as mbd
from tests.machines import n_four_bar

URDF = Path(__file__).parents[2] / "urdf"
STATES, RECORDS, SINGLE = 100_000, 10_000, 50


def run() -> list[dict[str, float | str]]:
    """Print and return the figures."""
    bar, pins = mbd.load(URDF / "four_bar.urdf"), ["crank", "coupler_pin"]
    row = n_four_bar(5)
    stewart = mbd.load(URDF / "stewart.urdf")
    legs = [f"leg_{k}" for k in range(1, 7)]
    rows = [
        _figures("four-bar", bar, {"crank": 0.4}, {"crank": 2.0}, pins, "crank"),
        _figures("five four-bars in a row", row, _cranks(5), {"crank0": 2.0}, None, "crank0"),
        _figures("Stewart platform", stewart, {}, {"platform.vz": 0.1}, legs, legs),
    ]
    long = "10,000 records and accelerations, ms"
    print(f"{'':26}{'loads, us':>10}{'one by one, us':>16}{long:>38}")
    for each in rows:
        print(
            f"{each['machine']:26}{each['loads']:10.2f}{each['one by one']:16.1f}"
            f"{each['records']:38.1f}"
        )
    return rows


def _cranks(windows: int) -> dict[str, float]:
    return {f"crank{k}": 0.4 for k in range(windows + 1)}


def _figures(
    name: str,
    machine: mbd.Mechanism,
    near: dict[str, float],
    velocity: dict[str, float],
    joints: list[str] | None,
    actuated: list[str] | str,
) -> dict[str, float | str]:
    held = [coordinate for coordinate in near if coordinate in velocity]
    at = machine.assemble(near, fixed=held, velocity=velocity)
    motion = machine.simulate(0.5, step=1e-3, q=at.q, v=at.v)
    repeats = -(-STATES // len(motion.time))
    q, v, a = (np.tile(x, (repeats, 1))[:STATES] for x in (motion.q, motion.v, motion.a))
    solver = machine.compile("joint_loads", joints, actuated=actuated)
    many = _best(lambda: solver(q, v, a), 4) / STATES
    alone = machine.compile("joint_loads", joints, actuated=actuated)

    def one_by_one() -> None:
        for k in range(SINGLE):
            alone(q[k], v[k], a[k])

    long = machine.simulate(RECORDS * 1e-4, step=1e-4, q=at.q, v=at.v)

    def records() -> None:
        long.__dict__.pop("_dynamics", None)
        long.joint_loads(joints)

    return {
        "machine": name,
        "loads": 1e6 * many,
        "one by one": 1e6 * _best(one_by_one, 3) / SINGLE,
        "records": 1e3 * _best(records, 4),
    }


def _best(function: Callable[[], object], turns: int) -> float:
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)
