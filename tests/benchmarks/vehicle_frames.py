"""Cho09 Table 4: the 6x6's accelerations in the chassis' and the world's axes, two assemblies."""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.kernels import compile_kernel
from mbd_bridge.solve.closed import closed_acceleration
from mbd_bridge.solve.factor import factorise, not_zero, substitute
from tests.oracles.six_wheeler import DOF, Opaque, equations, plain
from tests.robots import own_urdfs

POOL = 97
"""Zeros and ones that are inputs: a prime, so that few products are equal."""

EVALUATIONS = 4 * 550
"""Of accelerations in the paper's 5.5 s: Runge-Kutta steps of 10 ms."""

PAPER = {"chassis, symbolic": 2.1276, "chassis, numerical": 3.4524, "global, numerical": 3.9176}
"""s, of the paper's Table 4; it has no fourth column."""

SIZES = {"q": 19, "v": DOF, "tau": 12, "zeros": POOL, "ones": POOL}
NAMES = [f"joint {k}" for k in range(DOF)]


def accelerations(frame: Literal["chassis", "global"], symbolic: bool) -> Any:
    """Return the function q, v, τ, zeros, ones -> q̈."""

    def function(q: Any, v: Any, tau: Any, zeros: Any, ones: Any) -> tuple[Any]:
        numbers = plain if symbolic else Opaque(zeros, ones)
        M, right = equations(q, v, tau, frame, numbers)
        pattern = not_zero(M) if symbolic else np.ones((DOF, DOF), dtype=bool)
        return (substitute(factorise(M, pattern, NAMES), right),)

    return function


def ours() -> Any:
    """Return the same by the package: every body in its own axes, symbolic."""
    model = mbd.load(own_urdfs()["six_wheeler"], floating=True).model

    def function(q: Any, v: Any, tau: Any, zeros: Any, ones: Any) -> tuple[Any]:
        along = np.concatenate([np.zeros(6), tau])
        return (closed_acceleration(model, (), q, v, along).a,)

    return function


def run() -> dict[str, dict[str, float]]:
    """Print and return operations and times of each."""
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(-0.5, 0.5, 19), rng.uniform(-1.0, 1.0, DOF), np.zeros(12)
    q[3:7] = np.array([0.1, -0.2, 0.3, 0.9]) / np.linalg.norm([0.1, -0.2, 0.3, 0.9])
    state = [q, v, tau, np.zeros(POOL), np.ones(POOL)]
    functions = {
        f"{frame}, {kind}": accelerations(frame, kind == "symbolic")
        for frame in ("chassis", "global")
        for kind in ("symbolic", "numerical")
    }
    results = {}
    print(f"  {'':<22}operations  us   {EVALUATIONS} of them, ms   the paper's 5.5 s, s")
    for name, function in {**functions, "ours, bodies' axes": ours()}.items():
        kernel = compile_kernel(function, SIZES, cache=None)
        single = kernel.single()
        seconds = min(_timed(single, state) for _ in range(30))
        count = sum(kernel.counts.values())
        results[name] = {"operations": count, "us": 1e6 * seconds}
        paper = f"{PAPER[name]:.4f}" if name in PAPER else "-"
        whole = 1e3 * seconds * EVALUATIONS
        print(f"  {name:<22}{count:>9}{1e6 * seconds:8.2f}{whole:12.1f}{paper:>22}")
    return results


def _timed(single: Any, state: list[Any], turns: int = 50) -> float:
    start = time.perf_counter()
    for _ in range(turns):
        single.run(*state)
    return (time.perf_counter() - start) / turns
