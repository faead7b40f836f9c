"""Claims about recordings: noisy ones give the true loads, exact ones are left alone."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from mbd_bridge.motion.smoothing import BAND, OFF, Smoothing, signals as rows
from mbd_bridge.motion.smoothing.signals import glitches, measured_rows
from tests.noise.kinds import through
from tests.noise.recordings import UR5_RATE, recorded, ur5, ur5_motion
from tests.noise.study import minimum_jerk

PEAK, WORST = 0.01, 0.03
"""Errors of the elbow's peak and at the worst sample, relative to the peak, of the table below: a
third of what is asked for."""


@pytest.fixture(scope="module")
def arm():
    return ur5()


def record(kind, time, rng):
    """Return stamps and positions as a recorder gives them."""
    q = ur5_motion(time).q
    if "noise" in kind:
        q = q + float(kind.split("=")[1]) * rng.normal(size=q.shape)
    if kind == "three decimals":
        q = np.round(q, 3)
    stamps = time + 5e-4 * rng.normal(size=len(time)) if "jitter" in kind else time
    if kind == "uneven sampling":
        stamps = time + 5e-4 * rng.normal(size=len(time))
        q = ur5_motion(stamps).q
    return stamps, q


@pytest.mark.parametrize(
    "kind", ["noise=1e-5", "noise=1e-4", "three decimals", "jitter", "uneven sampling"]
)
def test_the_elbow_of_a_ur5_has_its_true_peak(arm, kind):
    """11.6 N m at 125 Hz, where interpolation gives up to 240."""
    time = np.arange(1250) / UR5_RATE
    truth = ur5_motion(time)
    elbow = ["elbow_joint"]
    true = arm.joint_loads(truth.q, truth.v, truth.a, joints=elbow).actuation[:, 0]
    assert abs(np.abs(true).max() - 11.6) < 0.05
    stamps, q = record(kind, time, np.random.default_rng(5))
    motion = recorded(arm, stamps, q)
    if kind == "uneven sampling":
        truth = ur5_motion(stamps)
        true = arm.joint_loads(truth.q, truth.v, truth.a, joints=elbow).actuation[:, 0]
    found = arm.joint_loads(motion, joints=elbow).actuation[:, 0]
    peak = np.abs(true).max()
    assert abs(np.abs(found).max() - peak) < PEAK * peak
    assert np.abs(found - true).max() < WORST * peak
    assert (motion.noise.clock is not None) == (kind == "jitter")
    rough = arm.joint_loads(recorded(arm, stamps, q, smooth=OFF), joints=elbow)
    if kind != "uneven sampling":
        assert np.abs(rough.actuation).max() > 1.1 * peak


def test_exact_positions_are_interpolated_as_before_to_the_bit(arm):
    time = np.arange(1250) / UR5_RATE
    for q in (ur5_motion(time).q, np.round(ur5_motion(time).q, 12)):
        motion, plain = recorded(arm, time, q), recorded(arm, time, q, smooth=OFF)
        for name in ("time", "q", "v", "a"):
            assert np.array_equal(getattr(motion, name), getattr(plain, name))
        assert motion.notes == plain.notes and motion.uncertainty is None


def test_measured_velocities_help(arm):
    rng = np.random.default_rng(6)
    time = np.arange(1250) / UR5_RATE
    truth = ur5_motion(time)
    q = truth.q + 1e-3 * rng.normal(size=truth.q.shape)
    v = truth.v + 1e-3 * rng.normal(size=truth.v.shape)
    both, alone = recorded(arm, time, q, v), recorded(arm, time, q)
    errors = [np.sqrt(np.mean((motion.a - truth.a) ** 2)) for motion in (both, alone)]
    assert errors[0] < 0.5 * errors[1]
    assert "with the measured velocities" in both.notes[0]
    (noise, *_) = both.noise.coordinates
    assert abs(noise.sigma / 1e-3 - 1.0) < 0.1 and abs(noise.velocity_sigma / 1e-3 - 1.0) < 0.1


def filtered_noise(time, size, rng):
    """Return noise (N, 6) as a drive's low-pass filter of 20 Hz leaves it."""
    return size * through(rng.normal(size=(len(time), 6)), 20.0, 1.0 / (time[1] - time[0]))


