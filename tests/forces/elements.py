"""A machine with every kind of force element on it."""

from __future__ import annotations

import functools

import numpy as np

import mbd_bridge as mbd
from mbd_bridge import forces
from mbd_bridge.functions import Lookup, sin
from mbd_bridge.simulation.trajectory import Trajectory

Q = np.array([0.4, 0.1, -0.7])
V = np.array([-1.2, 0.3, 2.1])

TABLE = Lookup([-0.5, -0.1, 0.2, 0.6], [-30.0, -4.0, 9.0, 11.0], kind="cubic", outside="extend")
LINES = Lookup([-0.5, -0.1, 0.2, 0.6], [-30.0, -4.0, 9.0, 11.0])

JOINTS = ("wrist", "shoulder")

ENDS = ((0.2, -0.1, 0.6), (0.1, 0.05, -0.2))

ELEMENTS = {
    "linear": forces.PointSpring(("ground", "hand"), ENDS, 80.0, 3.0, 5.0, 0.4),
    "polynomial": forces.PointSpring(("arm", "hand"), ENDS, (40.0, 90.0, 7.0), 2.0, 0.0, 0.3),
    "table": forces.PointSpring(("hand", "arm"), ENDS, TABLE, 2.0, 1.0, 0.3),
    "zero length": forces.PointSpring(("slide", "ground"), ENDS, 30.0, 1.0, 0.0, 0.0),
    "torsion bar": forces.JointSpring("shoulder", 60.0, 2.0, 0.3, 4.0),
    "slide spring": forces.JointSpring("rail", LINES, 6.0, -0.05),
    "bushing": forces.Bushing(
        ("slide", "ground"),
        ENDS,
        ((0.1, 0.2, 0.3), (0.0, -0.4, 0.2)),
        (50, 60, 70, 8, 9, 10),
        (1, 2, 3, 0.1, 0.2, 0.3),
    ),
    "friction": forces.JointFriction("wrist", 1.5, 2.5, 0.2, 0.05, 0.4),
    "loaded": forces.LoadFriction("shoulder", 0.3, 0.05, 0.2, 0.05),
    "stop": forces.JointStop("shoulder", -0.3, 0.35, 900.0, 20.0, 0.02),
    "drag": forces.Drag("hand", 0.8, (0.1, 0.0, 0.2)),
    "bar": forces.TorsionBar("shoulder", 8e10, 1.2, 0.008, 0.003, damping=1.5, rest=0.1),
    "bumper": forces.PointStop(
        ("ground", "hand"), ENDS, 0.9, 1.0, (300.0, 4000.0), 30.0, 0.02, name="bumper"
    ),
    "gas": forces.HydropneumaticUnit(
        ("arm", "hand"), ENDS, 2e-3, 1.0, 8e-4, 4e5, bump=(60.0, 5.0), rebound=(90.0, 20.0)
    ),
    "isothermal": forces.HydropneumaticUnit(
        ("ground", "slide"), ENDS, 1e-3, 0.8, 5e-4, static_force=300.0, exponent=1.0, bump=40.0
    ),
    "field": forces.GravityField((0.3, -0.2, 5.0), ("arm", "hand")),
    "pull": forces.PointActuator(("ground", "hand"), ENDS, 7.0),
    "control": forces.PositionControl("wrist", 0.5, 9.0, 2.0, 25.0, 0.1),
    "drive": forces.JointActuator("rail", Lookup([0.0, 0.2, 1.0], [1.0, 9.0, -4.0])),
}

TRACED = {
    "servo": forces.JointActuator("wrist", lambda t, s, rate: 3.0 * sin(4.0 * t) - s - 0.2 * rate),
    "cylinder": forces.PointActuator(
        ("arm", "hand"), ENDS, lambda t, length, rate: 20.0 * (length - 1.0) - 3.0 * rate
    ),
    "any": forces.GeneralForce(lambda t, q, v: np.array([-2.0 * q[2], q[0] * v[1]]), JOINTS),
    "push": forces.GeneralForce(
        lambda t, q, v: np.array([1.0, q[0], -v[2], 0.1, t, 0.0]), link="hand", axes="world"
    ),
}
"""Elements with functions of a user's."""


@functools.cache
def machine(floating: bool = False, wrist: float = 0.1) -> mbd.Mechanism:
    """Return an arm that turns, slides and turns, on the ground or afloat; m, the wrist's place."""
    builder = (
        mbd.Builder("arm", root="base")
        .link("base", 3.0, (0.1, 0, 0.1), (0.3, 0.4, 0.2))
        .link("arm", 2.0, (0.3, 0, 0.02), (0.01, 0.2, 0.2))
        .link("slide", 1.0, (0, 0.05, 0), (0.02, 0.03, 0.02))
        .link("hand", 0.7, (0.1, 0, 0.1), (0.01, 0.01, 0.02))
        .joint("shoulder", "revolute", "base", "arm", (0, 0, 0.5), (0.1, 0, 0), axis=(0, 1, 0))
        .joint("rail", "prismatic", "arm", "slide", (0.6, 0, 0), axis=(1, 0, 0))
        .joint("wrist", "revolute", "slide", "hand", (0, 0, wrist), (0, 0.3, 0), axis=(1, 0, 0))
    )
    return mbd.Mechanism.build(builder, floating=floating)


def states(robot: mbd.Mechanism, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random states (count, nq), (count, nv)."""
    rng = np.random.default_rng(7)
    q = np.array([robot.model.neutral() for _ in range(count)])
    for row in q:
        step = rng.normal(scale=0.5, size=robot.nv)
        row[:] = robot.model.integrate(row, step)
    return q, rng.normal(size=(count, robot.nv))


def bound(robot: mbd.Mechanism, element: forces.ForceElement) -> forces.ForceElement:
    """Return an element as a system holds it."""
    return mbd.System(robot, forces=[element]).forces[0]


def generalised(robot: mbd.Mechanism, element, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the generalised forces (K, nv) of one element at states."""
    trajectory = Trajectory(mbd.System(robot, forces=[element]))
    tau, _, pushed = trajectory.acting(np.zeros(len(q)), q, v)
    return tau + pushed
