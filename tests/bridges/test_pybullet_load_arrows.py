"""Loads drawn into a world that a script has opened; here without a window."""

from __future__ import annotations

import numpy as np
import pybullet
import pytest

import mbd_bridge.engines.pybullet as drop_in
from mbd_bridge.base.errors import MbdError
from mbd_bridge.engines.pybullet import Stepper
from mbd_bridge.view import arrows
from mbd_bridge.view.pieces import AWAY
from tests.bridges import worlds
from tests.bridges.worlds import world

SHAPE = "<visual><geometry><box size='1 1 0.04'/></geometry></visual><collision>"
LIFT = worlds.LIFT.replace("<collision>", SHAPE)
"""Arrows are as long as what is seen of a machine."""

TURN = [0.0, np.sin(0.3), 0.0, np.cos(0.3)]


def drawn(client, first):
    """Where bodies are that can be seen, by colour: [(K, 3) m]."""
    found = {}
    for body in range(first, pybullet.getNumBodies(client)):
        place = pybullet.getBasePositionAndOrientation(body, client)[0]
        if place[2] > AWAY[2] / 2:
            colour = tuple(np.round(pybullet.getVisualShapeData(body, -1, client)[0][7], 2))
            found.setdefault(colour, []).append(place)
    return {colour: np.array(places) for colour, places in found.items()}


@pytest.fixture
def lift(tmp_path):
    """A lift that is moved and turned in its world."""
    (tmp_path / "lift.urdf").write_text(LIFT)
    with world() as client:
        yield Stepper.load(
            tmp_path / "lift.urdf", client, position=(1.0, 2.0, 3.0), orientation=TURN
        )


def test_arrows_stand_at_joints_in_the_users_world_and_follow(lift):
    client, number = lift.client.number, pybullet.getNumBodies(lift.client.number)
    shown = lift.draw_loads(["lift"])
    assert pybullet.getNumBodies(client) > number
    axes = np.array(pybullet.getMatrixFromQuaternion(TURN)).reshape(3, 3)
    up = axes[:, 2]
    for _ in range(300):
        lift.step([30.0])
        height = np.array([1.0, 2.0, 3.0]) + lift.q[0] * up
        load = lift.joint_loads(["lift"])
        colour = tuple(np.round([*2 * np.array(arrows.FORCE[:3]), 1.0], 2))
        red = drawn(client, number)[colour] - height
        way = axes @ load.force[0] / np.linalg.norm(load.force[0])
        along = red @ way
        assert np.abs(red - along[:, None] * way).max() < 1e-6
        assert along.min() == pytest.approx(0.0, abs=1e-6)
        assert along.max() > 0.1
    assert lift.q[0] > 0.1
    shown.close()
    assert pybullet.getNumBodies(client) == number
    lift.step()
    assert pybullet.getNumBodies(client) == number


def test_arrows_do_not_touch_what_moves(lift):
    """The same motion to the last bit, with a box on the plate."""
    found = []
    for draws in (False, True):
        client = lift.client.number
        shape = pybullet.createCollisionShape(
            pybullet.GEOM_BOX, halfExtents=[0.1] * 3, physicsClientId=client
        )
        box = pybullet.createMultiBody(2.0, shape, basePosition=[1, 2, 3.2], physicsClientId=client)
        lift.reset([0.0], [0.0])
        shown = lift.draw_loads() if draws else None
        for _ in range(100):
            lift.step([40.0])
        found.append([*lift.q, *pybullet.getBasePositionAndOrientation(box, client)[0]])
        pybullet.removeBody(box, client)
        if shown:
            shown.close()
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_arrows_wait_so_many_steps_and_hide_where_loads_are_not_known(lift):
    client, number = lift.client.number, pybullet.getNumBodies(lift.client.number)
    lift.draw_loads("lift", numbers=False, every=3)
    lift.step([30.0])
    before = drawn(client, number)
    lift.step([60.0])
    assert drawn(client, number).keys() == before.keys()
    lift.step([60.0])
    for _ in range(3):
        pybullet.setJointMotorControl2(
            lift.body, 0, pybullet.TORQUE_CONTROL, force=5.0, physicsClientId=client
        )
        lift.step()
    assert lift.unread
    assert not drawn(client, number)
    for _ in range(3):
        lift.step([30.0])
    assert drawn(client, number)


def test_what_cannot_be_drawn_is_said(lift):
    with pytest.raises(MbdError, match="elbow"):
        lift.draw_loads(["elbow"])
    with pytest.raises(MbdError, match="every"):
        lift.draw_loads(every=0)
    assert not lift.after_step


def test_arrows_stay_when_gravity_is_changed(tmp_path):
    (tmp_path / "lift.urdf").write_text(LIFT)
    client = drop_in.connect(drop_in.DIRECT)
    here = {"physicsClientId": client}
    drop_in.setGravity(0, 0, -9.81, **here)
    body = drop_in.loadURDF(str(tmp_path / "lift.urdf"), useFixedBase=True, **here)
    drop_in.getStepper(body, client).draw_loads()
    drop_in.setGravity(0, 0, -1.62, **here)
    drop_in.stepSimulation(client)
    stepper = drop_in.getStepper(body, client)
    assert stepper.model.gravity[2] == pytest.approx(-1.62)
    assert len(stepper.after_step) == 1
    assert drawn(client, 1)
    drop_in.disconnect(client)
