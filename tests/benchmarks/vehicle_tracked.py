"""Lee94 7.1: the tracked vehicle over its bump, beside Exudyn with the same forces."""

from __future__ import annotations

from typing import Any

import numpy as np

import mbd_bridge as mbd
from tests.benchmarks.vehicle_exudyn import ExudynVehicle, Forces
from tests.benchmarks.vehicle_peers import SETTINGS, Case, beside, rolling
from tests.oracles import tracked_vehicle as numbers
from tests.vehicles.scripts import example

DURATION = 3.5


def run() -> dict[str, Any]:
    """Print and return times and errors."""
    made = example("tracked_vehicle")
    vehicle = made["vehicle"]
    system = mbd.System(vehicle, forces=[*vehicle.forces, *made["loose"]])
    steps = {"rk4": (4e-3, 2e-3, 1e-3), "newmark": (4e-3, 2e-3, 1e-3)}
    state = made["q"], made["v"]
    return beside(vehicle, Case(system, *state, same_forces, DURATION, steps, (2e-3, 1e-3)))


def felt_in_exudyn(made: Any, h: float) -> tuple[Any, Any]:
    """Return times, s, and the driver's acceleration along the hull's z, m/s², by Exudyn."""
    state = made["vehicle"], made["q"], made["v"]
    peer = ExudynVehicle(*state, same_forces(), h, "bodies", *SETTINGS["bodies"])
    return peer.acceleration(made["SEAT"], DURATION)


def same_forces() -> Forces:
    """Return springs, gas law and wheels of the example in Exudyn's symbols."""
    from exudyn import symbolic as s

    zero, reach = s.Real(0.0), numbers.RADIUS + numbers.BUMP
    half = float(np.sqrt(reach**2 - numbers.RADIUS**2))

    def arc(x: Any) -> tuple[Any, Any]:
        u = x - numbers.AT
        root = s.sqrt(s.max(reach**2 - u * u, s.Real(1e-6)))
        on = s.abs(u) < half
        return s.IfThenElse(on, root - numbers.RADIUS, zero), s.IfThenElse(on, -u / root, zero)

    (tx, tz), (fx, fz) = numbers.TOP, numbers.FOOT
    static = numbers.STATIC / 0.3 / numbers.AREA + numbers.AMBIENT

    def gas(angle: Any, rate: Any) -> Any:
        c, sn = s.cos(angle), s.sin(angle)
        x, z = c * fx + sn * fz - tx, c * fz - sn * fx - tz
        length = s.sqrt(x * x + z * z)
        lever = (x * (c * fz - sn * fx) - z * (c * fx + sn * fz)) / length
        volume = numbers.GAS + numbers.AREA * (length - numbers.LENGTH)
        pressure = static * s.pow(numbers.GAS / volume, s.Real(numbers.EXPONENT))
        slow, fast = s.Real(numbers.BUMP_THROTTLE), s.Real(numbers.REBOUND)
        throttle = s.IfThenElse(lever * rate < 0.0, slow, fast) * lever * rate
        return (throttle - numbers.AREA * (pressure - numbers.AMBIENT)) * lever

    push = rolling(numbers.RADIUS, numbers.TYRE, numbers.TYRE_DAMPING, arc)
    sides = ("left", 0.3), ("right", -0.3)
    arms = [(f"arm_{side}_{k}", k, y) for side, y in sides for k in range(1, 7)]
    bars = (3, 4, 5)
    return Forces(
        springs={arm: (42e3, 4e3, numbers.STATIC) for arm, k, _ in arms if k in bars},
        laws={arm: gas for arm, k, _ in arms if k not in bars},
        tyres={arm: ((-0.45, y, -0.2), push) for arm, _, y in arms},
    )
