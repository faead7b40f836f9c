"""The published simulations made again: set-ups shared by tests and `docs/papers/verification`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

import mbd_bridge as mbd
from mbd_bridge.model.description import Loop, LoopEnd
from mbd_bridge.model.spatial import Frame
from tests.robots import own_urdfs

INCH = 0.0254
"""m; length of the spring of simulation 2."""

STIFFNESS = 1.7513e7
"""N/m; the paper's number, read as N/m: 1e5 lb/in."""

ANCHOR = np.array([-INCH, 0.0, 2.84])
"""m; where the spring is tied to the ground: chosen, an inch behind the arm's end and level
with it, so that the arm pulls."""

PITCH = ("joint_2", "joint_4", "joint_6")


class PrescribedRun(NamedTuple):
    """A run of the arm: the mechanism, what it was prescribed by, and the motion."""

    arm: mbd.Mechanism
    prescribed: dict[str, Any]
    run: mbd.simulation.Simulation


def rrc_arm() -> mbd.Mechanism:
    """Return the arm of KimYou97."""
    return mbd.load(own_urdfs()["rrc_arm"])


def first_motions() -> dict[str, Any]:
    """Return what moves simulation 1: roll joints locked, q2 = pi/3 sin(pi t / 5)  (37)."""
    locked: dict[str, Any] = {f"joint_{k}": 0.0 for k in (1, 3, 5, 7)}
    return {**locked, "joint_2": lambda t: np.pi / 3 * np.sin(np.pi * t / 5)}


def second_motions() -> dict[str, Any]:
    """Return what moves simulation 2: q4 = pi/30 sin(pi t - pi), all but joint 6 locked  (38)."""
    locked: dict[str, Any] = {f"joint_{k}": 0.0 for k in (1, 2, 3, 5, 7)}
    return {**locked, "joint_4": lambda t: np.pi / 30 * np.sin(np.pi * t - np.pi)}


def first(step: float = 1e-3, every: int = 10, **options: Any) -> PrescribedRun:
    """Return simulation 1, 5 s."""
    arm, prescribed = rrc_arm(), first_motions()
    return PrescribedRun(
        arm,
        prescribed,
        arm.simulate(5.0, step=step, every=every, prescribed=prescribed, **options),
    )


def second_exact(step: float = 1e-4, every: int = 10) -> PrescribedRun:
    """Return simulation 2 with an exact joint, 1 s: the spring is a massless rod of an inch."""
    described = rrc_arm().model.description
    ends = LoopEnd("tip", Frame.identity()), LoopEnd("base", Frame.from_rpy(tuple(ANCHOR)))
    rod = Loop("rod", "distance", *ends, length=INCH)
    arm, prescribed = mbd.Mechanism.build(replace(described, loops=(rod,))), second_motions()
    return PrescribedRun(
        arm, prescribed, arm.simulate(1.0, step=step, every=every, prescribed=prescribed)
    )


def second_sprung(
    stiffness: float, start: np.ndarray, step: float = 1e-5, every: int = 100, **options: Any
) -> PrescribedRun:
    """Return simulation 2 with a spring, 1 s, from the velocity `start` (7,)."""
    arm, prescribed = rrc_arm(), second_motions()
    pushes = {"tip": spring(arm, stiffness)}
    options |= {"external": pushes, "external_in": "world", "v": start}
    return PrescribedRun(
        arm,
        prescribed,
        arm.simulate(1.0, step=step, every=every, prescribed=prescribed, **options),
    )


def spring(arm: mbd.Mechanism, stiffness: float) -> Callable[..., Any]:
    """Return the pull of a spring between the arm's end and its anchor, in world axes."""

    def pull(t: Any, q: Any, v: Any) -> Any:
        way = ANCHOR - arm.placement(q, "tip")[:3, 3]
        length = np.sqrt(way @ way)
        return np.concatenate([stiffness * (length - INCH) / length * way, np.zeros(3)])

    return pull


def smooth_start(exact: mbd.simulation.Simulation, stiffness: float) -> np.ndarray:
    """Return the velocity (7,) with which the spring stretches as the rod's force begins to grow.

    The rod's force is zero at the start and grows: length' = force' / stiffness, and the length's
    derivative along joint 6 is 0.30 + 0.27 m in the stretched position.
    """
    force, ahead = exact.joint_loads(["rod"]).force[:5, 0, 0], exact.time[1] - exact.time[0]
    growth = force @ np.array([-25, 48, -36, 16, -3]) / (12 * ahead)  # fourth order
    start = exact.v[0].copy()
    start[5] += growth / stiffness / 0.57
    return start


class Newton(NamedTuple):
    """What pinocchio's rnea says of a motion: forces (K, 3) in world axes, prescribed motions (K,
    7).
    """

    force: np.ndarray
    actuation: np.ndarray


def newton_euler(run: mbd.simulation.Simulation, joint: str) -> Newton:
    """Return the load of a joint by pinocchio's recursive Newton-Euler (rnea, data.f).

    External wrenches of the run are handed over link by link.
    """
    model = pin.buildModelFromUrdf(str(own_urdfs()["rrc_arm"]))
    data, number = model.createData(), model.getJointId(joint)
    force, actuation = [], []
    for k, (q, v, a) in enumerate(zip(run.q, run.v, run.a, strict=True)):
        pushes = [pin.Force.Zero() for _ in range(model.njoints)]
        for link, wrench in run.external.items():
            frame = model.frames[model.getFrameId(link)]
            pushes[frame.parentJoint] += frame.placement.act(pin.Force(wrench[k]))
        pin.forwardKinematics(model, data, q)
        actuation.append(np.array(pin.rnea(model, data, q, v, a, pushes)))
        force.append(data.oMi[number].rotation @ data.f[number].linear)
    return Newton(np.array(force), np.array(actuation))


def pinocchio_motion(prescribed: dict[str, Any], time: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the coordinates (K, 7) of simulation 1 by pinocchio's M and h and SciPy's DOP853.

    In the free joints M_ff a_f = -(h + M_fd a_d)_f; what is prescribed is given.
    """
    model = pin.buildModelFromUrdf(str(own_urdfs()["rrc_arm"]))
    data, free = model.createData(), [3, 5]

    def course(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        q, v, a = np.zeros(7), np.zeros(7), np.zeros(7)
        w = np.pi / 5
        angle = np.pi / 3 * np.array([np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)])
        q[1], v[1], a[1] = angle
        return q, v, a

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        q, v, a = course(t)
        q[free], v[free] = y[:2], y[2:]
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        right = -(pin.nonLinearEffects(model, data, q, v) + M @ a)[free]
        return np.concatenate([y[2:], np.linalg.solve(M[np.ix_(free, free)], right)])

    found = solve_ivp(
        rate, (0, time[-1]), np.zeros(4), "DOP853", time, rtol=tolerance, atol=tolerance
    )
    out = np.array([course(t)[0] for t in time])
    out[:, free] = found.y[:2].T
    return out
