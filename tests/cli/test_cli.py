"""Claims about the command line: what it prints is what the library says, and bad input is told."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.formats.table import Column
from mbd_bridge.formats.tables import read_table
from mbd_bridge.formats.tables.text import header_text, rows_text
from mbd_bridge.loads import Convention
from mbd_bridge.loads.motion import motion_from_table

URDF = Path(__file__).parents[2] / "urdf"
ARM = str(URDF / "kuka_iiwa.urdf")
HUMANOID = str(URDF / "humanoid.urdf")
MOTION = str(URDF / "kuka_iiwa_motion.csv")
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


# -- info --------------------------------------------------------------------------------------


def test_info_shows_every_joint_link_and_coordinate(run):
    code, out, err = run("info", HUMANOID, "--floating")
    model = mbd.load(HUMANOID, floating=True).model
    assert (code, err) == (0, "")
    for name in (*model.joint_index, *model.link_index, *model.coordinate_names):
        assert name in out
    mass = sum(link.inertia.mass for link in model.links)
    assert f"{model.nv} freedoms, floating base, {mass:.6g} kg" in out


def test_info_is_plain_text_when_nobody_looks(run):
    _, out, _ = run("info", HUMANOID)
    assert "\x1b" not in out
    assert all(line == line.rstrip() for line in out.splitlines())


def test_info_of_a_chain_does_not_drift_to_the_right(run, tmp_path):
    links = "".join(f'<link name="l{k}"/>' for k in range(61))
    joints = "".join(
        f'<joint name="j{k}" type="fixed"><parent link="l{k}"/><child link="l{k + 1}"/></joint>'
        for k in range(60)
    )
    path = tmp_path / "chain.urdf"
    path.write_text(f'<robot name="chain">{links}{joints}</robot>')
    _, out, _ = run("info", path)
    assert sum(line.startswith("j") for line in out.splitlines()) == 61  # and the heading


def test_info_draws_branches(run):
    _, out, _ = run("info", HUMANOID)
    lines = [line.split("  ")[0] for line in out.splitlines()]
    assert "├─ waist_yaw" in lines
    assert "│  waist_pitch" in [line[:14] for line in out.splitlines()]
    assert "└─ right_hip_yaw" in lines


def test_info_shows_couplings_loops_and_what_is_odd(run, tmp_path):
    path = tmp_path / "odd.urdf"
    path.write_text(
        '<robot name="odd"><link name="a"/><link name="b"/><link name="c"/>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 0.6 -0.8"/></joint>'
        '<joint name="k" type="continuous"><parent link="a"/><child link="c"/>'
        '<axis xyz="0 -1 0"/><mimic joint="j" multiplier="-2" offset="0.5"/></joint>'
        '<link name="d"><inertial><mass value="1"/>'
        '<inertia ixx="9" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="f" type="fixed"><parent link="c"/><child link="d"/></joint></robot>'
    )
    (tmp_path / "odd.loops.yaml").write_text(
        "loops:\n  - name: pin\n    type: spherical\n    predecessor: {link: b}\n"
        "    successor: {link: c}\n"
    )
    code, out, _ = run("info", path)
    assert code == 0
    assert "continuous = -2 j + 0.5" in out
    assert "0 0.6 -0.8" in out
    assert "-y" in out
    loop = next(line for line in out.splitlines() if line.startswith("pin"))
    assert loop.split() == ["pin", "spherical", "b", "c", "3", "3"]
    assert "warning:" in out
    assert "inertia" in out[out.index("warning:") :]


# -- loads -------------------------------------------------------------------------------------


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
    assert np.array_equal(table.column(f"{JOINT}.drive"), loads.drive[:, 0])
    assert f"{FLANGE}.drive" not in table.names
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


def test_derived_rates_are_said_aloud_and_in_the_file(run, tmp_path):
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
    drive = loads.drive[:, 0]
    time = np.linspace(0.0, 1.0, 50)
    row = next(line for line in err.splitlines() if line.startswith(JOINT)).split()
    k = np.argmax(force)
    rms = np.sqrt(np.mean(force**2))
    assert row[1:] == ["force", f"{force[k]:.5g}", f"{rms:.5g}", "N", f"{time[k]:g}"]
    row = next(line for line in err.splitlines() if line.strip().startswith("drive")).split()
    k = np.argmax(np.abs(drive))
    assert row[1] == f"{drive[k]:.5g}"


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
    from mbd_bridge.loads.streaming import pieces

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
    assert "7 are missing: root_joint.x" in err
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
        assert np.abs(table.column(f"root_joint.drive.{name}") - tau[:, k]).max() < 1e-12 * size
    units = [c.unit for c in table.columns if ".drive." in c.name]
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
    from mbd_bridge.loads.peaks import Peaks

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Peaks, "add", interrupt)
    (tmp_path / "out.csv").write_text("old")
    code, _, err = run("loads", ARM, MOTION, "--joints", JOINT, "-o", tmp_path / "out.csv")
    assert (code, "interrupted" in err) == (130, True)
    assert (tmp_path / "out.csv").read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


# -- check, bench, export ----------------------------------------------------------------------


def test_check_agrees_with_pinocchio_and_says_so(run):
    code, out, _ = run("check", ARM, "--states", 3, "--no-pybullet")
    assert code == 0
    assert "pinocchio" in out
    assert "DIFFERS" not in out
    assert out.splitlines()[-1].startswith("agreement on 3 states")


def test_check_says_where_it_disagrees_and_exits_with_1(run, monkeypatch):
    crosscheck = sys.modules["mbd_bridge.crosscheck"]  # the package has a function of that name
    row = crosscheck.Row("drives", "somebody", 0.5, 1e-11, "elbow", False)
    report = crosscheck.Report("arm", 3, (row,), ("somebody",))
    monkeypatch.setattr(crosscheck, "crosscheck", lambda *_, **__: report)
    code, out, _ = run("check", ARM)
    assert code == 1
    assert "DIFFERS" in out
    assert "elbow" in out
    assert out.splitlines()[-1].startswith("DISAGREEMENT")


def test_check_does_not_call_agreement_what_it_did_not_compare(run, tmp_path):
    (tmp_path / "idle.urdf").write_text(
        """<robot name="idle"><link name="base"/><link name="ghost"/>
        <link name="rod"><inertial><origin xyz="1 0 0"/><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="good" type="continuous"><parent link="base"/><child link="rod"/></joint>
        <joint name="idle" type="continuous"><parent link="rod"/><child link="ghost"/></joint>
        </robot>"""
    )
    code, out, _ = run("check", tmp_path / "idle.urdf", "--no-pybullet")
    assert code == 0
    (row,) = [line for line in out.splitlines() if line.startswith("forward dynamics")]
    assert row.split()[2:6] == ["-", "-", "not", "compared"]
    assert out.splitlines()[-1].endswith("of idle, 1 quantity not compared")


def test_bench_compares_equal_results_and_writes_its_numbers(run, tmp_path, monkeypatch):
    from mbd_bridge.crosscheck import timing

    monkeypatch.setattr(timing, "SECONDS", 0.0)
    monkeypatch.setattr(timing, "REPETITIONS", 1)
    code, out, _ = run("bench", ARM, "--states", 50, "--json", tmp_path / "b.json")
    assert code == 0
    numbers = json.loads((tmp_path / "b.json").read_text())
    titles = [row["what"] for row in numbers["rows"]]
    assert len(titles) == 6
    for row in numbers["rows"]:
        assert row["what"] in out
        assert row["ours"] > 0
        assert row["ratio"] == pytest.approx(row["theirs"] / row["ours"])
    apart = {row["what"]: row["difference"] for row in numbers["rows"]}
    assert apart["inverse dynamics"] < 1e-11
    assert apart["forward dynamics"] < 1e-9
    assert apart["mass matrix"] < 1e-11
    assert len(numbers["compilations"]) == 4
    assert numbers["facts"]["threads"] == "1 each"


def test_bench_gives_numbers_for_a_floating_tree_in_another_order_too(run, monkeypatch, tmp_path):
    from mbd_bridge.crosscheck import timing

    monkeypatch.setattr(timing, "SECONDS", 0.0)
    monkeypatch.setattr(timing, "REPETITIONS", 1)
    code, _, _ = run(
        "bench", HUMANOID, "--floating", "--states", 20, "--joints", "left_knee",
        "--json", tmp_path / "b.json",
    )  # fmt: skip
    assert code == 0
    rows = json.loads((tmp_path / "b.json").read_text())["rows"]
    assert max(row["difference"] or 0.0 for row in rows) < 1e-8
    assert any("left_knee" in row["what"] for row in rows)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_exported_c_gives_the_load_of_the_kernel(run, tmp_path):
    import ctypes

    source, library = tmp_path / "load.c", tmp_path / "a.out"
    code, _, err = run(
        "export", ARM, "--c", "--what", "joint_loads", "--joints", JOINT, "-o", source
    )
    assert code == 0
    (told,) = re.findall(r"(\d+) operations", err)
    assert f" * {told} operations for one state (a fused multiply-add is two)" in source.read_text()
    subprocess.run(
        ["cc", "-std=c99", "-O1", "-ffp-contract=off", "-shared", "-fPIC", source, "-lm"],
        cwd=tmp_path,
        check=True,
    )
    rng = np.random.default_rng(0)
    states = [rng.normal(size=7) for _ in range(3)]
    outputs = [np.zeros(3), np.zeros(3), np.zeros(1)]
    pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*states, *outputs)]
    ctypes.CDLL(str(library)).joint_loads(*pointers)
    loads = mbd.load(ARM).joint_loads(*states, joints=[JOINT])
    size = np.abs(loads.wrench()).max()
    for mine, theirs in zip((loads.force[0], loads.moment[0], loads.drive), outputs, strict=True):
        assert np.abs(mine - theirs).max() < 1e-13 * size


def test_exported_c_names_coordinates_units_and_convention(run):
    code, out, _ = run("export", HUMANOID, "--floating", "--c", "--what", "joint_loads",
                       "--joints", "left_knee", "--name", "knee")  # fmt: skip
    assert code == 0
    head = out[: out.index("*/")]
    model = mbd.load(HUMANOID, floating=True).model
    for k, name in enumerate(model.coordinate_names):
        assert f"q[{k}]  {name}  " in head
    assert f"load: {Convention()}" in head
    assert "gravity (0, 0, -9.81)" in head
    assert "void knee(" in out
    for what in ("mass_matrix", "bias_forces", "inverse_dynamics", "forward_dynamics"):
        code, out, _ = run("export", ARM, "--c", "--what", what)
        assert (code, f"void {what}(" in out) == (0, True)


# -- everybody ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("info", "none.urdf"), "none.urdf"),
        (("loads", ARM, MOTION, "--joints", "lbr_iiwa_joint_33"), "did you mean"),
        (("loads", ARM, "none.csv", "--joints", "all"), "none.csv"),
        (("loads", ARM, ARM, "--joints", "all"), "kuka_iiwa.urdf:2"),
        (("loads", ARM, MOTION, "--joints", "all", "--at", "1,2"), "'parent' or a point x,y,z"),
        (("loads", ARM, MOTION, "--joints", "all", "--threads", "0"), "from 1"),
        (("loads", ARM, MOTION), "--joints"),
        (("loads", ARM, MOTION, "--joints", "all", "--in", "moon"), "invalid choice"),
        (("check", ARM, "--states", "none"), "from 1"),
        (("check", ARM, "--seed", "-1"), "from 0"),
        (("export", ARM, "--c"), "--what"),
        (("export", ARM, "--c", "--what", "bias_forces", "--joints", "a"), "leave it out"),
        (("bench", MOTION), "kuka_iiwa_motion.csv"),
        (("dance",), "invalid choice"),
    ],
)
def test_bad_input_is_told_on_stderr_with_exit_code_2(run, words, told):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err


def test_a_fault_of_ours_is_told_apart_from_a_disagreement(run, monkeypatch):
    from mbd_bridge.reports import outline

    monkeypatch.setattr(outline, "rows", lambda model: 1 / 0)
    code, _, err = run("info", ARM)
    assert code == 70
    assert "ZeroDivisionError" in err
    assert "please report" in err


@pytest.mark.parametrize("command", ["info", "loads", "check", "bench", "export"])
def test_help_teaches_with_an_example(run, command):
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert f"\n  mbd {command} " in out


def test_the_examples_of_the_help_name_files_that_exist(run):
    words = " ".join(run(c, "--help")[1] for c in ("info", "loads", "check", "bench", "export"))
    named = {word for word in words.split() if word.startswith("urdf/")}
    assert named
    assert all((URDF.parent / name).exists() for name in named)


def test_a_terminal_gets_colours_unless_no_color_is_set(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[1" in run("info", ARM)[1]
    assert "\x1b[" in run("info", "none.urdf")[2]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in run("info", "none.urdf")[2]


def test_the_module_runs_as_a_program_and_tells_its_version():
    done = subprocess.run(
        [sys.executable, "-m", "mbd_bridge", "--version"],
        capture_output=True, text=True, check=True, cwd=URDF.parent,
    )  # fmt: skip
    assert done.stdout == f"mbd_bridge {mbd.__version__}\n"


def test_help_loads_neither_tables_nor_splines_nor_engines():
    heavy = ("scipy", "pinocchio", "pybullet", "rich")
    code = (
        "import sys; from mbd_bridge.cli import main; main(['loads', '--help']);"
        f"print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=URDF.parent
    )
    assert done.stderr.strip() == "[]"


def test_a_closed_pipe_is_no_error(tmp_path):
    script = f'"{sys.executable}" -m mbd_bridge loads "{ARM}" "{MOTION}" --joints all | head -1'
    done = subprocess.run(
        script, shell=True, capture_output=True, text=True, check=True, cwd=URDF.parent
    )
    assert done.stdout.startswith("# content: joint loads of kuka_iiwa")
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mbd_bridge", "loads", ARM, MOTION, "--joints", "all"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=URDF.parent,
        )  # fmt: skip
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr
