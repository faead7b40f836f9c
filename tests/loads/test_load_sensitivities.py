"""Peaks and root mean squares along motions change as differences say."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.loads.derivatives import DerivativeRequest, DerivativeSolver
from mbd_bridge.loads.derivatives.sensitivities import SensitivityObserver
from mbd_bridge.loads.request import LoadRequest
from tests.complex_steps import varied
from tests.robots import OWN

ARM, MOTION = OWN / "kuka_iiwa.urdf", OWN / "kuka_iiwa_motion.csv"
JOINTS = ["lbr_iiwa_joint_2", "lbr_iiwa_joint_4"]
BY = ["lbr_iiwa_link_5.mass", "lbr_iiwa_joint_4.xyz.z", "lbr_iiwa_link_3.centre.y"]


def extremes(loads, joint):
    """Return peak and root mean square of force, moment and actuation of a joint."""
    one = loads[joint]
    lengths = [np.linalg.norm(x, axis=1) for x in (one.force, one.moment, one.actuation)]
    return np.array([[x.max(), np.sqrt((x * x).mean())] for x in lengths])


def test_peaks_and_root_mean_squares_change_as_differences_say():
    robot = mbd.load(ARM)
    motion = robot.read_motion(MOTION)
    found = robot.load_derivatives(motion, joints=JOINTS, by=BY).sensitivities()
    h = 1e-6
    for joint in JOINTS:
        for k, name in enumerate(BY):
            ahead, behind = (
                extremes(varied(robot, name, s).joint_loads(motion, joints=JOINTS), joint)
                for s in (h, -h)
            )
            expected = (ahead - behind) / (2.0 * h)
            got = [[row.d_peak[k], row.d_rms[k]] for row in found[joint]]
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)
        now = extremes(robot.joint_loads(motion, joints=JOINTS), joint)
        np.testing.assert_allclose([[r.peak, r.rms] for r in found[joint]], now, rtol=1e-12)


def test_pieces_of_a_motion_count_as_the_whole():
    robot = mbd.load(ARM)
    motion = robot.read_motion(MOTION)
    request = DerivativeRequest.of(robot.model, LoadRequest.of(robot.model, JOINTS), BY)
    solver = DerivativeSolver(robot.model, request)
    observer = SensitivityObserver(solver)
    for start in range(0, len(motion.time), 37):
        observer.add(motion.part(slice(start, start + 37)), None)
    whole, pieces = solver.along(motion).sensitivities(), observer.result()
    for one, other in zip(whole.rows, pieces.rows, strict=True):
        assert (one.peak, one.time, one.ties) == (other.peak, other.time, other.ties)
        np.testing.assert_allclose(one.d_rms, other.d_rms, rtol=1e-12)


def test_two_instants_that_tie_are_told():
    robot = mbd.Mechanism.build(
        mbd.Builder("arm").link("rod", 1.0, (1, 0, 0)).joint("pin", "revolute", "base", "rod")
    )
    time = np.linspace(0.0, 2.0 * np.pi, 401)
    v = 3.0 * np.sin(time)[:, None]
    slopes = robot.load_derivatives(0 * v, v, 0 * v, ["pin"], by="rod.mass")
    force = slopes.sensitivities()["pin"][0]
    assert len(force.ties) == 1
    assert abs(abs(force.ties[0] - force.time) - 200) <= 1
    np.testing.assert_allclose(force.d_peak, force.peak)  # of 1 kg
    assert "nearly as large" in str(slopes.sensitivities().tables()[0])


def test_percents_are_those_of_the_machines_own_numbers():
    robot = mbd.load(ARM)
    motion = robot.read_motion(MOTION)
    masses = [f"{link.name}.mass" for link in robot.model.links]
    found = robot.load_derivatives(motion, joints=["lbr_iiwa_joint_2"], by=masses)
    weight = found.sensitivities()
    row = weight["lbr_iiwa_joint_2"][0]
    # central moments of inertia make no force: forces are in proportion to masses
    np.testing.assert_allclose(np.nansum(weight.percent(row.d_peak, row.peak)), 1.0, rtol=1e-9)


def test_one_state_has_no_peak():
    robot = mbd.load(ARM)
    still = np.zeros(7)
    with pytest.raises(StateError, match="those of a motion"):
        robot.load_derivatives(still, still, still, by="q").sensitivities()


def test_what_is_rounding_has_no_slope():
    robot = mbd.load(OWN / "four_bar.urdf")
    states = [
        robot.assemble({"crank": x}, fixed="crank", velocity={"crank": 2.0})
        for x in np.linspace(0.2, 1.0, 9)
    ]
    q, v, a = (np.array([getattr(state, name) for state in states]) for name in "qva")
    slopes = robot.load_derivatives(q, v, a, ["coupler_pin"], by="coupler.mass", actuated="crank")
    force, moment = slopes.sensitivities()["coupler_pin"]
    assert force.peak > 1.0
    assert moment.peak == moment.rms == 0.0  # a pin has none about its axis
    assert np.isnan([moment.d_peak, moment.d_rms]).all()
