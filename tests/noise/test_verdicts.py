"""Claims: motors and bearings know the motion's noise, and no alarm is of it alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.bearings import Bearing
from mbd_bridge.applications.motors import Actuator, Friction, MotorCurve
from mbd_bridge.loads.streaming import LoadCase, LoadCases
from mbd_bridge.motion import MotionParts
from mbd_bridge.motion.smoothing import BAND
from mbd_bridge.reports.sizing import sizings
from mbd_bridge.reports.write import summary
from tests.noise.recordings import UR5_RATE, recorded, ur5, ur5_motion

ELBOW = "elbow_joint"


@pytest.fixture(scope="module")
def noisy():
    arm, time = ur5(), np.arange(600) / UR5_RATE
    truth = ur5_motion(time)
    q = truth.q + 3e-4 * np.random.default_rng(3).normal(size=truth.q.shape)
    return arm, recorded(arm, time, q)


def motor(peak=None, **more):
    curve = MotorCurve(continuous=100.0, peak=peak, max_speed=1e4)
    return Actuator(ELBOW, 100.0, 1e-4, 0.9, Friction(0.01), curve=curve, **more)


def test_torques_of_states_within_the_errors_vary_as_stated(noisy):
    arm, motion = noisy
    robot = arm.with_actuators([motor()])
    duty = robot.motors(motion, ELBOW)[ELBOW]
    row = int(np.searchsorted(motion.time, duty.peak.time))
    rng, draws = np.random.default_rng(4), 4000
    at = [np.repeat(x[row : row + 1], draws, axis=0) for x in (motion.q, motion.v, motion.a)]
    now = np.full(draws, motion.time[row])
    for channel in motion.uncertainty.channels:
        (root,) = channel.roots(motion.time[row : row + 1])
        at = list(channel.displaced(now, *at, rng.normal(size=(draws, 3)) @ root.T))
    states = dict(zip("qva", at, strict=True))
    plain = replace(motion, time=np.arange(draws) * 1.0, uncertainty=None, **states)
    found = robot.motors(plain, ELBOW)[ELBOW]
    assert found.peak.band is None and found.rms_band is None
    assert BAND * found.states.torque.std() == pytest.approx(duty.peak.band, rel=0.05)


@pytest.mark.parametrize(
    ("widths", "state", "noise"), [(-2.0, "exceeded", 0), (-0.5, "open", 1), (0.5, "open", 1),
                                   (2.0, "fits", 0)]
)  # fmt: skip
def test_a_limit_is_only_exceeded_or_kept_where_noise_does_not_decide(noisy, widths, state, noise):
    arm, motion = noisy
    peak = arm.with_actuators([motor()]).motors(motion, ELBOW)[ELBOW].peak
    limit = abs(peak.value) + widths * peak.band
    verdict = arm.with_actuators([motor(limit)]).motors(motion, ELBOW)[ELBOW].verdict
    assert verdict.state == state and verdict.noisy == bool(noise)
    assert f"peak torque {abs(peak.value) / limit:.0%} ± " in verdict.text


def test_the_report_raises_no_alarm_of_noise_alone(noisy, tmp_path):
    arm, motion = noisy
    whole = MotionParts(motion, "noisy")
    from mbd_bridge.api.histories import HistoryRequest

    asked = HistoryRequest(mbd.loads.LoadRequest.of(arm.model, [ELBOW]), motors=False)
    history = asked.along(arm, whole)
    peak = history[f"{ELBOW}.actuation"].peak
    cases = LoadCases([LoadCase("a", history)])
    for widths, said in ((-2.0, "Beyond limits"), (-0.5, "noise leaves open"), (2.0, "All act")):
        (one,) = sizings(arm.model, history)
        limited = replace(one, effort_limit=abs(peak.value) + widths * peak.band)
        text = summary(cases, None, {"a": [limited]})
        assert said in text
        assert ('class="bad"' in text) == (widths == -2.0)
    assert one.speed_band > 0.0


def test_bearings_know_what_noise_leaves_open(noisy):
    arm, motion = noisy
    load = arm.bearings(motion, ELBOW, {ELBOW: Bearing(1e3, 1e3)})[ELBOW][0]
    loads = arm.joint_loads(motion, joints=ELBOW)
    row = int(np.searchsorted(motion.time, load.radial.time))
    across = np.abs(arm.model.joint(ELBOW).axis) < 0.5
    size = np.linalg.norm(loads.force[row, 0, across])
    assert load.radial.value == pytest.approx(size, rel=1e-9)
    off = np.linalg.norm(loads.uncertainty.force[row, 0, across])
    assert load.radial.band == pytest.approx(BAND * off, rel=1e-9)
    life = load.life
    assert 0.5 * life.hours < life.least_hours < life.hours
    low, high = life.static_band
    assert low < life.static_safety < high
    for factor, found in ((0.5 / high, "yes"), (1.0 / life.static_safety, "open"), (2 / low, "no")):
        bearing = Bearing(1e3, 1e3 * factor)
        assert arm.bearings(motion, ELBOW, {ELBOW: bearing})[ELBOW][0].overload == found
    exact = replace(motion, uncertainty=None)
    plain = arm.bearings(exact, ELBOW, {ELBOW: Bearing(1e3, 1e3)})[ELBOW][0]
    assert plain.radial.band is None and plain.life.least_hours is None
