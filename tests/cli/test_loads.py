"""Claims about ``mbd loads``: what it prints and writes is what the library says."""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.cli import main
from mbd_bridge.files.table import Column
from mbd_bridge.files.tables import read_table
from mbd_bridge.files.tables.text import header_text, rows_text
from mbd_bridge.motion.motion import motion_from_table
from tests.robots import OWN

ARM = str(OWN / "kuka_iiwa.urdf")
HUMANOID = str(OWN / "humanoid.urdf")
MOTION = str(OWN / "kuka_iiwa_motion.csv")
JOINT = "lbr_iiwa_joint_3"
FLANGE = "lbr_iiwa_joint_ee"


def arm_motion(path, rows=50):
    """Write an analytic motion of the arm with its derivatives."""
    names = mbd.load(ARM).coordinate_names
    time = np.linspace(0.0, 1.0, rows)[:, None]
    speed = np.arange(1.0, 8.0)
    parts = np.sin(speed * time), speed * np.cos(speed * time), -(speed**2) * np.sin(speed * time)
    columns = ["time", *(name + suffix for suffix in ("", ".vel", ".acc") for name in names)]
    path.write_text(header_text(map(Column, columns)) + rows_text(np.hstack([time, *parts])))
    return parts


def test_loads_are_those_of_the_library(run, tmp_path):
    q, v, a = arm_motion(tmp_path / "m.csv")
    code, _, err = run(
        "loads", ARM, tmp_path / "m.csv", "--joints", JOINT, FLANGE, "--digits", "17",
        "-o", tmp_path / "out.csv",
    )  # fmt: skip
    assert code == 0
    assert "spline" not in err
    table = read_table(tmp_path / "out.csv")
    loads = mbd.load(ARM).joint_loads(q, v, a, joints=[JOINT, FLANGE])
    for k, joint in enumerate((JOINT, FLANGE)):
        for i, axis in enumerate("xyz"):
            assert np.array_equal(table.column(f"{joint}.f{axis}"), loads.force[:, k, i])
            assert np.array_equal(table.column(f"{joint}.m{axis}"), loads.moment[:, k, i])
    assert np.array_equal(table.column(f"{JOINT}.actuation"), loads.actuation[:, 0])
    assert f"{FLANGE}.actuation" not in table.names
    assert {c.unit for c in table.columns} == {"s", "N", "N m"}


def test_loads_obey_the_convention_that_is_asked_for_and_say_it(run, tmp_path):
    q, v, a = arm_motion(tmp_path / "m.csv")
    code, out, _ = run(
        *("loads", ARM, tmp_path / "m.csv", "--joints", JOINT, "--on", "parent"),
        *("--at=-0.1,0,0.2", "--in", "world", "--reaction", "--digits", "17"),
    )
    assert code == 0
    (tmp_path / "out.csv").write_text(out)
    table = read_table(tmp_path / "out.csv")
    loads = mbd.load(ARM).joint_loads(
        q, v, a, [JOINT], on="parent", at=(-0.1, 0, 0.2), in_="world", reaction=True
    )
    assert f"# load: {loads.convention}" in out
    assert np.array_equal(table.column(f"{JOINT}.my"), loads.moment[:, 0, 1])
    assert np.array_equal(table.column(f"{JOINT}.reaction.mz"), loads.reaction_moment[:, 0, 2])


def test_all_joints_are_all_but_the_root_joint(run):
    _, out, _ = run("loads", ARM, MOTION, "--joints", "all")
    header = next(line for line in out.splitlines() if not line.startswith("#"))
    for name in mbd.load(ARM).joint_names:
        assert f"{name}.fx" in header
    assert "root_joint" not in header


def test_derived_rates_are_said_aloud_and_in_the_file(run):
    _, out, err = run("loads", ARM, MOTION, "--joints", JOINT)
    assert "note: rates derived by an interpolating spline of degree 5" in err
    assert "# notes: rates derived by an interpolating spline of degree 5" in out


