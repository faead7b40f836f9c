"""Loops that a script closes by createConstraint; dynamics that it asks of pybullet's names."""

from __future__ import annotations

import warnings

import numpy as np
import pybullet
import pybullet_data
import pytest

import mbd_bridge.engines.pybullet as drop_in
from mbd_bridge.base.errors import MbdWarning, StateError
from mbd_bridge.engines.pybullet import Stepper
from tests.bridges.scripts import IIWA, LAIKAGO, PANDA, connected, load, positions

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*physically impossible inertia:mbd_bridge.MbdWarning"
)

LEGS = ("front_left", "back_left", "front_right", "back_right")
KNEES = ([0, 0.005, 0.2], [0, 0.01, 0.2])
"""Points of the right and the left lower leg that meet, as pybullet's own environment has them."""

BY_ITERATIONS = 3e-2
"""Of the largest: what pybullet's iterations leave of a weld's load."""

GAP = 9.56e-6
"""By which they miss each other across the plane of a leg, m."""


def minitaur(p, client, *, fixed, gap=0.0):
    """pybullet's quadruped, as its own environment stands it up: body, joints, constraints."""
    here = {"physicsClientId": client}
    p.loadURDF("plane.urdf", **here)
    body, _ = load(
        p, client, "quadruped/minitaur.urdf", basePosition=[0, 0, 1 if fixed else 0.25],
        useFixedBase=fixed,
    )  # fmt: skip
    count = p.getNumJoints(body, **here)
    joints = {p.getJointInfo(body, k, **here)[1].decode(): k for k in range(count)}
    held, (right, left) = [], KNEES
    for leg in LEGS:
        way = -1 if "left" in leg else 1
        for side in "LR":
            motor, knee = joints[f"motor_{leg}{side}_joint"], joints[f"knee_{leg}{side}_link"]
            p.resetJointState(body, motor, way * np.pi / 2, **here)
            p.resetJointState(body, knee, way * -2.1834, **here)
            p.setJointMotorControl2(body, knee, p.VELOCITY_CONTROL, force=0, **here)
        ends = [joints[f"knee_{leg}{side}_link"] for side in "RL"]
        point = [right[0], right[1] + gap, right[2]]
        number = p.createConstraint(
            body, ends[0], body, ends[1], p.JOINT_POINT2POINT, [0, 0, 0], point, left, **here
        )
        held.append(number)
    return body, joints, held


def stand(p, *, fixed, seconds=1.0, **options):
    """Positions of all joints while the legs are lengthened; how open they are; what they carry."""
    with connected(p) as client:
        here, rows = {"physicsClientId": client}, []
        body, joints, held = minitaur(p, client, fixed=fixed, **options)
        for k in range(round(240 * seconds)):
            for leg in LEGS:
                way = -1 if "left" in leg else 1
                goal = way * (np.pi / 2 + (0.2 if k > 120 else 0.0))
                for side in "LR":
                    motor = joints[f"motor_{leg}{side}_joint"]
                    p.setJointMotorControl2(
                        body, motor, p.POSITION_CONTROL, goal, force=3.5, **here
                    )
            p.stepSimulation(client)
            rows.append(positions(p, client, body, [*joints.values()]))
        place = p.getBasePositionAndOrientation(body, client)[0]
        carried = [p.getConstraintState(number, **here) for number in held]
        loads = None
        if p is drop_in:
            assert not p.getStepper(body, client).unread
            loads = p.getStepper(body, client).joint_loads([f"constraint_{held[0]}"])
        return np.array(rows), np.array(place), np.array(carried), loads


def test_a_quadrupeds_legs_are_loops_of_ours():
    """As pybullet's own environment closes them: planar linkages, held at points of space."""
    ours, *_, loads = stand(drop_in, fixed=True, gap=GAP)
    theirs, *_ = stand(pybullet, fixed=True, gap=GAP)
    assert np.abs(theirs - theirs[0]).max() > 0.2
    assert np.abs(ours - theirs).max() < 1e-3
    assert not loads.determined[0].all()  # across its plane nobody can tell


