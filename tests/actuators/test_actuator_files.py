"""Actuators from files: transmissions of URDFs, ``NAME.actuators.yaml``, the command line."""

import re

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.applications.motors import (
    Actuator,
    Actuators,
    Efficiency,
    Friction,
    FromFile,
    MotorCurve,
    TorqueCurve,
)
from mbd_bridge.cli import main
from mbd_bridge.files.tables import read_table
from tests.actuators.machines import arm, arm_urdf, motion

ROS1 = """<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
  <joint name="lift"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
  <actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>"""
PR2 = """<transmission type="pr2_mechanism_model/SimpleTransmission" name="t">
  <actuator name="m"/><joint name="lift"/><mechanicalReduction>50</mechanicalReduction>
  </transmission>"""
ROS2 = """<ros2_control name="r" type="system"><joint name="lift"><command_interface name="effort"/>
  </joint><transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>
  <actuator name="m" role="actuator1"/><joint name="lift" role="joint1">
  <mechanical_reduction>25</mechanical_reduction><offset>0.1</offset></joint></transmission>
  </ros2_control>"""
DRAKE = """<transmission><type>SimpleTransmission</type><joint name="lift"/><actuator name="m">
  <drake:gear_ratio value="50"/><drake:rotor_inertia value="1.5e-4"/></actuator></transmission>"""
BOTH = ROS2.replace(
    'role="actuator1"/>', "><mechanical_reduction>2</mechanical_reduction></actuator>"
)


@pytest.mark.parametrize(
    ("text", "ratio", "inertia"),
    [(ROS1, 50, None), (PR2, 50, None), (ROS2, 25, None), (BOTH, 50, None), (DRAKE, 50, 1.5e-4)],
    ids=["ros1", "pr2", "ros2_control", "joint and actuator", "drake"],
)
def test_gears_and_rotors_of_a_urdf_are_read(text, ratio, inertia):
    robot = arm(extra=text)
    turn, lift, _ = robot.actuators
    assert (lift.ratio, lift.rotor_inertia) == (ratio, inertia)
    assert turn.ratio is None and turn.effort == 300.0 and turn.velocity == 20.0
    assert "of transmission 't" in lift.sources[0][1]
    assert robot.model.description.actuated == ("lift",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ROS1.replace("<actuator ", '<joint name="turn"/><actuator '), "it couples 2 joints"),
        (ROS1.replace(">50<", ">fifty<"), "fifty"),
        (ROS1.replace(">50<", ">0<"), "other than 0"),
        (DRAKE.replace("1.5e-4", "-1"), "an inertia from 0"),
    ],
)
def test_a_transmission_that_cannot_be_used_is_told_when_motors_are_asked_for(text, said):
    robot = arm(extra=text)
    lift = robot.actuators[1]
    assert lift.ratio is None
    assert re.search(f"transmission 't.*' not read: .*{said}", lift.sources[0][1])
    assert said in " ".join(map(str, robot.motors(motion(robot, rows=5)).assumed))


def test_friction_of_a_urdf_is_the_joints_and_zero_is_no_statement():
    dynamics = (
        '<dynamics friction="3" damping="0.5"/>',
        '<dynamics friction="0" damping="0"/>',
        "",
    )
    one, two, three = arm(dynamics).actuators
    assert one.joint_friction == Friction(3.0, 0.5)
    assert two.joint_friction is None and three.joint_friction is None
    none = Actuators((), FromFile(transmissions=False, dynamics=False, limits=False))
    bare = arm(dynamics, ROS1).with_actuators(none).actuators
    assert bare == tuple(map(Actuator, ("turn", "lift", "reach")))


WHOLE = [
    Actuator(
        "lift",
        -80.0,
        3e-4,
        Efficiency(0.8, 0.7),
        Friction(0.1, 1e-5, 0.02),
        Friction(2.0),
        MotorCurve(1.25, TorqueCurve((0.0, 300.0, 500.0), (4.0, 4.0, 1.0)), 450.0),
        150.0,
        3.0,
    ),
    Actuator("reach", 500.0, efficiency=0.9),
]


def test_actuators_are_written_and_read_back_to_the_last_digit(tmp_path):
    robot = arm()
    path = tmp_path / "arm.actuators.yaml"
    given = Actuators(tuple(WHOLE), FromFile(limits=False))
    mbd.actuators.save(path, given)
    assert mbd.actuators.load(path, robot) == Actuators.of(robot, given)
    (tmp_path / "arm.urdf").write_text(arm_urdf())
    loaded = mbd.load(tmp_path / "arm.urdf")
    lift, reach = (x for x in loaded.actuators if x.ratio)
    assert (lift, reach.efficiency) == (WHOLE[0].bind(robot.model), Efficiency(0.9, 0.9))
    assert reach.effort is None
    assert mbd.load(tmp_path / "arm.urdf", actuators=()).actuators[2].ratio is None
    assert loaded.with_payload("tool", 1.0).with_forces([]).actuators == loaded.actuators


def test_a_curve_may_stand_in_a_table_beside_the_file(tmp_path):
    (tmp_path / "motor.csv").write_text("w,T\n0,3\n300,2\n")
    path = tmp_path / "a.yaml"
    path.write_text(
        "units: SI\nactuators:\n- {joint: lift, peak: {file: motor.csv, speed: w, torque: T}}\n"
    )
    (one,) = mbd.actuators.load(path, arm())
    assert one.curve == MotorCurve(None, TorqueCurve((0.0, 300.0), (3.0, 2.0)), 300.0)


