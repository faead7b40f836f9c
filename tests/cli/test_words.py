"""Claims about what commands accept, and about how much they say."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.files.tables import read_table
from tests.robots import OWN

ARM = str(OWN / "kuka_iiwa.urdf")
PENDULUM = str(OWN / "pendulum.urdf")
MOTION = str(OWN / "kuka_iiwa_motion.csv")
JOINT, FLANGE = "lbr_iiwa_joint_3", "lbr_iiwa_joint_ee"

ODD = """\
<robot name="odd"><link name="a"/>
<link name="b"><inertial><mass value="1"/>
<inertia ixx="9" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="package://nowhere/b.stl"/></geometry></visual></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="1" upper="-1" effort="12" velocity="3"/></joint></robot>
"""


def swing(path, header="time,hinge"):
    path.write_text(header + "\n" + "".join(f"{k / 10},{k * k / 100}\n" for k in range(12)))
    return path


# -- the robot ---------------------------------------------------------------------------------


def test_gravity_is_that_of_the_planet_asked_for(run, tmp_path):
    motion = swing(tmp_path / "m.csv")
    command = ("loads", PENDULUM, motion, "--joints", "hinge", "-o", tmp_path / "o.csv")
    assert run(*command, "--gravity", "0,0,0")[0] == 0
    still = read_table(tmp_path / "o.csv").column("hinge.actuation")
    assert run(*command, "--gravity=0,0,-1.62")[0] == 0
    moon = read_table(tmp_path / "o.csv").column("hinge.actuation")
    assert still[5] == pytest.approx(2 / 3, rel=1e-6)  # m L² / 3 times 2 rad/s²
    angle = np.arange(12) ** 2 / 100
    assert moon - still == pytest.approx(1.62 / 2 * np.sin(angle), abs=1e-6)
    _, out, _ = run("export", PENDULUM, "--gravity=0,0,-1.62", "--what", "bias_forces")
    assert "gravity (0, 0, -1.62)" in out
    assert run("check", PENDULUM, "--gravity=1,2,3", "--states", "2")[0] == 0
    code, _, err = run("info", PENDULUM, "--gravity", "down")
    assert (code, "x,y,z" in err) == (2, True)


def test_payloads_are_added(run, tmp_path):
    motion = swing(tmp_path / "m.csv")
    command = ("loads", PENDULUM, motion, "--joints", "hinge", "-o", tmp_path / "o.csv")
    torques = {}
    for payload in ((), ("tip,2",), ("tip,2,0.5,0,0", "rod,1")):
        words = [word for one in payload for word in ("--payload", one)]
        assert run(*command, *words)[0] == 0
        torques[payload] = read_table(tmp_path / "o.csv").column("hinge.actuation")
    rod = mbd.load(PENDULUM)
    moved = rod.with_payload("tip", 2.0, (0.5, 0, 0)).with_payload("rod", 1.0)
    path = rod.read_motion(motion)
    for robot, payload in ((rod.with_payload("tip", 2.0), ("tip,2",)), (moved, tuple(torques)[2])):
        expected = robot.inverse_dynamics(path.q, path.v, path.a)[:, 0]
        assert torques[payload] == pytest.approx(expected, rel=1e-8, abs=1e-9)
    _, out, _ = run("info", PENDULUM, "--payload", "tip,2")
    assert "3 kg" in out.splitlines()[0]
    for wrong, told in (("tip", "LINK,kg"), ("tip,x", "LINK,kg"), ("top,1", "did you mean 'tip'")):
        code, _, err = run("info", PENDULUM, "--payload", wrong)
        assert (code, told in err) == (2, True)


def test_damping_is_said_to_be_left_out(run, tmp_path):
    sentence = "damping of 7 joints is not part of these loads"
    assert sentence in run("loads", ARM, MOTION, "--joints", JOINT)[2]
    assert "damping of 7 joints is not part of loads" in run("info", ARM)[1]
    (tmp_path / "one.urdf").write_text(
        ODD.replace("<limit", '<dynamics damping="1" friction="2"/><limit')
    )
    out = run("info", tmp_path / "one.urdf")[1]
    assert "damping and friction of 1 joint are not part of loads" in out


def test_info_shows_the_limits_of_effort_and_velocity(run, tmp_path):
    _, out, _ = run("info", ARM)
    assert "effort" in out
    assert "velocity" in out
    row = next(line for line in out.splitlines() if line.startswith("lbr_iiwa_joint_1"))
    assert "300  N m" in row
    assert "1.5  rad/s" in row
    (tmp_path / "free.urdf").write_text('<robot name="free"><link name="a"/></robot>')
    assert "effort" not in run("info", tmp_path / "free.urdf")[1]


def test_the_rank_of_a_joint_among_cuts_is_shown_where_there_are_loops(run):
    assert "weight" not in run("info", ARM)[1]
    assert "cut rank" not in run("info", ARM)[1]
    bar = OWN / "four_bar.urdf"
    if bar.exists():
        assert "cut rank" in run("info", bar)[1]


# -- how much is said --------------------------------------------------------------------------


def test_warnings_are_listed_by_info_and_counted_by_others(run, tmp_path):
    odd = tmp_path / "odd.urdf"
    odd.write_text(ODD)
    _, out, err = run("info", odd)
    warnings = [line for line in (out + err).splitlines() if line.startswith("warning:")]
    assert len(warnings) == 3
    assert all(line.startswith("warning: odd.urdf: ") for line in warnings)
    assert any("b.stl" in line for line in warnings)
    _, _, err = run("export", odd, "--what", "mass_matrix")
    assert err.splitlines() == ["warning: 2 warnings about odd.urdf (mbd info shows them)"]
    odd.write_text(ODD.replace('ixx="9"', 'ixx="1"').replace('lower="1"', 'lower="-2"'))
    assert run("export", odd, "--what", "mass_matrix")[2] == ""  # only a mesh is missing


def test_a_note_about_all_coordinates_counts_them(run):
    err = run("loads", ARM, MOTION, "--joints", JOINT)[2]
    assert "through the positions of all 7 coordinates" in err


def test_numbers_have_nine_digits_unless_more_are_asked_for(run, tmp_path):
    command = ("loads", ARM, MOTION, "--joints", FLANGE, "-o", tmp_path / "o.csv")
    run(*command)
    short = read_table(tmp_path / "o.csv").values
    text = (tmp_path / "o.csv").read_text()
    run(*command, "--digits", "17")
    exact = read_table(tmp_path / "o.csv").values
    assert np.abs(short - exact).max() <= 5e-9 * np.abs(exact).max()
    assert not np.array_equal(short, exact)
    cells = text.splitlines()[-1].split(",")
    digits = [cell.lstrip("-").replace(".", "").split("e")[0].lstrip("0") for cell in cells]
    assert max(map(len, digits)) <= 9
    code, _, err = run(*command, "--digits", "18")
    assert (code, "1 to 17" in err) == (2, True)


# -- what is accepted --------------------------------------------------------------------------


def test_joints_may_be_separated_by_commas(run):
    blanks = run("loads", ARM, MOTION, "--joints", JOINT, FLANGE)[1]
    assert run("loads", ARM, MOTION, "--joints", f"{JOINT},{FLANGE}")[1] == blanks
    assert run("loads", ARM, MOTION, "--joints", f"{JOINT},", FLANGE)[1] == blanks


def test_a_motion_behind_the_joints_is_told_where_it_goes(run):
    code, _, err = run("loads", ARM, "--joints", JOINT, MOTION)
    assert code == 2
    assert "put MOTION before --joints" in err


def test_an_unknown_option_names_a_near_one_and_the_help_of_its_command(run):
    code, _, err = run("loads", ARM, MOTION, "--joints", "all", "--thread_count", "2")
    assert code == 2
    assert "--thread_count 2; did you mean --threads?" in err
    assert "mbd loads --help" in err and "usage" not in err


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("load", ARM, MOTION), "did you mean loads?"),
        (("export", ARM, "--what", "mass-matrix"), "did you mean mass_matrix?"),
        (("loads", ARM, MOTION), "all takes every joint, mbd info ROBOT lists them"),
        (("info", "kuka_iiwa"), '"$(mbd models kuka_iiwa)"'),
        (("info", "urdf/kuka_ijwa.urdf"), "did you mean 'kuka_iiwa.urdf'"),
        (
            ("loads", ARM, MOTION, "--joints", "lbr_iiwa_link_3"),
            "the joint that carries it is 'lbr_iiwa_joint_3'",
        ),
    ],
)
def test_a_slip_is_answered_with_what_was_probably_meant(run, words, advice):
    code, _, err = run(*words)
    assert code == 2
    assert advice in err


def test_c_is_what_is_exported(run):
    with_c = run("export", ARM, "--c", "--what", "mass_matrix")
    assert run("export", ARM, "--what", "mass_matrix") == with_c
    assert with_c[0] == 0


def test_mbd_alone_prints_the_help(run):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out == run("--help")[1]


def test_a_column_t_holds_the_time(run, tmp_path):
    one = run("loads", PENDULUM, swing(tmp_path / "m.csv"), "--joints", "hinge")[1]
    swing(tmp_path / "m.csv", "t [s],hinge")
    assert run("loads", PENDULUM, tmp_path / "m.csv", "--joints", "hinge")[1] == one


@pytest.mark.parametrize("header", ["time (s),hinge (deg)", "Time,hinge_deg", "t,hinge [deg]"])
def test_units_are_obeyed_in_every_usual_spelling(run, tmp_path, header):
    one = run("loads", PENDULUM, swing(tmp_path / "m.csv"), "--joints", "hinge", "--unit", "deg")
    other = run("loads", PENDULUM, swing(tmp_path / "n.csv", header), "--joints", "hinge")
    assert one[0] == other[0] == 0
    rows = [[line for line in out.splitlines() if line[0] != "#"] for _, out, _ in (one, other)]
    assert rows[0] == rows[1]
    plainly = run("loads", PENDULUM, tmp_path / "m.csv", "--joints", "hinge")
    assert plainly[1] != one[1]


def test_a_simulation_says_once_that_damping_is_left_out(run):
    _, _, err = run("simulate", ARM, "--seconds", "0.002")
    assert err.count("damping of 7 joints is not part of this motion") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sensor", f"{FLANGE}=ft", f"{FLANGE}=other"), f"--sensor: '{FLANGE}' is given twice"),
        (("--frame", "tip=a", "--frame", "tip=b"), "--frame: 'tip' is given twice"),
        (("--frame", "tip"), "--frame: expected NAME=LINK"),
    ],
)
def test_names_that_come_twice_are_refused(run, words, said):
    code, _, errors = run("loads", ARM, MOTION, "--joints", JOINT, *words)
    assert code == 2 and said in errors


def test_the_help_of_a_command_names_every_option_and_explains_the_first(run):
    for command in ("loads", "report", "simulate", "view", "motors", "plot", "load-cases"):
        brief, whole = run(command, "--help")[1], run(command, "--help-all")[1]
        flags = set(re.findall(r"^  (?:-\w .*, )?(--[a-z][\w-]+)", whole, re.MULTILINE))
        assert len(flags) > 20 and {flag for flag in flags if flag not in brief} == set()
        assert len(brief.splitlines()) < 72 < len(whole.splitlines())
        assert f"\n  mbd {command} " in brief and "--help-all explains" in brief


def test_every_command_is_listed_once_with_what_it_does(run):
    text = run("--help")[1]
    listed = re.findall(r"^  ([\w-]+)  +\S", text, re.MULTILINE)
    assert len(listed) == len(set(listed)) > 24
    assert len(text.splitlines()) < 50
