"""Springs against ADAMS (Project Chrono's validation data): positions, forces, torque."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbd_bridge as mbd
from mbd_bridge.forces import PointSpring
from tests.oracles.adams import GRAVITY, INERTIA, SPRINGS
from tests.tolerances import ADAMS

NO_TURN = (0.0, 0.0, 0.0, 1.0)


@pytest.fixture(scope="module")
def free_body():
    builder = mbd.Builder("body", root="body").link("body", 1.0, inertia=INERTIA)
    return mbd.Mechanism.build(builder, floating=True, gravity=GRAVITY)


@pytest.mark.parametrize("name", SPRINGS)
def test_a_spring_between_points_moves_a_body_as_in_adams(free_body, name, tmp_path):
    centre, points, (stiffness, damping), expected = SPRINGS[name]
    q = np.array([*centre, *NO_TURN])
    spring = PointSpring(("ground", "body"), points, stiffness, damping, name="spring")
    spring = spring.relaxed_at(free_body, q)
    mbd.forces.save_forces(tmp_path / "body.forces.yaml", [spring])
    machine = free_body.with_forces(
        mbd.forces.load_forces(tmp_path / "body.forces.yaml", free_body)
    )
    run = machine.simulate(5.0, q=q)
    tension = run.force_elements["spring"]["force"]
    for time, (place, force) in expected.items():
        k = 1000 * time
        assert np.abs(run.q[k, :3] - place).max() < ADAMS
        pose = free_body.placement(run.q[k], "body")
        way = pose[:3, :3] @ points[1] + pose[:3, 3] - points[0]
        assert np.abs(tension[k] * way / np.linalg.norm(way) - force).max() < ADAMS


ZERO = PointSpring(("ground", "body"), stiffness=10.0, damping=0.5, free_length=0.0)


def test_a_spring_of_no_length_at_the_start_lets_a_body_down_as_published(free_body):
    run = free_body.simulate(5.0, q=[0, 0, 0, *NO_TURN], forces=[ZERO])
    assert abs(run.q[1000, 2] + 1.745020) < ADAMS
    assert abs(run.q[-1, 2] + 1.262420) < ADAMS


def test_a_spring_of_no_free_length_moves_a_point_as_newton_says(free_body):
    def rate(t, y):
        u = y[:3] / np.linalg.norm(y[:3])
        return np.concatenate([y[3:], -10.0 * y[:3] - 0.5 * (u @ y[3:]) * u + GRAVITY])

    exact = solve_ivp(rate, (0, 1), [0, 2, 0, 0, 0, 0], method="DOP853", rtol=1e-12, atol=1e-12)
    run = free_body.simulate(1.0, q=[0, 2, 0, *NO_TURN], forces=[ZERO])
    assert np.abs(run.q[-1, :3] - exact.y[:3, -1]).max() < 1e-9


TORSION = """\
units: SI
forces:
  - name: torsion
    type: JointSpring
    joint: pin
    stiffness: 200
    damping: 10
"""


def test_a_torsion_spring_of_a_file_holds_a_pendulum_as_in_adams(tmp_path):
    builder = (
        mbd.Builder("pendulum")
        .link("bob", 1.0, (2, 0, 0), INERTIA)
        .joint("pin", "revolute", "base", "bob", axis=(0, 1, 0))
    )
    robot = mbd.Mechanism.build(builder, gravity=GRAVITY)
    (tmp_path / "pendulum.forces.yaml").write_text(TORSION)
    robot = robot.with_forces(mbd.forces.load_forces(tmp_path / "pendulum.forces.yaml", robot))
    run = robot.simulate(1.0)
    angle, rate, acceleration = run.q[-1, 0], run.v[-1, 0], run.a[-1, 0]
    assert np.abs(2 * np.array([np.cos(angle), -np.sin(angle)]) - (1.994921, -0.1424453)).max() < (
        ADAMS
    )
    force = -robot.placement(run.q[-1], "bob")[:3, :3] @ run.joint_loads("pin")["pin"].force[-1]
    assert abs(force[2] + 7.811281) < ADAMS
    inwards = 2 * (np.cos(angle) * rate**2 + np.sin(angle) * acceleration)
    assert np.abs(force[:2] - (inwards, 0)).max() < 1e-9  # published: 0.1710964, 3e-4 off Newton
    torque = -run.force_elements["torsion"]["force"][-1]
    assert abs(torque - 15.45839) < ADAMS * torque
    assert abs(-run.joint_loads("pin")["pin"].moment[-1, 1] - torque) < 1e-9
