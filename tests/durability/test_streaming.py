"""Loads along long motions: the same as for the whole file, in memory that does not grow."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.api.histories import LoadInputs
from mbd_bridge.applications.durability import SpectraObserver
from mbd_bridge.base.errors import FileError, StateError
from mbd_bridge.files.tables import Column, TableWriter, open_table, read_table
from mbd_bridge.loads.observers import Needs
from mbd_bridge.loads.streaming import LoadHistoryCounter
from mbd_bridge.loads.streaming.envelope import EnvelopeCounter
from mbd_bridge.loads.streaming.load_history import watch_loads
from mbd_bridge.motion import pieces
from mbd_bridge.motion.motion import motion_from_table
from mbd_bridge.motion.pieces import MotionPieces
from mbd_bridge.motion.reading import Reading
from mbd_bridge.motion.smoothing import Smoothing
from tests.durability.histories import load_history
from tests.machines import four_bar

ARM = mbd.load("urdf/kuka_iiwa.urdf")
UNTOUCHED, AS_IT_IS = Reading(smoothing=Smoothing("off")), Reading()
JOINTS = ["lbr_iiwa_joint_3", "lbr_iiwa_joint_5"]
DERIVED = 1e-9
"""Second derivatives at 1 kHz amplify roundings of the times, relative to the largest rate."""


def write(path, time, values, names):
    with TableWriter(path, [Column("time", "s"), *map(Column, names)], gaps=True) as out:
        out.append(np.column_stack([time, values]))
    return path


def arm_motion(path, rows=3000, noise=0.0, start=0.0):
    """The arm at 1 kHz, positions only."""
    rng = np.random.default_rng(0)
    time = start + np.arange(rows) * 1e-3
    q = np.sin(time[:, None] * np.arange(1.0, 8.0)) + noise * rng.normal(size=(rows, 7))
    return write(path, time, q, ARM.coordinate_names)


def check_pieces(path, model, rows):
    whole = motion_from_table(read_table(path), model)
    split = MotionPieces(open_table(path), model, rows=rows)
    parts = list(split)
    assert (len(parts) > 1) == (len(whole.time) >= max(rows, split.overlap) + split.overlap)
    for name in ("time", "q", "v", "a"):
        found = np.concatenate([getattr(part, name) for part in parts])
        wanted = getattr(whole, name)
        assert np.abs(found - wanted).max() <= DERIVED * np.abs(wanted).max(), name
    assert split.notes == whole.notes
    assert split.seam <= DERIVED
    return parts


@pytest.mark.parametrize("rows", [100, 700, 2999])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz", ".h5"])
def test_a_motion_in_pieces_is_the_whole_one(tmp_path, rows, suffix):
    check_pieces(arm_motion(tmp_path / f"motion{suffix}"), ARM.model, rows)


@pytest.mark.parametrize(
    "case", [{"noise": 1e-6, "rows": 18_000}, {"start": 3600.0}, {"rows": 1101}]
)
def test_so_are_noisy_late_and_hardly_longer_ones(tmp_path, case):
    """Noise is estimated from some blocks of the rows, the same ones for both."""
    parts = check_pieces(arm_motion(tmp_path / "motion.npz", **case), ARM.model, 500)
    assert len(parts) > 1
    assert ("noise" in case) == any("smoothing splines" in note for note in parts[0].notes)


def test_so_is_one_of_quaternions_with_uneven_times_and_some_rates(tmp_path):
    from scipy.spatial.transform import Rotation

    robot = mbd.Builder("brick", root="brick")
    robot.link("brick", 2.0, (0.1, 0, 0), (0.01, 0.02, 0.03))
    brick = mbd.Mechanism.build(robot, floating=True)
    rng = np.random.default_rng(1)
    time = np.cumsum(rng.uniform(0.7e-3, 1.3e-3, 2500))
    turn = Rotation.from_rotvec(np.outer(np.sin(4 * time), [2.0, 1.0, -1.0])).as_quat()
    turn *= np.sign(turn[:, 3:] + 1e-300)  # a quaternion and its negative are the same rotation
    place = np.stack([np.sin(3 * time), np.cos(2 * time), time], axis=1)
    path = write(tmp_path / "m.npz", time, np.hstack([place, turn]), brick.coordinate_names)
    parts = check_pieces(path, brick.model, 600)
    assert np.abs(parts[0].v[:, 3:]).max() > 1.0
    rates = motion_from_table(read_table(path), brick.model).v
    names = [*brick.coordinate_names, *(f"{n}.vel" for n in brick.model.velocity_names)]
    path = write(tmp_path / "r.npz", time, np.hstack([place, turn, rates]), names)
    check_pieces(path, brick.model, 600)


def test_too_small_an_overlap_is_noticed_where_pieces_meet(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "OVERLAP", 6)
    path = arm_motion(tmp_path / "motion.npz", noise=1e-3)
    split = MotionPieces(open_table(path), ARM.model, UNTOUCHED, rows=500)
    list(split)
    assert split.seam > 1e-3
    assert any("differ by" in note and "where pieces meet" in note for note in split.notes)


def test_what_is_odd_is_told_once_with_its_largest_value(tmp_path):
    time = np.arange(3000) * 1e-3
    q = np.tile(np.linspace(0.0, 3.5, 3000)[:, None], (1, 7))
    q[2500:, 0] -= 2 * np.pi
    path = write(tmp_path / "motion.npz", time, q, ARM.coordinate_names)
    split = MotionPieces(open_table(path), ARM.model, rows=500)
    list(split)
    limits = [note for note in split.notes if "beyond the limits" in note]
    assert len(limits) == 1 and "lbr_iiwa_joint_2 (3.5 above 2)" in limits[0]
    assert len([note for note in split.notes if "jumps by" in note]) == 1
    assert split.notes == motion_from_table(read_table(path), ARM.model).notes


def stream(path, output=None, inputs=None, joints=JOINTS, reading=AS_IT_IS, observers=None):
    inputs, needs = inputs or LoadInputs(ARM), Needs(tuple(joints))
    split = MotionPieces(open_table(path), inputs.model, reading, rows=400)
    every = {"spectra": SpectraObserver(needs=needs), **(observers or {})}
    return watch_loads(split, inputs, needs, every, output=output)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz", ".h5"])
def test_the_streamed_file_holds_the_loads_of_the_whole_motion(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(pieces, "ROWS", 400)
    path = arm_motion(tmp_path / "motion.parquet", rows=1500)
    target = tmp_path / f"loads{suffix}"
    read = []
    history = ARM.load_history(
        path, JOINTS, output=target, progress=read.append, threads=2, exponents=[4.0]
    )
    assert np.isclose(sum(read), path.stat().st_size)
    assert history.spectra.spectra[0].exponents == (4.0,)
    whole = ARM.joint_loads(ARM.read_motion(path), joints=JOINTS)
    written = ARM.read_loads(target)
    assert written.joints == whole.joints and str(written.convention) == str(whole.convention)
    for name in ("force", "moment", "actuation", "time"):
        wanted = getattr(whole, name)
        apart = np.abs(getattr(written, name) - wanted).max()
        assert apart <= 1e-10 * np.abs(wanted).max()
    assert history.file == str(target)
    assert history.rows == 1500 and history.begin == 0.0 and np.isclose(history.end, 1.499)


class Lengths:
    """Observer of how long pieces are, which needs no loads."""

    def __init__(self):
        self.found = []

    def needs(self):
        return Needs(())

    def add(self, motion, loads):
        assert loads.joints == () and loads.efforts is None
        self.found.append(len(motion.time))

    def result(self):
        return self.found


def test_what_is_kept_is_that_of_the_whole_motion(tmp_path):
    path = arm_motion(tmp_path / "motion.parquet", noise=1e-5)
    found = stream(path, reading=UNTOUCHED, observers={"lengths": Lengths()})
    lengths = found.results["lengths"]
    assert sum(lengths) == 3000 and max(lengths) <= 400
    loads = ARM.joint_loads(ARM.read_motion(path, smooth="off"), joints=JOINTS)
    whole = load_history(loads)
    columns = {f"{j}.f{x}": loads[j].force[:, k] for j in JOINTS for k, x in enumerate("xyz")}
    columns |= {f"{j}.force": np.linalg.norm(loads[j].force, axis=1) for j in JOINTS}
    columns |= {f"{j}.actuation": loads[j].actuation[:, 0] for j in JOINTS}
    for history in (found, whole):
        for name, values in columns.items():
            one = history[name]
            assert np.isclose(one.largest.value, values.max(), rtol=1e-7)
            assert np.isclose(one.smallest.value, values.min(), rtol=1e-7)
            assert np.isclose(one.rms, np.sqrt(np.mean(values**2)), rtol=1e-9)
            assert np.isclose(one.mean, values.mean(), rtol=1e-6, atol=1e-6)
            row = int(np.argmax(values))
            assert one.largest.time == loads.time[row]
            for other, series in columns.items():
                if other.startswith(one.signal.joint):
                    beside = one.largest.together[other.rpartition(".")[2]]
                    assert np.isclose(beside, series[row], rtol=1e-6, atol=1e-6)
            peak = values.max() if values.max() >= -values.min() else values.min()
            assert np.isclose(one.peak.value, peak, rtol=1e-7)
            assert one.determined
    for one, other in zip(found.spectra.spectra, whole.spectra.spectra, strict=True):
        assert np.allclose(one.powers, other.powers, rtol=1e-6)
        assert one.cycles == pytest.approx(other.cycles, rel=1e-3)
    with pytest.raises(StateError, match="no signal in this history named"):
        found["elbow.fx"]


def test_the_envelope_of_a_actuator_holds_every_point():
    rng = np.random.default_rng(2)
    speed, force = rng.normal(size=(2, 5000)) * np.linspace(0.01, 3.0, 5000)
    counter = EnvelopeCounter()
    for part in np.array_split(np.arange(5000), 9):
        counter.add(speed[part], force[part])
    found = counter.envelope("elbow", "N m")
    assert 32 <= len(found.largest) <= 128 and len(found.speeds) == len(found.largest) + 1
    places = np.digitize(speed, found.speeds) - 1
    for k in range(len(found.largest)):
        own = force[places == k]
        if len(own):
            assert found.largest[k] >= own.max() and found.smallest[k] <= own.min()
    power = speed * force
    assert (found.motoring, found.braking) == (power.max(), -power.min())


@pytest.mark.parametrize("rows", [60, 200])
def test_the_envelope_of_few_rows_has_no_notches(rows):
    few, many = EnvelopeCounter(), EnvelopeCounter()
    for counter, count in ((few, rows), (many, 100 * rows)):
        turn = np.linspace(0.0, 2.0 * np.pi, count)
        counter.add(np.sin(turn), 3.0 * np.cos(turn))
    coarse, fine = few.envelope("elbow", "N m"), many.envelope("elbow", "N m")
    inner = slice(2, -2)  # where the ellipse is steep its bins hold all forces
    assert np.array_equal(coarse.speeds[1:-1], fine.speeds[1 : len(coarse.speeds) - 1])
    assert np.allclose(coarse.largest[inner], fine.largest[inner], atol=0.1)
    assert np.allclose(coarse.smallest[inner], fine.smallest[inner], atol=0.1)


def test_an_envelope_of_rows_in_the_same_bin_is_that_of_the_rows():
    counter = EnvelopeCounter()
    counter.add(np.array([0.99, 1.0, 0.99]), np.array([1.0, 4.0, 2.0]))
    found = counter.envelope("elbow", "N m")
    assert (found.largest.max(), found.smallest.min()) == (4.0, 1.0)


def test_history_of_a_follower_and_of_gears_knows_their_speeds():
    b = mbd.Builder("pair", root="base")
    for k in (1, 2):
        b.link(f"wheel{k}", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    b.joint("first", "revolute", "base", "wheel1", axis=(0, 1, 0))
    b.joint(
        "second",
        "revolute",
        "base",
        "wheel2",
        (1, 0, 0),
        axis=(0, 1, 0),
        mimic="first",
        multiplier=-2.0,
    )
    pair = mbd.Mechanism.build(b)
    q = np.linspace(0, 1, 50)[:, None]
    loads = pair.joint_loads(q, np.ones((50, 1)), np.zeros((50, 1)))
    history = load_history(loads.along(np.linspace(0, 1, 50), np.ones((50, 1))))
    speeds = {one.name: one.speeds for one in history.envelopes}
    assert speeds["first"][0] <= 1.0 < speeds["first"][1]
    assert speeds["second"][0] <= -2.0 < speeds["second"][1]


def test_loops_stream_too_and_what_is_not_determined_is_marked(tmp_path):
    bar = four_bar()
    q = bar.assemble(near={"crank": 0.5}, fixed="crank").q
    run = bar.simulate(0.9, step=1e-3, q=q)
    run.save(tmp_path / "run.npz")
    inputs = LoadInputs(bar, actuated=("crank",))
    joints = ["pin", "crank"]
    history = stream(tmp_path / "run.npz", tmp_path / "loads.npz", inputs, joints)
    assert history.rows == 901
    wanted = run.joint_loads(["pin", "crank"])
    assert history["pin.fx"].determined and not history["pin.fy"].determined
    assert not history["pin.force"].determined
    assert not history.spectra.spectra[1].determined
    assert "pin.fy (undetermined)" in open_table(tmp_path / "loads.npz").names
    assert np.isclose(history["pin.fz"].largest.value, wanted["pin"].force[:, 2].max(), rtol=1e-6)


def test_what_ceases_to_be_determined_is_said_and_marked(tmp_path):
    class Singular(LoadInputs):
        def loads(self, needs, motion, *, check=True):
            loads = super().loads(needs, motion, check=check)
            unique = loads.unique.copy()
            unique[..., 1, 2] = motion.time[0] == 0.0  # as at a singular position on the way
            return replace(loads, unique=unique)

    path = arm_motion(tmp_path / "motion.npz", rows=1500)
    history = stream(path, tmp_path / "loads.npz", Singular(ARM))
    assert not history[f"{JOINTS[1]}.fz"].determined and history[f"{JOINTS[1]}.fx"].determined
    assert not history.spectra.spectra[len(history.spectra.spectra) // 2 + 2].determined
    (said,) = [note for note in history.notes if "not determined throughout" in note]
    assert said.endswith(f": {JOINTS[1]}.fz")


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_bad_rows_are_named_by_their_place_in_the_file(tmp_path, suffix):
    time = np.arange(1500) * 1e-3
    q = np.zeros((1500, 7))
    for row, (column, value, words) in {
        1203: (0, 0.5, "comes after"),
        1404: (0, 1.403, "stands twice"),
        799: (3, np.nan, "finite number"),
    }.items():
        values = np.column_stack([time, q])
        values[row, column] = value
        path = write(tmp_path / f"m{suffix}", values[:, 0], values[:, 1:], ARM.coordinate_names)
        with pytest.raises(FileError, match=words) as caught:
            stream(path, tmp_path / "loads.csv")
        place = f":{row + 2}:" if suffix == ".csv" else f"row {row} "
        assert place in str(caught.value)
        assert not (tmp_path / "loads.csv").exists()


@pytest.mark.parametrize("rows", [2, 3])
def test_too_few_rows_to_derive_rates_are_refused(tmp_path, rows):
    path = arm_motion(tmp_path / "motion.csv", rows=rows)
    with pytest.raises(FileError, match="expected 4 rows or more"):
        stream(path)


def test_one_state_at_rest_has_a_history(tmp_path):
    names = [n + s for s in ("", ".vel", ".acc") for n in ARM.coordinate_names]
    path = write(tmp_path / "one.csv", np.zeros(1), np.zeros((1, 21)), names)
    history = stream(path)
    assert history.rows == 1 and history[f"{JOINTS[0]}.fz"].rms > 1.0
    with pytest.raises(StateError, match="has no duration"):
        history.spectra[f"{JOINTS[0]}.fz"].damage_equivalent(3.0)
    with pytest.raises(StateError, match="no loads were counted"):
        LoadHistoryCounter().history()


def test_memory_does_not_grow_with_the_motion(tmp_path):
    rows, peaks = 20_000, []
    for times in (1, 3):
        path = arm_motion(tmp_path / f"motion{times}.parquet", rows=times * rows)
        stream(path, tmp_path / "warm.parquet") if times == 1 else None
        tracemalloc.start()
        split = MotionPieces(open_table(path), ARM.model, rows=4000)
        watch_loads(split, LoadInputs(ARM), Needs(tuple(JOINTS)), {"spectra": SpectraObserver()})
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_a_minute_of_the_hour_that_the_benchmark_takes():
    """``python -m tests.benchmarks hour`` does sixty times as much."""
    from tests.benchmarks import hour

    (found,) = hour.measure(60, ((hour.NOISE, "off"),))
    assert found["rows"] == 60_000
    assert found["cycles"] > 10_000  # of the noise
    assert found["GiB"] < 1.0
    assert found["seconds"] < 60.0  # a second or less on a quiet machine


def test_a_look_at_the_first_piece_takes_nothing_from_the_next_pass(tmp_path, monkeypatch):
    """The next pass began where the look had stopped to read."""
    monkeypatch.setattr(pieces, "READ", 500)
    path = arm_motion(tmp_path / "motion.csv")
    taken = MotionPieces(open_table(path), ARM.model, UNTOUCHED, rows=1000)
    expected = pieces.joined(list(taken))
    next(iter(taken))
    found = pieces.joined(list(taken))
    assert np.array_equal(found.time, expected.time)
    assert np.array_equal(found.a, expected.a)
