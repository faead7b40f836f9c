"""Cho09: the 6x6 over a bump, beside Exudyn with the same forces.

The bump is the same on both sides and has the form of a wave, and tyres have no slip forces: what
Exudyn's symbols say, its wheels see exactly as ours do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.forces import JointSpring, SimpleTyre
from mbd_bridge.forces.roads import Bump
from tests.benchmarks.vehicle_exudyn import Forces
from tests.benchmarks.vehicle_peers import Case, beside, rolling
from tests.robots import own_urdfs

RADIUS, STIFFNESS, DAMPING = 0.2, 175e3, 2000.0
SPEED, HEIGHT = 5.0, 0.1617944411
ROWS = {"front": -0.0515297329, "middle": 0.0, "rear": 0.0515297329}
AT, LENGTH, HIGH = 8.0, 1.2, 0.1
NAMES = [f"{row}_{side}" for row in ROWS for side in ("left", "right")]


def run() -> dict[str, Any]:
    """Print and return times and errors."""
    vehicle = mbd.load(own_urdfs()["six_wheeler"], floating=True)
    road = Bump(AT, LENGTH, HIGH, "versine")
    numbers = {"radius": RADIUS, "stiffness": STIFFNESS, "damping": DAMPING, "friction": 0.0}
    tyres = [SimpleTyre(f"wheel_{name}", **numbers, road=road) for name in NAMES]
    q, v = vehicle.neutral(), np.zeros(vehicle.nv)
    q[2], v[0] = HEIGHT, SPEED
    for name in NAMES:
        q[vehicle.coordinate_names.index(f"arm_{name}")] = ROWS[name.partition("_")[0]]
    system = mbd.System(vehicle, forces=[*vehicle.forces, *tyres])
    springs = {
        spring.joint: (spring.stiffness[0], spring.damping[0], spring.preload)
        for spring in system.forces
        if isinstance(spring, JointSpring)
    }

    def forces() -> Forces:
        push = rolling(RADIUS, STIFFNESS, DAMPING, wave)
        return Forces(springs, {}, {f"wheel_{name}": ((0.0, 0.0, 0.0), push) for name in NAMES})

    steps = {"rk4": (1e-2, 5e-3, 1e-3), "newmark": (1e-2, 5e-3, 1e-3)}
    return beside(vehicle, Case(system, q, v, forces, 5.5, steps, (1e-2, 5e-3, 1e-3)))


def wave(x: Any) -> tuple[Any, Any]:
    """Return height and slope of the bump."""
    from exudyn import symbolic as s

    zero, a = s.Real(0.0), 0.5 * LENGTH
    u = (x - AT) * (np.pi / a)
    on = s.abs(u) < np.pi
    height = s.IfThenElse(on, 0.5 * HIGH * (1 + s.cos(u)), zero)
    return height, s.IfThenElse(on, -0.5 * HIGH * np.pi / a * s.sin(u), zero)
