"""Machines, results and right arguments, on which every public call can be made."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.model.spatial import Frame
from tests.machines import four_bar


def arm() -> mbd.Mechanism:
    """A pin and a ball: 5 coordinates, 4 velocities."""
    b = mbd.Builder("arm")
    b.link("upper", 2.0, (0, 0, 0.5), (0.2, 0.2, 0.1)).link("hand", 1.0, (0.1, 0, 0), (0.1,) * 3)
    b.joint("pin", "revolute", "base", "upper", axis=(0, 1, 0))
    b.joint("ball", "spherical", "upper", "hand", (0, 0, 1))
    return mbd.Mechanism.build(b)


class Stage:
    """One machine and what came of it.

    Attributes
    ----------
    given : right arguments by the parameter's name, for all calls
    always : what calls need beside their required arguments, where they take it
    """

    def __init__(self, machine: mbd.Mechanism, joints: list[str], link: str, folder: Path) -> None:
        self.machine = machine
        nv = machine.nv
        closed = machine.model.has_loops
        if closed:
            start = machine.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 0.25})
            self.q, self.v, self.a = start.q, start.v, start.a
        else:
            self.q = np.array([0.5, 0.0, 0.5, 0.5, 0.0, 0.5])[[0, 2, 3, 1, 5]]
            self.q[1:] = 0.5
            self.v, self.a = np.full(nv, 0.25), np.full(nv, 0.5)
        self.always: dict[str, Any] = {"actuated": ["crank"]} if closed else {}
        self.joint = joint = joints[0]
        self.given: dict[str, Any] = {
            "q": self.q,
            "v": self.v,
            "a": self.a,
            "tau": np.full(nv, 0.5),
            "joints": joints,
            "link": link,
            "links": [link],
            "external": {link: np.full(6, 0.5)},
            "at": (0.5, 0.25, 0.0),
            "actuated": ["crank"] if closed else None,
            "point": np.array([0.5, 0.25, 0.0]),
            "mass": 0.5,
            "centre": np.array([0.5, 0.25, 0.0]),
            "inertia": np.array([0.5, 0.5, 0.5]),
            "gravity": np.array([0.0, 0.0, -9.8125]),
            "near": {machine.coordinate_names[0]: 0.5},
            "fixed": [machine.coordinate_names[0]] if closed else (),
            "weights": {machine.model.velocity_names[0]: 2.0},
            "velocity": {machine.model.velocity_names[0]: 0.5},
            "acceleration": {machine.model.velocity_names[0]: 0.5},
            "parameters": {f"{link}.mass": np.array([1.0, 2.0])},
            "torque": {machine.model.velocity_names[0]: 0.5},
            "prescribed": {machine.coordinate_names[0]: 0.5},
            "duration": 0.004,
            "step": 0.001,
            "events": {"top": lambda t, q, v: q[0]},
            "what": "mass_matrix",
            "time": 0.002,
            "names": [machine.coordinate_names[0]],
            "quantities": ["q"],
            "exponents": [3.0, 5.0],
            "digits": 6,
            "watches": {"top": lambda t, q, v: q[0]},
            "number": 0,
            "index": 0,
            "joint": joint,
            "states": 2,
            "pybullet": False,
            "size": (64, 48),
            "package_path": [str(folder)],
            "path": str(folder / "out.csv"),
            "mechanism": machine,
            "machine": machine,
            "inputs": None,
            "outputs": None,
            "loads": None,
            "model": machine.model,
            "checkpoint": str(folder / "run.npz"),
            "method": "multipliers",
            "integrator": "rk4",
            "correction": "state",
            "notes": ["a note"],
            "progress": lambda done: None,
            "frames": [link],
            "view": (30.0, 20.0),
            "prescribed_names": None,
            "equations": self.equations,
            "request": mbd.loads.LoadRequest.of(machine.model, joints, **self.always),
            "name": "step",
            "t": 0.25,
            "x": self.equations.start,
            "rate": np.zeros(self.equations.sizes["x"]),
            "lam": np.zeros(self.equations.sizes["lam"]),
            "u": None,
            "p": None,
            "forces": [mbd.forces.Drag(link, 0.5, name="drag")],
            "elements": [mbd.forces.Drag(link, 0.5, name="drag")],
            "parameter": np.array([0.5, 1.0]),
            "models": [self.linear, self.linear],
        }

    @functools.cached_property
    def equations(self) -> mbd.Equations:
        """The equations of a system that tells energies and loads."""
        system = mbd.System(self.machine, loads=[self.joint])
        return mbd.Equations(system, q=self.q, v=self.v)

    @functools.cached_property
    def linear(self) -> mbd.linear.LinearModel:
        """Small motions about where the machine starts."""
        return mbd.linear.linearise(self.machine, self.q, self.v)

    @functools.cached_property
    def run(self) -> mbd.simulation.Simulation:
        """A short simulation."""
        return self.machine.simulate(0.01, q=self.q, v=self.v)

    @functools.cached_property
    def batch(self) -> mbd.simulation.SimulationBatch:
        """Two of them."""
        return self.machine.simulate(0.01, q=np.stack([self.q] * 2), v=self.v)

    @functools.cached_property
    def loads(self) -> mbd.loads.JointLoads:
        """Loads along the short simulation."""
        return self.run.joint_loads(self.given["joints"])

    @functools.cached_property
    def motion(self) -> mbd.Motion:
        """The same motion as read from a file."""
        run, model = self.run, self.machine.model
        names = model.coordinate_names, model.velocity_names
        return mbd.Motion(run.time, run.q, run.v, run.a, *names, (), model)

    @functools.cached_property
    def solver(self) -> mbd.loads.LoadSolver:
        """A prepared solver."""
        return self.machine.compile("joint_loads", self.given["joints"], **self.always)


def builder() -> mbd.Builder:
    """A machine that is not finished."""
    b = mbd.Builder("made").link("first", 1.0).link("second", 1.0)
    return b.joint("one", "revolute", "base", "first").joint("two", "revolute", "first", "second")


BUILDING: dict[str, Any] = {
    "name": "new",
    "type": "revolute",
    "parent": "second",
    "child": "third",
    "joint": "two",
    "follows": "one",
    "xyz": np.array([0.5, 0.25, 0.0]),
    "rpy": np.array([0.5, 0.25, 0.0]),
    "axis": np.array([0.0, 1.0, 0.0]),
    "axis2": np.array([0.0, 1.0, 0.0]),
    "predecessor": ("base", Frame.identity()),
    "successor": ("second", Frame.identity()),
    "length": 0.5,
    "rows": [0, 1],
    "mass": 0.5,
    "centre": np.array([0.5, 0.25, 0.0]),
    "inertia": np.array([0.5, 0.5, 0.5]),
    "mimic": "one",
    "root": "base",
}


def stages(folder: Path) -> dict[str, Stage]:
    """Return an open machine and one with a redundant loop."""
    return {
        "tree": Stage(arm(), ["pin", "ball"], "hand", folder),
        "loop": Stage(four_bar(1, 2, 1.5, 2.5), ["elbow", "pin"], "coupler", folder),
    }
