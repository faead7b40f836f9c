"""Loads are linear in inertial parameters: regressors of trees and loops, base parameters."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from tests.robots import OWN
from tests.trees import random_state, random_tree


def arm_states(count):
    return np.random.default_rng(1).uniform(-1.0, 1.0, (3, count, 7))


def motion(robot, x, rate, acceleration):
    rates = {"velocity": {"crank": rate}, "acceleration": {"crank": acceleration}}
    return robot.assemble({"crank": x}, fixed="crank", **rates)


def values(found):
    return np.array([column.value for column in found.columns])


@pytest.mark.parametrize("seed", range(4))
def test_a_regressor_times_inertial_parameters_is_the_load(seed):
    rng = np.random.default_rng(seed)
    robot = mbd.Mechanism.build(random_tree(rng, 6, mimics=0.3), gravity=(1.0, -2.0, -9.0))
    found = robot.load_derivatives(*random_state(robot.model, rng), by="inertial", in_="world")
    size = np.abs(found.loads.wrench).max()
    np.testing.assert_allclose(found.wrench @ values(found), found.loads.wrench, atol=1e-12 * size)
    np.testing.assert_allclose(
        found.actuation @ values(found), found.loads.actuation, atol=1e-12 * size
    )


def test_regressors_in_loops_are_linear_too():
    robot = mbd.load(OWN / "rssr.urdf")
    state = robot.assemble({"crank": 0.4}, fixed="crank", velocity={"crank": 1.3})
    found = robot.load_derivatives(state.q, state.v, state.a, by="inertial", actuated="crank")
    np.testing.assert_allclose(found.wrench @ values(found), found.loads.wrench, atol=1e-10)
    np.testing.assert_allclose(found.actuation @ values(found), found.loads.actuation, atol=1e-10)


def test_the_regressor_of_torques_is_that_of_pinocchio():
    pin = pytest.importorskip("pinocchio")
    robot = mbd.load(OWN / "kuka_iiwa.urdf")
    q, v, a = arm_states(1)[:, 0]
    found = robot.load_derivatives(q, v, a, by="inertial")
    peer = robot.to_pinocchio()
    expected = pin.computeJointTorqueRegressor(peer, peer.createData(), q, v, a)
    links = [found.by(f"lbr_iiwa_link_{k}.inertial").actuation for k in range(1, 8)]
    np.testing.assert_allclose(np.hstack(links), expected, atol=1e-12)


def test_an_arm_has_the_43_base_parameters_of_the_literature():
    robot = mbd.load(OWN / "kuka_iiwa.urdf")
    found = robot.load_derivatives(*arm_states(60), by="inertial")
    torques = type(found)(
        found.loads, found.columns, 0 * found.force, 0 * found.moment, found.actuation
    )
    base = torques.base_parameters()
    assert len(base.names) == 43
    W = found.actuation[..., list(base.independent)]
    np.testing.assert_allclose(W @ base.values, found.loads.actuation, atol=1e-11)
    change = np.random.default_rng(2).normal(size=len(found.columns))
    np.testing.assert_allclose(W @ base.matrix @ change, found.actuation @ change, atol=1e-10)


def test_base_parameters_of_a_four_bar_say_which_masses_count_together():
    robot = mbd.load(OWN / "four_bar.urdf")
    rng = np.random.default_rng(0)
    states = [
        robot.assemble(
            {"crank": x}, fixed="crank", velocity={"crank": y}, acceleration={"crank": z}
        )
        for x, y, z in rng.uniform(-1.0, 1.0, (40, 3))
    ]
    q, v, a = (np.array([getattr(state, name) for state in states]) for name in "qva")
    found = robot.load_derivatives(q, v, a, ["crank"], by="inertial", actuated="crank")
    names = found.base_parameters().names
    assert len(names) == 8
    assert "coupler.inertial.mx + rocker.inertial.iyy" in names  # all links are 1 m long
    assert "crank.inertial.mz + coupler.inertial.m + rocker.inertial.iyy" in names


def test_base_parameters_of_other_numbers_are_refused():
    robot = mbd.load(OWN / "kuka_iiwa.urdf")
    with pytest.raises(StateError, match="derive by 'inertial'"):
        robot.load_derivatives(*arm_states(3), by="q").base_parameters()
