"""Lee94 7.1: the tracked vehicle over its bump, beside Exudyn with the same forces."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np

import mbd_bridge as mbd
from tests.benchmarks.vehicle_exudyn import ExudynVehicle, Forces
from tests.oracles import tracked_vehicle as numbers
from tests.vehicles.scripts import example

DURATION = 3.5
REFERENCE = 5e-5
"""s, step of the motion that errors are counted from."""

STEPS = {"ours": (4e-3, 2e-3, 1e-3), "Exudyn": (2e-3, 1e-3)}
SETTINGS = {
    "bodies": ("EigenSparse", True),
    "angles": ("EigenSparse", True),
    "tree": ("EXUdense", True),
}
"""The quickest of EXUdense, EigenDense and EigenSparse, of full and modified Newton, at 1 ms."""


def run() -> dict[str, Any]:
    """Print and return microseconds a step, seconds in all and errors of the last position."""
    made = example("18")
    vehicle, q, v = made["vehicle"], made["q"], made["v"]
    system = mbd.System(vehicle, forces=[*vehicle.forces, *made["wheels"]])
    mbd.simulate(system, 0.01, q=q, v=v)  # compile
    exact = mbd.simulate(system, DURATION, step=REFERENCE, q=q, v=v, every=1000).q[-1, [0, 2]]
    results = {}
    print(f"  {'':<42}   ms  us a step   whole, ms   error, mm")
    rows: list[tuple[str, float, Any]] = [
        ("ours, 19 coordinates, RK4", h, lambda h: ours(system, q, v, h)) for h in STEPS["ours"]
    ]
    if find_spec("exudyn"):
        forces = same_forces()
        for kind, (solver, modified) in SETTINGS.items():
            for h in STEPS["Exudyn"]:
                peer = ExudynVehicle(vehicle, q, v, forces, h, kind, solver, modified)
                rows.append((f"{peer.name}, {peer.size} coordinates", h, peer.run_for(DURATION)))
    for name, h, call in rows:
        seconds, end = call(h)
        count = round(DURATION / h)
        row = {"us a step": 1e6 * seconds / count, "s": seconds, "error": abs(end - exact).max()}
        results[f"{name}, {1e3 * h:g} ms"] = row
        print(
            f"  {name:<42}{1e3 * h:>5g}{row['us a step']:>10.1f}{1e3 * seconds:>12.1f}"
            f"{1e3 * row['error']:>12.1f}"
        )
    return results


def ours(system: Any, q: Any, v: Any, h: float, turns: int = 5) -> tuple[float, Any]:
    """Return the processor's seconds of a whole call of `simulate`, and where the hull ends."""
    options = {"step": h, "q": q, "v": v, "every": 50}
    least = np.inf
    for _ in range(turns):
        start = time.process_time()
        found = mbd.simulate(system, DURATION, **options)
        least = min(least, time.process_time() - start)
    return least, found.q[-1, [0, 2]]


def felt_in_exudyn(made: Any, h: float) -> tuple[Any, Any]:
    """Return times, s, and the driver's acceleration along the hull's z, m/s², by Exudyn."""
    forces = same_forces()
    solver, modified = SETTINGS["bodies"]
    peer = ExudynVehicle(
        made["vehicle"], made["q"], made["v"], forces, h, "bodies", solver, modified
    )
    return peer.acceleration(made["SEAT"], DURATION)


def same_forces() -> Forces:
    """Return springs, gas law and tyres of the example in Exudyn's symbols."""
    from exudyn import symbolic as s

    zero, one, reach = s.Real(0.0), s.Real(1.0), numbers.RADIUS + numbers.BUMP
    half = float(np.sqrt(reach**2 - numbers.RADIUS**2))

    def push(x: Any, z: Any, vx: Any, vz: Any) -> tuple[Any, Any]:
        u = x - numbers.AT
        root = s.sqrt(s.max(reach**2 - u * u, s.Real(1e-6)))
        on = s.abs(u) < half
        slope = s.IfThenElse(on, -u / root, zero)
        height = s.IfThenElse(on, root - numbers.RADIUS, zero)
        press = s.max(height + numbers.RADIUS - z, zero)
        damping = numbers.TYRE_DAMPING * s.min(press * (1.0 / numbers.FADE), one)
        force = s.max(numbers.TYRE * press + damping * (slope * vx - vz), zero)
        return -slope * force, force

    def gas(angle: Any, rate: Any) -> Any:
        return numbers.STATIC * s.pow(1 - angle * (1 / 0.8), s.Real(-1.3)) + 15e3 * rate

    sides = ("left", 0.3), ("right", -0.3)
    arms = [(f"arm_{side}_{k}", k, y) for side, y in sides for k in range(1, 7)]
    bars = (3, 4, 5)
    return Forces(
        springs={arm: (42e3, 4e3, numbers.STATIC) for arm, k, _ in arms if k in bars},
        laws={arm: gas for arm, k, _ in arms if k not in bars},
        tyres={arm: ((-0.45, y, -0.2), push) for arm, _, y in arms},
    )
