"""Claims about the summary of a load history."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.loads.peaks import Peak, Peaks

ARM = Path(__file__).parents[2] / "urdf" / "kuka_iiwa.urdf"


def test_a_peak_keeps_the_sign_and_the_first_time_of_the_largest_size():
    peak = Peak("j", "drive", "N m")
    peak.add(np.array([0.0, 1.0]), np.array([1.0, -2.0]))
    peak.add(np.array([2.0, 3.0]), np.array([2.0, 1.5]))
    assert (peak.peak, peak.time) == (-2.0, 1.0)
    assert peak.rms == pytest.approx(math.sqrt((1 + 4 + 4 + 2.25) / 4))


def test_blocks_give_the_peaks_of_the_whole():
    robot = mbd.load(ARM)
    rng = np.random.default_rng(0)
    time, states = np.arange(30.0), rng.normal(size=(3, 30, 7))
    loads = robot.joint_loads(*states, joints=["lbr_iiwa_joint_3", "lbr_iiwa_joint_ee"])
    whole, parts = Peaks(robot.model, loads), Peaks(robot.model, loads)
    whole.add(time, loads)
    for part in (slice(0, 11), slice(11, 12), slice(12, 30)):
        some = robot.joint_loads(*states[:, part], joints=loads.joints)
        parts.add(time[part], some)
    for one, other in zip(whole.rows, parts.rows, strict=True):
        assert (one.peak, one.time) == (other.peak, other.time)
        assert one.rms == pytest.approx(other.rms, rel=1e-13)
    assert [row.quantity for row in whole.rows] == ["force", "moment", "drive", "force", "moment"]
    assert whole.rows[2].peak == loads.drive[np.argmax(np.abs(loads.drive)), 0]
