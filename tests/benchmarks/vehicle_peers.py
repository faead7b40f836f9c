"""Vehicles beside Exudyn with the same forces: time and error of the last position."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

import mbd_bridge as mbd
from tests.benchmarks.vehicle_exudyn import ExudynVehicle, Forces

REFERENCE = 5e-5
"""s, step of the motion that errors are counted from."""

SETTINGS = {
    "bodies": ("EigenSparse", True),
    "angles": ("EigenSparse", True),
    "tree": ("EXUdense", True),
}
"""The quickest of EXUdense, EigenDense and EigenSparse, of full and modified Newton, at 1 ms."""

FADE = 1e-3
"""m: deflection over which the damping of `SimpleTyre` sets in."""


@dataclass(frozen=True)
class Case:
    """A vehicle on a straight way.

    Attributes
    ----------
    system, q, v : ours, and the state at the start
    forces : the same in Exudyn, made when it is there
    duration : s
    ours : integrator -> steps, s
    theirs : steps, s
    """

    system: mbd.System
    q: Any
    v: Any
    forces: Any
    duration: float
    ours: Mapping[str, tuple[float, ...]]
    theirs: tuple[float, ...]


def beside(vehicle: Any, case: Case) -> dict[str, Any]:
    """Print and return microseconds a step, seconds in all and errors of the last x and z."""
    results = {}
    exact = ours(case, "rk4", REFERENCE, 1)[1]
    print(f"  {'':<58}   ms  us a step   whole, ms   error, mm")
    rows: list[tuple[str, float, Any]] = [
        (f"ours, {vehicle.nq} coordinates, {name}", h, lambda h, name=name: ours(case, name, h, 5))
        for name, steps in case.ours.items()
        for h in steps
    ]
    if find_spec("exudyn"):
        forces = case.forces()
        for kind, (solver, modified) in SETTINGS.items():
            for h in case.theirs:
                peer = ExudynVehicle(vehicle, case.q, case.v, forces, h, kind, solver, modified)
                name = f"{peer.name}, {peer.size} coordinates"
                rows.append((name, h, peer.run_for(case.duration)))
    for name, h, call in rows:
        seconds, end = call(h)
        each = seconds / round(case.duration / h)
        error = float(np.abs(end - exact).max())
        results[f"{name}, {1e3 * h:g} ms"] = {"us": 1e6 * each, "s": seconds, "error": error}
        parts = f"{1e3 * h:>5g}{1e6 * each:>10.1f}{1e3 * seconds:>12.1f}{1e3 * error:>12.2f}"
        print(f"  {name:<58}{parts}")
    return results


def ours(case: Case, integrator: Any, h: float, turns: int) -> tuple[float, Any]:
    """Return the processor's seconds of a whole call of `simulate`, and where the root ends."""
    options: dict[str, Any] = {"step": h, "q": case.q, "v": case.v, "every": 50}
    options["integrator"] = integrator
    case.system.simulate(2 * h, **options)  # compile
    least = np.inf
    for _ in range(turns):
        start = time.process_time()
        found = case.system.simulate(case.duration, **options)
        least = min(least, time.process_time() - start)
    return least, found.q[-1, [0, 2]]


def rolling(radius: float, stiffness: float, damping: float, road: Any) -> Any:
    """Return a tyre without slip forces in Exudyn's symbols, for `Forces.tyres`.

    Parameters
    ----------
    road : x -> height and slope, symbols
    """
    from exudyn import symbolic as s

    zero, one = s.Real(0.0), s.Real(1.0)

    def push(x: Any, z: Any, vx: Any, vz: Any) -> tuple[Any, Any]:
        height, slope = road(x)
        press = s.max(height + radius - z, zero)
        fading = damping * s.min(press * (1.0 / FADE), one)
        force = s.max(stiffness * press + fading * (slope * vx - vz), zero)
        return -slope * force, force

    return push


__all__ = ["Case", "Forces", "beside", "rolling"]