def test_loads_without_rates_are_near_those_with_rates(run, tmp_path):
    arm_motion(tmp_path / "m.csv", rows=400)
    whole = read_table(tmp_path / "m.csv")
    positions = [k for k, name in enumerate(whole.names) if "." not in name]
    (tmp_path / "q.csv").write_text(
        header_text([whole.columns[k] for k in positions]) + rows_text(whole.values[:, positions])
    )
    results = []
    for name in ("m.csv", "q.csv"):
        run("loads", ARM, tmp_path / name, "--joints", JOINT, "--digits", "17",
            "-o", tmp_path / "out.csv")  # fmt: skip
        results.append(read_table(tmp_path / "out.csv").values)
    size = np.abs(results[0]).max()
    assert not np.array_equal(*results)
    assert np.abs(results[0] - results[1])[20:-20].max() < 1e-7 * size


def test_the_summary_holds_peak_time_and_rms(run, tmp_path):
    q, v, a = arm_motion(tmp_path / "m.csv")
    _, _, err = run("loads", ARM, tmp_path / "m.csv", "--joints", JOINT, "-o", tmp_path / "out.csv")
    loads = mbd.load(ARM).joint_loads(q, v, a, joints=[JOINT])
    force = np.linalg.norm(loads.force[:, 0], axis=1)
    actuation = loads.actuation[:, 0]
    time = np.linspace(0.0, 1.0, 50)
    row = next(line for line in err.splitlines() if line.startswith(JOINT)).split()
    k = np.argmax(force)
    rms = np.sqrt(np.mean(force**2))
    assert row[1:] == ["force", f"{force[k]:.5g}", f"{rms:.5g}", "N", f"{time[k]:g}"]
    row = next(line for line in err.splitlines() if line.strip().startswith("actuation")).split()
    k = np.argmax(np.abs(actuation))
    assert row[1] == f"{actuation[k]:.5g}"


def test_the_summary_has_the_reaction_if_it_was_asked_for(run, tmp_path):
    q, v, a = arm_motion(tmp_path / "m.csv")
    _, _, err = run("loads", ARM, tmp_path / "m.csv", "--joints", JOINT, FLANGE, "--reaction",
                    "-o", tmp_path / "out.csv")  # fmt: skip
    loads = mbd.load(ARM).joint_loads(q, v, a, [JOINT, FLANGE], reaction=True)
    for what, values in (("force", loads.reaction_force), ("moment", loads.reaction_moment)):
        rows = [line.split() for line in err.splitlines() if f"reaction {what}" in line]
        peaks = np.linalg.norm(values, axis=2).max(axis=0)
        assert [row[row.index(what) + 1] for row in rows] == [f"{x:.5g}" for x in peaks]


def test_pieces_of_a_motion_give_what_the_whole_gives(run, monkeypatch):
    from mbd_bridge.motion import pieces

    words = "loads", ARM, MOTION, "--joints", JOINT, "--digits", "8"
    _, whole, _ = run(*words)
    monkeypatch.setattr(pieces, "ROWS", 100)
    _, split, _ = run(*words)
    assert split == whole


def test_a_floating_base_needs_its_coordinates_or_rest(run, tmp_path):
    names = mbd.load(HUMANOID).coordinate_names
    time = np.linspace(0, 1, 20)
    values = np.column_stack([time, *(0.1 * np.sin(time + k) for k in range(len(names)))])
    (tmp_path / "m.csv").write_text(header_text(map(Column, ("time", *names))) + rows_text(values))
    command = ("loads", HUMANOID, tmp_path / "m.csv", "--floating", "--joints", "root_joint")
    code, _, err = run(*command)
    assert code == 2
    assert "7 missing: root_joint.x" in err
    assert "--rest" in err
    code, out, err = run(*command, "--rest", "--digits", "17")
    assert code == 0
    assert "held in the neutral position" in err
    (tmp_path / "out.csv").write_text(out)
    table = read_table(tmp_path / "out.csv")
    robot = mbd.load(HUMANOID, floating=True)
    motion = motion_from_table(read_table(tmp_path / "m.csv"), robot.model, rest=True)
    tau = robot.inverse_dynamics(motion.q, motion.v, motion.a)
    size = np.abs(tau).max()
    for k, name in enumerate(("vx", "vy", "vz", "wx", "wy", "wz")):
        assert np.abs(table.column(f"root_joint.actuation.{name}") - tau[:, k]).max() < 1e-12 * size
    units = [c.unit for c in table.columns if ".actuation." in c.name]
    assert units == ["N"] * 3 + ["N m"] * 3