HEAD = "units: SI\nactuators:\n"


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("actuators: []", ":1:", "units: SI"),
        (HEAD + "- {ratio: 3}", ":3:", "the key 'joint' is missing"),
        (HEAD + "- {joint: lyft}", ":3: actuator of 'lyft': ", "did you mean 'lift'"),
        (HEAD + "- joint: lift\n  ratio: 0", ":4: actuator of 'lift', ratio: ", "other than 0"),
        (HEAD + "- joint: lift\n  ratio: a", ":4: actuator of 'lift', ratio: ", "number"),
        (HEAD + "- joint: lift\n  gear: 9", ":4: gear: ", "no key named 'gear'|gear"),
        (HEAD + "- joint: lift\n- joint: lift", ":4:", "already .line 3."),
        (HEAD + "- joint: lift\n  efficiency: 1.2", ":4: actuator of 'lift', eff", "up to 1"),
        (HEAD + "- joint: lift\n  efficiency: {braking: 1}", ":4:", "'motoring' is missing"),
        (HEAD + "- joint: lift\n  rotor_inertia: -1", ":4:", "at least 0"),
        (HEAD + "- joint: lift\n  joint_friction: {coulomb: -1}", ":4:", "coulomb: expected"),
        (HEAD + "- joint: lift\n  joint_friction: {dry: 1}", ":4: dry", "coulomb"),
        (HEAD + "- joint: lift\n  continuous: 0", ":4:", "above 0"),
        (HEAD + "- joint: lift\n  peak: {speed: [0, 1], torque: [1]}", ":4:", "as many"),
        (
            HEAD + "- joint: lift\n  peak: {speed: [1, 0], torque: [1, 1]}",
            ":4:",
            "speeds that grow",
        ),
        (HEAD + "- joint: lift\n  peak: {speed: [0, 1]}", ":4:", "'torque' is missing"),
        (HEAD + "- joint: lift\n  max_speed: 0", ":4:", "above 0"),
        ("units: SI\nurdf: {limits: perhaps}", ":2: limits", "true or false"),
        ("units: SI\nurdf: {friction: true}", ":2: friction", "transmissions, dynamics, limits"),
    ],
)
def test_wrong_files_are_refused_with_line_and_element(tmp_path, text, place, said):
    path = tmp_path / "arm.actuators.yaml"
    path.write_text(text + "\n")
    with pytest.raises(mbd.errors.FileError, match=said) as caught:
        mbd.actuators.load(path, arm())
    assert place in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [3, "lift", [3], Actuator("lift"), [Actuator("lift"), Actuator("lift")], [Actuator("x")]],
)
def test_what_is_no_list_of_actuators_is_refused(given):
    with pytest.raises(mbd.MbdError, match="actuator"):
        arm().with_actuators(given)


def test_the_command_line_gives_what_the_api_gives(tmp_path, capsys):
    robot = arm()
    (tmp_path / "arm.urdf").write_text(arm_urdf())
    motion(robot).save(tmp_path / "moves.csv")
    words = [str(tmp_path / "arm.urdf"), str(tmp_path / "moves.csv")]
    options = ["--ratio", "all=80", "--rotor-inertia", "lift=3e-4", "--efficiency", "lift=0.8,0.7"]
    options += [
        "--joint-friction",
        "lift=2,0.1",
        "--motor-friction",
        "lift=0.1",
        "--peak",
        "lift=9",
    ]
    options += ["--continuous", "lift=5", "--max-speed", "lift=400", "-o", str(tmp_path / "m.csv")]
    assert main(["motors", *words, *options, "--plot", str(tmp_path / "m.png")]) == 0
    out = capsys.readouterr()
    one = Actuator(
        "lift",
        80.0,
        3e-4,
        Efficiency(0.8, 0.7),
        Friction(0.1),
        Friction(2.0, 0.1),
        MotorCurve(5.0, 9.0, 400.0),
    )
    duty = robot.with_actuators([one]).motors(motion(robot))["lift"]
    (row,) = [line.split() for line in out.out.splitlines() if line.startswith("lift  ")][:1]
    numbers = (duty.peak.value, duty.rms, duty.motoring.value, duty.braking.value)
    assert [row[1], row[2], row[7], row[8]] == [f"{x:.5g}" for x in numbers]
    assert str(duty.verdict) in out.out
    assert "gyroscopic" in out.err
    assert "motor of turn, reach: rotor inertia not counted" in out.err
    torque = read_table(tmp_path / "m.csv").column("lift.motor.torque")
    assert np.allclose(torque, duty.states.torque, rtol=1e-12, atol=1e-12)
    assert (tmp_path / "m.png").stat().st_size > 5000
    mbd.actuators.save(tmp_path / "arm.actuators.yaml", [one])
    assert main(["loads", *words, "--joints", "lift", "-o", str(tmp_path / "l.csv")]) == 0
    assert str(duty.verdict) in capsys.readouterr().err


@pytest.mark.parametrize("word", ["lift", "lift=", "=3", "lift=a", "lift=1,2"])
def test_options_that_are_no_numbers_of_a_joint_are_refused(word, capsys):
    assert main(["motors", "a.urdf", "b.csv", "--ratio", word]) == 2
    assert "expected JOINT=" in capsys.readouterr().err


def test_a_speed_with_a_unit_is_refused_with_the_unit_that_is_meant(capsys):
    assert main(["motors", "a.urdf", "b.csv", "--max-speed", "lift=3000rpm"]) == 2
    assert "a number without a unit (of the motor, rad/s), got" in capsys.readouterr().err
