"""A script for pybullet with its import changed, or with a Stepper in its own world.

Motors, resets, torques and forces act as pybullet's, loads are ours, what cannot act is refused.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pybullet
import pybullet_data
import pytest

import mbd_bridge as mbd
import mbd_bridge.engines.pybullet as drop_in
from mbd_bridge.base.errors import FileError, MbdWarning, ModelError, SolveError, StateError
from mbd_bridge.engines.pybullet import Stepper
from tests.bridges import every_body, worlds
from tests.bridges.scripts import GOAL, IIWA, LAIKAGO, PANDA, connected, load, move, positions
from tests.bridges.worlds import world

URDF = Path(__file__).parents[2] / "urdf"
DATA = Path(pybullet_data.getDataPath())

REACHED = 1e-3
"""Of a goal, rad or m: what motors with pybullet's gains leave after two seconds."""

FIRST_ORDER = 1e-2
"""Between our motion and pybullet's, rad or m: pybullet's steps err by their length squared, and
motors without a bound on their velocity go through half a radian in some steps."""

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*physically impossible inertia:mbd_bridge.MbdWarning"
)

MOTORS = {
    "pybullet's gains": ({"force": 1200.0}, FIRST_ORDER),
    "bounded velocity": ({"force": 1200.0, "maxVelocity": 1.0}, 5e-4),
    "soft": ({"force": 200.0, "positionGain": 0.03}, FIRST_ORDER),
    "velocity": ({"controlMode": pybullet.VELOCITY_CONTROL, "force": 500.0}, 5e-4),
}


@pytest.mark.parametrize("path", [PANDA, IIWA])
@pytest.mark.parametrize("name", MOTORS)
def test_motors_move_an_arm_as_pybullets_dynamics_do(path, name):
    motor, allowed = MOTORS[name]
    ours, theirs = (move(p, path, **motor) for p in (drop_in, pybullet))
    assert np.abs(ours - theirs).max() < allowed
    if "controlMode" not in motor:
        assert np.abs(ours[-1] - GOAL[path]).max() < REACHED
    assert np.abs(np.ptp(ours, axis=0)[:7]).min() > 0.15


@pytest.mark.parametrize("other", [False, True])
def test_a_script_with_a_bullet_client_changes_one_import_as_well(other):
    """Of two clients at once, the second opened in the place of one that is gone."""
    gone = drop_in.BulletClient(connection_mode=pybullet.DIRECT)
    gone.setAdditionalSearchPath(str(DATA))
    gone.loadURDF(IIWA, useFixedBase=True)
    if other:
        gone.disconnect()
    else:
        del gone
    one, two = (drop_in.BulletClient(connection_mode=pybullet.DIRECT) for _ in "ab")
    states = []
    for client, gravity in ((one, 0.0), (two, -9.81)):
        client.setAdditionalSearchPath(pybullet_data.getDataPath())
        client.setGravity(0, 0, gravity)
        with pytest.raises(StateError, match="loadURDF has loaded"):
            client.getStepper(0)
        arm = client.loadURDF(IIWA, useFixedBase=True)
        client.setJointMotorControlArray(arm, range(7), client.VELOCITY_CONTROL, forces=[0] * 7)
        client.resetJointState(arm, 1, 0.4)
        client.stepSimulation()
        states.append(client.getStepper(arm).joint_loads(["lbr_iiwa_joint_1"]))
    assert np.abs(states[0].force).max() < 1e-9
    assert states[1].force[0, 2] > 100
    assert one.getJointState(0, 1)[0] == 0.4


SMALL = {
    "cartpole.urdf": 1e-6,
    "differential/diff_ring.urdf": 1e-6,
    "humanoid/humanoid.urdf": 5e-4,  # spherical joints
    "pr2_gripper.urdf": 5e-4,
    "xarm/xarm6_robot.urdf": 5e-4,  # of which pybullet sets inertias to zero
}
"""Some of pybullet_data's robots, and how far motions may be apart, rad or m:
``python -m tests.bridges.every_body`` tells of all of them."""


