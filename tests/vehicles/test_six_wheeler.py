"""Cho09: the 6x6 vehicle against the paper's own formulation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbd_bridge as mbd
from mbd_bridge.model.description import Joint, Link
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


def test_three_hinges_are_the_papers_bryant_angles(vehicle):
    """(8), (9) and Fig 4: x, y', z''; they have a singular position, so our base has not them."""
    said = vehicle.model.description
    chain, parent = [], "world"
    for kind in ("prismatic", "revolute"):
        for name, axis in zip("xyz", np.eye(3), strict=True):
            child = "chassis" if (kind, name) == ("revolute", "z") else f"{kind}_{name}"
            chain.append(Joint(f"{kind} {name}", kind, parent, child, axis=axis))
            parent = child
    links = [Link("world"), *(Link(joint.child) for joint in chain[:-1]), *said.links]
    other = mbd.Mechanism.build(replace(said, links=tuple(links), joints=(*chain, *said.joints)))
    rng = np.random.default_rng(5)
    angles, place = rng.uniform(-1.2, 1.2, 3), rng.uniform(-1, 1, 3)
    (c1, c2, c3), (s1, s2, s3) = np.cos(angles), np.sin(angles)
    A = (
        np.array([[1, 0, 0], [0, c1, -s1], [0, s1, c1]])
        @ np.array([[c2, 0, s2], [0, 1, 0], [-s2, 0, c2]])
        @ np.array([[c3, -s3, 0], [s3, c3, 0], [0, 0, 1]])
    )  # (8)
    rates = np.array([[c3, -s3, 0], [s3 * c2, c3 * c2, 0], [-c3 * s2, s3 * s2, c2]]) / c2  # (9)
    v = rng.uniform(-1, 1, vehicle.nv)
    free = vehicle.neutral()
    free[:3], free[3:7] = place, Rotation.from_matrix(A).as_quat()
    q, w = np.array([*place, *angles, *free[7:]]), np.array([*A @ v[:3], *rates @ v[3:6], *v[6:]])
    assert np.allclose(other.placement(q, "chassis")[:3, :3], A, atol=1e-14)
    spins = [found.velocity(*state, "chassis")[3:] for found, state in
             ((other, (q, w)), (vehicle, (free, v)))]  # fmt: skip
    assert np.allclose(*spins, atol=1e-14) and np.allclose(spins[0], A @ v[3:6], atol=1e-14)
    torque = rng.uniform(-100, 100, 12)
    ours, theirs = (
        found.forward_dynamics(*state, [*np.zeros(6), *torque])[6:]
        for found, state in ((vehicle, (free, v)), (other, (q, w)))
    )
    assert np.abs(ours - theirs).max() < REFEREE * np.abs(ours).max()


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
