"""Claims about prescribed motions, forces, methods and checkpoints of mbd simulate."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError
from mbd_bridge.files.tables import read_table
from tests.robots import OWN

BAR = OWN / "crank_rocker.urdf"


@pytest.fixture
def simulate(run, tmp_path):
    """Return a function that simulates: exit code, table or None, stderr."""

    def command(*words, robot=BAR, seconds="0.5"):
        path = tmp_path / "out.csv"
        path.unlink(missing_ok=True)
        code, _, err = run("simulate", robot, "--seconds", seconds, *words, "-o", path)
        return code, read_table(path) if path.exists() else None, err

    return command


def test_the_start_is_told_where_loops_do_not_close_at_the_guess(simulate):
    told = "closed position nearest to --near; to start exactly there: --fixed crank"
    assert told in simulate("--near", "crank=1", seconds="0.01")[2]
    assert told not in simulate("--near", "crank=1", "--fixed", "crank", seconds="0.01")[2]


def test_only_given_forces_and_motions_are_said_to_do_work(simulate, tmp_path):
    elements = tmp_path / "coil.forces.yaml"
    elements.write_text(
        "units: SI\nforces: [{name: coil, type: JointSpring, joint: crank, stiffness: 1}]\n"
    )
    acting = ("--forces", str(elements))
    assert "in force elements too" in simulate(*acting, seconds="0.01")[2]
    assert "do work" in simulate(*acting, "--torque", "crank=1", seconds="0.01")[2]


def test_a_formula_prescribed_motions_and_the_loads_say_the_force(simulate):
    code, table, err = simulate("--prescribe", "crank=2*pi*t", "--every", "50", "--joints", "crank")
    assert code == 0 and "prescribed motions do work" in err
    expected = mbd.load(BAR).simulate(0.5, prescribed={"crank": "2*pi*t"}, every=50)
    assert np.abs(table.column("crank") - 2 * np.pi * table.column("time")).max() < 1e-12
    assert np.allclose(table.column("rocker"), expected.q[:, 2], atol=1e-12)
    assert np.allclose(
        table.column("crank.actuation"), expected.prescribed_forces["crank"], atol=1e-10
    )


def test_a_table_prescribed_motions_in_its_units_by_name_or_alone(simulate, tmp_path):
    times = np.linspace(0, 0.5, 51)
    course = 30 * np.sin(4 * times)
    rows = "\n".join(
        f"{t!r},{x!r},{-x!r}" for t, x in zip(times.tolist(), course.tolist(), strict=True)
    )
    path = tmp_path / "motion.csv"
    path.write_text(f"time,crank [deg],other [deg]\n{rows}\n")
    code, table, _ = simulate("--prescribe", f"crank={path}", "--every", "50")
    assert code == 0
    expected = np.deg2rad(30 * np.sin(4 * table.column("time")))
    assert np.abs(table.column("crank") - expected).max() < 1e-6
    code, table, _ = simulate("--prescribe", f"crank={path}:other", "--every", "50")
    assert code == 0
    assert np.abs(table.column("crank") + expected).max() < 1e-6


def test_forces_by_formula_and_table(simulate, tmp_path):
    path = tmp_path / "push.csv"
    path.write_text("time,M [kN m]\n" + "\n".join(f"{0.2 * k},0.001" for k in range(4)))
    outs = [
        simulate("--torque", f"crank={what}", "--every", "50")
        for what in ("1", path, "step(t,-2,0,-1,1)")
    ]
    for code, table, _ in outs:
        assert code == 0
        assert np.allclose(table.values, outs[0][1].values, atol=1e-9)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--prescribe", "crank"), 2, "expected NAME=WHAT"),
        (("--prescribe", "crnk=t"), 2, "did you mean 'crank'"),
        (("--prescribe", "crank=spped*t"), 2, "character 1: no name named 'spped'"),
        (("--prescribe", "crank=__import__('os').abort()"), 2, "no meaning here"),
        (("--prescribe", "crank=nothing.csv"), 2, "nothing.csv"),
        (("--prescribe", "crank=t", "crank=2*t"), 2, "given twice"),
        (("--near", "crank=1", "--near", "crank=2"), 2, "'crank' is given twice"),
        (("--prescribe", "crank=t", "--near", "crank=1"), 2, "which says where it starts"),
        (("--prescribe", "coupler_pin=t"), 2, "a loop joint is cut"),
        (("--torque", "crnk=1"), 2, "did you mean 'crank'"),
        (("--prescribe", "crank=1", "rocker=3"), 1, "release one of fixed"),
        (("--method", "svg"), 2, "choose from 'multipliers'"),
        (("--integrator", "rk5"), 2, "use one of rk4"),
        (("--resume",), 2, "goes with --checkpoint"),
        (("--step", "0.4", "--velocity", "crank=30"), 1, "shorter steps"),
    ],
)
def test_what_cannot_be_prescribed_is_explained(simulate, words, code, message):
    found, _, err = simulate(*words)
    assert found == code
    assert message in err
    assert "check=False" not in err and "Traceback" not in err


def test_joints_with_several_degrees_of_freedom_say_what_can_be_prescribed(simulate):
    code, _, err = simulate("--prescribe", "platform=0", robot=OWN / "stewart.urdf")
    assert code == 2
    assert "turns by a quaternion" in err and "joints in a row" in err


def test_a_prescribed_motion_out_of_reach_keeps_what_there_is(simulate):
    code, table, err = simulate("--prescribe", "rocker=3*t", "--joints", "rocker", seconds="2")
    assert code == 1
    assert "stopped at t =" in err and "the prescribed motion of 'rocker' leads out" in err
    assert 0 < table.column("time")[-1] < 2
    assert np.isfinite(table.values).all()


SIDECAR = """loops:
  - name: coupler_pin
    type: revolute
    predecessor: {link: coupler, xyz: [1, 0, 0]}
    successor: {link: rocker, xyz: [0, 0, 1]}
    axis: [0, 1, 0]
  - {name: stay, %s}