def test_points_that_miss_each_other_by_a_files_digits_load_nobody():
    """1e-5 m across the plane of a leg: pybullet pulls by kilonewtons there."""
    _, place, carried, _ = stand(drop_in, fixed=False)
    _, theirs, *_ = stand(pybullet, fixed=False)
    assert place == pytest.approx(theirs, abs=3e-3)
    assert np.abs(carried).max() < 30.0
    fixed = stand(pybullet, fixed=True, seconds=0.2)[2]
    assert np.abs(fixed).max() > 5e3
    assert np.abs(stand(drop_in, fixed=True, seconds=0.2)[2]).max() < 1.0


def held_arm(p, client, kind):
    """An iiwa whose hand is held at the ground, by a point or a weld: body, joints, constraint."""
    here = {"physicsClientId": client}
    body, joints = load(p, client, IIWA, useFixedBase=True)
    for joint, angle in zip(joints, [0.1, 0.5, 0.2, -1.2, 0.1, 0.7, 0.2], strict=True):
        p.resetJointState(body, joint, angle, **here)
    p.setJointMotorControlArray(body, joints, p.VELOCITY_CONTROL, forces=[0] * 7, **here)
    hand = p.getLinkState(body, 6, computeForwardKinematics=True, **here)
    base = p.getBasePositionAndOrientation(body, **here)
    back = p.invertTransform(*base)
    place, turn = p.multiplyTransforms(*back, hand[0], hand[1])
    number = p.createConstraint(
        body, 6, body, -1, kind, [0, 0, 0], [0, 0, 0], place, [0, 0, 0, 1], turn, **here
    )
    return body, joints, number


@pytest.mark.parametrize("kind", [pybullet.JOINT_POINT2POINT, pybullet.JOINT_FIXED])
def test_constraints_tell_the_load_of_our_loop_as_pybullet_does(kind):
    found = []
    for p in (drop_in, pybullet):
        with connected(p, 1e-4) as client:
            p.setPhysicsEngineParameter(
                numSolverIterations=2000, solverResidualThreshold=0, physicsClientId=client
            )
            body, joints, number = held_arm(p, client, kind)
            p.changeConstraint(number, erp=0, physicsClientId=client)
            for _ in range(2):
                p.stepSimulation(client)
            found.append(p.getConstraintState(number, physicsClientId=client))
            assert np.abs(p.getJointState(body, joints[1], client)[1]) < 1e-2
    ours, theirs = map(np.array, found)
    assert len(ours) == len(theirs) == (3 if kind == pybullet.JOINT_POINT2POINT else 6)
    assert np.abs(theirs).max() > 10.0
    assert np.abs(ours - theirs).max() < BY_ITERATIONS * np.abs(theirs).max()


def test_loops_open_when_their_constraint_is_removed_and_do_not_change():
    with connected(drop_in) as client:
        here = {"physicsClientId": client}
        body, joints, number = held_arm(drop_in, client, drop_in.JOINT_POINT2POINT)
        drop_in.changeConstraint(number, maxForce=1000, **here)
        drop_in.stepSimulation(client)
        assert drop_in.getStepper(body, client).model.has_loops
        drop_in.changeConstraint(number, maxForce=10, **here)
        with pytest.raises(StateError, match="removeConstraint"):
            drop_in.changeConstraint(number, [0, 0, 0.1], **here)
        with pytest.raises(StateError, match=r"has loops.*getStepper"):
            drop_in.calculateMassMatrix(body, [0.0] * 7, **here)
        hand = [drop_in.getLinkState(body, 6, **here)[0]]
        drop_in.stepSimulation(client)
        hand.append(drop_in.getLinkState(body, 6, computeForwardKinematics=True, **here)[0])
        assert np.abs(np.subtract(*hand)).max() < 1e-6
        drop_in.removeConstraint(number, **here)
        for _ in range(60):
            drop_in.stepSimulation(client)
        assert not drop_in.getStepper(body, client).model.has_loops
        assert drop_in.getStepper(body, client).time == pytest.approx(62 / 240)
        assert np.abs(positions(drop_in, client, body, joints)[1] - 0.5) > 0.05