def hum(time, size, rng):
    """Return noise (N, 6) at 25 Hz."""
    return size * np.sin(2 * np.pi * 25.0 * time[:, None] + rng.uniform(0.0, 6.3, 6))


@pytest.mark.parametrize("kind", [filtered_noise, hum])
@pytest.mark.parametrize("sigma", [0.0, 1e-6])
def test_noise_that_looks_like_motion_is_doubted_and_in_the_bands(arm, kind, sigma):
    """No smoothing can tell it from a machine that trembles."""
    time, rng = np.arange(2500) / 250, np.random.default_rng(3)
    truth = ur5_motion(time)
    q = truth.q + kind(time, 1e-4, rng) + sigma * rng.normal(size=truth.q.shape)
    motion, elbow = recorded(arm, time, q), ["elbow_joint"]
    doubt = motion.noise.doubts[0]
    assert "fluctuations (RMS) all along" in doubt and doubt in motion.notes
    true = arm.joint_loads(truth.q, truth.v, truth.a, joints=elbow).actuation
    loads = arm.joint_loads(motion, joints=elbow)
    error, deviation = np.abs(loads.actuation - true), loads.uncertainty.actuation
    assert np.mean(error < BAND * deviation) > 0.9
    assert np.median(deviation) < 3.0 * np.sqrt(np.mean(error**2))
    below = recorded(arm, time, q, smooth=Smoothing(cutoff=3.0))
    assert not any("fluctuations" in doubt for doubt in below.noise.doubts)


def robot_velocities(how, time, truth, q):
    """Return what a controller makes of velocities."""
    rate = 1.0 / (time[1] - time[0])
    if how == "late":
        return ur5_motion(time - 0.02).v
    if how == "slow":  # a filter that leaves no noise: they look exact
        return through(truth.v, 5.0, rate)
    filtered = through(np.gradient(q, time, axis=0), 15.0, rate)
    return {"filtered": filtered, "rounded": np.round(filtered / 1e-3) * 1e-3}[how]


@pytest.mark.parametrize("how", ["late", "filtered", "rounded", "slow"])
def test_velocities_that_do_not_agree_with_the_positions_are_not_used(arm, how):
    """At 1 kHz, as robots tell them: with them, accelerations would be 2 to 6 times worse."""
    time = np.arange(5000) / 1000
    truth = ur5_motion(time)
    q = np.round(truth.q * 2**19 / (2.0 * np.pi)) * 2.0 * np.pi / 2**19
    v = robot_velocities(how, time, truth, q)
    both, alone = recorded(arm, time, q, v), recorded(arm, time, q)
    assert "measured velocities of" in both.notes[0] and "are not used" in both.notes[0]
    assert np.array_equal(both.a, alone.a)
    apart = np.sqrt(np.mean((v - truth.v) ** 2, axis=0))
    for one, size in zip(both.noise.coordinates, apart, strict=True):
        assert one.velocity_sigma is None and one.velocity_apart == pytest.approx(size, rel=0.1)


def test_exact_velocities_that_are_late_are_not_used(arm):
    time = np.arange(1250) / UR5_RATE
    truth = ur5_motion(time)
    motion = recorded(arm, time, truth.q, ur5_motion(time - 0.008).v)
    assert np.abs(motion.a - truth.a).max() < 1e-3 * np.abs(truth.a).max()
    assert any("are not used" in note for note in motion.notes)