@pytest.mark.parametrize("path", SMALL)
def test_robots_of_pybullet_follow_their_motors_as_in_pybullet(path):
    apart, way, unread = every_body.compared(path)
    assert apart < SMALL[path]
    assert way > 0.02
    assert not unread


def test_velocities_of_pybullet_that_are_not_finite_are_said():
    """It sets a moment of inertia of this file to zero, on which a motor of three axes acts."""
    with pytest.raises(SolveError, match="velocities of body 0 are not finite"):
        every_body.compared("spherical_joint_limit.urdf")


def test_gains_that_are_stable_in_pybullet_are_stable_here():
    """As forces that are constant in a step these would feed an oscillation (kd < kp / 2)."""
    motor = {"force": 1e5, "positionGain": 0.3, "velocityGain": 0.1, "maxVelocity": 1.0}
    ours, theirs = (move(p, IIWA, **motor) for p in (drop_in, pybullet))
    assert np.abs(ours[-120:] - theirs[-120:]).max() < FIRST_ORDER
    assert np.abs(ours[-1] - GOAL[IIWA]).max() < 2e-2


def test_a_stepper_in_a_users_own_world_obeys_its_motors():
    """pybullet's own functions, unchanged; only the step is ours."""
    with connected(pybullet) as client:
        stepper = Stepper.load(DATA / PANDA, client)
        joints = [joint.number for joint in stepper.body.joints]
        for joint, goal in zip(joints, GOAL[PANDA], strict=True):
            pybullet.setJointMotorControl2(
                stepper.body.number, joint, pybullet.POSITION_CONTROL, goal, force=500,
                maxVelocity=1.0, physicsClientId=client,
            )  # fmt: skip
        for _ in range(720):
            stepper.step()
        where = positions(pybullet, client, stepper.body.number, joints)
        assert np.abs(where - GOAL[PANDA]).max() < REACHED
        hold = mbd.Mechanism(stepper.model).bias_forces(stepper.q, 0 * stepper.v)
        assert stepper.tau == pytest.approx(hold, abs=1e-2)
        assert stepper.joint_loads(["panda_joint2"]).actuation[0] == pytest.approx(
            hold[1], abs=1e-2
        )
        pybullet.setJointMotorControlArray(  # and no longer, though pybullet still tells the last
            stepper.body.number, joints, pybullet.VELOCITY_CONTROL, forces=[0] * len(joints),
            physicsClientId=client,
        )  # fmt: skip
        for _ in range(24):
            stepper.step()
        assert not stepper.tau.any()
        assert not stepper.unread


def test_states_that_are_reset_are_where_the_next_step_begins(tmp_path):
    (tmp_path / "floater.urdf").write_text(worlds.FLOATER)
    turn = np.array([0.2, -0.4, 0.1, -np.sqrt(0.79)])
    with world(1e-3, gravity=(0, 0, 0)) as client:
        stepper = Stepper.load(tmp_path / "floater.urdf", client, floating=True)
        body, here = stepper.body.number, {"physicsClientId": client}
        for _ in range(5):
            stepper.step([0, 0, 0, 0, 0, 0, 0.3])
        before = stepper.q.copy()
        pybullet.resetJointState(body, 0, 0.7, -0.3, **here)
        stepper.step()
        assert stepper.q[-1] == pytest.approx(0.7 - 0.3e-3, abs=1e-5)
        assert stepper.q[:3] == pytest.approx(before[:3], abs=1e-3)
        pybullet.resetBasePositionAndOrientation(body, [1, 2, 3], turn, **here)
        pybullet.resetBaseVelocity(body, [0.4, 0, 0], [0, 0, 0.5], **here)
        pybullet.resetJointState(body, 0, 0.0, 0.0, **here)
        start = stepper.body.read()
        stepper.step()
        place, turned = pybullet.getBasePositionAndOrientation(body, **here)
        assert place == pytest.approx([1.0004, 2, 3], abs=1e-5)
        assert abs(np.dot(turned, turn)) == pytest.approx(1.0, abs=1e-6)
        model = stepper.model
        free = mbd.load(tmp_path / "floater.urdf", floating=True, gravity=(0, 0, 0)).simulate(
            1e-3, step=1e-3, q=start[0], v=start[1],
        )  # fmt: skip
        assert model.difference(stepper.q, free.q[-1]) == pytest.approx(np.zeros(7), abs=1e-12)
        saved = pybullet.saveState(**here)
        kept = stepper.q.copy()
        for _ in range(10):
            stepper.step()
        pybullet.restoreState(saved, **here)
        stepper.push()
        assert np.abs(stepper.q - kept).max() < 1e-9


