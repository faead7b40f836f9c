"""Claims about mbd assemble, simulate, info and loads of machines with loops."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.files.tables import read_table
from mbd_bridge.motion import pieces
from mbd_bridge.solve.closed_inverse import ClosedInverse
from tests.robots import OWN

BAR = OWN / "four_bar.urdf"
DIGITS = 1e-7
"""N, of loads of some 5 N along a CSV file with nine digits."""
START = ("--near", "crank=30deg", "--fixed", "crank")


def rows_of(text):
    """The words of each line, by its first word."""
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.split()}


# -- assemble ----------------------------------------------------------------------------------


def test_assemble_says_what_the_library_says(run):
    code, out, err = run("assemble", BAR, *START, "--velocity", "crank=2")
    assert (code, err) == (0, "")
    bar = mbd.load(BAR)
    at = bar.assemble({"crank": np.pi / 6}, fixed="crank", velocity={"crank": 2.0})
    rows = rows_of(out)
    for k, name in enumerate(bar.coordinate_names):
        assert float(rows[name][0]) == pytest.approx(at.q[k], rel=1e-8)
        assert float(rows[name][3]) == pytest.approx(at.v[k], rel=1e-8)
    assert rows["coupler_pin"][:6] == ["revolute", "coupler", "rocker", "5", "1.5", "3"]
    assert "1 degree of freedom; 5 rows, 3 of them redundant" in out


def test_a_word_that_is_there_again_adds_to_what_it_said(run):
    linkage = OWN / "crank_rocker.urdf"
    once = "--near", "crank=0.5", "rocker=3.4", "--fixed", "crank", "--velocity", "crank=2"
    again = "--near", "crank=0.5", "--near", "rocker=3.4", *once[3:]
    assert run("assemble", linkage, *again) == run("assemble", linkage, *once)
    words = "--near", "crank=30deg", "--fixed", "crank", "--fixed", "elbow"
    code, out, err = run("assemble", BAR, *words)
    assert code == 1, out  # at -30 degrees the elbow would close the loop, not at 0
    assert "fixed=['crank', 'elbow']" in err


def test_a_loop_that_stays_open_is_shown_and_gives_exit_code_1(run):
    words = "--near", "rocker=80deg", "--fixed", "rocker"
    code, out, err = run("assemble", OWN / "crank_rocker.urdf", *words)
    assert code == 1
    assert "NOT CLOSED" in out
    assert float(rows_of(out)["coupler_pin"][-1]) > 0.1
    assert "loops that cannot be closed: coupler_pin by" in err
    assert "release one of fixed=['rocker']" in err
    assert "check=False" not in err
    code, out, err = run("simulate", OWN / "crank_rocker.urdf", "--seconds", "1", *words)
    assert (code, out) == (1, "")
    assert "cannot be closed" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--near", "crnk=1"), "did you mean 'crank'"),
        (("--near", "crank"), "NAME=VALUE"),
        (("--near", "crank=fast"), "NAME=VALUE"),
        (("--near", "crank=10mm"), "crank is in rad"),
        (("--velocity", "crank=1mm/s"), "crank is in rad/s"),
        (("--fixed", "crnk"), "did you mean 'crank'"),
    ],
)
def test_guesses_that_mean_nothing_are_explained(run, words, message):
    code, out, err = run("assemble", BAR, *words)
    assert (code, out) == (2, "")
    assert message in err


def test_a_loop_that_is_far_from_closed_at_zero_position_is_closed(run):
    code, out, err = run("assemble", OWN / "rrc_arm_gripping.urdf")
    assert (code, err) == (0, "")
    assert "1 degree of freedom; 6 rows, 0 of them redundant" in out


def test_gears_and_masks_are_shown(run):
    _, out, _ = run("info", OWN / "geared_five_bar.urdf")
    assert "1 pair of gears, 4 degrees of freedom of the tree" in out
    assert "right_crank = -1 left_crank" in out
    assert rows_of(out)["pin"] == ["mask", "101000", "left_coupler", "right_coupler", "2"]
    assert "1 degree of freedom; 3 rows, 0 of them redundant" in out


def test_numbers_with_exponents_and_units_are_read(run):
    _, one, _ = run("assemble", BAR, "--near", "crank=5e-1", "--fixed", "crank")
    _, other, _ = run("assemble", BAR, "--near", f"crank={np.rad2deg(0.5)} deg", "--fixed", "crank")
    assert one == other
    assert float(rows_of(one)["crank"][0]) == 0.5


def test_a_tree_is_assembled_as_it_is(run):
    code, out, _ = run("assemble", OWN / "pendulum.urdf", "--near", "hinge=1")
    assert code == 0
    assert "no loops, 1 degree of freedom" in out


# -- simulate ----------------------------------------------------------------------------------


def test_simulate_writes_the_librarys_motion_and_loads(run, tmp_path):
    path = tmp_path / "run.csv"
    words = "--seconds", "0.2", "--every", "20", "--joints", "crank", "coupler_pin", "-o", path
    code, out, err = run("simulate", BAR, *START, *words)
    assert (code, out) == (0, "")
    bar = mbd.load(BAR)
    at = bar.assemble({"crank": np.pi / 6}, fixed="crank")
    expected = bar.simulate(0.2, q=at.q, v=at.v, every=20)
    loads = expected.joint_loads(["crank", "coupler_pin"])
    table = read_table(path)
    assert np.array_equal(table.column("time"), expected.time)
    for k, name in enumerate(bar.coordinate_names):
        assert np.array_equal(table.column(name), expected.q[:, k])
        assert np.array_equal(table.column(f"{name}.vel"), expected.v[:, k])
        assert np.array_equal(table.column(f"{name}.acc"), expected.a[:, k])
    pin = loads["coupler_pin"]
    assert np.array_equal(table.column("coupler_pin.fx"), pin.force[:, 0])
    assert np.array_equal(table.column("coupler_pin.mx (undetermined)"), pin.moment[:, 0])
    assert "coupler_pin.mx" not in table.names
    for words in ("200 steps of 0.001 s", "energy", "loops closed to", "11 rows written"):
        assert words in err
    assert [line.split()[-1] for line in err.splitlines() if " force " in line] == ["fy", "fy"]


def test_a_simulated_motion_without_loads_is_a_motion_for_mbd_loads(run, tmp_path):
    path = tmp_path / "run.csv"
    run("simulate", BAR, *START, "--seconds", "0.2", "--torque", "crank=3", "-o", path)
    motion = mbd.load(BAR).read_motion(path)
    assert not motion.notes
    loads = mbd.load(BAR).joint_loads(motion.q, motion.v, motion.a, ["crank"], actuated=["crank"])
    assert np.allclose(loads.actuation, 3.0, atol=1e-9)


def test_simulate_moves_trees_too_and_writes_to_stdout(run):
    words = "--seconds", "1", "--near", "hinge=1", "--every", "500"
    code, out, err = run("simulate", OWN / "pendulum.urdf", *words)
    assert code == 0
    assert len([line for line in out.splitlines() if line[0] != "#"]) == 1 + 3
    assert "loops" not in err


def test_a_motion_that_cannot_go_on_is_written_as_far_as_it_goes(run, tmp_path):
    path = tmp_path / "run.csv"
    words = "--seconds", "5", "--step", "0.05", "--torque", "crank=1e9", "-o", path
    code, _, err = run("simulate", BAR, *START, *words)
    assert code == 1
    assert "stopped at t =" in err
    assert "# notes: stopped at t =" in path.read_text()
    assert np.isfinite(read_table(path).values).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--seconds", "-1"), "positive number of seconds"),
        (("--seconds", "1", "--step", "0"), "step: expected"),
        (("--seconds", "1", "--joints", "coupler_pn"), "did you mean 'coupler_pin'"),
        (("--seconds", "1", "--torque", "crnk=1"), "did you mean 'crank'"),
    ],
)
def test_what_cannot_be_simulated_is_explained(run, words, message):
    code, out, err = run("simulate", BAR, *START, *words)
    assert (code, out) == (2, "")
    assert message in err


# -- info --------------------------------------------------------------------------------------


def test_info_says_what_the_loops_leave_free(run):
    code, out, _ = run("info", BAR)
    assert code == 0
    assert "1 degree of freedom; 5 rows, 3 of them redundant" in out
    assert "coupler_pin: 3 of its rows share in the redundancy" in out
    _, out, _ = run("info", OWN / "stewart.urdf")
    assert "6 degrees of freedom; 18 rows, 0 of them redundant" in out
    _, out, _ = run("info", OWN / "pendulum.urdf")
    assert "redundant" not in out


def test_info_of_loops_that_do_not_close_says_so(run, tmp_path):
    text = (OWN / "four_bar.urdf").read_text(encoding="utf-8")
    (tmp_path / "bar.urdf").write_text(text, encoding="utf-8")
    far = (
        (OWN / "four_bar.loops.yaml").read_text(encoding="utf-8").replace("[1, 0, 0]", "[9, 0, 0]")
    )
    (tmp_path / "bar.loops.yaml").write_text(far, encoding="utf-8")
    code, out, _ = run("info", tmp_path / "bar.urdf")
    assert code == 0
    assert "from zero position these loops do not close: coupler_pin" in out


# -- loads -------------------------------------------------------------------------------------


@pytest.fixture
def motion(run, tmp_path):
    """A motion of the four-bar under a constant torque."""
    path = tmp_path / "motion.csv"
    words = "--seconds", "0.2", "--every", "10", "--torque", "crank=3", "-o", path
    assert run("simulate", BAR, *START, *words)[0] == 0
    return path


def test_loads_in_loops_are_the_librarys(run, motion, tmp_path):
    path = tmp_path / "loads.csv"
    words = "--joints", "crank", "coupler_pin", "--actuated", "crank", "-o", path
    code, out, err = run("loads", BAR, motion, *words, "--digits", "17")
    assert (code, out) == (0, "")
    assert "21 rows written" in err
    bar, table = mbd.load(BAR), read_table(path)
    given = bar.read_motion(motion)
    loads = bar.joint_loads(given.q, given.v, given.a, ["crank", "coupler_pin"], actuated=["crank"])
    assert np.array_equal(table.column("coupler_pin.fz"), loads.force[:, 1, 2])
    assert np.array_equal(table.column("crank.actuation"), loads.actuation[:, 0])
    assert np.allclose(table.column("crank.actuation"), 3.0)
    undetermined = {name for name in table.names if "(undetermined)" in name}
    assert undetermined == {
        f"{joint}.{part} (undetermined)"
        for joint in ("crank", "coupler_pin")
        for part in ("fy", "mx", "mz")
    }


def test_loads_in_loops_stream_with_the_numbers_of_the_whole(run, tmp_path, monkeypatch):
    motion = tmp_path / "motion.npz"
    assert run("simulate", BAR, *START, "--seconds", "0.3", "-o", motion)[0] == 0
    words = "--joints", "all", "--actuated", "crank", "--digits", "17", "--reaction"
    whole, parts = tmp_path / "whole.csv", tmp_path / "parts.csv"
    _, _, one = run("loads", BAR, motion, *words, "-o", whole)
    monkeypatch.setattr(pieces, "ROWS", pieces.OVERLAP)
    found = []
    call = ClosedInverse.__call__
    monkeypatch.setattr(
        ClosedInverse,
        "__call__",
        lambda self, q, *rest, **options: (
            found.append((len(q), options["threads"])) or call(self, q, *rest, **options)
        ),
    )
    code, _, other = run("loads", BAR, motion, *words, "--threads", "2", "-o", parts)
    assert code == 0
    assert sum(rows for rows, _ in found) == 301 and len(found) == 3
    assert {threads for _, threads in found} == {2}
    assert read_table(whole).names == read_table(parts).names
    assert np.allclose(read_table(whole).values, read_table(parts).values, rtol=1e-12, atol=1e-11)
    assert read_table(parts).attributes["actuated"] == "crank"
    table = [line for line in one.splitlines() if "force" in line or "actuation" in line]
    assert table == [line for line in other.splitlines() if "force" in line or "actuation" in line]
    assert any("reaction force" in line for line in table)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "add --actuated JOINT ..., one for each degree of freedom"),
        ((), "along a simulation without torques any that moves the loops, its actuation is zero"),
        (("--actuated", "crnk"), "did you mean 'crank'"),
        (("--actuated", "crank", "elbow"), "1 degree of freedom and 2 actuators (crank, elbow)"),
    ],
)
def test_loads_in_loops_say_what_they_need(run, motion, words, message):
    code, out, err = run("loads", BAR, motion, "--joints", "crank", *words)
    assert (code, out) == (2, "")
    assert message in err


def test_along_a_free_run_the_choice_of_the_actuated_joint_does_not_matter(run, tmp_path):
    free = tmp_path / "free.csv"
    words = "--seconds", "0.05", "--near", "crank=0.5", "--joints", "coupler_pin", "-o", free
    assert run("simulate", BAR, *words)[0] == 0
    simulated = read_table(free)
    for joint in ("crank", "rocker"):
        again = tmp_path / f"{joint}.csv"
        words = "--joints", "coupler_pin", joint, "--actuated", joint, "-o", again
        assert run("loads", BAR, free, *words)[0] == 0
        loads = read_table(again)
        assert abs(loads.column(f"{joint}.actuation")).max() < 1e-9  # N m, of some 10
        for name in ("coupler_pin.fx", "coupler_pin.fz"):
            assert np.allclose(loads.column(name), simulated.column(name), rtol=0, atol=DIGITS)


def test_actuated_means_nothing_in_a_tree(run):
    words = "--joints", "lbr_iiwa_joint_3", "--actuated", "lbr_iiwa_joint_3"
    code, _, err = run("loads", OWN / "kuka_iiwa.urdf", OWN / "kuka_iiwa_motion.csv", *words)
    assert code == 2
    assert "has no loops" in err


def test_a_pose_tells_which_coordinates_the_loops_close(run, tmp_path):
    words = "--q", "crank=0.5", "--actuated", "crank", "--joints", "crank"
    said = " ".join(run("loads", BAR, *words, "-o", tmp_path / "loads.csv")[2].split())
    told = "crank as given; elbow, rocker where the loops close, nearest to zero"
    assert told in said and "a pose at rest: velocities and accelerations are zero" in said
    words = "--q", "hinge=0.5", "--joints", "hinge", "-o", tmp_path / "loads.csv"
    assert "hinge as given\n" in run("loads", OWN / "pendulum.urdf", *words)[2]