def test_a_free_body_is_smoothed_along_and_about_its_axes():
    from scipy.spatial.transform import Rotation

    b = mbd.Builder("brick", root="brick")
    b.link("brick", 2.0, (0.1, 0, 0), (0.01, 0.02, 0.03))
    brick = mbd.Mechanism.build(b, floating=True)
    rng = np.random.default_rng(7)
    time = np.arange(2000) / 500
    place = np.stack([np.sin(3 * time), np.cos(2 * time), time], axis=1)
    turn = Rotation.from_rotvec(np.outer(np.sin(4 * time), [2.0, 1.0, -1.0]))
    exact = recorded(brick, time, np.hstack([place, turn.as_quat()]), smooth=OFF)
    shaken = Rotation.from_rotvec(1e-3 * rng.normal(size=(2000, 3)))
    quaternions = (turn * shaken).as_quat() * rng.choice([-1.0, 1.0], 2000)[:, None]
    noisy = np.hstack([place + 1e-3 * rng.normal(size=place.shape), quaternions])
    motion, rough = recorded(brick, time, noisy), recorded(brick, time, noisy, smooth=OFF)
    size = np.abs(exact.a).max(axis=0)
    assert np.all(np.abs(motion.a - exact.a)[100:-100].max(axis=0) < 0.06 * size)
    assert np.all(np.abs(rough.a - exact.a)[100:-100].max(axis=0) > 10.0 * size)
    assert np.allclose(np.linalg.norm(motion.q[:, 3:], axis=1), 1.0, atol=1e-14)
    for one in motion.noise.coordinates:
        assert abs(one.sigma / 1e-3 - 1.0) < 0.1


@pytest.mark.parametrize("method", ["spline", "savgol", "lowpass"])
def test_filters_of_a_cutoff_do_what_their_names_say(arm, method):
    time = np.arange(2500) / 250
    truth = ur5_motion(time)
    q = truth.q + 1e-4 * np.random.default_rng(8).normal(size=truth.q.shape)
    motion = recorded(arm, time, q, smooth=Smoothing(method, 4.0))
    inner = slice(150, -150)
    assert np.abs(motion.a - truth.a)[inner].max() < 0.1 * np.abs(truth.a).max()
    tone = 0.1 * np.sin(2 * np.pi * 4.0 * time)[:, None] * np.ones(6)
    heard = recorded(arm, time, tone, smooth=Smoothing(method, 4.0)).q[inner, 0]
    assert abs(np.ptp(heard) / 0.2 - 0.5) < 0.1


@pytest.mark.parametrize(
    ("smooth", "cutoff", "words"),
    [
        ("median", None, "expected one of auto, spline"),
        ("auto", -1.0, "expected a positive frequency"),
        ("auto", "5", "expected a positive frequency in Hz, got '5'"),
        ("off", 5.0, "leave one of them out"),
        (Smoothing("spline"), 5.0, "stands in smooth=Smoothing"),
    ],
)
def test_options_that_mean_nothing_are_refused(smooth, cutoff, words):
    with pytest.raises(StateError, match=words):
        mbd.load("urdf/pendulum.urdf").read_motion("motion.csv", smooth=smooth, cutoff=cutoff)


def test_rows_that_are_missing_for_long_part_a_recording():
    rod = mbd.load("urdf/pendulum.urdf")
    time = np.arange(2000) / 250
    time[1000:] += 30.0
    q = np.sin(3 * time)[:, None] + 1e-4 * np.random.default_rng(9).normal(size=(2000, 1))
    motion = recorded(rod, time, q)
    assert np.abs(motion.a[:, 0] + 9.0 * np.sin(3 * time)).max() < 0.5
    assert any("gap of 30" in note for note in motion.notes)