@pytest.mark.parametrize("h", [1 / 240, 1e-3])
def test_torque_control_is_our_forward_dynamics(h, tmp_path):
    """Without motors and damping a script moves as `simulate` does, to rounding."""
    tau, path = np.array([4.0, 3, 2, -1, 0.5, -0.1, 0.02]), tmp_path / "iiwa.urdf"
    text = (URDF / "kuka_iiwa.urdf").read_text()
    path.write_text(re.sub("<dynamics[^>]*>", "", text))
    with connected(drop_in, h) as client:
        body, joints = load(drop_in, client, path, useFixedBase=True)
        off, here = drop_in.VELOCITY_CONTROL, {"physicsClientId": client}
        drop_in.setJointMotorControlArray(body, joints, off, forces=[0] * 7, **here)
        for _ in range(20):
            drop_in.setJointMotorControlArray(
                body, joints[:3], drop_in.TORQUE_CONTROL, forces=tau[:3], **here
            )
            for joint, torque in zip(joints[3:], tau[3:], strict=True):
                for half in (0.5, 0.5):  # they add
                    drop_in.setJointMotorControl2(
                        body, joint, drop_in.TORQUE_CONTROL, force=half * torque, **here
                    )
            drop_in.stepSimulation(client)
        stepper = drop_in.getStepper(body, client)
        run = mbd.load(path).simulate(20 * h, step=h, torque=tau)
        assert np.abs(stepper.q - run.q[-1]).max() < 1e-12
        assert np.abs(stepper.tau - tau).max() == 0.0
        drop_in.stepSimulation(client)
        assert not stepper.tau.any()  # for one step only


@pytest.mark.parametrize("path", [URDF / "kuka_iiwa.urdf", DATA / LAIKAGO])
def test_applied_forces_act_where_and_along_what_they_do_in_pybullet(path):
    """On links and the base, along either axes, forces and moments: one short step of both."""
    h, found = 1e-5, []
    for p in (drop_in, pybullet):
        with connected(p, h) as client:
            here = {"physicsClientId": client}
            free = "laikago" in str(path)
            body, joints = load(
                p, client, path, useFixedBase=not free, basePosition=[0.1, 0.2, 1.5],
                baseOrientation=[0.1, 0.2, -0.3, 0.9] if free else [0, 0, 0, 1],
            )  # fmt: skip
            for k, joint in enumerate(joints):
                p.resetJointState(body, joint, 0.3 - 0.05 * k, 0.1 * k, **here)
            p.setJointMotorControlArray(
                body, joints, p.VELOCITY_CONTROL, forces=[0] * len(joints), **here
            )
            p.stepSimulation(client)
            for link, frame in ((joints[3], p.LINK_FRAME), (joints[5], p.WORLD_FRAME)):
                p.applyExternalForce(body, link, [30, -20, 1], [0.1, 0, 0.2], frame, **here)
                p.applyExternalTorque(body, link, [3, 2, 1], frame, **here)
                p.applyExternalForce(body, link, [1, 2, 3], [0, 0, 0.1], frame, **here)
            if free:
                p.applyExternalForce(body, -1, [3, -2, 10], [0.1, 0, 0.2], p.LINK_FRAME, **here)
                p.applyExternalForce(body, -1, [3, -2, 10], [0.1, 0, 2], p.WORLD_FRAME, **here)
                p.applyExternalTorque(body, -1, [0, 1, 2], p.WORLD_FRAME, **here)
            before = velocities(p, client, body, joints)
            p.stepSimulation(client)
            found.append(velocities(p, client, body, joints) - before)
    ours, theirs = found
    assert np.abs(theirs).max() > 1e-3
    assert np.abs(ours - theirs).max() < 1e-3 * np.abs(theirs).max()


