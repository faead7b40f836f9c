"""Small calls from Python: one state, checked and named, beside pinocchio; short motions.

An iiwa; ours and theirs by turns in one process, so that a busy machine slows both. What a call
takes is the least of many short bursts.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import mbd_bridge as mbd
from tests.benchmarks.everything import machine, start_of
from tests.robots import robot

BURST, TURNS = 100, 400
"""Calls that are timed together, and how often: half a millisecond fits between interruptions."""


def run() -> dict[str, Any]:
    import pinocchio as pin

    warnings.simplefilter("ignore", mbd.MbdWarning)
    path = robot("pb/kuka_iiwa/model")
    arm, model = mbd.load(path), pin.buildModelFromUrdf(str(path))
    data = model.createData()
    q, v, a = (x.copy() for x in np.random.default_rng(0).uniform(-1.0, 1.0, (3, arm.nv)))
    name = model.names[3]
    solver = arm.compile("joint_loads", [name])
    prepared = solver.single().run

    def their_load() -> Any:
        pin.rnea(model, data, q, v, a)
        return data.f[3].vector

    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any], str]] = {
        "joint_loads(q, v, a, joints=[...]).force": (
            lambda: arm.joint_loads(q, v, a, joints=[name]).force,
            their_load,
            "rnea, data.f[3].vector",
        ),
        "compile('joint_loads', [...])(q, v, a).force": (
            lambda: solver(q, v, a).force,
            their_load,
            "rnea, data.f[3].vector",
        ),
        "compile('joint_loads', [...]).single().run(q, v, a)": (
            lambda: prepared(q, v, a),
            lambda: pin.rnea(model, data, q, v, a),
            "rnea",
        ),
        "inverse_dynamics(q, v, a)": (
            lambda: arm.inverse_dynamics(q, v, a),
            lambda: pin.rnea(model, data, q, v, a),
            "rnea",
        ),
        "bias_forces(q, v)": (
            lambda: arm.bias_forces(q, v),
            lambda: pin.nonLinearEffects(model, data, q, v),
            "nonLinearEffects",
        ),
        "mass_matrix(q)": (
            lambda: arm.mass_matrix(q),
            lambda: pin.crba(model, data, q),
            "crba",
        ),
        "forward_dynamics(q, v, tau)": (
            lambda: arm.forward_dynamics(q, v, a),
            lambda: pin.aba(model, data, q, v, a),
            "aba",
        ),
    }
    results: dict[str, Any] = {}
    print(f"  {'one state, us':<45}   ours  pinocchio  ratio")
    for title, (ours, theirs, peer) in pairs.items():
        one, other = by_turns(ours, theirs)
        results[title] = {"ours": one, "theirs": other, "peer": peer, "ratio": one / other}
        print(f"  {title:<45} {one * 1e6:6.2f} {other * 1e6:9.2f} {one / other:7.2f}  {peer}")
    return results | short_motions()


SHORT = {
    "four-bar, one step": ("four_bar", 1e-3, 1e-3),
    "forty four-bars in a row, one step": ("forty", 1e-3, 1e-3),
    "four-bar, 10 s in steps of 40 ms, which are not trusted": ("four_bar", 0.04, 10.0),
}
"""Machine, step and duration, s."""


def short_motions() -> dict[str, Any]:
    """Return and print whole calls of `simulate`, s."""
    machines = {name: machine(name) for name in ("four_bar", "forty")}
    starts = {name: start_of(name, found) for name, found in machines.items()}
    results = {}
    print("  whole calls of simulate, ms")
    for title, (name, step, seconds) in SHORT.items():
        call = partial(machines[name].simulate, seconds, step=step, **starts[name])
        (results[title],) = by_turns(call, burst=5, turns=20)
        print(f"  {title:<58} {results[title] * 1e3:6.2f}")
    return results


def by_turns(*calls: Callable[[], Any], burst: int = BURST, turns: int = TURNS) -> list[float]:
    """Return the least time of each call, s."""
    least = [np.inf] * len(calls)
    for _ in range(turns):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(burst):
                call()
            least[k] = min(least[k], (time.perf_counter() - start) / burst)
    return least
