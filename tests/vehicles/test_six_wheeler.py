"""Cho09: the 6x6 vehicle against the paper's own formulation."""

import numpy as np
import pytest

import mbd_bridge as mbd
from tests.oracles import six_wheeler as oracle
from tests.robots import own_urdfs
from tests.tolerances import REFEREE
from tests.vehicles.scripts import example, says

SIDES = ("left", "right")
NEAR = 5e-3
"""RMS of the difference over the peak: wheels meet the edges of the bumps within a step."""

NAMES = [
    f"{part}_{row}_{side}"
    for part in ("arm", "wheel")
    for row in ("front", "middle", "rear")
    for side in SIDES
]


@pytest.fixture(scope="module")
def vehicle():
    return mbd.load(own_urdfs()["six_wheeler"], floating=True, forces=())


def test_the_example_says_what_it_should():
    says(
        "six_wheeler", ["newmark           20 ms: 0.016 m/s²", "rk4               20 ms: given up"]
    )


@pytest.mark.parametrize("frame", ["chassis", "global"])
def test_accelerations_are_those_of_the_papers_velocity_transformation(vehicle, frame):
    rng = np.random.default_rng(0)
    q = vehicle.model.integrate(vehicle.neutral(), rng.uniform(-1, 1, vehicle.nv))
    v, tau = rng.uniform(-2, 2, vehicle.nv), rng.uniform(-100, 100, 12)
    places = [vehicle.coordinate_names.index(name) for name in NAMES]
    rates = [vehicle.model.velocity_names.index(name) for name in NAMES]
    torque = np.zeros(vehicle.nv)
    torque[rates] = tau
    ours = vehicle.forward_dynamics(q, v, torque)

    numbers = np.concatenate([q[:7], q[places]]), np.concatenate([v[:6], v[rates]])
    M, right = oracle.equations(*numbers, tau, frame, oracle.plain)
    theirs = np.linalg.solve(M.astype(float), right.astype(float))
    A = np.eye(3) if frame == "chassis" else oracle.rotation(q[3:7]).astype(float)
    linear, angular = A.T @ theirs[:3], A.T @ theirs[3:6]
    expected = np.concatenate([linear - np.cross(v[3:6], v[:3]), angular, theirs[6:]])
    assert vehicle.nv == oracle.DOF == 18
    found = np.concatenate([ours[:6], ours[rates]])
    assert np.abs(found - expected).max() < REFEREE * np.abs(expected).max()


def test_it_starts_in_equilibrium_and_rolls_on_bumps_that_come_one_after_the_other():
    run = example("six_wheeler")["exact"]
    roll = 2.0 * np.arctan2(run.q[:, 3], run.q[:, 6])
    assert run.finished
    assert np.abs(run.a[0, :6]).max() < 0.01
    assert 0.01 < np.abs(roll).max() < 0.2
    parts = run.force_elements
    assert all(parts[f"tyre_front_{side}"]["normal_force"].min() == 0.0 for side in SIDES)


@pytest.mark.parametrize("h", [0.01, 0.02])
def test_implicit_newmark_stays_near_the_converged_motion(h):
    """Cho09, Figs 11 and 12: accelerations of heave and pitch."""
    made = example("six_wheeler")
    exact, run = made["exact"], made["runs"]["newmark", h]
    away = run.a[:, [2, 4]] - exact.a[:: round(h / 0.01), [2, 4]]
    assert run.finished
    rms = np.sqrt(np.mean(away**2, axis=0))
    assert (rms < NEAR * np.abs(exact.a[:, [2, 4]]).max(axis=0)).all()


def test_explicit_steps_of_20_ms_are_given_up():
    runs = example("six_wheeler")["runs"]
    assert runs["rk4", 0.01].finished
    assert not runs["rk4", 0.02].finished and not runs["explicit_newmark", 0.02].finished
