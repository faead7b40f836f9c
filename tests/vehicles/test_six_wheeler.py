"""Cho09: the 6x6 vehicle against the paper's own formulation."""

import numpy as np
import pytest

import mbd_bridge as mbd
from tests.oracles import six_wheeler as oracle
from tests.robots import own_urdfs
from tests.tolerances import REFEREE

NAMES = [
    f"{part}_{row}_{side}"
    for part in ("arm", "wheel")
    for row in ("front", "middle", "rear")
    for side in ("left", "right")
]


@pytest.fixture(scope="module")
def vehicle():
    return mbd.load(own_urdfs()["six_wheeler"], floating=True, forces=())


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
