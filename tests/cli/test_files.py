"""Claims about what ``mbd loads`` and ``mbd simulate`` write to files that are no text."""

from __future__ import annotations

import os
import subprocess
import sys

import h5py
import numpy as np
import pandas
import pytest

import mbd_bridge as mbd
from mbd_bridge.cli import main
from tests.robots import own_urdfs

ARM = str(own_urdfs()["kuka_iiwa"])
MOTION = ARM.replace(".urdf", "_motion.csv")
BAR = str(own_urdfs()["four_bar"])
JOINT = "lbr_iiwa_joint_3"


@pytest.fixture(scope="module")
def loads():
    arm = mbd.load(ARM)
    return arm.joint_loads(arm.read_motion(MOTION), joints=JOINT, reaction=True)


@pytest.mark.parametrize("kind", ["parquet", "npz", "h5"])
def test_loads_in_files_are_those_of_python_to_the_last_bit(tmp_path, capsys, loads, kind):
    out = tmp_path / f"l.{kind}"
    assert main(["loads", ARM, MOTION, "--joints", JOINT, "--reaction", "-o", str(out)]) == 0
    assert f"201 rows written to {out}" in capsys.readouterr().err
    found = mbd.load(ARM).read_loads(out)
    for name in ("force", "moment", "actuation", "reaction_force", "reaction_moment", "time"):
        assert np.array_equal(getattr(found, name), getattr(loads, name)), name
    motion = tmp_path / f"m.{kind}"
    mbd.load(ARM).read_motion(MOTION).save(motion)
    again = tmp_path / "again.h5"
    assert main(["loads", ARM, str(motion), "--joints", JOINT, "-o", str(again)]) == 0
    assert np.array_equal(mbd.load(ARM).read_loads(again).force, loads.force)


def test_a_simulation_in_files_is_read_by_pandas_and_h5py(tmp_path):
    frames = {}
    for kind in ("parquet", "h5"):
        words = ["--seconds", "0.2", "--near", "crank=0.5", "--joints", "coupler_pin"]
        assert main(["simulate", BAR, *words, "-o", str(tmp_path / f"r.{kind}")]) == 0
    frame = pandas.read_parquet(tmp_path / "r.parquet")
    assert frame.attrs["units"]["crank.vel"] == "rad/s"
    assert "in steps of 0.001 s" in frame.attrs["notes"]
    with h5py.File(tmp_path / "r.h5") as file:
        frames = {name: file[name][:] for name in file}
    assert set(frames) == set(frame.columns)
    for name, values in frames.items():
        assert np.array_equal(frame[name], values), name
    assert len(mbd.load(BAR).read_motion(tmp_path / "r.h5").time) == 201


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz", "h5", "svg"])
def test_a_full_disk_leaves_the_old_file_and_exit_code_2(tmp_path, kind):
    """A process that may write 20 kB only meets EFBIG where a full disk gives ENOSPC.

    It writes no bytecode: Python keeps what it could write of a module for the whole of it.
    """
    path = tmp_path / f"l.{kind}"
    path.write_text("old")
    what = ["plot"] if kind == "svg" else ["loads"]
    joints = ["--joints", *(f"lbr_iiwa_joint_{k}" for k in range(1, 8))]
    script = (
        "import resource, sys; import matplotlib.font_manager; from mbd_bridge.cli import main; "
        "import mbd_bridge as mbd; arm = mbd.load(sys.argv[2]); "
        "arm.joint_loads(arm.neutral(), [0.0] * 7, [0.0] * 7, sys.argv[5:12]); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-Bc", script, *what, ARM, MOTION, *joints, "-o", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "cannot be written: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_an_unknown_suffix_is_refused_before_anything_is_computed(tmp_path, capsys):
    out = str(tmp_path / "l.xlsx")
    for words in (["loads", "none.urdf", MOTION, "--joints", JOINT], ["simulate", "none.urdf"]):
        more = ["--seconds", "1"] if words[0] == "simulate" else []
        assert main([*words, *more, "-o", out]) == 2
        assert "available: .csv, .parquet, .npz, .h5, .hdf5" in capsys.readouterr().err
    assert not os.listdir(tmp_path)


TWO_NAMES = """\
<robot name="two"><link name="base"/>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
 ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
 ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="first" type="continuous"><parent link="base"/><child link="a"/></joint>
<joint name="first.NAME" type="continuous"><parent link="a"/><child link="b"/></joint></robot>
"""


@pytest.mark.parametrize(
    ("command", "name"),
    [
        *(("simulate", name) for name in ("vel", "fx", "actuation")),
        *(
            (command, "vel") for command in ("real-time", "complete-motion", "inverse-kinematics")
        ),  # no loads stand beside
    ],
)
def test_columns_of_one_name_are_refused_before_the_work(run, tmp_path, monkeypatch, command, name):
    robot = tmp_path / "two.urdf"
    robot.write_text(TWO_NAMES.replace("NAME", name))
    words = {
        "simulate": ("--seconds", "0.1", "--joints", "first"),
        "real-time": ("--seconds", "0.1"),
        "complete-motion": ("motion.csv",),
        "inverse-kinematics": ("path.csv",),
    }[command]

    def work(*_, **__):
        raise AssertionError("work was done")

    monkeypatch.setattr("mbd_bridge.simulation.batch.run.simulate_single", work)
    monkeypatch.setattr("mbd_bridge.applications.real_time.runner.RealTime", work)
    code, out, err = run(command, robot, *words, "-o", tmp_path / "out.csv")
    assert (code, out) == (2, "")
    assert f"a column's name must stand once in the header; twice or more: first.{name}" in err