"""
SPAN = "predecessor: {link: coupler, xyz: [1, 0, 0]}, successor: {link: ground}"


@pytest.mark.parametrize(
    ("loop", "words", "code", "message"),
    [
        (f"type: distance, {SPAN}, length: 5", (), 1, "cannot be closed: stay by|pin by .*stay by"),
        (f"type: distance, {SPAN}, length: 0", (), 2, r"loops.yaml:7: .*above 0 m"),
        (
            "type: distance, predecessor: {link: crank}, successor: {link: ground}",
            (),
            2,
            r"loops.yaml:7: loop 'stay': a distance joint of length 0.0 holds nothing",
        ),
        (
            "type: spherical, predecessor: {link: crank}, successor: {link: crank}",
            (),
            2,
            r"loops.yaml:7: loop 'stay': both sides are on link 'crank'",
        ),
        (f"type: distance, {SPAN}", (), 0, "warning: .* has no degree of freedom where it starts"),
        (
            "type: spherical, predecessor: {link: coupler, xyz: [1, 0, 0]}, "
            "successor: {link: rocker, xyz: [0, 0, 1]}",
            ("--near", "crank=0.5", "--fixed", "crank", "--joints", "stay"),
            0,
            "loops closed to",
        ),
    ],
)
def test_loops_that_are_contradictory_doubled_of_no_length_or_on_one_link(
    simulate, tmp_path, loop, words, code, message
):
    (tmp_path / "bar.urdf").write_text((OWN / "four_bar.urdf").read_text())
    (tmp_path / "bar.loops.yaml").write_text(SIDECAR % loop)
    found, table, err = simulate(*words, "--every", "100", robot=tmp_path / "bar.urdf")
    assert found == code, err
    assert re.search(message, err)
    assert (table is not None) == (code == 0)


def test_masses_that_vanish_and_rest_in_a_singular_position_are_said(simulate, tmp_path):
    text = (OWN / "four_bar.urdf").read_text()
    for number in ('value="1"', "0.08333333333333333"):
        text = text.replace(number, number.replace("1", "0") if "v" in number else "0")
    (tmp_path / "bar.urdf").write_text(text)
    (tmp_path / "bar.loops.yaml").write_text((OWN / "four_bar.loops.yaml").read_text())
    code, table, err = simulate("--near", "crank=0.5", robot=tmp_path / "bar.urdf")
    assert code == 1 and len(table.values) == 1
    assert "stopped at t = 0 s: masses vanish" in err and "'crank'" in err
    flat = "--near", "crank=90deg", "elbow=-90deg", "rocker=90deg", "--fixed", "crank,elbow,rocker"
    code, table, err = simulate(*flat, robot=OWN / "four_bar.urdf")
    assert code == 1 and len(table.values) == 1
    assert "'coupler_pin' depend on each other here" in err and "Start with a velocity" in err
    speeds = "--velocity", "crank=3", "elbow=-3", "rocker=3"
    code, table, err = simulate(*flat, *speeds, robot=OWN / "four_bar.urdf")
    assert code == 0 and "1 step near a singular position" in err
    assert np.abs(table.column("crank") + table.column("elbow")).max() < 1e-12


def test_methods_and_integrators_agree(simulate):
    words = "--near", "crank=0.5", "--fixed", "crank", "--velocity", "crank=4", "--every", "100"
    _, expected, _ = simulate(*words)
    for more in (("--method", "svd"), ("--integrator", "abm"), ("--integrator", "scipy:RK45")):
        code, table, _ = simulate(*words, *more)
        assert code == 0
        assert np.abs(table.column("crank") - expected.column("crank")).max() < 1e-5


def test_a_checkpoint_is_kept_and_resumed_only_when_asked(simulate, tmp_path):
    file = tmp_path / "run.npz"
    words = "--near", "crank=0.5", "--every", "10", "--checkpoint", file
    code, whole, _ = simulate(*words, "--checkpoint-every", "100")
    assert code == 0 and file.exists()
    code, _, err = simulate(*words)
    assert code == 2 and "add --resume" in err
    code, again, _ = simulate(*words, "--resume")
    assert code == 0
    assert np.array_equal(again.values, whole.values)
    code, _, err = simulate("--near", "crank=0.6", *words[2:], "--resume")
    assert code == 2 and "another simulation" in err


@pytest.mark.parametrize("case", ["prescribed", "torque", "forces", "external"])
def test_loads_of_a_run_with_actuated_joints_are_those_of_the_saved_run(
    case, simulate, run, tmp_path
):
    spring = tmp_path / "coil.forces.yaml"
    element = "{name: coil, type: JointSpring, joint: rocker, stiffness: 1}"
    spring.write_text(f"units: SI\nforces: [{element}]\n")
    push = tmp_path / "push.csv"
    push.write_text("time,coupler.fx,coupler.fy,coupler.fz\n0,1,2,0\n1,3,1,0\n")
    more = {
        "prescribed": ["--prescribe", "crank=3*t+0.2*t^2"],
        "torque": ["--velocity", "crank=3", "--torque", "crank=0.2*sin(9*t)"],
        "forces": ["--velocity", "crank=3", "--forces", spring],
        "external": ["--velocity", "crank=3", "--external", push],
    }[case]
    along = more[-2:] if case in ("forces", "external") else []
    actuated = ["--joints", "all", "--actuated", "rocker" if case == "prescribed" else "crank"]
    code, table, err = simulate(*more, *actuated, "--every", "20", seconds="0.2")
    assert code == 0, err
    path = tmp_path / "loads.csv"
    digits = ["--digits", "17", "-o", path]
    assert run("loads", BAR, tmp_path / "out.csv", *actuated, *along, *digits)[0] == 0
    loads = read_table(path)
    names = [name for name in loads.names if name != "time"]
    assert len(names) > 20 and "crank.actuation" in names
    size = np.abs(loads.values).max()
    for name in names:
        assert np.allclose(table.column(name), loads.column(name), rtol=1e-9, atol=1e-9 * size)
    if case == "prescribed":
        assert np.abs(table.column("crank.actuation")).max() < 1e-12 * size
        assert np.abs(table.column("rocker.actuation")).max() > 1e-3 * size


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ["--joints", "all", "--actuated", "crank", "--torque", "rocker=1"],
            "expected all joints along which torques are given, got crank without rocker",
        ),
        (
            ["--joints", "all", "--actuated", "crank", "rocker"],
            "expected as many as there are degrees of freedom",
        ),
        (["--actuated", "crank"], "add --joints JOINT"),
        (["--joints", "all", "--actuated", "cranck"], "did you mean 'crank'"),
    ],
)
def test_actuated_joints_that_cannot_carry_the_loads_are_refused_before_the_run(
    words, why, simulate
):
    code, table, err = simulate(*words)
    assert code != 0 and table is None and why in " ".join(err.split())


def test_actuated_joints_of_a_tree_and_torques_elsewhere_are_refused():
    with pytest.raises(ModelError, match="has no loops"):
        mbd.load(OWN / "pendulum.urdf").simulate(0.01).joint_loads(actuated=["hinge"])
    bar = mbd.load(BAR)
    run = bar.simulate(0.01, q=bar.assemble({"crank": 0.5}).q, torque={"rocker": 1.0})
    with pytest.raises(ModelError, match=r"got crank without rocker.*name them as well"):
        run.joint_loads(actuated="crank")
    assert run.joint_loads(actuated="rocker").actuation.any()


def test_a_run_whose_actuated_joints_come_to_a_dead_centre_is_written_without_loads(simulate):
    """An engine's piston, which cannot turn the crank at top dead centre, where the motion ends."""
    words = ["--prescribe", "crank=0.3-3*t", "--every", "50", "--joints", "all"]
    engine = {"robot": OWN / "slider_crank.urdf", "seconds": "0.1"}
    code, table, err = simulate(*words, "--actuated", "bore", **engine)
    assert code == 1 and "a dead centre" in " ".join(err.split())
    assert table is not None and table.names[0] == "time" and len(table.values) == 3
    assert not any(name.endswith(".fx") for name in table.names)
    code, table, _ = simulate(*words, "--actuated", "crank", **engine)
    assert code == 0 and table is not None and "crank.fx" in table.names


def test_more_actuated_joints_than_degrees_of_freedom_share_the_loads_of_a_run(simulate):
    words = ["--near", "crank=0.5", "--joints", "all", "--actuated", "crank", "rocker"]
    code, table, _ = simulate(*words, "--minimum-norm", seconds="0.01")
    assert code == 0 and table is not None
    bar, both = mbd.load(BAR), {"actuated": ["crank", "rocker"], "minimum_norm": True}
    run = bar.simulate(0.01, q=bar.assemble({"crank": 0.5}).q)
    loads, wanted = run.joint_loads(**both), bar.joint_loads(run.q, run.v, run.a, **both)
    assert np.allclose(loads.force, wanted.force, rtol=1e-12, atol=1e-12)
    assert np.allclose(
        table.column("crank.fx (undetermined)"), loads["crank"].force[:, 0], rtol=1e-8
    )
    code, table, err = simulate("--joints", "all", "--minimum-norm", seconds="0.01")
    assert code != 0 and table is None and "add --actuated" in err