def velocities(p, client, body, joints):
    """All velocities, those of the base too."""
    rows = p.getJointStates(body, joints, physicsClientId=client)
    return np.concatenate([[row[1] for row in rows], *p.getBaseVelocity(body, client)])


def test_torques_that_nobody_tells_of_move_the_machine_but_give_no_loads():
    """pybullet's own functions in the world of a Stepper: it tells what motors do, not these."""
    with connected(pybullet) as client:
        stepper = Stepper.load(URDF / "kuka_iiwa.urdf", client)
        told = Stepper.load(URDF / "kuka_iiwa.urdf", client, position=(3, 0, 0))
        body, joint = stepper.body.number, stepper.body.joints[3]
        for _ in range(10):
            pybullet.setJointMotorControl2(
                body, joint.number, pybullet.TORQUE_CONTROL, force=3.0, physicsClientId=client
            )
            stepper.push()
            told.push({joint.name: 3.0})
            pybullet.stepSimulation(client)
            stepper.take()
            told.take()
        assert stepper.unread[joint.name] == pytest.approx([3.0], rel=1e-6)
        assert list(stepper.unread) == [joint.name]
        assert np.abs(stepper.q - told.q).max() < 5e-3
        assert stepper.tau == pytest.approx(told.tau, abs=1e-6)
        with pytest.raises(StateError, match=r"lbr_iiwa_joint_4.*torque=.*import mbd_bridge"):
            stepper.joint_loads()
        stepper.step()
        stepper.joint_loads()


def test_stops_damping_and_gears_of_pybullet_act_if_they_are_kept(tmp_path):
    """A motor that pushes against a stop, and the damping of the file."""
    text = worlds.LIFT.replace('lower="-5" upper="5"', 'lower="-0.1" upper="0.1"')
    text = text.replace("</joint>", '<dynamics damping="3"/></joint>', 1)
    (tmp_path / "lift.urdf").write_text(text)
    with pytest.warns(MbdWarning, match=r"damping of 1 joint .*release=False"), world() as client:
        Stepper.load(tmp_path / "lift.urdf", client)
    with world(1e-3) as client:
        stepper = Stepper.load(tmp_path / "lift.urdf", client, release=False)
        here = {"physicsClientId": client}
        pybullet.setJointMotorControl2(0, 0, pybullet.VELOCITY_CONTROL, force=0, **here)
        stepper.step([2 * 9.81 + 5.0])
        stepper.step([2 * 9.81 + 5.0])
        assert stepper.tau[0] == pytest.approx(24.62 - 3 * 2.5e-3, abs=1e-4)
        for _ in range(1000):
            stepper.step([2 * 9.81 + 5.0])
        assert stepper.q[0] == pytest.approx(0.1, abs=1e-3)
        assert not stepper.unread
        assert stepper.joint_loads("lift").actuation[0] == pytest.approx(2 * 9.81, abs=1e-3)


