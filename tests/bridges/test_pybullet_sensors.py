"""Our loads beside pybullet's own sensors: trees, contacts, loops closed by createConstraint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet as p
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdWarning, ModelError
from mbd_bridge.engines.crosscheck.compare import closed_states
from mbd_bridge.engines.pybullet import Stepper
from mbd_bridge.engines.pybullet.referee import PybulletLoopReferee, Sensors
from mbd_bridge.loads import LoadRequest, LoadSolver
from mbd_bridge.solve import ConstrainedDynamics
from tests.bridges import worlds
from tests.bridges.worlds import loose, world
from tests.robots import robot, wheel_urdfs

URDF = Path(__file__).parents[2] / "urdf"
PRINCIPAL = 1e-6
"""pybullet turns inertias to principal axes and stops at a residue of 1e-5."""


def sensed(stepper, sensors, tau):
    """Step; return our loads and pybullet's, raw and without what it counts twice."""
    q, v = stepper.q, stepper.v
    stepper.push(tau)
    actuations, h = stepper._pushed.actuation, stepper._pushed.h
    p.stepSimulation(stepper.client.number)
    theirs, echo = sensors.read(q, v, actuations, h), sensors._echo(q, v, actuations, h)
    stepper.take()
    return stepper.joint_loads(list(sensors.joints)).wrench, theirs, theirs + echo


@pytest.mark.parametrize(
    ("path", "floating"),
    [
        (URDF / "kuka_iiwa.urdf", False),
        (URDF / "kuka_iiwa.urdf", True),
        (URDF / "humanoid.urdf", True),
        ("erd/panda/panda_collision", False),
        ("pb/humanoid/humanoid", True),
    ],
)
def test_every_joint_of_a_moving_tree_is_what_pybullets_sensors_say(path, floating):
    if isinstance(path, str):
        if path not in wheel_urdfs():
            pytest.skip("the wheel with this robot is not installed")
        path = robot(path)
    rng = np.random.default_rng(0)
    with world(1e-3) as client:
        stepper = Stepper.load(path, client, floating=floating)
        model, sensors = stepper.model, Sensors(stepper.body)
        for _ in range(3):
            q = model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv))
            stepper.reset(q, 2 * rng.normal(size=model.nv))
            ours, theirs, raw = sensed(stepper, sensors, rng.normal(size=model.nv))
            size = np.abs(ours).max()
            assert np.abs(ours - theirs).max() < PRINCIPAL * size
            assert np.abs(ours - raw).max() > 1e-3 * size  # else nothing was taken off


def test_contacts_pass_through_the_joints_as_pybullets_sensors_say(tmp_path):
    """A ball hits an arm, and a box rests on a sensor."""
    (tmp_path / "arm.urdf").write_text(worlds.ARM)
    (tmp_path / "lift.urdf").write_text(worlds.LIFT)
    for name, start, forces, at in (
        ("arm.urdf", [-0.2, 0.5], lambda t, q, v: np.array([-20.0, -4.0]), [0.7, 0, 0.4]),
        ("lift.urdf", None, lambda t, q, v: 9.81 * 2 - 2000 * q - 300 * v, [0.1, 0.2, 0.15]),
    ):
        with world(1e-3) as client:
            stepper = Stepper.load(tmp_path / name, client, q=start)
            sensors, compared = Sensors(stepper.body), 0
            loose(client, 0.5, at, v=[0, 0, -1], cube=name == "lift.urdf")
            for _ in range(400):
                if not stepper.touches and not compared:
                    stepper.step(forces)
                    continue
                ours, theirs, _ = sensed(stepper, sensors, forces)
                assert np.abs(ours - theirs).max() < 1e-9 * max(np.abs(ours).max(), 100.0)
                compared += 1
                if compared == 30:
                    break
            assert compared == 30


@pytest.mark.parametrize(
    ("name", "states"), [("crank_rocker", 12), ("slider_crank", 12), ("bricard", 4)]
)
def test_reactions_of_a_loop_are_those_of_createConstraint(name, states):
    """In motion, actuated, at tree joints and at the loop's pin; nearer with shorter steps.

    So many states that some of the planar ones move fast enough for the steps to tell.
    """
    mechanism = mbd.load(URDF / f"{name}.urdf")
    model, errors = mechanism.model, []
    for step in (1e-3, 1e-4, 1e-5):
        rng, referee = np.random.default_rng(1), PybulletLoopReferee(model, step)
        dynamics = ConstrainedDynamics(model, (), ())
        solver = LoadSolver(
            model, LoadRequest.of(model, [*referee.joints, *referee.cuts], actuated=())
        )
        worst = 0.0
        for q, v in zip(*closed_states(model, states, rng), strict=True):
            tau = rng.normal(size=model.nv)
            theirs = referee.loads(q, v, tau)
            a, lam = dynamics.forward(theirs.q, theirs.v, tau, check=False)
            found = solver(theirs.q, theirs.v, a, lam=lam)
            unique = found.unique
            if name != "bricard":
                assert unique[-1].tolist() == [True, False] * 3  # of the pin, in the plane
            ours = found.wrench
            difference = ours - np.vstack([theirs.joints, theirs.cuts])
            worst = max(worst, np.abs(difference[unique]).max() / np.abs(ours[unique]).max())
        referee.close()
        errors.append(worst)
    assert errors[1] < 0.2 * errors[0]
    assert errors[2] < 0.2 * errors[1]
    assert errors[2] < 1e-6


@pytest.mark.parametrize("name", ["four_bar", "crank_rocker"])
def test_the_cross_check_closes_the_loops(name):
    report = mbd.load(URDF / f"{name}.urdf").crosscheck(states=5)
    rows = [row for row in report.rows if "createConstraint" in row.referee]
    assert report.passed, report
    assert not report.absent
    assert [row.quantity for row in rows] == ["joint loads", "loop loads"]
    assert all(0 < row.error < 1e-8 for row in rows)


def test_wrong_loads_of_a_loop_are_found(monkeypatch):
    """A cross-check that cannot fail is none: turn round what the pin does to the rocker."""
    from mbd_bridge.engines.crosscheck import compare

    honest = LoadSolver.result

    def wrong(self, *state):
        found = honest(self, *state)
        if "coupler_pin" in found.joints:
            found.force[..., found.joints.index("coupler_pin"), :] *= -1
        return found

    monkeypatch.setattr(compare.LoadSolver, "result", wrong)
    report = mbd.load(URDF / "crank_rocker.urdf").crosscheck(states=3)
    assert not report.passed
    assert [row.quantity for row in report.rows if not row.passed] == ["loop loads"]


def test_what_pybullet_cannot_close_is_said():
    report = mbd.load(URDF / "rrc_arm_gripping.urdf").crosscheck(states=2)
    assert report.passed
    assert any("fixed loop joints, such as 'grip'" in reason for reason in report.absent)
    with world() as client:
        with pytest.warns(MbdWarning, match="merged"):  # its flange, for a kilogram
            stepper = Stepper.load(URDF / "kuka_iiwa.urdf", client, flags=p.URDF_MERGE_FIXED_LINKS)
        with pytest.raises(ModelError, match="URDF_MERGE_FIXED_LINKS"):
            Sensors(stepper.body)
