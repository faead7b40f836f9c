"""What an MJCF says of its joints acts as in MuJoCo: armature, damping, friction, springs."""

import re
import warnings
from dataclasses import replace

import mujoco
import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdWarning
from mbd_bridge.equations.energy import energies_of
from mbd_bridge.motion import Motion
from tests.formats.mjcf_models import random_mjcf, twin
from tests.sample import TIMES

SECONDS, STEP = 2.0, 2e-4

CHAOS = 1e-3
"""How far two runs of MuJoCo with different steps may be apart where ours is compared, rad or m."""

PENDULUM = """<mujoco><compiler angle="radian"/><worldbody><body name="rod">
<joint name="hinge" axis="0 1 0" {joint}/>
<inertial pos="0.3 0 0" mass="1" diaginertia="0.01 0.02 0.02"/></body></worldbody>
<actuator>{actuator}</actuator></mujoco>"""

TWO = """<mujoco><compiler angle="radian"/><worldbody><body name="rod">
<joint name="turn" axis="0 1 0" armature="0.5" damping="0.4" frictionloss="0.3" stiffness="2"/>
<inertial pos="0.3 0 0" mass="2" diaginertia="0.01 0.02 0.02"/>
<body name="ram" pos="0.5 0 0"><joint name="lift" type="slide" axis="0 0 1" damping="3"/>
<inertial pos="0.1 0 0.1" mass="1" diaginertia="0.01 0.02 0.02"/></body></body></worldbody>
<actuator><motor joint="lift" gear="20" armature="0.01" damping="0.02"/></actuator></mujoco>"""

BAR = """<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
<body name="crank"><joint name="crank" axis="0 1 0" armature="0.3" damping="0.2"/>
<inertial pos="0 0 0.5" mass="1" diaginertia="0.1 0.1 0.01"/>
<body name="coupler" pos="0 0 1"><joint name="elbow" axis="0 1 0" armature="0.2" stiffness="3"/>
<inertial pos="1 0 0" mass="2" diaginertia="0.1 0.1 0.1"/></body></body>
<body name="rocker" pos="2 0 0"><joint name="rocker" axis="0 1 0" armature="0.5"/>
<inertial pos="0 0 0.5" mass="1" diaginertia="0.1 0.1 0.01"/></body></worldbody>
<equality><connect body1="coupler" body2="rocker" anchor="2 0 0"/></equality></mujoco>"""


def load(tmp_path, text, **options):
    """Return the machine of an MJCF, and its file."""
    path = tmp_path / "model.xml"
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MbdWarning)
        return mbd.load(path, **options), path


def mujocos_end(pair, q, v, step):
    """Return where MuJoCo's machine is after some seconds, in our coordinates."""
    model = pair.theirs
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, step
    pair.put(q, v)
    for _ in range(round(SECONDS / step)):
        mujoco.mj_step(model, pair.data)
    return pair.q_of(pair.data.qpos)


@pytest.mark.parametrize("seed", [0, 3, 9, *range(12, 12 * TIMES)])
def test_random_trees_move_as_in_mujoco(seed, tmp_path):
    rng = np.random.default_rng([21, seed])
    text = re.sub("<equality>.*</equality>|<tendon>.*</tendon>", "", random_mjcf(rng))
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError:
        return  # MuJoCo itself refuses it, such as a free joint below another
    robot, path = load(tmp_path, text)
    pair = twin(path, robot.model)
    q, v = pair.q_of(pair.theirs.qpos0), rng.normal(0.0, 0.5, robot.nv)
    fine, coarse = (mujocos_end(pair, q, v, step) for step in (STEP, 4.0 * STEP))
    apart = np.abs(fine - coarse).max()
    if apart < CHAOS:
        run = robot.simulate(SECONDS, q=q, v=v)
        assert np.abs(run.q[-1] - fine).max() < 1e-7 + 100.0 * apart