@pytest.mark.parametrize("rate", [150.0, 500.0])
@pytest.mark.parametrize("sigma", [0.0, 1e-4])
def test_values_that_a_recorder_repeats_until_new_ones_come_count_once(arm, rate, sigma):
    """A UR5 at 125 Hz, written at 150 or 500 rows/s: interpolated, its elbow has 10,000 N m."""
    time = np.arange(int(6 * rate)) / rate
    numbers = np.floor(time * UR5_RATE + 1e-9).astype(int)
    q = ur5_motion(numbers / UR5_RATE).q
    noise = sigma * np.random.default_rng(6).normal(size=(numbers[-1] + 1, 6))
    motion = recorded(arm, time, q + noise[numbers])
    assert any("repeats values until new ones come" in note for note in motion.notes)
    truth, elbow = ur5_motion(time), ["elbow_joint"]
    true = arm.joint_loads(truth.q, truth.v, truth.a, joints=elbow).actuation
    found = arm.joint_loads(motion, joints=elbow).actuation
    assert abs(np.abs(found).max() / np.abs(true).max() - 1.0) < PEAK
    assert np.abs(found - true).max() < 1.5 * WORST * np.abs(true).max()


@pytest.mark.parametrize("sigma", [0.0, 1e-4])
def test_a_row_that_a_logger_holds_for_long_now_and_then_does_not_count(arm, sigma):
    """For 60 ms, at the start, amid a motion, and after a rest: interpolated, the elbow stops."""
    time = np.arange(1500) / 500
    truth, moved = ur5_motion(time), np.maximum(time - 1.5, 0.0)
    truth = ur5_motion(np.where(time < 1.0, time, 1.0) + moved**3 / (0.1 + moved**2))
    q = (
        truth.q
        + sigma * np.random.default_rng(1).normal(size=truth.q.shape) * (time < 1.0)[:, None]
    )
    fresh = np.ones(1500, dtype=bool)
    for begin in (40, 300, 760):
        fresh[begin : begin + 30] = False
    held = q[np.maximum.accumulate(np.where(fresh, np.arange(1500), 0))]
    copied, glitch = measured_rows(time, held[:, [2]])
    assert not glitch.any()
    assert np.array_equal(copied[:500], ~fresh[:500])
    motion = recorded(arm, time, held)
    assert any("repeats values until new ones come" in note for note in motion.notes)


@pytest.mark.parametrize("sigma", [0.0, 1e-5])
def test_single_samples_far_from_their_neighbours_do_not_count_and_stops_are_none(arm, sigma):
    time, rng = np.arange(1000) / 250, np.random.default_rng(2)
    truth = ur5_motion(time)
    q = truth.q + sigma * rng.normal(size=truth.q.shape)
    rows = np.array([100, 104, 500, 901])
    q[rows, 2] += [1e-3, 1e-2, 0.3, -1e-3]
    assert np.array_equal(np.flatnonzero(glitches(q[:, [2]])), rows)
    motion = recorded(arm, time, q)
    assert any("4 single samples of elbow_joint far from" in note for note in motion.notes)
    elbow = ["elbow_joint"]
    true = arm.joint_loads(truth.q, truth.v, truth.a, joints=elbow).actuation
    found = arm.joint_loads(motion, joints=elbow).actuation
    assert np.abs(found - true).max() < WORST * np.abs(true).max()
    for rows in range(1, 9):  # the elbow stops within so many samples
        stop = np.minimum(time, 2.0) + np.clip(time - 2.0, 0.0, 0.004 * rows) / 2.0
        assert not glitches((stop + sigma * rng.normal(size=1000))[:, None]).any()


def test_the_last_digit_that_flickers_at_rest_is_no_motion(arm):
    """Encoders of 12 bits at rest: loads are those of the weight, and as exact as stated."""
    time, count = np.arange(1500) / 250, 2.0 * np.pi / 4096
    rest = ur5_motion(np.zeros(1)).q
    q = np.round((rest + 0.3 * count * np.random.default_rng(7).normal(size=(1500, 6))) / count)
    motion = recorded(arm, time, q * count)
    still = np.zeros((1, 6))
    true = arm.joint_loads(rest, still, still, joints=["elbow_joint"]).actuation
    found = arm.joint_loads(motion, joints=["elbow_joint"]).actuation
    assert np.abs(found - true).max() < PEAK * np.abs(true).max()