def grasp(p):
    """A Panda grips a cube and lifts it: the cube's place; hand loads, if they are ours."""
    with connected(p) as client:
        here = {"physicsClientId": client}
        p.loadURDF("plane.urdf", **here)
        arm, _ = load(p, client, PANDA, useFixedBase=True)
        cube = p.loadURDF("cube_small.urdf", [0.5, 0, 0.025], **here)
        p.createConstraint(arm, 9, arm, 10, p.JOINT_GEAR, [1, 0, 0], [0, 0, 0], [0, 0, 0], **here)
        p.changeConstraint(1, gearRatio=-1, erp=0.1, maxForce=50, **here)
        for j, x in enumerate([0, 0.3, 0, -2.2, 0, 2.5, 0.785]):
            p.resetJointState(arm, j, x, **here)
        for j in (9, 10):
            p.resetJointState(arm, j, 0.04, **here)
        weights, down = [], p.getQuaternionFromEuler([np.pi, 0, 0])
        for height, width, steps in ((0.025, 0.04, 360), (0.025, 0.0, 60), (0.3, 0.0, 480)):
            for _ in range(steps):
                q = p.calculateInverseKinematics(arm, 11, [0.5, 0, height], down, **here)
                for j in range(7):
                    p.setJointMotorControl2(
                        arm, j, p.POSITION_CONTROL, q[j], force=1200, maxVelocity=1, **here
                    )
                for j in (9, 10):
                    p.setJointMotorControl2(arm, j, p.POSITION_CONTROL, width, force=20, **here)
                p.stepSimulation(client)
            if p is drop_in:
                loads = p.getStepper(arm, client).joint_loads("panda_hand_joint")
                weights.append(float(np.linalg.norm(loads.force)))
        return np.array(p.getBasePositionAndOrientation(cube, **here)[0]), weights


def test_a_panda_grips_and_lifts_a_cube_and_its_wrist_feels_the_weight():
    """Contacts with spinning friction, a gear between the fingers, motors, all at once."""
    (ours, weights), (theirs, _) = grasp(drop_in), grasp(pybullet)
    assert ours == pytest.approx(theirs, abs=2e-3)
    assert ours[2] == pytest.approx(0.3, abs=2e-3)
    assert weights[-1] - weights[0] == pytest.approx(0.1 * 9.81, rel=2e-2)  # the cube's 0.1 kg


def test_a_walking_machine_stands_on_its_motors():
    found = []
    for p in (drop_in, pybullet):
        with connected(p) as client:
            p.loadURDF("plane.urdf", physicsClientId=client)
            turn = [0, 0.5, 0.5, 0]  # as pybullet's example stands it up
            body, joints = load(p, client, LAIKAGO, basePosition=[0, 0, 0.5], baseOrientation=turn)
            for k, joint in enumerate(joints):
                p.setJointMotorControl2(
                    body, joint, p.POSITION_CONTROL, [0, 0, -0.5][k % 3], force=60,
                    maxVelocity=2, physicsClientId=client,
                )  # fmt: skip
            for _ in range(360):
                p.stepSimulation(client)
            place = p.getBasePositionAndOrientation(body, client)[0]
            found.append([*place, *positions(p, client, body, joints)])
    ours, theirs = np.array(found)
    assert ours[2] > 0.3
    assert np.abs(ours - theirs).max() < 2e-2


def test_force_sensors_tell_our_loads_as_pybullet_has_them():
    """But for the moments of motors, which pybullet leaves out: about the joints' axes, here z."""
    rows = []
    for p in (drop_in, pybullet):
        with connected(p) as client:
            body, joints = load(p, client, IIWA, useFixedBase=True)
            here = {"physicsClientId": client}
            for joint, goal in zip(joints, GOAL[IIWA], strict=True):
                p.enableJointForceTorqueSensor(body, joint, 1, **here)
                p.resetJointState(body, joint, goal, **here)
                p.setJointMotorControl2(body, joint, p.POSITION_CONTROL, goal, force=500, **here)
            for _ in range(100):
                p.stepSimulation(client)
            rows.append([row[2] for row in p.getJointStates(body, joints, **here)])
            assert p.getJointState(body, joints[2], **here)[2] == rows[-1][2]
            assert p.getJointStateMultiDof(body, joints[2], **here)[2] == rows[-1][2]
            p.enableJointForceTorqueSensor(body, joints[1], 0, **here)
            assert not any(p.getJointState(body, joints[1], **here)[2])
    ours, theirs = map(np.array, rows)
    assert np.abs(ours).max() > 100
    assert np.abs(ours - theirs)[:, :5].max() < 1e-4 * np.abs(theirs).max()