@pytest.mark.parametrize(
    ("joint", "actuator", "tolerance"),
    [
        ('armature="0.2"', "", 1e-8),
        ('damping="0.3"', "", 1e-8),
        ('stiffness="4" springref="0.5" ref="0.2"', "", 1e-8),
        ("", '<motor joint="hinge" gear="-3" armature="0.02"/>', 1e-8),
        ("", '<motor joint="hinge" gear="-3" damping="0.02"/>', 1e-8),
        ('frictionloss="0.5" armature="0.1"', "", 1e-3),  # its friction is a soft constraint
        ('frictionloss="0.5" armature="0.1" damping="0.1" stiffness="2"', "", 1e-3),
    ],
)
def test_each_of_them_acts_in_a_simulation(tmp_path, joint, actuator, tolerance):
    robot, path = load(tmp_path, PENDULUM.format(joint=joint, actuator=actuator))
    pair = twin(path, robot.model)
    pair.theirs.dof_solref[:] = [1e-3, 1.0]  # friction is at its limit as soon as it moves
    q, v = pair.q_of(pair.theirs.qpos0), np.zeros(1)
    there = mujocos_end(pair, q, v, STEP)
    run = robot.simulate(SECONDS, q=q)
    assert run.q[-1] == pytest.approx(there, abs=tolerance)
    assert run.notes == ()
    bare, _ = load(tmp_path, PENDULUM.format(joint=joint, actuator=actuator), joint_dynamics=False)
    without = bare.simulate(SECONDS, q=q)
    assert abs(without.q[-1] - there) > 0.05
    assert "not part of this motion" in without.notes[0]


def test_motors_and_inverse_dynamics_are_those_of_mujocos_inverse(tmp_path):
    robot, path = load(tmp_path, TWO)
    pair = twin(path, robot.model)
    pair.theirs.dof_solref[:] = [2e-4, 1.0]
    pair.theirs.opt.timestep = 1e-4
    time = np.linspace(0.0, 1.0, 50)
    q = np.stack([np.sin(3 * time), 0.2 * np.cos(4 * time)], axis=1)
    v = np.stack([3 * np.cos(3 * time), -0.8 * np.sin(4 * time)], axis=1)
    a = np.stack([-9 * np.sin(3 * time), -3.2 * np.cos(4 * time)], axis=1)
    names = robot.coordinate_names, robot.model.velocity_names
    moves = Motion(time, q, v, a, *names, (), robot.model)
    motors = robot.motors(moves)
    for row in np.flatnonzero(np.abs(v).min(axis=1) > 0.1):
        data = pair.data
        data.qpos[:], data.qvel[:], data.qacc[:] = q[row], v[row], a[row]
        mujoco.mj_inverse(pair.theirs, data)
        size = np.abs(data.qfrc_inverse).max()
        ours = robot.inverse_dynamics(q[row], v[row], a[row])
        shafts = [one.states.torque[row] for one in motors.duties]
        for found in (ours, shafts):
            assert np.abs(found - data.qfrc_inverse).max() < 1e-9 * size


def test_every_road_has_the_rotors(tmp_path):
    """Forward and inverse dynamics, M, energy, accelerations of a run."""
    robot, _ = load(tmp_path, TWO)
    rng = np.random.default_rng(5)
    q, v, tau = rng.normal(size=(3, 2))
    a = robot.forward_dynamics(q, v, tau)
    assert robot.inverse_dynamics(q, v, a) == pytest.approx(tau)
    bare, _ = load(tmp_path, TWO, joint_dynamics=False)
    rotors = np.array([0.5, 20.0**2 * 0.01])
    assert robot.mass_matrix(q) - bare.mass_matrix(q) == pytest.approx(np.diag(rotors))
    run = robot.simulate(0.5, q=q, v=v, every=100)
    state = run.q[-1], run.v[-1]
    gained = energies_of(robot.model, *state)[0] - energies_of(bare.model, *state)[0]
    assert gained == pytest.approx(0.5 * rotors @ run.v[-1] ** 2)
    for k in range(len(run.time)):
        assert run.a[k] == pytest.approx(robot.forward_dynamics(run.q[k], run.v[k], np.zeros(2)))