def test_what_is_far_from_closed_is_left_to_pybullet():
    with connected(drop_in) as client:
        here = {"physicsClientId": client}
        body, joints, number = held_arm(drop_in, client, drop_in.JOINT_POINT2POINT)
        drop_in.resetJointState(body, joints[1], 0.7, **here)
        with pytest.warns(MbdWarning, match=rf"holds the constraints \[{number}\].*would jump"):
            drop_in.stepSimulation(client)
        assert not drop_in.getStepper(body, client).model.has_loops
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(100):
                drop_in.stepSimulation(client)
        place = drop_in.getConstraintInfo(number, client)[7]
        hand = drop_in.getLinkState(body, 6, computeForwardKinematics=True, **here)[0]
        base = drop_in.getBasePositionAndOrientation(body, client)[0]
        assert np.add(base, place) == pytest.approx(hand, abs=2e-2)  # pulled there
        with pytest.raises(StateError, match="does not tell"):
            drop_in.getStepper(body, client).joint_loads()


@pytest.mark.parametrize("path", [PANDA, IIWA, "cartpole.urdf"])
def test_inverse_dynamics_and_mass_matrix_are_pybullets(path):
    rng = np.random.default_rng(0)
    with connected(drop_in) as client:
        here = {"physicsClientId": client}
        body, joints = load(drop_in, client, path, useFixedBase=True)
        q, v, a = rng.uniform(-1, 1, (3, 5, len(joints)))
        q[:, 7:] = abs(q[:, 7:])
        tau = drop_in.calculateInverseDynamics(body, q, v, a, **here)
        M = drop_in.calculateMassMatrix(body, q, **here)
        one = drop_in.calculateInverseDynamics(body, [*q[2]], [*v[2]], [*a[2]], **here)
        matrix = drop_in.calculateMassMatrix(body, [*q[2]], **here)
        assert isinstance(one, tuple) and isinstance(matrix, tuple) and isinstance(matrix[0], tuple)
        assert np.array(one) == pytest.approx(tau[2], rel=1e-14)
        assert np.array(matrix) == pytest.approx(M[2], rel=1e-14)
        h = np.array(drop_in.calculateInverseDynamics(body, q, v, 0 * a, **here))
        assert tau - h == pytest.approx((M @ a[..., None])[..., 0], abs=1e-12 * np.abs(tau).max())
        for k in range(5):
            given = [x[k].tolist() for x in (q, v, a)]
            theirs = pybullet.calculateInverseDynamics(body, *given, **here)
            assert tau[k] == pytest.approx(theirs, abs=1e-6 * np.abs(tau).max())
            theirs = pybullet.calculateMassMatrix(body, given[0], **here)
            assert M[k] == pytest.approx(np.array(theirs), abs=1e-6 * np.abs(M).max())
        with pytest.raises(StateError, match=rf"expected {len(joints)} numbers.*got \(99,\)"):
            drop_in.calculateMassMatrix(body, [0.0] * 99, **here)


def test_of_a_free_base_pybullets_own_are_told():
    with connected(drop_in) as client:
        here = {"physicsClientId": client}
        body, joints = load(drop_in, client, LAIKAGO, basePosition=[0, 0, 1])
        q = [0.0] * len(joints)
        ours, theirs = (p.calculateMassMatrix(body, q, **here) for p in (drop_in, pybullet))
        assert ours == theirs


def test_a_steppers_body_is_a_body_of_pybullets():
    with connected(pybullet) as client:
        here = {"physicsClientId": client}
        pybullet.loadURDF("plane.urdf", **here)
        stepper = Stepper.load(f"{pybullet_data.getDataPath()}/{IIWA}", client)
        body = stepper.body
        assert body == 1
        assert {1: "arm"}[body] == "arm"
        assert pybullet.getNumJoints(body, **here) == 7
        assert pybullet.getLinkState(body, 6, **here)[0] == pybullet.getLinkState(1, 6, **here)[0]
        pybullet.setJointMotorControl2(
            bodyUniqueId=body, jointIndex=2, controlMode=pybullet.VELOCITY_CONTROL,
            targetVelocity=0.3, force=100, **here,
        )  # fmt: skip
        stepper.step()
        assert stepper.v[2] == pytest.approx(0.3, abs=1e-3)
        assert not pybullet.getContactPoints(bodyA=body, **here)
        pybullet.removeBody(body, **here)
        with pytest.raises(StateError, match="no body 1"):
            stepper.step()
