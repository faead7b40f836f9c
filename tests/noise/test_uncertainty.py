"""Claims about the stated uncertainty: of states, of loads, of peaks, as often right as it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.loads.export import load_rows
from mbd_bridge.loads.peaks import LoadPeaks
from mbd_bridge.motion.smoothing import BAND, OFF
from tests.durability.histories import load_history
from tests.noise import study
from tests.noise.recordings import UR5_RATE, recorded, ur5, ur5_motion

CASES = (7, 8, 16, 19, 53)
"""Seeds of the sample of `python -m tests.noise --count 100`: one of each kind of motion, and one
with jumps of the acceleration every 15 rows, which the spline follows from row to row."""


@pytest.mark.parametrize("seed", CASES)
def test_bands_hold_as_many_errors_as_they_say(seed):
    found = study.run(study.random_case(seed))
    assert found.covered > 0.90
    assert found.peak < 0.03
    assert found.interpolated > 2.0 * found.peak


@pytest.fixture(scope="module")
def noisy():
    arm, time = ur5(), np.arange(1250) / UR5_RATE
    truth = ur5_motion(time)
    q = truth.q + 1e-4 * np.random.default_rng(3).normal(size=truth.q.shape)
    return arm, truth, recorded(arm, time, q)


def test_loads_of_random_states_within_the_errors_vary_as_stated(noisy):
    """States drawn from the stated covariance, and the scatter of their loads."""
    arm, _, motion = noisy
    joints = ["elbow_joint", "wrist_1_joint"]
    loads = arm.joint_loads(motion, joints=joints)
    rng, rows = np.random.default_rng(4), [5, 400, 900]
    part = replace(
        motion, time=motion.time[rows], q=motion.q[rows], v=motion.v[rows], a=motion.a[rows]
    )
    draws = 4000
    states = [np.repeat(x, draws, axis=0) for x in (part.q, part.v, part.a)]
    for channel in motion.uncertainty.channels:
        roots = np.repeat(channel.roots(part.time), draws, axis=0)
        way = np.einsum("nij,nj->ni", roots, rng.normal(size=(len(roots), 3)))
        states = list(channel.displaced(np.repeat(part.time, draws), *states, way))
    found = arm.joint_loads(*states, joints=joints)
    for name in ("force", "moment", "actuation"):
        scatter = getattr(found, name).reshape(3, draws, -1).std(axis=1)
        stated = getattr(loads.uncertainty, name)[rows].reshape(3, -1)
        assert np.abs(scatter - stated).max() < 0.05 * stated.max()


def test_a_free_body_is_off_by_what_turning_and_moving_it_make():
    """A turn in the child's axes: the body's velocity in the world stays what it was."""
    from scipy.spatial.transform import Rotation

    b = mbd.Builder("brick", root="brick")
    b.link("brick", 2.0, (0.1, 0, 0), (0.01, 0.02, 0.03))
    brick = mbd.Mechanism.build(b, floating=True)
    rng = np.random.default_rng(7)
    time = np.arange(400) / 200
    turn = Rotation.from_rotvec(np.outer(np.sin(4 * time), [2.0, 1.0, -1.0]))
    place = np.stack([np.sin(3 * time), np.cos(2 * time), time], axis=1)
    shaken = (turn * Rotation.from_rotvec(1e-3 * rng.normal(size=(400, 3)))).as_quat()
    rough = np.hstack([place + 1e-3 * rng.normal(size=place.shape), shaken])
    motion = recorded(brick, time, rough)
    exact = recorded(brick, time, np.hstack([place, turn.as_quat()]), smooth=OFF)
    known = motion.uncertainty.standard_deviations(motion.time, motion.q, motion.v, motion.a)
    inner = slice(20, -20)
    for error, deviation in ((motion.v - exact.v, known[1]), (motion.a - exact.a, known[2])):
        share = np.mean(np.abs(error[inner, 3:]) < BAND * deviation[inner, 3:])
        assert share > 0.9
    one = next(c for c in motion.uncertainty.channels if c.kind == "turn" and c.axis == 1)
    way = np.tile([1e-6, 0.0, 0.0], (400, 1))
    q, v, _ = one.displaced(motion.time, motion.q, motion.v, motion.a, way)
    before = Rotation.from_quat(motion.q[:, 3:]).apply(motion.v[:, :3])
    after = Rotation.from_quat(q[:, 3:]).apply(v[:, :3])
    assert np.abs(after - before).max() < 1e-10


def test_peaks_statistics_and_assumptions_carry_it(noisy):
    arm, truth, motion = noisy
    loads = arm.joint_loads(motion, joints=["elbow_joint"])
    true = arm.joint_loads(truth.q, truth.v, truth.a, joints=["elbow_joint"])
    peaks = LoadPeaks()
    peaks.add(motion, loads)
    history = load_history(loads)
    row = int(np.argmax(np.abs(loads.actuation[:, 0])))
    band = BAND * loads.uncertainty.actuation[row, 0]
    (actuation,) = [peak for peak in peaks.rows if peak.quantity == "actuation"]
    assert actuation.band == band == history["elbow_joint.actuation"].peak.band
    assert abs(abs(actuation.peak) - np.abs(true.actuation).max()) < 2.0 * band
    assert 0.0 < band < 0.02 * np.abs(true.actuation).max()
    for name in ("force", "moment"):
        length = np.linalg.norm(getattr(true, name)[:, 0], axis=1)
        wanted = np.linalg.norm(getattr(loads, name)[:, 0], axis=1)
        off = BAND * getattr(loads.uncertainty, f"{name}_length")[:, 0]
        assert np.mean(np.abs(wanted - length) < off) > 0.9
    exact = load_history(true.along(truth.time, truth.v))
    for m in (3.0, 5.0):
        band = history.equivalent_band("elbow_joint.my", m)
        found, wanted = (
            one.spectra["elbow_joint.my"].damage_equivalent(m) for one in (history, exact)
        )
        assert abs(found - wanted) < 2.0 * band < 0.02 * wanted
    (said,) = loads.assumptions["uncertainty"]
    assert "95 %" in said.text and "smoothing splines" in loads.assumptions["smoothing"][0].text


def test_files_and_plots_carry_it(noisy, tmp_path):
    arm, _, motion = noisy
    loads = arm.joint_loads(motion, joints=["elbow_joint"])
    loads.save(tmp_path / "loads.npz")
    with np.load(tmp_path / "loads.npz") as file:
        band = BAND * loads.uncertainty.actuation[:, 0]
        assert np.array_equal(file["elbow_joint.actuation.band"], band)
        assert np.array_equal(file["elbow_joint.my.band"], BAND * loads.uncertainty.moment[:, 0, 1])
    again = arm.read_loads(tmp_path / "loads.npz")
    assert np.array_equal(again.actuation, loads.actuation)
    rows = load_rows(replace(loads, uncertainty=None), bands=True)  # a piece without noise
    assert rows.shape == load_rows(loads).shape
    shaded = sum(len(ax.collections) for ax in loads.plot())
    assert shaded == 7
    assert not any(len(ax.collections) for ax in again.plot())


def test_exact_motions_have_none(noisy):
    arm, truth, _ = noisy
    loads = arm.joint_loads(recorded(arm, truth.time, truth.q), joints=["elbow_joint"])
    assert loads.uncertainty is None
    history = load_history(loads)
    assert history["elbow_joint.fx"].peak.band is None
    assert history.equivalent_band("elbow_joint.fx", 3.0) is None
