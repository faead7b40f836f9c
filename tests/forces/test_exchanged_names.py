"""Forces find their links and joints by name: with two names exchanged they act elsewhere."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import FileError
from mbd_bridge.forces import JointSpring, PointSpring

Q, V = np.array([0.1, 0.2]), np.array([0.3, -0.1])


def pendulums(left="l", right="r"):
    """Return two equal pendulums at 0 and 1 m, whose names are given."""
    b = mbd.Builder("two")
    for name, x in ((left, 0.0), (right, 1.0)):
        b.link(name, 1.0, (0, 0, -0.5), (0.1, 0.1, 0.1))
        b.joint(f"hinge_{name}", "revolute", "base", name, (x, 0, 0), axis=(0, 1, 0))
    return mbd.Mechanism.build(b)


def elements(first, second):
    """Return springs that are not the same with two names exchanged."""
    return [
        PointSpring(("ground", first), ((0.3, 0, -0.5), (0, 0, -0.5)), 100.0, free_length=0.1),
        PointSpring((first, second), ((0, 0, -0.2), (0, 0, -0.4)), 50.0, free_length=0.3),
        JointSpring(f"hinge_{first}", 7.0),
    ]


def pushed(robot, first, second):
    return robot.forward_dynamics(Q, V, 0.0 * V, forces=elements(first, second))


def loaded(robot, first, second):
    return robot.joint_loads(Q, V, 0.0 * V, forces=elements(first, second)).wrench


def simulated(robot, first, second):
    run = robot.simulate(0.1, q=Q, v=V, forces=elements(first, second))
    return np.concatenate([run.q[-1], [run.force_elements.energy[-1]], run.energy[-1:]])


@pytest.mark.parametrize("ask", [pushed, loaded, simulated])
def test_forces_act_where_the_names_are(ask):
    plain, exchanged = pendulums(), pendulums("r", "l")
    before = ask(plain, "l", "r")
    found = ask(exchanged, "l", "r")
    assert np.array_equal(found, ask(plain, "r", "l"))
    assert not np.allclose(found, before, rtol=1e-3)


def test_a_checkpoint_knows_the_names(tmp_path):
    options = {"q": Q, "forces": elements("l", "r")[1:2], "checkpoint": tmp_path / "run.npz"}
    pendulums().simulate(0.02, **options)
    with pytest.raises(FileError, match="of another simulation: mechanism"):
        pendulums("r", "l").simulate(0.02, **options)
