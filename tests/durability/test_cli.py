"""``mbd freebody`` and ``mbd spectrum``: what they print and write is what the library says."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.cli import main

URDF = Path(__file__).parents[2] / "urdf"
ARM = str(URDF / "kuka_iiwa.urdf")
MOTION = str(URDF / "kuka_iiwa_motion.csv")
LINK = "lbr_iiwa_link_3"


@pytest.fixture
def run(capsys):
    """Return a function that runs a command: exit code, stdout, stderr."""

    def command(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def test_freebody_shows_and_writes_the_peaks(run, tmp_path):
    target = tmp_path / "link.csv"
    code, out, err = run("freebody", ARM, MOTION, "--link", LINK, "-o", target)
    assert code == 0
    arm = mbd.load(ARM)
    body = arm.free_body(LINK, mbd.load_motion(MOTION, arm)).at("peak")
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
    words = "freebody", ARM, MOTION, "--link", LINK
    code, out, _ = run(*words, "--at", "0.5", "1.0", "--length", "mm", "--first", 501, "-o", target)
    assert code == 0 and "t = 0.5 s" in out and "t = 1 s" in out
    text = target.read_text(encoding="utf-8")
    assert "N mm" in text and "grid 501" in text and "$ set 520" in text
    code, out, _ = run(*words, "--at", "lbr_iiwa_joint_4.my")
    assert code == 0 and "peak of lbr_iiwa_joint_4.my" in out and "instant 2" not in out


def test_freebody_in_blocks_finds_the_same_peaks(run, monkeypatch):
    words = "freebody", ARM, MOTION, "--link", LINK
    _, whole, _ = run(*words)
    monkeypatch.setattr("mbd_bridge.cli.freebody.BLOCK", 17)
    _, pieces, _ = run(*words)
    assert pieces == whole


def test_freebody_of_a_loop_marks_what_is_not_determined(run, tmp_path):
    bar = str(URDF / "four_bar.urdf")
    table = tmp_path / "run.csv"
    assert run("simulate", bar, "--seconds", "0.1", "-o", table)[0] == 0
    code, out, _ = run(
        "freebody", bar, table, "--link", "rocker", "--actuated", "crank", "--at", "0.1"
    )
    assert code == 0
    assert "(" in out and "not determined by rigid-body mechanics" in out
    code, _, err = run("freebody", bar, table, "--link", "rocker")
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
    code, _, err = run("freebody", ARM, MOTION, *words)
    assert code == 2 and message in err
