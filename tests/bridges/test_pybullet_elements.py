"""Force elements of a mechanism that a Stepper moves: springs, friction, stops, drag."""

from __future__ import annotations

import numpy as np
import pybullet
import pybullet_data
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import ModelError
from mbd_bridge.engines.pybullet import Stepper
from mbd_bridge.forces import JointFriction, JointSpring, PointSpring
from tests.bridges import worlds
from tests.bridges.scripts import IIWA
from tests.bridges.worlds import world
from tests.forces.relaxing import Maxwell

ELEMENTS = [
    JointSpring("shoulder", 40.0, damping=2.0, rest=0.3),
    JointFriction("elbow", 0.5, viscous=0.1),
    PointSpring(("lower", "ground"), ((0.5, 0, 0), (0.8, 0, 0.6)), 300.0, free_length=0.4),
]


def loaded(client, path):
    """Return pybullet's body of a file."""
    return pybullet.loadURDF(
        str(path), useFixedBase=True, flags=pybullet.URDF_USE_INERTIA_FROM_FILE,
        physicsClientId=client,
    )  # fmt: skip


def test_elements_move_the_machine_as_in_a_simulation_and_load_its_joints(tmp_path):
    """With a function of time among them; loads against those of the simulation."""
    path = tmp_path / "arm.urdf"
    path.write_text(worlds.ARM)
    robot = mbd.load(path).with_forces(ELEMENTS)
    with world(1e-3) as client:
        stepper = Stepper(robot, client, loaded(client, path), q=[0.4, -0.6], v=[1.0, 2.0])
        run = robot.simulate(0.3, step=1e-3, q=[0.4, -0.6], v=[1.0, 2.0])
        for _ in range(300):
            stepper.step()
        assert np.abs(stepper.q - run.q[-1]).max() < 1e-12
        assert np.abs(stepper.q - [0.4, -0.6]).max() > 0.1
        names = ["shoulder", "elbow"]
        ours, theirs = stepper.joint_loads(names), run.joint_loads(names)
        assert ours.force == pytest.approx(theirs.force[-2], abs=1e-9)
        assert ours.moment == pytest.approx(theirs.moment[-2], abs=1e-9)


def test_a_spring_carries_a_box_that_pybullet_lets_rest_on_the_plate(tmp_path):
    path = tmp_path / "lift.urdf"
    path.write_text(worlds.LIFT)
    spring = JointSpring("lift", 4000.0, damping=400.0, rest=0.01)
    robot = mbd.load(path).with_forces([spring])
    with world(1e-3) as client:
        stepper = Stepper(robot, client, loaded(client, path))
        shape = pybullet.createCollisionShape(
            pybullet.GEOM_BOX, halfExtents=[0.1] * 3, physicsClientId=client
        )
        pybullet.createMultiBody(20.0, shape, basePosition=[0, 0, 0.11], physicsClientId=client)
        for _ in range(2000):
            stepper.step()
        assert stepper.q[0] == pytest.approx(0.01 - 22 * 9.81 / 4000, abs=1e-4)
        loads = stepper.joint_loads(["lift", "sensor"])
        assert loads["sensor"].force[2] == pytest.approx(20.5 * 9.81, rel=1e-3)
        assert not stepper.tau.any()


@pytest.mark.filterwarnings("ignore:damping of:mbd_bridge.MbdWarning")
def test_motors_bring_joints_to_their_goals_against_springs():
    """An iiwa at pybullet's motors, by implicit steps: what motors give holds springs, too."""
    path, joints = f"{pybullet_data.getDataPath()}/{IIWA}", (5, 6, 7)
    springs = [JointSpring(f"lbr_iiwa_joint_{k}", 10.0, damping=0.2) for k in joints]
    robot = mbd.load(path).with_forces(springs)
    with world(1 / 240) as client:
        body = loaded(client, path)
        stepper = Stepper(robot, client, body, integrator="generalised_alpha")
        goal = [0.3, 0.4, 0.2, -0.8, 0.1, 0.3, 0.2]
        for joint, angle in zip(stepper.body.joints, goal, strict=True):
            pybullet.setJointMotorControl2(
                stepper.body, joint.number, pybullet.POSITION_CONTROL, angle, force=300,
                maxVelocity=1, physicsClientId=client,
            )  # fmt: skip
        for _ in range(480):
            stepper.step()
        assert stepper.q == pytest.approx(goal, abs=2e-3)
        hold = mbd.Mechanism(stepper.model).bias_forces(stepper.q, 0 * stepper.v)
        hold[4:] += 10.0 * stepper.q[4:]
        assert stepper.tau == pytest.approx(hold, abs=5e-2)


def test_elements_that_cannot_act_are_refused(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(worlds.ARM)
    robot = mbd.load(path)
    with world() as client:
        body = loaded(client, path)
        with pytest.raises(ModelError, match="states of their own"):
            Stepper(robot.with_forces([Maxwell("elbow", 30.0, 2.0, name="mount")]), client, body)
        stop = mbd.forces.JointStop("elbow", -1.0, 1.0, 1e4, 10.0)
        with pytest.raises(ModelError, match="release=False"):
            Stepper(robot.with_forces([stop]), client, body, release=False)
        Stepper(robot.with_forces([stop]), client, body)