@pytest.mark.parametrize("bits", [10, 12, 14, 16])
@pytest.mark.parametrize("digits", [None, 6])
def test_counts_of_an_encoder_that_rests_most_of_the_time_are_no_motion(bits, digits):
    """Interpolated, the peaks are 70 to 5,000 % too large."""
    rod, rng = mbd.load("urdf/pendulum.urdf"), np.random.default_rng(bits)
    time, count = np.arange(2500) / 250, 2.0 * np.pi / 2**bits
    truth = np.zeros((3, len(time)))
    for begin in (1.0, 4.0, 8.0):  # the machine moves in a quarter of the time
        lasting, way = rng.uniform(0.6, 1.0), rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 1.0)
        moved = minimum_jerk(np.clip((time - begin) / lasting, 0.0, 1.0))
        truth += way * np.stack([x / lasting**k for k, x in enumerate(moved)])
    q = np.round(truth[0] / count) * count
    motion = recorded(rod, time, (q if digits is None else np.round(q, digits))[:, None])
    (noise,) = motion.noise.coordinates
    assert noise.smoothed and noise.step == pytest.approx(count, rel=0.01)
    true = rod.joint_loads(*truth[:, :, None]).actuation[:, 0]
    loads = rod.joint_loads(motion)
    found, band = loads.actuation[:, 0], BAND * loads.uncertainty.actuation[:, 0]
    row = int(np.argmax(np.abs(found)))
    assert abs(np.abs(found[row]) - np.abs(true).max()) < max(band[row], PEAK * np.abs(true).max())
    assert np.mean(np.abs(found - true) < band) > 0.95


def test_rounded_positions_are_known_to_a_step_over_the_root_of_twelve():
    """Of a slow motion the differences see nearly nothing: its errors are those of its steps."""
    time, step = np.arange(4000) / 500, 1e-3
    slow = 0.05 * np.sin(0.7 * time)
    motion = recorded(mbd.load("urdf/pendulum.urdf"), time, np.round(slow / step)[:, None] * step)
    (noise,) = motion.noise.coordinates
    assert noise.sigma == pytest.approx(np.std(np.round(slow / step) * step - slow), rel=0.02)


def test_rows_that_stand_twice_are_left_out_where_that_is_said(tmp_path):
    rod, time = mbd.load("urdf/pendulum.urdf"), np.arange(100) / 50
    rows = np.column_stack([time, np.sin(time)])

    def read(rows, **how):
        np.savetxt(tmp_path / "m.csv", rows, delimiter=",", header="time,hinge", comments="")
        return rod.read_motion(tmp_path / "m.csv", **how)

    exact, copied = read(rows), read(np.insert(rows, 30, rows[30], axis=0))
    assert np.array_equal(exact.a, copied.a)
    assert any("1 row with the time stamp of the row before left out" in x for x in copied.notes)
    other = np.insert(rows, 31, rows[30] + [0.0, 0.1], axis=0)
    with pytest.raises(mbd.errors.FileError, match=r"stands twice.*--gaps drop"):
        read(other)
    assert np.array_equal(read(other, gaps="drop").a, exact.a)


def test_copies_and_glitches_are_looked_for_once_to_plan_and_once_to_smooth(arm, monkeypatch):
    looked_at, copies = [], rows.copies

    def counted(time, values):
        looked_at.append(len(time))
        return copies(time, values)

    monkeypatch.setattr(rows, "copies", counted)
    time = np.arange(500) / UR5_RATE
    truth = ur5_motion(time)
    rng = np.random.default_rng(5)
    recorded(arm, time, truth.q + 1e-4 * rng.normal(size=truth.q.shape), truth.v)
    assert len(looked_at) <= 2 * truth.q.shape[1]
