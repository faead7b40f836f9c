"""Elementary functions beside NumPy's, and derivatives of dynamics beside pinocchio's."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge import functions as fn
from mbd_bridge.kernels import Kernel, compile_kernel, packed
from mbd_bridge.solve import prepare
from tests.benchmarks.robots import ROBOTS
from tests.robots import robot

ROWS, WIDTH = 2048, 8
"""States of a batch and arguments of a state: they stay in the second cache."""

STATES = 1024

FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
    "exp": (fn.exp, np.exp, 1),
    "log": (fn.log, np.log, 1),
    "tanh": (fn.tanh, np.tanh, 1),
    "sin": (fn.sin, np.sin, 1),
    "arctan": (fn.arctan, np.arctan, 1),
    "arctan2": (fn.arctan2, np.arctan2, 2),
    "maximum": (fn.maximum, np.maximum, 2),
}


def run() -> dict[str, Any]:
    warnings.simplefilter("ignore", mbd.MbdWarning)
    return {"functions": functions(), "jacobians": jacobians()}


def best(call: Callable[[], Any], turns: int) -> float:
    """Return the least time of a call, s."""
    least = np.inf
    for _ in range(turns):
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least


def functions() -> dict[str, dict[str, float]]:
    """Time each function: a whole call, and what it adds to a call that only copies."""
    rng = np.random.default_rng(0)
    given = [np.abs(rng.normal(size=(ROWS, WIDTH))) for _ in range(2)]
    spare = np.empty((ROWS, WIDTH))
    copy = {n: _timed(lambda *x: x[0] + 1.0, given[:n], spare) for n in (1, 2)}
    results = {}
    print(f"  ns a value, {ROWS} x {WIDTH} values     call  without copying    NumPy")
    for name, (ours, theirs, number) in FUNCTIONS.items():
        call = _timed(ours, given[:number], spare)
        inputs = given[:number]
        peer = best(lambda f=theirs, x=inputs: f(*x, out=spare), 3000) / spare.size
        results[name] = {"call": call, "function": call - copy[number], "numpy": peer}
        print(
            f"  {name:<32} {call * 1e9:7.2f} {(call - copy[number]) * 1e9:16.2f} {peer * 1e9:8.2f}"
        )
    for kind in ("linear", "cubic"):
        for even in (True, False):
            x = np.linspace(0.0, 4.0, 200) ** (1.0 if even else 1.5)
            table = fn.Lookup(x, np.sin(x), kind)
            call = _timed(table, given[:1], spare)
            peer = best(lambda x=x: np.interp(given[0], x, x), 1000) / spare.size
            name = f"{kind} table, {'even' if even else 'uneven'}, 200 knots"
            results[name] = {"call": call, "function": call - copy[1], "numpy": peer}
            print(
                f"  {name:<32} {call * 1e9:7.2f} {(call - copy[1]) * 1e9:16.2f} {peer * 1e9:8.2f}"
            )
    return results


def _show(name: str, row: dict[str, float]) -> None:
    call, function, peer = (1e9 * row[key] for key in ("call", "function", "numpy"))
    print(f"  {name:<32} {call:7.2f} {function:16.2f} {peer:8.2f}")


def _timed(function: Callable[..., Any], given: list[Any], spare: Any) -> float:
    sizes = {f"x{k}": WIDTH for k in range(len(given))}
    kernel = compile_kernel(lambda *x: (function(*x),), sizes, cache=None)
    return best(lambda: kernel(*given, out=(spare,)), 3000) / spare.size


def packed_call(kernel: Kernel, states: Any) -> Callable[[], Any]:
    """Return a call of a kernel that writes no zeros (`kernels.packed`)."""
    lean = packed(kernel, cache=None).kernel
    out = lean(*states)
    return lambda: lean(*states, out=out)


def jacobians() -> dict[str, dict[str, float]]:
    """Time derivatives of dynamics by position, velocity and torque or acceleration."""
    import pinocchio as pin

    results = {}
    for name, path in ROBOTS.items():
        model, peer = mbd.load(robot(path)).model, pin.buildModelFromUrdf(str(robot(path)))
        given = np.random.default_rng(1).uniform(-1.0, 1.0, (3, STATES, model.nv))
        state, data = [x[0].copy() for x in given], peer.createData()
        for what, theirs in (
            ("inverse_dynamics", pin.computeRNEADerivatives),
            ("forward_dynamics", pin.computeABADerivatives),
        ):
            start = time.perf_counter()
            kernel = prepare(model, f"{what}_derivatives", cache=None)
            seconds = time.perf_counter() - start
            out = kernel(*given)
            single = kernel.single()
            row = {
                "operations": float(sum(kernel.counts.values())),
                "compile": seconds,
                "lanes": best(lambda k=kernel, x=given, o=out: k(*x, out=o), 500) / STATES,
                "one state": best(lambda s=single, x=state: s.run(*x), 3000),
                "packed": best(packed_call(kernel, given), 500) / STATES,
                "pinocchio": best(lambda f=theirs, x=state, p=(peer, data): f(*p, *x), 3000),
            }
            results[f"{name} {what}"] = row
            keys = ("lanes", "packed", "one state", "pinocchio")
            lanes, lean, one, pinocchio = (row[key] * 1e9 for key in keys)
            print(
                f"  {name}, derivatives of {what}: {row['operations']:.0f} operations, compiled in "
                f"{seconds:.1f} s; {lanes:.0f} ns a state of many, {lean:.0f} ns packed, {one:.0f} "
                f"ns one, pinocchio {pinocchio:.0f} ns: {pinocchio / lanes:.1f}, "
                f"{pinocchio / lean:.1f} and {pinocchio / one:.1f} times"
            )
    return results | contact()


def contact() -> dict[str, dict[str, float]]:
    """Time the derivatives of an iiwa whose hand is held at a point."""
    import pinocchio as pin

    from mbd_bridge.engines import pinocchio as bridge

    peer = pin.buildModelFromUrdf(str(robot(ROBOTS["iiwa"])))
    data, settings = peer.createData(), pin.ProximalSettings(1e-12, 1e-12, 1)
    here = pin.SE3.Identity()
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(
        pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, peer, 7, here, 0, here, pin.LOCAL)
    )
    datas.append(models[0].createData())
    pin.initConstraintDynamics(peer, data, models, datas)
    given = np.random.default_rng(1).uniform(-1.0, 1.0, (3, STATES, peer.nv))
    state, ready = [x[0].copy() for x in given], bridge.prepare(peer)

    def theirs() -> None:
        pin.constraintDynamics(peer, data, *state, models, datas, settings)
        pin.computeConstraintDynamicsDerivatives(peer, data, models, datas, settings)

    def ours(states: Any) -> None:
        bridge.computeConstraintDynamicsDerivatives(ready, None, models, state=states)

    ours(given)
    row = {
        "lanes": best(lambda: ours(given), 300) / STATES,
        "one state": best(lambda: ours(state), 1000),
        "pinocchio": best(theirs, 1000),
    }
    lanes, one, pinocchio = (value * 1e9 for value in row.values())
    print(
        f"  iiwa held at a point, motion and derivatives: {lanes:.0f} ns a state of many, "
        f"{one:.0f} ns one from Python, pinocchio {pinocchio:.0f} ns: {pinocchio / lanes:.1f} times"
    )
    return {"iiwa held at a point": row}
