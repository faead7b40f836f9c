"""Claims about the summary of a load history."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.loads.peaks import LoadPeak, LoadPeaks
from tests.machines import four_bar

ARM = Path(__file__).parents[2] / "urdf" / "kuka_iiwa.urdf"


def test_a_peak_keeps_the_sign_and_the_first_time_of_the_largest_size():
    peak = LoadPeak("j", "actuation", "N m")
    peak.add(np.array([0.0, 1.0]), np.array([1.0, -2.0]))
    peak.add(np.array([2.0, 3.0]), np.array([2.0, 1.5]))
    assert (peak.peak, peak.time) == (-2.0, 1.0)
    assert peak.rms == pytest.approx(math.sqrt((1 + 4 + 4 + 2.25) / 4))


def test_a_component_that_is_lost_on_the_way_counts_nowhere():
    bar = four_bar(1, 2, 1.7, 2.5)
    rng = np.random.default_rng(1)
    loads = mbd.load(ARM).joint_loads(*rng.normal(size=(3, 30, 7)), joints=[3, 4])
    loads = replace(
        loads, unique=loads.unique.copy(), actuation_unique=loads.actuation_unique.copy()
    )
    loads.unique[:, 0, 1] = False  # fy of the first joint, from the beginning on
    loads.unique[20:, 0, 0] = False  # its fx later
    loads.unique[25:, 1, 3:] = False  # the moment of the second
    loads.actuation_unique[7, 1] = False
    model = replace(mbd.load(ARM).model, cuts=bar.model.cuts)  # as if it had loops
    peaks, loads = LoadPeaks(), replace(loads, model=model, time=np.arange(30.0))
    for rows in (slice(0, 10), slice(10, 22), slice(22, 30)):
        peaks.add(None, part(loads, rows))
    force, _, first, other, moment, second = peaks.rows
    assert force.without == ("fx", "fy") and force.known
    assert force.peak == np.abs(loads.force[:, 0, 2]).max()
    assert force.rms == pytest.approx(np.sqrt(np.mean(loads.force[:, 0, 2] ** 2)))
    assert other.without == () and other.peak == np.linalg.norm(loads.force[:, 1], axis=1).max()
    assert moment.without == ("mx", "my", "mz") and not moment.known
    assert (first.known, second.known) == (True, False)


def part(loads, rows):
    names = ("time", "force", "moment", "actuation", "unique", "actuation_unique")
    return replace(loads, **{name: getattr(loads, name)[rows] for name in names})


def test_what_rounds_is_judged_apart_for_forces_and_moments():
    loads = mbd.load(ARM).joint_loads(*np.random.default_rng(2).normal(size=(3, 30, 7)))
    peaks, large = LoadPeaks(), replace(loads, moment=1e9 * loads.moment, time=np.arange(30.0))
    peaks.add(None, large)
    assert peaks.round_off.force == pytest.approx(loads.round_off.force)
    assert peaks.round_off.moment == pytest.approx(large.round_off.moment)


def test_blocks_give_the_peaks_of_the_whole():
    robot = mbd.load(ARM)
    rng = np.random.default_rng(0)
    time, states = np.arange(30.0), rng.normal(size=(3, 30, 7))
    loads = robot.joint_loads(*states, joints=["lbr_iiwa_joint_3", "lbr_iiwa_joint_ee"])
    whole, parts = LoadPeaks(), LoadPeaks()
    whole.add(None, replace(loads, time=time))
    for part in (slice(0, 11), slice(11, 12), slice(12, 30)):
        some = robot.joint_loads(*states[:, part], joints=loads.joints)
        parts.add(None, replace(some, time=time[part]))
    for one, other in zip(whole.rows, parts.rows, strict=True):
        assert (one.peak, one.time) == (other.peak, other.time)
        assert one.rms == pytest.approx(other.rms, rel=1e-13)
    assert [row.quantity for row in whole.rows] == [
        "force",
        "moment",
        "actuation",
        "force",
        "moment",
    ]
    assert whole.rows[2].peak == loads.actuation[np.argmax(np.abs(loads.actuation)), 0]
