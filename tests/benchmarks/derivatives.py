"""Derivatives of loads and torques beside pinocchio's: one process, one thread."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.kernels import compile_kernel
from tests.benchmarks.operations import best, packed_call
from tests.robots import OWN, robot

STATES = 1024


def run() -> dict[str, dict[str, float]]:
    """Time each, ns a state in lanes; pinocchio's function for one state after the other, called
    from Python, which is some 0.1 us of it: it has no batch of derivatives.
    """
    warnings.simplefilter("ignore", mbd.MbdWarning)
    import pinocchio as pin

    arm = mbd.load(OWN / "kuka_iiwa.urdf")
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, STATES, 7))
    one = [x[0].copy() for x in states]
    peer = arm.to_pinocchio()
    data = peer.createData()
    theirs = best(lambda: pin.computeRNEADerivatives(peer, data, *one), 3000)
    regressor = best(lambda: pin.computeJointTorqueRegressor(peer, data, *one), 3000)
    load = best(_call(arm.compile("joint_loads", ["lbr_iiwa_joint_4"]).kernel, states), 500)
    found = {
        "iiwa: torques by q, v, a": _timed(
            arm.compile("inverse_dynamics_derivatives"), states, theirs
        ),
        "iiwa: six components of joint 4 by q, v, a": _timed(
            arm.compile_derivatives(["lbr_iiwa_joint_4"]).kernel, states
        ),
        "iiwa: regressor of torques": _timed(_regressor(arm), states, regressor),
    }
    links = [f"lbr_iiwa_link_{k}" for k in range(1, 8)]
    by = ["q", "v", "a", *(f"{link}.inertial" for link in links)]
    gradient = arm.compile_derivatives(["lbr_iiwa_joint_4"], by).gradient("lbr_iiwa_joint_4.moment")
    row = _timed(gradient.kernel, states)
    row["times the load"] = row["lanes"] / (load / STATES)
    found["iiwa: gradient of a moment's length by q, v, a, 70 numbers"] = row
    bar = mbd.load(OWN / "four_bar.urdf")
    numbers = [f"{link}.{part}" for link in ("crank", "coupler", "rocker") for part in ("mass",)]
    numbers += [f"{link}.centre" for link in ("crank", "coupler", "rocker")]
    solver = bar.compile_derivatives(
        ["crank", "rocker"], ["q", "v", "a", *numbers], actuated="crank"
    )
    closed = [
        bar.assemble({"crank": x}, fixed="crank", velocity={"crank": 1.0})
        for x in np.linspace(0.1, 1.0, 16)
    ]
    rows = [np.array([getattr(state, name) for state in closed]) for name in "qva"]
    _, inputs = solver.loads.with_inputs([np.tile(x, (STATES // 16, 1)) for x in rows], None, {})
    found["four-bar: two joints by crank's q, v, a and 12 numbers"] = _timed(solver.kernel, inputs)
    talos = mbd.load(robot("erd/talos/talos_reduced"), floating=True)
    found["Talos: torques by q, v, a"] = _talos(talos, pin)
    found |= _simulations(arm)
    for name, row in found.items():
        figures = ", ".join(
            f"{key} {1e9 * x:.0f} ns"
            if key in ("lanes", "one state", "packed", "pinocchio")
            else f"{key} {x:.4g}"
            for key, x in row.items()
        )
        print(f"  {name}: {figures}")
    return found


def _talos(talos: Any, pin: Any) -> dict[str, float]:
    rng, model = np.random.default_rng(0), talos.model
    q = [model.integrate(model.neutral(), rng.uniform(-1.0, 1.0, model.nv)) for _ in range(64)]
    states = [np.array(q), *rng.uniform(-1.0, 1.0, (2, 64, model.nv))]
    peer = talos.to_pinocchio()
    data, one = peer.createData(), [x[0].copy() for x in states]
    theirs = best(lambda: pin.computeRNEADerivatives(peer, data, *one), 1000)
    kernel = talos.compile("inverse_dynamics_derivatives")
    row = _timed(kernel, states, theirs)
    row["packed"] = best(packed_call(kernel, states), 500) / len(states[0])
    return row | {"times faster, packed": theirs / row["packed"]}


def _simulations(arm: Any) -> dict[str, dict[str, float]]:
    """Time gradients and derivatives of 1,000 steps beside the steps, in ns a step."""
    linkage = mbd.load(OWN / "crank_rocker.urdf")
    start = linkage.assemble({"crank": 0.7}, fixed="crank", velocity={"crank": 2.0})
    platform = mbd.load(OWN / "stewart.urdf")
    at_rest = platform.assemble().q, np.zeros(platform.model.nv)
    cases = {
        "iiwa: 1,000 RK4 steps": (arm, np.full(7, 0.3), np.full(7, 0.2), "lbr_iiwa_link_5.mass"),
        "crank-rocker: 1,000 RK4 steps": (linkage, start.q, start.v, "coupler.mass"),
        "Stewart platform: 1,000 RK4 steps": (platform, *at_rest, "platform.mass"),
    }
    found = {}
    for name, (machine, q, v, mass) in cases.items():
        solver = machine.compile_simulation_derivatives(
            0.1, ["q", "v", mass], step=1e-4, every=1000
        )
        gradient = solver.gradient(final=lambda t, q, v: q @ q)
        begun, _ = solver.motion(q, v, None, None)
        march, stage = begun.steps.run, begun.steps.run.start()

        def steps(march=march, stage=stage, begun=begun) -> None:  # type: ignore[no-untyped-def]
            march.put(stage, *begun.state, np.array([1e-4]), *begun.constant)
            march.advance(stage, 1000, 1001)

        few = 10 if machine is platform else 1
        march_time = best(steps, 300 // few) / 1000
        adjoint = best(lambda: gradient(q, v), 100 // few) / 1000  # noqa: B023
        forward = best(lambda: solver(q, v), 30 // few) / 1000  # noqa: B023
        found[name] = {
            "one state": march_time,
            "gradient in ns": 1e9 * adjoint,
            "times the steps": adjoint / march_time,
            "forward in ns a column": 1e9 * forward / len(solver.columns),
            "operations there and back": float(sum(begun.steps.backward.counts.values())),
            "compiled in s: steps": march.compile_seconds,
            "gradient": begun.steps.backward.compile_seconds,
            "forward": begun.steps.forward.compile_seconds,
        }
    return found


def _call(kernel: Any, states: Any) -> Callable[[], Any]:
    out = kernel(*states)
    return lambda: kernel(*states, out=out)


def _timed(kernel: Any, states: Any, peer: float | None = None) -> dict[str, float]:
    count, single = len(states[0]), kernel.single()
    one = [np.array(x[0]) for x in states]
    row = {
        "operations": float(sum(kernel.counts.values())),
        "lanes": best(_call(kernel, states), 500) / count,
        "one state": best(lambda: single.run(*one), 3000),
        "compiled in s": kernel.compile_seconds,
    }
    if peer is not None:
        row |= {"pinocchio": peer, "times faster": peer / row["lanes"]}
    return row


def _regressor(mechanism: Any) -> Any:
    """Return the kernel of the regressor of the torques alone, by the links of an arm."""
    links = [f"lbr_iiwa_link_{k}.inertial" for k in range(1, 8)]
    solver = mechanism.compile_derivatives(None, links)

    def derived(*state: Any) -> tuple[Any, ...]:
        found = solver.kernel.function(*state)
        return (found[len(found) // 2 + 2],)

    return compile_kernel(derived, {"q": 7, "v": 7, "a": 7}, cache=None)
