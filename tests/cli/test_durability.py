"""``mbd free-body`` and ``mbd spectrum``: what they print and write is what the library says."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from tests.robots import OWN

ARM = str(OWN / "kuka_iiwa.urdf")
MOTION = str(OWN / "kuka_iiwa_motion.csv")
LINK = "lbr_iiwa_link_3"


def test_freebody_shows_and_writes_the_peaks(run, tmp_path):
    target = tmp_path / "link.csv"
    code, out, err = run("free-body", ARM, MOTION, "--link", LINK, "-o", target)
    assert code == 0
    arm = mbd.load(ARM)
    body = arm.free_body(LINK, arm.read_motion(MOTION)).at("peak")
    assert f"{len(body.time)} instants written" in err
    for label, force in zip(body.labels, body.joints[0].force, strict=True):
        assert label in out
        assert f"{force[0]:.5g}" in out
    lines = [x for x in target.read_text(encoding="utf-8").splitlines() if x[0] != "#"]
    rows = list(csv.DictReader(lines))
    own = [float(row["fx [N]"]) for row in rows if row["name"] == "lbr_iiwa_joint_3"]
    assert np.allclose(own, body["lbr_iiwa_joint_3"].force[:, 0], rtol=1e-14)


def test_freebody_at_times_and_of_one_component_as_bulk_data(run, tmp_path):
    target = tmp_path / "link.bdf"
    words = "free-body", ARM, MOTION, "--link", LINK
    code, out, _ = run(*words, "--at", "0.5", "1.0", "--length", "mm", "--first", 501, "-o", target)
    assert code == 0 and "t = 0.5 s" in out and "t = 1 s" in out
    text = target.read_text(encoding="utf-8")
    assert "N mm" in text and "grid 501" in text and "$ set 520" in text
    code, out, _ = run(*words, "--at", "lbr_iiwa_joint_4.my")
    assert code == 0 and "peak of lbr_iiwa_joint_4.my" in out and "instant 2" not in out


def test_freebody_of_a_motion_in_pieces_finds_the_same_instants(run, monkeypatch):
    words = "free-body", ARM, MOTION, "--link", LINK
    times = "--at", "0.333", "1.5", "0.333", "0"
    whole = [run(*words)[1], run(*words, *times)[1]]
    monkeypatch.setattr("mbd_bridge.motion.pieces.ROWS", 100)
    split = [run(*words)[1], run(*words, *times)[1]]
    assert [_without_sums(text) for text in split] == [_without_sums(text) for text in whole]
    assert whole[1].count("t = 0.33 s") == 2 and "t = 0 s" in whole[1]


def _without_sums(text):
    """The text but for the residuals, which are rounding errors."""
    return [line for line in text.splitlines() if not line.startswith("sum:")]


def test_freebody_of_a_loop_marks_what_is_not_determined(run, tmp_path):
    bar = str(OWN / "four_bar.urdf")
    table = tmp_path / "run.csv"
    assert run("simulate", bar, "--seconds", "0.1", "-o", table)[0] == 0
    code, out, _ = run(
        "free-body", bar, table, "--link", "rocker", "--actuated", "crank", "--at", "0.1"
    )
    assert code == 0
    assert "(" in out and "not determined by rigid-body mechanics" in out
    code, _, err = run("free-body", bar, table, "--link", "rocker")
    assert code == 2 and "--actuated" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--link", "elbow"], "no link named 'elbow'"),
        (["--link", LINK, "--at", "0.5", "peak"], "expected times, or one word"),
        (["--link", LINK, "--at", "77"], "not in the motion"),
        (["--link", LINK, "--at", "wrist.fx"], "no joint or component"),
        (["--link", LINK, "-o", "body.docx"], "not written as '.docx'"),
    ],
)
def test_freebody_refuses_what_it_cannot_do(run, words, message):
    code, _, err = run("free-body", ARM, MOTION, *words)
    assert code == 2 and message in err


JOINT = "lbr_iiwa_joint_3"


def test_spectrum_shows_and_writes_what_the_library_counts(run, tmp_path):
    table, loads = tmp_path / "spectra.csv", tmp_path / "loads.npz"
    words = "--joints", JOINT, "--exponent", "4", "7.5", "--frequency", "2", "--threads", "2"
    code, out, err = run("spectrum", ARM, MOTION, *words, "-o", table, "--loads", loads)
    assert code == 0
    arm = mbd.load(ARM)
    spectra = arm.joint_loads(arm.read_motion(MOTION), joints=JOINT).spectra([4, 7.5])
    for quantity in ("fx", "fy", "fz", "mx", "my", "mz", "actuation"):
        one = spectra[f"{JOINT}.{quantity}"]
        numbers = [one.damage_equivalent(m, frequency=2) for m in (4, 7.5)]
        line = next(x for x in out.splitlines() if f" {quantity} " in x).split()
        assert line[-5 - (line[-1] == "m") :][:4] == [
            f"{one.cycles:g}",
            *(f"{x:.5g}" for x in (one.largest, *numbers)),
        ]
    assert "m = 4" in out and "m = 7.5" in out and "2 Hz for 2 s" in out and " force " not in out
    lines = [x for x in table.read_text(encoding="utf-8").splitlines() if x[0] != "#"]
    rows = [row for row in csv.DictReader(lines) if row["signal"] == f"{JOINT}.mz"]
    one = spectra[f"{JOINT}.mz"]
    assert sum(float(row["cycles"]) for row in rows) == one.cycles
    assert float(rows[0]["cycles from here"]) == one.cycles
    assert float(rows[-1]["from"]) <= one.largest < float(rows[-1]["to"])
    assert len(arm.read_loads(loads).time) == 201 and "201 rows written" in err


def test_spectrum_in_a_plane_and_of_resultants(run):
    code, out, err = run(
        "spectrum", ARM, MOTION, "--joints", JOINT, "--plane", "xy", "--resultants"
    )
    assert code == 0 and "leaves no cycle in the length" in err
    assert " force " in out and "degrees from x to y" in out
    arm = mbd.load(ARM)
    loads = arm.joint_loads(arm.read_motion(MOTION), joints=JOINT)
    worst = loads.spectra(plane="xy").worst_direction(f"{JOINT}.force", 5.0)
    lines = iter(out.partition("worst direction of")[2].splitlines())
    next(x for x in lines if x.startswith(f"{JOINT}.force "))
    line = next(x for x in lines if " 5 " in x)
    assert f" {np.degrees(worst.angle):g} " in line and f" {worst.equivalent:.5g} " in line


def test_spectrum_of_a_loop_marks_what_is_not_determined(run, tmp_path):
    bar = str(OWN / "four_bar.urdf")
    table = tmp_path / "run.csv"
    assert run("simulate", bar, "--seconds", "0.2", "-o", table)[0] == 0
    words = "--joints", "coupler_pin", "--actuated", "crank"
    code, out, _ = run("spectrum", bar, table, *words, "-o", tmp_path / "s.csv")
    assert code == 0 and "rigid-body mechanics does not determine" in out
    marked = [x.split()[0] for x in out.splitlines() if " undetermined " in x]
    assert marked == ["fy", "mx", "mz"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--exponent", "0"], "expected a positive number"),
        (["--exponent", "3", "-1"], "expected"),
        (["--exponent", "three"], "expected a positive number"),
        (["--frequency", "nan"], "expected a positive number"),
        (["--plane", "ab"], "invalid choice"),
    ],
)
def test_spectrum_refuses_bad_options(run, words, message):
    code, _, err = run("spectrum", ARM, MOTION, "--joints", JOINT, *words)
    assert code == 2 and message in err


def test_spectrum_of_one_row_or_of_a_gap_is_refused(run, tmp_path):
    lines = Path(MOTION).read_text(encoding="utf-8").splitlines(keepends=True)
    short, gap = tmp_path / "one.csv", tmp_path / "gap.csv"
    head = next(k for k, line in enumerate(lines) if not line.startswith("#"))
    short.write_text("".join(lines[: head + 2]), encoding="utf-8")
    code, _, err = run("spectrum", ARM, short, "--joints", JOINT)
    assert code == 2 and "needs two samples or more" in err
    cells = lines[head + 50].split(",")
    lines[head + 50] = ",".join([cells[0], "nan", *cells[2:]])
    gap.write_text("".join(lines), encoding="utf-8")
    code, _, err = run("spectrum", ARM, gap, "--joints", JOINT)
    assert code == 2 and "finite number, got nan" in err