def test_gravity_that_is_set_later_and_bases_that_are_turned_act():
    with connected(drop_in) as client:
        drop_in.setGravity(0, 0, 0, physicsClientId=client)
        body, joints = load(drop_in, client, URDF / "kuka_iiwa.urdf", useFixedBase=True)
        drop_in.setJointMotorControlArray(
            body, joints, drop_in.VELOCITY_CONTROL, forces=[0] * 7, physicsClientId=client
        )
        drop_in.stepSimulation(client)
        assert not drop_in.getStepper(body, client).v.any()
        drop_in.setGravity(0, 0, -9.81, physicsClientId=client)
        drop_in.resetBasePositionAndOrientation(body, [1, 0, 0], [0, 0.6, 0, 0.8], client)
        drop_in.stepSimulation(client)
        stepper = drop_in.getStepper(body, client)
        assert stepper.model.gravity == pytest.approx([9.81 * 0.96, 0, -9.81 * 0.28])
        assert stepper.time == pytest.approx(2 / 240)
        assert np.abs(stepper.v).max() > 1e-3


def test_what_the_drop_in_cannot_take_over_is_said_at_once(tmp_path):
    (tmp_path / "arm.urdf").write_text(worlds.ARM)
    comma = worlds.ARM.replace('xyz="0.5 0 0"', 'xyz="0.5, 0 0"')
    (tmp_path / "comma.urdf").write_text(comma)
    planar = worlds.ARM.replace('"continuous"', '"planar"', 1)
    (tmp_path / "planar.urdf").write_text(planar)
    for name in ("four_bar.urdf", "four_bar.loops.yaml"):
        shutil.copy(URDF / name, tmp_path)
    with connected(drop_in) as client:
        here = {"physicsClientId": client}
        drop_in.setAdditionalSearchPath(os.fspath(tmp_path), **here)
        for name, options, kind, said in (
            ("comma.urdf", {}, FileError, "blanks, not by commas.*pybullet.loadURDF"),
            ("planar.urdf", {}, ModelError, "planar.*pybullet.loadURDF"),
            ("arm.urdf", {"globalScaling": 2.0}, ModelError, "globalScaling"),
        ):
            with pytest.raises(kind, match=said):
                drop_in.loadURDF(name, useFixedBase=True, **options, **here)
            assert drop_in.getNumBodies(client) == 0
        with pytest.raises(StateError, match="none that loadURDF has loaded"):
            drop_in.getStepper(0, client)
        arm = drop_in.loadURDF("arm.urdf", useFixedBase=True, **here)
        with pytest.raises(pybullet.error, match="out-of-range"):
            drop_in.setJointMotorControl2(arm, 7, drop_in.TORQUE_CONTROL, force=1.0, **here)
        with pytest.raises(StateError, match="links -1 to 1"):
            drop_in.applyExternalForce(arm, 5, [1, 0, 0], [0, 0, 0], drop_in.LINK_FRAME, client)
        drop_in.setRealTimeSimulation(1, client)
        with pytest.raises(StateError, match="setRealTimeSimulation"):
            drop_in.stepSimulation(client)
        drop_in.setRealTimeSimulation(0, client)
        drop_in.loadSDF(os.path.join(DATA, "kuka_iiwa/kuka_with_gripper2.sdf"), **here)
        with pytest.warns(MbdWarning, match="moves by pybullet's own equations"):
            drop_in.stepSimulation(client)
        drop_in.removeBody(arm, client)
        drop_in.stepSimulation(client)
        drop_in.resetSimulation(physicsClientId=client)
        bar = drop_in.loadURDF("four_bar.urdf", useFixedBase=True, **here)
        drop_in.resetJointState(bar, 0, 2.0, **here)
        with pytest.raises(StateError, match="assemble"):
            drop_in.stepSimulation(client)