def test_an_output_that_cannot_be_written_leaves_nothing(run, tmp_path):
    code, _, err = run("loads", ARM, MOTION, "--joints", JOINT, "-o", tmp_path / "no" / "out.csv")
    assert code == 2
    assert "is there a folder" in err
    if os.geteuid() != 0:  # root may write everywhere
        tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
        code, _, err = run("loads", ARM, MOTION, "--joints", JOINT, "-o", tmp_path / "out.csv")
        assert (code, "Permission denied" in err) == (2, True)
    assert not list(tmp_path.iterdir())


def test_an_interrupted_command_leaves_the_old_output(run, tmp_path, monkeypatch):
    from mbd_bridge.loads.peaks import LoadPeaks

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(LoadPeaks, "add", interrupt)
    (tmp_path / "out.csv").write_text("old")
    code, _, err = run("loads", ARM, MOTION, "--joints", JOINT, "-o", tmp_path / "out.csv")
    assert (code, "interrupted" in err) == (130, True)
    assert (tmp_path / "out.csv").read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.parametrize(("effort", "beyond"), [("4", True), ("5", False), ("0", False)])
def test_actuations_beyond_the_efforts_of_the_file_are_said(tmp_path, capsys, effort, beyond):
    """A file's 0 is no limit."""
    robot, said = tmp_path / "p.urdf", "note: beyond the efforts of the file: swing (4."
    robot.write_text(
        '<robot name="p"><link name="base"/><link name="rod"><inertial><mass value="1"/><origin '
        'xyz="0.5 0 0"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
        '</link><joint name="swing" type="continuous"><parent link="base"/><child link="rod"/>'
        f'<axis xyz="0 1 0"/><limit effort="{effort}" velocity="10"/></joint></robot>'
    )
    held = ["--seconds", "0.1", "--prescribe", "swing=0.1*t", "--joints", "swing"]
    for words in (["loads", "--q", "swing=0.1", "--joints", "swing"], ["simulate", *held]):
        for more in ([], ["-o", str(tmp_path / "out.csv")]):
            assert main([words[0], str(robot), *words[1:], *more]) == 0
            assert (said in capsys.readouterr().err) is beyond


USUAL = "base fixed; 22.7 kg; gravity along -z; no rotors; limits not enforced; rigid"


def test_what_differs_from_the_usual_is_said_and_the_usual_in_a_line(run, tmp_path):
    pose = ["loads", ARM, "--q", "lbr_iiwa_joint_2=0.3", "--joints", "all"]

    def told(*more):
        return run(*pose, "-o", tmp_path / "loads.csv", *more)[2]

    plain = told()
    whole = told("--assumptions")
    assert USUAL in plain and USUAL not in whole
    assert "(0, 0, -9.81) m/s²" in whole and "(0, 0, -9.81) m/s²" not in plain
    other = told("--gravity", "0,0,-1.62")
    assert "Gravity               (0, 0, -1.62) m/s²" in other and "gravity along" not in other
    free = told("--floating")
    assert "is free (six degrees of freedom, root_joint)" in free and "base fixed" not in free
    assert plain.index("lbr_iiwa_joint_7") < plain.index("note: ")  # the result comes first


def test_what_changes_the_peaks_is_printed(capsys, tmp_path):
    bar = ["loads", str(OWN / "four_bar.urdf"), "--q", "crank=0.5", "--actuated", "crank"]
    words = [*bar, "--joints", "rocker", "-o", str(tmp_path / "x.csv"), "--sensitivity"]
    assert main([*words, "coupler.mass", "crank.mass"]) == 0
    said = capsys.readouterr().err
    assert "what changes the peaks of rocker: force 15.661 N at 0 s" in said
    assert "coupler.mass  5.5258  N/kg" in said
    assert "changes nothing here: crank.mass" in said
    assert main(words) == 0
    assert "rocker.mass" in capsys.readouterr().err
    assert main([*words, "coupler.weight"]) != 0
    assert "no parameter 'coupler.weight'" in capsys.readouterr().err