def test_loads_in_loops_carry_what_accelerates_rotors(tmp_path):
    """The crank's motor gives back the torque that moved the bar, elbow and rocker none."""
    robot, _ = load(tmp_path, BAR)
    q = robot.assemble({"crank": 0.3}, fixed="crank").q
    run = robot.simulate(0.3, q=q, torque={"crank": 4.0}, every=50)
    tau = robot.inverse_dynamics(run.q, run.v, run.a, actuated=["crank"])
    assert tau == pytest.approx(np.tile([4.0, 0.0, 0.0], (len(run.time), 1)), abs=1e-8)
    along = robot.joint_loads(run.q, run.v, run.a, actuated=["crank"])
    same = run.joint_loads()
    assert along.wrench[along.unique] == pytest.approx(same.wrench[along.unique], abs=1e-6)
    k = along.joints.index("rocker")
    assert along.actuation[:, k] == pytest.approx(
        -0.5 * run.a[:, robot.coordinate_names.index("rocker")]
    )


def test_what_loads_assume_names_the_rotors(tmp_path):
    robot, _ = load(tmp_path, TWO)
    loads = robot.joint_loads(*np.ones((3, 2)), ["turn"])
    (rotors,) = loads.assumptions["rotors"]
    assert "which the file gives for 2 joints" in rotors.text and rotors.neglected
    (friction,) = loads.assumptions["friction"]
    assert friction.text == "damping and friction of the file by force elements; no other losses"


def test_what_belongs_to_joints_of_several_coordinates_is_named(tmp_path):
    path = tmp_path / "ball.xml"
    path.write_text(
        '<mujoco><worldbody><body><joint name="ball" type="ball" damping="1" frictionloss="2" '
        'armature="0.1"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    with pytest.warns(MbdWarning) as caught:
        robot = mbd.load(path)
    (said,) = [str(one.message) for one in caught]
    assert "damping of ball and free joints (ball)" in said
    assert "friction of ball and free joints (ball)" in said
    assert robot.model.rotors.tolist() == [0.1, 0.1, 0.1] and not robot.forces


def test_a_converted_urdf_moves_alike(tmp_path):
    robot, path = load(tmp_path, TWO)
    with pytest.warns(MbdWarning, match="rotors act .load it with joint_dynamics=True."):
        mbd.load(path).convert(tmp_path / "same.urdf")
    q, v, a = np.random.default_rng(8).normal(size=(3, 2))
    same = mbd.load(tmp_path / "same.urdf", joint_dynamics=True)
    assert same.inverse_dynamics(q, v, a) == pytest.approx(robot.inverse_dynamics(q, v, a))
    plain = mbd.load(tmp_path / "same.urdf")
    assert plain.model.rotors is None
    assert "rotor inertia" in plain.simulate(0.01).notes[0]


def test_elements_beside_the_file_replace_what_it_says(tmp_path):
    (tmp_path / "model.xml.forces.yaml").write_text(
        "units: SI\nforces:\n  - {name: oil, type: JointFriction, joint: turn, viscous: 9}\n"
    )
    robot, _ = load(tmp_path, TWO)
    assert [one.name for one in robot.forces] == [
        "turn spring",
        "turn friction",
        "lift friction",
        "oil",
    ]
    held = {one.name: one for one in robot.forces}
    assert held["turn friction"].viscous == 0.0 and held["turn friction"].coulomb == 0.3


def test_the_crosscheck_asks_mujoco_and_sees_a_rotor_that_is_missing(tmp_path):
    robot, _ = load(tmp_path, TWO)
    found = {row.quantity for row in robot.crosscheck(states=3).rows if "MuJoCo" in row.referee}
    assert found == {"generalised forces", "bias forces", "mass matrix", "springs and damping"}
    assert robot.crosscheck(states=3).passed
    bare, _ = load(tmp_path, TWO, joint_dynamics=False)
    assert bare.crosscheck(states=3).passed
    acts = replace(bare.model.description, joint_dynamics=True)
    wrong = mbd.Mechanism(replace(bare.model, description=acts)).crosscheck(states=3)
    differ = {row.quantity for row in wrong.rows if not row.passed}
    assert differ == {"generalised forces", "mass matrix"}
