"""Roads that a motion takes: compiled, in a batch, run from Python, in somebody's own loop."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError
from mbd_bridge.simulation.steps.stepping import CoupledStep

ROADS = ("run", "batch", "svd", "stepper")
METHODS = ("svd", "qr", "projection", "multipliers")
"""Actuated from Python."""


@lru_cache(maxsize=4)
def stepper(machine: mbd.Mechanism) -> CoupledStep:
    """Return the core of the steppers, made once."""
    return CoupledStep(machine.model, machine.model.neutral())


def moved(
    machine: mbd.Mechanism, q: np.ndarray, v: np.ndarray, step: float, steps: int, road: str
) -> tuple[np.ndarray, str]:
    """Return the position in the end, and the status."""
    options = {"step": step, "every": steps}
    if road == "batch":
        many = machine.simulate(steps * step, q=[q] * 3, v=[v] * 3, **options)
        return many.q[1, -1], many.status[1]
    if road == "stepper":
        core, none = stepper(machine), np.zeros((len(machine.model.bodies), 6))
        core.choose(q, v)
        try:
            for _ in range(steps):
                q, v = core(q, v, np.zeros(machine.nv), none, step)
        except SolveError as met:
            return q, str(met)
        return q, "finished"
    method = {} if road == "run" else {"method": road, "reference": True}
    run = machine.simulate(steps * step, q=q, v=v, check=False, **options, **method)
    return run.q[-1], run.status


def by_one_and_two_threads(*problem, **options):
    return [mbd.simulation.simulate(*problem, **options, threads=number) for number in (1, 2)]
