"""Machines and actions for implicit integrators."""

import numpy as np
import pytest

import mbd_bridge as mbd

TABLE = np.array([0.0, 0.0213, 0.0213, 0.05, 0.1, 0.1, 0.3]), [0.0, 1.0, 3.0, -2.0, 1.0, -3.0, 2.0]
"""A torque that jumps between steps and at the end of one, and bends."""

ACTS = {
    "formula and parameters": {"torque": {"crank": "0.5 + t"}, "parameters": {"coupler.mass": 1.3}},
    "table": {"torque": {"crank": TABLE}},
    "table and parameters": {"torque": {"crank": TABLE}, "parameters": {"coupler.mass": 1.3}},
    "prescribed motion and force element": {
        "prescribed": {"crank": "0.5 + 4*t"},
        "forces": [mbd.forces.JointSpring("wrist", 3.0, 0.2)],
    },
    "force element and input": {
        "forces": [mbd.forces.JointSpring("crank", 20.0, 0.5)],
        "torque": {"crank": mbd.Input("motor")},
        "inputs": {"motor": 0.7},
    },
}


def slider():
    """A mass of 1 kg on a level rail."""
    built = mbd.Builder("slider", root="rail").link("mass", 1.0)
    built.joint("slide", "prismatic", "rail", "mass", axis=(1.0, 0.0, 0.0))
    return mbd.Mechanism.build(built.description())


def oscillator(stiffness):
    return mbd.System(slider(), forces=[mbd.forces.JointSpring("slide", stiffness=stiffness)])


def orders(errors):
    return np.log2(np.array(errors)[:-1] / np.array(errors)[1:])


Q, V = np.array([0.4, -0.7]), np.array([1.0, 2.0])


@pytest.fixture(scope="module")
def arm():
    """Two links in gravity, with a stiff damped spring and one that stiffens."""
    built = mbd.Builder("arm", root="base")
    for name in ("upper", "lower"):
        built.link(name, 1.5, (0.4, 0.0, 0.1), (0.1, 0.12, 0.08))
    built.joint("shoulder", "revolute", "base", "upper", axis=(0.0, 1.0, 0.0))
    built.joint("elbow", "revolute", "upper", "lower", xyz=(0.8, 0.0, 0.0), axis=(0.0, 1.0, 0.0))
    machine = mbd.Mechanism.build(built.description())
    springs = [
        mbd.forces.JointSpring("shoulder", stiffness=2e3, damping=5.0),
        mbd.forces.JointSpring("elbow", stiffness=(20.0, 0.0, 60.0), damping=0.3),
    ]
    torque = {"elbow": mbd.Input("push", 1.0)}
    return mbd.System(machine, forces=springs, torque=torque)
