"""A machine is the same wherever its ground has its origin: ten kilometres away, too."""

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.forces import PointSpring
from mbd_bridge.model.spatial import Frame
from tests.crossings import curve

WAY = np.array([8e3, -5e3, 3e3])
"""From the ground's origin to where the machine stands, m."""

DIGITS = 1e-11
"""m, and relative: what is left of coordinates of ten kilometres in a file."""


def far(machine):
    """Return the machine, everything on its ground moved."""
    described, step = machine.model.description, Frame(np.eye(3), WAY)
    root = described.links[0].name

    def moved(end):
        return replace(end, frame=step @ end.frame) if end.link == root else end

    joints = tuple(
        replace(one, origin=step @ one.origin) if one.parent == root else one
        for one in described.joints
    )
    loops = tuple(
        replace(one, predecessor=moved(one.predecessor), successor=moved(one.successor))
        for one in described.loops
    )
    changed = replace(described, joints=joints, loops=loops)
    return mbd.Mechanism.build(changed, gravity=machine.model.gravity)


@pytest.mark.parametrize("distance", [1e-2, 1e-5, 0.0])
def test_a_linkage_far_from_the_origin_passes_its_flat_positions(distance):
    way = curve("crossed")
    start, rate = way.motion(way.flat[0] + distance, 2.0, -0.02)
    q, v = way.state(start, rate)
    run = far(way.machine).simulate(0.08, q=q, v=v)
    assert run.status == "finished"
    assert way.apart(run.q[-1], way.motion(start, rate, 0.08)[0]) < 1e-9


def test_everything_is_the_same_but_where_it_is():
    near = curve("crossed").machine
    away = far(near)
    q, v = curve("crossed").state(0.7, 1.5)
    root, tip = near.model.links[0].name, near.model.links[-1].name
    push = {tip: [3.0, -2.0, 5.0, 0.5, 0.1, -0.7]}
    names = ["root_joint", *near.joint_names, *near.loops.names]
    results = []
    for machine, there in ((near, np.zeros(3)), (away, WAY)):
        spring = PointSpring(
            links=(root, tip), points=(tuple(there + np.array([0.2, 0.3, 1.5])), (0.1, 0.0, 0.2)),
            stiffness=50.0, free_length=0.4, name="s",
        )  # fmt: skip
        run = machine.simulate(
            0.05, q=q, v=v, external=push, external_in="world", forces=[spring], every=10
        )
        loads = run.joint_loads(names, in_="world")
        moment = loads.moment.copy()
        moment[:, 0] -= np.cross(there, loads.force[:, 0])  # about the ground's origin
        places = np.array([machine.placement(x, tip)[:3, 3] - there for x in run.q])
        results.append((run.q, run.a, loads.force, moment, places, np.diff(run.energy)))
    for one, other in zip(*results, strict=True):
        assert np.abs(one - other).max() < 1e3 * DIGITS * max(np.abs(one).max(), 1.0)
    assert away.crosscheck(states=3, pybullet=False).passed
    assert away.model.size == pytest.approx(near.model.size)
    assert away.placement(q, root)[:3, 3].tolist() == [0.0, 0.0, 0.0]
