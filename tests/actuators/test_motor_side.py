"""The motor side: by hand, against MuJoCo, and by its energies."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import simpson

import mbd_bridge as mbd
from mbd_bridge.api.histories import LoadInputs
from mbd_bridge.applications.motors import (
    Actuator,
    Efficiency,
    Friction,
    MotorCurve,
    TorqueCurve,
    motor_side,
)
from mbd_bridge.applications.motors.motors import motors_along
from mbd_bridge.base.errors import StateError
from mbd_bridge.files import read_urdf_text
from mbd_bridge.forces import JointFriction
from tests.actuators.machines import arm, arm_urdf, motion

GEARED = [
    Actuator("turn", 100.0, 2e-4, 1.0, Friction(0.02, 1e-3), Friction(1.5, 0.4)),
    Actuator("lift", -80.0, 3e-4, 1.0, Friction(0.03, 2e-3), Friction(0.8, 0.3)),
    Actuator("reach", 500.0, 1e-5, 1.0, Friction(0.01, 1e-4), Friction(5.0, 2.0)),
]

LOSSY = [
    Actuator("turn", 100.0, 2e-4, 0.8, Friction(0.02, 1e-3, 0.05), Friction(1.5, 0.4, 0.1)),
    Actuator("lift", -80.0, 3e-4, Efficiency(0.7, 0.5), Friction(0.03, 2e-3)),
    Actuator("reach", 500.0, 1e-5, Efficiency(0.4, -0.2), None, Friction(5.0, 2.0)),
]


def test_motor_torques_are_those_of_mujocos_armature_damping_and_frictionloss():
    import mujoco

    robot = arm()
    model = mujoco.MjModel.from_xml_string(arm_urdf())
    model.opt.timestep = 1e-4
    model.dof_solref[:] = [2e-4, 1.0]  # dry friction is at its limit as soon as something moves
    for k, one in enumerate(GEARED):
        n = one.ratio
        model.dof_armature[k] = n * n * one.rotor_inertia
        model.dof_damping[k] = one.joint_friction.viscous + n * n * one.motor_friction.viscous
        coulomb = one.joint_friction.coulomb + abs(n) * one.motor_friction.coulomb
        model.dof_frictionloss[k] = coulomb
    data = mujoco.MjData(model)
    moves = motion(robot, rows=37)
    found = robot.with_actuators(GEARED).motors(moves)
    worst = 0.0
    for row in range(len(moves.time)):
        if np.abs(moves.v[row]).min() < 0.05:
            continue
        data.qpos[:], data.qvel[:], data.qacc[:] = (x[row] for x in (moves.q, moves.v, moves.a))
        mujoco.mj_inverse(model, data)
        ours = [d.actuator.ratio * d.states.torque[row] for d in found.duties]
        worst = max(worst, np.abs(ours - data.qfrc_inverse).max() / np.abs(ours).max())
    assert worst < 1e-9


def test_gears_lose_by_the_direction_of_the_power():
    """By hand: 50 N m at 2 rad/s through 10:1 with 0.8 and 0.6."""
    one = Actuator("lift", 10.0, 0.0, Efficiency(0.8, 0.6)).bind(arm().model)
    time, rest = np.arange(4.0), np.zeros(4)
    states = motor_side(one, time, np.array([50.0, 50, -50, 50]), np.array([2.0, -2, 2, 0]), rest)
    assert states.torque == pytest.approx([6.25, 3.0, -3.0, 5.0])
    assert states.power == pytest.approx([125.0, -60.0, -60.0, 0.0])
    assert states.gears == pytest.approx([25.0, 40.0, 40.0, 0.0])


def test_friction_opposes_the_motion_on_both_sides_of_the_gears():
    one = Actuator("lift", 10.0, 1e-3, None, Friction(0.1, 0.01, 0.02), Friction(2.0, 0.5, 0.1))
    one = one.bind(arm().model)
    states = motor_side(one, np.zeros(2), np.full(2, 30.0), np.array([2.0, -2.0]), np.full(2, 4.0))
    output = 30.0 + np.array([1, -1]) * (2.0 + 0.1 * 30.0 + 0.5 * 2.0)
    shaft = np.array([1, -1]) * (0.1 + 0.02 * output / 10.0 + 0.01 * 20.0)
    assert states.output == pytest.approx(output)
    assert states.torque == pytest.approx(output / 10.0 + 1e-3 * 40.0 + shaft)


def test_a_self_locking_gear_must_be_pushed_when_it_is_driven_back():
    one = Actuator("lift", 50.0, None, Efficiency(0.4, -0.5)).bind(arm().model)
    states = motor_side(one, np.zeros(1), np.array([20.0]), np.array([-1.0]), np.zeros(1))
    assert states.power[0] == pytest.approx(10.0)
    assert states.gears[0] == pytest.approx(30.0)


@pytest.mark.parametrize("given", [GEARED, LOSSY], ids=["geared", "lossy"])
def test_power_of_the_motor_is_that_of_the_joint_the_losses_and_the_rotor(given):
    robot = arm().with_actuators(given)
    moves = motion(robot)
    tau = robot.inverse_dynamics(moves.q, moves.v, moves.a)
    for k, duty in enumerate(robot.motors(moves).duties):
        s = duty.states
        assert np.array_equal(s.joint_power, tau[:, k] * moves.v[:, k])
        losses = s.joint_friction + s.gears + s.motor_friction
        scale = np.abs(s.power).max()
        assert np.abs(s.power - s.joint_power - losses - s.rotor).max() < 1e-12 * scale
        for loss in (s.joint_friction, s.gears, s.motor_friction):
            assert loss.min() >= -1e-12 * scale
        e = duty.energies
        total = e.joint + e.lost + e.rotor
        assert e.motoring - e.braking == pytest.approx(total, abs=1e-12 * scale)
        kinetic = 0.5 * duty.actuator.rotor_inertia * s.speed**2
        assert e.rotor == pytest.approx(kinetic[-1] - kinetic[0], abs=2e-4 * np.ptp(kinetic))
        assert e.motoring - e.braking == pytest.approx(simpson(s.power, x=s.time), rel=1e-2)
        assert duty.motoring.value == s.power.max() and duty.braking.value == -s.power.min()
        assert duty.rms == pytest.approx(np.sqrt(simpson(s.torque**2, x=s.time) / 2.0), rel=1e-2)


def test_a_motion_in_pieces_gives_what_it_gives_as_a_whole(tmp_path):
    robot = arm().with_actuators(LOSSY)
    curve = MotorCurve(TorqueCurve((0.0, 300.0), (4.0, 2.0)), 9.0, 400.0)
    robot = robot.with_actuators([*LOSSY[:2], Actuator("reach", 500.0, curve=curve)])
    moves = motion(robot)
    parts = [moves.part(slice(*ends)) for ends in ((0, 1), (1, 130), (130, 399), (399, 401))]
    whole, found = robot.motors(moves), motors_along(parts, LoadInputs(robot))
    for one, other in zip(whole.duties, found.duties, strict=True):
        for name in ("peak", "fastest", "motoring", "braking"):
            assert getattr(one, name) == getattr(other, name)
        assert one.rms == pytest.approx(other.rms, rel=1e-13)
        assert vars(one.energies) == pytest.approx(vars(other.energies), rel=1e-12)
        assert [use.share for use in one.uses] == pytest.approx([u.share for u in other.uses])
        assert str(one.verdict) == str(other.verdict)
        assert other.states is None
    moves.save(tmp_path / "moves.npz")
    history = robot.load_history(tmp_path / "moves.npz")
    assert history.motors["lift"].rms == pytest.approx(whole["lift"].rms, rel=1e-13)
    assert arm().load_history(tmp_path / "moves.npz").motors is None


def test_thermal_load_and_peaks_are_those_of_the_curve():
    curve = MotorCurve(TorqueCurve((100.0, 300.0), (4.0, 2.0)), TorqueCurve((0.0, 400.0), (9.0, 5)))
    robot = arm().with_actuators([Actuator("lift", 80.0, 1e-4, 0.9, curve=curve)])
    duty = robot.motors(motion(robot))["lift"]
    s, uses = duty.states, {use.name: use for use in duty.uses}
    allowed = np.interp(np.abs(s.speed), [100.0, 300.0], [4.0, 2.0])
    share = np.sqrt(simpson((s.torque / allowed) ** 2, x=s.time) / 2.0)
    assert uses["continuous torque"].share == pytest.approx(share, rel=1e-3)
    peaks = np.abs(s.torque) / np.interp(np.abs(s.speed), [0.0, 400.0], [9.0, 5.0])
    assert uses["peak torque"].share == peaks.max()
    assert uses["peak torque"].time == s.time[np.argmax(peaks)]
    assert uses["speed"].share == np.abs(s.speed).max() / 400.0


def test_beyond_its_curve_a_motor_gives_nothing():
    curve = MotorCurve(TorqueCurve((0.0, 50.0), (90.0, 90.0)), 90.0)
    robot = arm().with_actuators([Actuator("lift", 80.0, 1e-4, 0.9, curve=curve)])
    said = str(robot.motors(motion(robot))["lift"].verdict)
    assert said.startswith("exceeded: continuous torque too fast, speed ")


def test_rotors_that_the_machine_carries_are_not_counted_twice():
    """The actuation of a machine with rotors has their share; motors count their own."""
    rotor = """<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
      <joint name="turn"/><actuator name="m"><mechanicalReduction>100</mechanicalReduction>
      <rotor_inertia>2e-4</rotor_inertia></actuator></transmission>"""
    described = replace(read_urdf_text(arm_urdf(extra=rotor)), joint_dynamics=True)
    plain, carries = arm(), mbd.Mechanism.build(described)
    assert carries.model.rotors[0] == pytest.approx(2.0)
    sides = []
    for robot in (plain, carries):
        moves = motion(robot, rows=21)
        sides.append(robot.with_actuators(GEARED[:1]).motors(moves).duties[0].states)
    assert np.allclose(sides[0].torque, sides[1].torque, rtol=1e-12)
    assert np.abs(sides[0].rotor).max() > 0.0


def test_a_motor_fits_only_if_friction_rotor_and_limits_are_known():
    curve = MotorCurve(1e3, 1e3, 1e4)
    robot, moves = arm(), motion(arm())

    def verdict(**known):
        return robot.with_actuators([Actuator("lift", **known)]).motors(moves)["lift"].verdict

    assert verdict(ratio=9, rotor_inertia=1e-4, efficiency=0.8, curve=curve).state == "fits"
    whole = {"ratio": 9, "rotor_inertia": 1e-4, "joint_friction": Friction(), "curve": curve}
    assert verdict(**whole).state == "fits"
    for left_out, said in (
        ("rotor_inertia", "no verdict: rotor inertia NOT counted"),
        ("joint_friction", "no verdict: friction NOT counted"),
        ("curve", "no verdict: limits of continuous torque, peak torque, speed not given"),
    ):
        found = verdict(**{name: x for name, x in whole.items() if name != left_out})
        assert found.state == "open" and str(found).startswith(said)
    small = verdict(ratio=9, curve=MotorCurve(1e-3, 1e3, 1e4))
    assert small.state == "exceeded" and "friction and rotor inertia NOT counted" in str(small)


def test_friction_by_force_elements_counts_once():
    robot = arm(more=("", '<dynamics friction="3" damping="0.5"/>', ""))
    moves = motion(robot)
    by_file = robot.motors(moves)["lift"]
    element = JointFriction("lift", 3.0, viscous=0.5, smoothing_velocity=1e-9)
    other = robot.with_forces([element])
    by_element = other.motors(moves)["lift"]
    assert by_element.rms == pytest.approx(by_file.rms, rel=1e-12)
    assert by_element.actuator.joint_friction is None
    assert "friction" not in by_element.actuator.not_counted
    assert other.motors(moves, forces=())["lift"].rms == pytest.approx(by_file.rms, rel=1e-12)
    twice = other.with_actuators([Actuator("lift", joint_friction=Friction(1.0))])
    with pytest.raises(StateError, match="it would count twice"):
        twice.motors(moves)


def test_a_joint_at_rest_has_no_friction_and_its_rounding_is_no_motion():
    robot = arm().with_actuators(LOSSY)
    moves = motion(robot, still=(1,))
    moves.v[:, 1] = 1e-13 * (-1.0) ** np.arange(len(moves.time))
    duty = robot.motors(moves)["lift"]
    tau = robot.inverse_dynamics(moves.q, moves.v, moves.a)[:, 1]
    assert duty.states.torque == pytest.approx(tau / -80.0, rel=1e-12, abs=1e-12)


def test_actuated_joints_of_loops_have_motors_whichever_joint_is_cut():
    path = "urdf/crank_rocker.urdf"
    bar = mbd.load(path)
    run = bar.simulate(0.5, q=bar.assemble({"crank": 0.3}, fixed="crank").q, step=5e-3)
    moves = mbd.Motion(run.time, run.q, run.v, run.a, *_names(bar), (), bar.model)
    force = {"coupler": (3.0, 0, -20, 0, 1, 0)}
    for joint in ("crank", "rocker"):
        power = [
            bar.motors(moves, actuated=[name], external=force)[name].states.power
            for name in ("crank", joint)
        ]
        assert power[1] == pytest.approx(power[0], abs=1e-9 * np.abs(power[0]).max())
    with pytest.raises(mbd.errors.ModelError, match="choose cuts="):
        bar.with_actuators([Actuator(bar.model.cuts[0].name)])
    names = bar.loops.names
    recut = mbd.load(path, cuts=["rocker"])
    other = recut.simulate(0.5, q=recut.assemble({"crank": 0.3}).q, step=5e-3)
    again = mbd.Motion(other.time, other.q, other.v, other.a, *_names(recut), (), recut.model)
    at_cut = recut.motors(again, actuated=[names[0]], external=force)[names[0]]
    at_crank = recut.motors(again, actuated=["crank"], external=force)["crank"]
    scale = np.abs(at_crank.states.power).max()
    assert at_cut.states.power == pytest.approx(at_crank.states.power, abs=1e-9 * scale)


def _names(robot):
    return robot.coordinate_names, robot.model.velocity_names


def test_a_mimics_leader_has_the_motor_of_both():
    parts = mbd.Builder("gripper", root="palm")
    for side, sign in (("left", 1), ("right", -1)):
        parts.link(side, mass=0.1, centre=(0, 0, 0.05))
        mimic = {} if sign > 0 else {"mimic": "left_slide"}
        parts.joint(f"{side}_slide", "prismatic", "palm", side, axis=(0, sign, 0), **mimic)
    gripper = mbd.Mechanism.build(parts)
    squeeze = {"left": (0, 30, 0, 0, 0, 0), "right": (0, -30, 0, 0, 0, 0)}
    one = gripper.with_actuators([Actuator("left_slide", 2000.0)])
    moves = mbd.Motion(
        np.arange(2.0), np.zeros((2, 1)), np.full((2, 1), 0.1), np.zeros((2, 1)), *_names(gripper)
    )
    duty = one.motors(moves, external=squeeze)["left_slide"]
    assert duty.states.torque == pytest.approx(-60.0 / 2000.0)
    with pytest.raises(mbd.errors.ModelError, match="follows 'left_slide'"):
        gripper.with_actuators([Actuator("right_slide")])


def test_the_picture_of_a_motor_has_its_curve_and_the_numbers_of_its_duty():
    import matplotlib

    matplotlib.use("Agg")
    curve = MotorCurve(3.0, TorqueCurve((0.0, 400.0), (9.0, 5.0)), 500.0)
    robot = arm().with_actuators([Actuator("lift", 80.0, 1e-4, 0.9, curve=curve)])
    motors = robot.motors(motion(robot))
    (ax,) = motors.plot("lift")
    duty, said = motors["lift"], [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"peak {duty.peak.value:.4g} N m at {duty.peak.time:.4g} s" in said
    assert f"motoring {duty.motoring.value:.4g} W at {duty.motoring.time:.4g} s" in said
    assert f"braking {duty.braking.value:.4g} W at {duty.braking.time:.4g} s" in said
    assert f"RMS {duty.rms:.4g} N m" in said
    assert "continuous of the motor 3 N m" in said and "peak of the motor up to 9 N m" in said
