"""Claims about ``mbd plot``: pictures of motions and histories, whole or not at all."""

from __future__ import annotations

import os

import pytest

import mbd_bridge as mbd
from mbd_bridge.cli import main
from mbd_bridge.files.whole_file import DOTS
from tests.robots import own_urdfs

ARM = str(own_urdfs()["kuka_iiwa"])
MOTION = ARM.replace(".urdf", "_motion.csv")
BAR = str(own_urdfs()["four_bar"])


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "run.h5"
    bar = mbd.load(BAR)
    run = bar.simulate(0.1, q=bar.assemble({"crank": 0.5}, fixed="crank").q)
    run.save(path, run.joint_loads())
    return str(path)


def text_of(path):
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["loads", "torque-speed", "polar", "motion"])
def test_a_motion_is_drawn(tmp_path, kind, capsys):
    out = tmp_path / "a.svg"
    joint = "lbr_iiwa_joint_3"
    assert main(["plot", ARM, MOTION, "--kind", kind, "--joints", joint, "-o", str(out)]) == 0
    assert f"{kind} drawn to {out}" in capsys.readouterr().err
    said = text_of(out)
    assert {"loads": "moment [N m]", "polar": "RMS", "motion": "angle [rad]"}.get(
        kind, "limit of the file 200 N m"
    ) in said
    assert "joint_3" in said or kind == "motion"


def test_plots_may_be_every_kind_of_picture_that_machines_may(tmp_path):
    from PIL import Image

    for ending, kind in DOTS.items():
        out = tmp_path / f"a{ending}"
        words = ["--kind", "motion", "--dpi", "30", "-o", str(out)]
        assert main(["plot", ARM, MOTION, *words]) == 0
        with Image.open(out) as picture:
            assert picture.format == kind.upper()


def test_a_history_is_drawn_as_it_stands(tmp_path, history):
    out = tmp_path / "a.svg"
    assert main(["plot", BAR, history, "--joints", "coupler_pin", "-o", str(out)]) == 0
    assert "fy (undetermined)" in text_of(out)
    assert "crank: force" not in text_of(out)
    for kind, words in (("closure", "counts as closed"), ("torque-speed", "torque [N m]")):
        assert main(["plot", BAR, history, "--kind", kind, "-o", str(out)]) == 0
        assert words in text_of(out)


def test_loads_of_loops_need_their_actuators(tmp_path, history, capsys):
    motion = tmp_path / "m.csv"
    mbd.load(BAR).read_motion(history).save(motion)
    out = tmp_path / "a.png"
    assert main(["plot", BAR, str(motion), "-o", str(out)]) == 2
    assert "--actuated" in capsys.readouterr().err
    assert main(["plot", BAR, str(motion), "--actuated", "crank", "-o", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")


def test_a_history_keeps_its_convention(tmp_path, history, capsys):
    out = str(tmp_path / "a.svg")
    assert main(["plot", BAR, history, "--in", "world", "-o", out]) == 2
    assert "these loads are given parent on child" in capsys.readouterr().err
    assert main(["plot", ARM, MOTION, "--in", "world", "--joints", "root_joint", "-o", out]) == 0
    assert "in world axes" in text_of(tmp_path / "a.svg")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "a.bmp"], "pictures are .png, .jpg, .jpeg, .webp, .svg or .pdf, not '.bmp'"),
        (["-o", "none/a.png"], "is there a folder"),
        (["-o", "a.png", "--joints", "elbow"], "no joint named 'elbow'"),
        (["-o", "a.png", "--kind", "closure"], "has no loops"),
        (["-o", "a.png", "--kind", "polar", "--joints", "lbr_iiwa_joint_ee"], "name the plane"),
    ],
)
def test_what_cannot_be_drawn_is_told_and_nothing_is_left(
    tmp_path, monkeypatch, capsys, words, said
):
    monkeypatch.chdir(tmp_path)
    assert main(["plot", ARM, MOTION, *words]) == 2
    assert said in capsys.readouterr().err
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("command", ["plot", "report"])
def test_a_table_without_its_machine_is_told_what_comes_before_it(run, command):
    code, _, err = run(command, "loads.csv", "-o", "picture.png")
    assert code == 2 and "ROBOT, comes before it" in err
