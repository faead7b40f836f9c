"""Jacobians, centre of mass, momentum and energy are pinocchio's, and follow their definitions."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import mbd_bridge as mbd
from mbd_bridge.engines.pinocchio.twin import to_pinocchio
from tests.robots import OWN, installed, robot

ROBOTS = (
    ("erd/ur/ur5_robot", False),
    ("erd/solo/solo12", True),
    ("pb/kuka_iiwa/model", False),
    ("pb/laikago/laikago", True),
    ("erd/panda/panda", False),  # its fingers mimic each other
)
REFERENCES = {
    "local_world_aligned": pin.LOCAL_WORLD_ALIGNED,
    "local": pin.ReferenceFrame.LOCAL,
    "world": pin.ReferenceFrame.WORLD,
}
SAME = 1e-11
"""Share of the largest entry."""


def states(model, count=3):
    rng = np.random.default_rng(2)
    q = np.array(
        [model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv)) for _ in range(count)]
    )
    return q, rng.uniform(-1, 1, (count, model.nv))


def same(ours, theirs):
    assert np.abs(ours - theirs).max() <= SAME * max(1.0, np.abs(theirs).max())


@pytest.mark.parametrize(("name", "floating"), [one for one in ROBOTS if installed(one[0])])
def test_jacobians_and_centroids_are_those_of_pinocchio(name, floating):
    ours = mbd.load(robot(name), floating=floating)
    twin = to_pinocchio(ours.model)
    link = max(ours.model.links, key=lambda link: int(ours.model.path[link.body].sum())).name
    number = twin.model.getFrameId(link, pin.FrameType.BODY)
    q, v = states(ours.model)
    whole = ours.centroid(q, v)
    found = {name: ours.frame_kinematics(link, q, v, reference=name) for name in REFERENCES}
    for k in range(len(q)):
        own, rate, G = twin.q(q[k]), twin.v(q[k], v[k]), twin.G(q[k])
        model, data = twin.model, twin.data
        pin.forwardKinematics(model, data, own, rate, np.zeros(model.nv))
        pin.computeJointJacobians(model, data, own)
        pin.computeJointJacobiansTimeVariation(model, data, own, rate)
        pin.updateFramePlacements(model, data)
        for reference, theirs in REFERENCES.items():
            kin = found[reference]
            same(kin.jacobian[k], pin.getFrameJacobian(model, data, number, theirs) @ G)
            drift = pin.getFrameJacobianTimeVariation(model, data, number, theirs) @ rate
            same(kin.drift[k], drift)
            same(kin.position[k], data.oMf[number].translation)
        base = model.inertias[0]  # stands on the ground: pinocchio leaves it out
        mass = sum(own.mass for own in model.inertias)
        com = pin.centerOfMass(model, data, own, rate).copy()
        centre = (com * (mass - base.mass) + base.mass * base.lever) / mass
        same(whole.position[k], centre)
        share = (mass - base.mass) / mass
        same(whole.jacobian[k], share * pin.jacobianCenterOfMass(model, data, own) @ G)
        pin.ccrba(model, data, own, rate)
        A = data.Ag @ G
        A[3:] += np.cross(com - centre, A[:3], axisb=0, axisc=0)
        same(whole.momentum_matrix[k], A)
        same(whole.momentum[k], A @ v[k])
        same(whole.energy[k, 0], pin.computeKineticEnergy(model, data, own, rate))
        potential = pin.computePotentialEnergy(model, data, own)
        rest = -base.mass * (model.gravity.linear @ base.lever)
        same(whole.energy[k, 1], potential + rest)


def test_momentum_changes_by_gravity_and_drift_by_differences():
    """ḣ of a free robot is its weight; J̇ q̇ is the rate of J along the motion."""
    ours = mbd.load(OWN / "kuka_iiwa.urdf", floating=True)
    (q,), (v,) = states(ours.model, 1)
    a = ours.forward_dynamics(q, v, np.zeros(ours.nv))
    step = 1e-5
    ends = [(ours.model.integrate(q, s * v + 0.5 * s * s * a), v + s * a) for s in (-step, step)]
    h = [ours.centroid(*end).momentum for end in ends]
    mass = sum(link.inertia.mass for link in ours.model.links)
    wanted = np.append(mass * ours.model.gravity, np.zeros(3))
    np.testing.assert_allclose((h[1] - h[0]) / (2 * step), wanted, rtol=0, atol=1e-4)
    tool = {"tool": ("lbr_iiwa_link_ee", (0.1, 0.0, 0.2), (0.3, 0.2, 0.1))}
    for reference in REFERENCES:

        def J(q, reference=reference):
            return ours.frame_kinematics("tool", q, reference=reference, frames=tool).jacobian

        ends = [ours.model.integrate(q, s * v) for s in (-step, step)]
        rate = (J(ends[1]) - J(ends[0])) @ v / (2 * step)
        drift = ours.frame_kinematics("tool", q, v, reference=reference, frames=tool).drift
        np.testing.assert_allclose(rate, drift, rtol=0, atol=1e-7)


def test_a_frame_or_reference_that_is_not_there_is_told():
    arm = mbd.load(OWN / "kuka_iiwa.urdf")
    with pytest.raises(mbd.errors.ModelError, match="did you mean 'lbr_iiwa_link_3'"):
        arm.frame_kinematics("lbr_iiwa_link_33", np.zeros(7))
    with pytest.raises(mbd.errors.StateError, match="local_world_aligned"):
        arm.frame_kinematics("lbr_iiwa_link_3", np.zeros(7), reference="moon")