REFUSED = [
    ("out-of-range", "setJointMotorControl2", 9, pybullet.TORQUE_CONTROL, {"force": 9.0}),
    ("finite", "setJointMotorControl2", 0, pybullet.TORQUE_CONTROL, {"force": np.nan}),
    ("match", "setJointMotorControlArray", [0, 1], pybullet.TORQUE_CONTROL, {"forces": [9.0]}),
    (r"\(1,\)", "setJointMotorControlMultiDof", 0, pybullet.TORQUE_CONTROL, {"force": [9.0, 9.0]}),
    ("forceObj", "applyExternalForce", 0, [9.0, 0.0], [0, 0, 0], pybullet.LINK_FRAME, {}),
    ("torqueObj", "applyExternalTorque", 0, [np.inf, 0.0, 0.0], pybullet.LINK_FRAME, {}),
    ("WORLD_FRAME or LINK_FRAME", "applyExternalTorque", 0, [9.0, 0.0, 0.0], 7, {}),
    ("invalid", "enableJointForceTorqueSensor", 9, {}),
]
"""What is said of a call, and the call."""


def test_what_was_refused_acts_in_no_step(tmp_path):
    """A script that goes on after an error has the motion that it had without the wrong call."""
    (tmp_path / "arm.urdf").write_text(worlds.ARM)
    ends = []
    for calls in ([], REFUSED):
        with connected(drop_in) as client:
            here = {"physicsClientId": client}
            arm = drop_in.loadURDF(os.fspath(tmp_path / "arm.urdf"), useFixedBase=True, **here)
            for said, name, *values, options in calls:
                with pytest.raises((StateError, pybullet.error), match=said):
                    getattr(drop_in, name)(arm, *values, **options, **here)
            drop_in.stepSimulation(**here)
            ends.append(drop_in.getJointStates(arm, [0, 1], **here))
    assert ends[0] == ends[1]


def test_resets_that_the_machine_cannot_follow_are_said(tmp_path):
    with connected(pybullet) as client:
        stepper = Stepper.load(DATA / PANDA, client)
        body, here = stepper.body.number, {"physicsClientId": client}
        pybullet.resetJointState(body, 9, 0.03, **here)  # the other finger follows
        stepper.step()
        assert pybullet.getJointState(body, 10, **here)[0] == pytest.approx(0.03, abs=1e-3)
        pybullet.resetJointState(body, 10, 0.01, **here)
        with pytest.raises(StateError, match=r"panda_finger_joint2.*mimic.*reset both"):
            stepper.step()
        pybullet.resetJointState(body, 9, 0.01, **here)
        stepper.step()
        bar = mbd.load(URDF / "four_bar.urdf").assemble(near={"crank": 0.3})
        closed = Stepper.load(URDF / "four_bar.urdf", client, q=bar.q)
        pybullet.resetJointState(closed.body.number, closed.body.joints[0].number, 2.0, **here)
        with pytest.raises(StateError, match=r"was put into a state .*assemble"):
            closed.step()


def steps(stepper, count):
    """Take some steps."""
    for _ in range(count):
        stepper.step()


def test_advice_names_options_that_a_stepper_has(tmp_path):
    """A step that is much too long for a wheel of small inertia: not step=, which is for runs."""
    (tmp_path / "arm.urdf").write_text(worlds.ARM)
    with world(0.5) as client:
        stepper = Stepper.load(tmp_path / "arm.urdf", client, v=[30.0, -80.0])
        with pytest.raises(SolveError) as raised:
            steps(stepper, 400)
        assert "substeps=" in str(raised.value)
        assert "step=)" not in str(raised.value).replace("substeps=)", "")
        assert "integrator=" not in str(raised.value)
