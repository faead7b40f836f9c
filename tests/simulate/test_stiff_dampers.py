"""Velocities at the start that a stiff damper does not allow: what says so, and what works."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import mbd_bridge as mbd

STIFFNESS, MOUNT = 10.0, 1e3
START = np.array([0.1, 0.0]), np.array([0.0, 1.0])


def damped(damping):
    """Two masses of 1 kg on a rail, the second one behind a damper."""
    built = mbd.Builder("slider", root="rail").link("mass", 1.0).link("bob", 1.0)
    built.joint("slide", "prismatic", "rail", "mass", axis=(1.0, 0.0, 0.0))
    built.joint("mount", "prismatic", "mass", "bob", axis=(1.0, 0.0, 0.0))
    machine = mbd.Mechanism.build(built.description())
    springs = [
        mbd.forces.JointSpring("slide", stiffness=STIFFNESS),
        mbd.forces.JointSpring("mount", stiffness=MOUNT, damping=damping),
    ]
    return mbd.System(machine, forces=springs)


def exact(damping, t):
    """Position and velocity by the matrix exponential."""
    mass = np.array([[2.0, 1.0], [1.0, 1.0]])
    inner = np.linalg.solve(mass, np.diag([STIFFNESS, MOUNT]))
    lost = np.linalg.solve(mass, np.diag([0.0, damping]))
    rate = np.block([[np.zeros((2, 2)), np.eye(2)], [-inner, -lost]])
    return (expm(rate * t) @ np.concatenate(START))[:2]


@pytest.mark.parametrize("damping", [1e4, 1e6, 1e8])
def test_steps_that_begin_short_follow_the_exact_motion(damping):
    for kind, steps in ((mbd.integrators.HHT, 200), (mbd.integrators.GeneralisedAlpha, 400)):
        for tolerance, error in ((1e-6, 2e-4), (1e-8, 1e-5)):
            scheme = kind(tolerance=tolerance)
            run = damped(damping).simulate(1.0, step=0.1, q=START[0], v=START[1], integrator=scheme)
            assert run.finished and (tolerance < 1e-6 or run.facts["steps"] < steps)
            assert np.abs(run.q[-1] - exact(damping, 1.0)).max() < error
            assert abs(run.v[-1, 1]) < 1e-3


def test_fixed_steps_are_refused_with_that_advice():
    for scheme in ("newmark", "hht", "generalised_alpha"):
        with pytest.raises(mbd.errors.SolveError, match=r"t = 0 s: .*HHT\(tolerance=1e-6\)"):
            damped(1e6).simulate(1.0, step=0.01, q=START[0], v=START[1], integrator=scheme)
