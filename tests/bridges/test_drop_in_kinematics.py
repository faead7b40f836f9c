"""pinocchio's calls for frames, centre of mass, momentum and energy give pinocchio's results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

from mbd_bridge.bridges import pinocchio as bridge
from mbd_bridge.errors import ModelError, StateError
from tests.bridges.test_pinocchio import composite_model
from tests.robots import robot

REFERENCES = (
    pin.ReferenceFrame.LOCAL, pin.ReferenceFrame.WORLD, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
)  # fmt: skip


def arm() -> pin.Model:
    """Return an arm with a base that weighs something, and continuous joints."""
    return pin.buildModelFromUrdf(str(robot("pb/kuka_iiwa/model")))


def walker() -> pin.Model:
    path = str(robot("erd/talos/talos_left_arm"))
    return pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())


MODELS = {"arm": arm, "walker": walker, "composite": composite_model}


@pytest.fixture(scope="module", params=MODELS)
def case(request: pytest.FixtureRequest) -> tuple:
    model = MODELS[request.param]()
    model.addFrame(pin.Frame("extra", model.njoints - 1, 0, pin.SE3.Random(), pin.OP_FRAME))
    rng = np.random.default_rng(3)
    step = rng.normal(size=model.nv)
    q = pin.integrate(model, pin.neutral(model), step)
    other = pin.integrate(model, q, 0.3 * step)
    return model, bridge.prepare(model), np.array([q, other]), rng.normal(size=(2, model.nv))


def test_jacobians_of_frames_in_three_references(case: tuple) -> None:
    model, fast, q, _ = case
    data = model.createData()
    ids = {0, model.nframes // 2, model.nframes - 1}
    for frame in ids:
        for reference in REFERENCES:
            theirs = [pin.computeFrameJacobian(model, data, one, frame, reference) for one in q]
            ours = bridge.computeFrameJacobian(fast, None, q, frame, reference)
            assert np.allclose(ours, theirs, rtol=0, atol=1e-12)
    own = bridge.computeFrameJacobian(fast, data, q[0], model.nframes - 1)
    assert np.array_equal(own, bridge.computeFrameJacobian(fast, None, q, model.nframes - 1)[0])


def test_jacobians_of_joints_go_on_to_those_of_frames(case: tuple) -> None:
    model, fast, q, _ = case
    data, mine = model.createData(), fast.createData()
    theirs = [pin.computeJointJacobians(model, data, one).copy() for one in q]
    assert np.allclose(bridge.computeJointJacobians(fast, None, q), theirs, rtol=0, atol=1e-12)
    bridge.computeJointJacobians(fast, mine, q[1])
    for frame in range(0, model.nframes, 3):
        expected = pin.computeFrameJacobian(model, data, q[1], frame)
        assert np.allclose(bridge.getFrameJacobian(fast, mine, frame), expected, atol=1e-12)


def test_placements_of_all_joints_and_frames(case: tuple) -> None:
    model, fast, q, _ = case
    data, mine = model.createData(), fast.createData()
    pin.framesForwardKinematics(model, data, q[0])
    bridge.framesForwardKinematics(fast, mine, q[0])
    for ours, theirs in ((mine.oMf, data.oMf), (mine.oMi, data.oMi)):
        for a, b in zip(ours, theirs, strict=True):
            assert np.allclose(a.homogeneous, b.homogeneous, rtol=0, atol=1e-12)
    placed = bridge.framesForwardKinematics(fast, mine, q)
    pin.framesForwardKinematics(model, data, q[1])
    assert np.allclose(placed[1], [at.homogeneous for at in data.oMf], rtol=0, atol=1e-12)


CALLS: dict[str, tuple[Callable, bool, str]] = {
    "centerOfMass": (lambda m, d, q, v: pin.centerOfMass(m, d, q).copy(), False, "com"),
    "jacobianCenterOfMass": (
        lambda m, d, q, v: pin.jacobianCenterOfMass(m, d, q).copy(), False, "Jcom",
    ),
    "ccrba": (lambda m, d, q, v: pin.ccrba(m, d, q, v).copy(), True, "Ag"),
    "computeCentroidalMap": (
        lambda m, d, q, v: pin.computeCentroidalMap(m, d, q).copy(), False, "Ag",
    ),
    "computeKineticEnergy": (pin.computeKineticEnergy, True, "kinetic_energy"),
    "computePotentialEnergy": (
        lambda m, d, q, v: pin.computePotentialEnergy(m, d, q), False, "potential_energy",
    ),
    "computeMechanicalEnergy": (pin.computeMechanicalEnergy, True, "mechanical_energy"),
    "computeGeneralizedGravity": (
        lambda m, d, q, v: pin.computeGeneralizedGravity(m, d, q).copy(), False, "g",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_the_whole_is_that_of_pinocchio(case: tuple, name: str) -> None:
    model, fast, q, v = case
    theirs, with_v, field = CALLS[name]
    data, mine = model.createData(), fast.createData()
    expected = [np.array(theirs(model, data, *state)) for state in zip(q, v, strict=True)]
    call = getattr(bridge, name)
    many = call(fast, None, q, v) if with_v else call(fast, None, q)
    scale = np.abs(expected).max()
    assert np.allclose(many, expected, rtol=0, atol=1e-12 * (1.0 + scale))
    one = call(fast, mine, q[0], v[0]) if with_v else call(fast, mine, q[0])
    assert np.array_equal(one, many[0])
    kept = getattr(mine, field)
    assert np.array_equal(kept[0] if field == "com" else kept, one)


def test_momentum_is_a_force_of_pinocchio(case: tuple) -> None:
    model, fast, q, v = case
    data, mine = model.createData(), fast.createData()
    theirs = pin.computeCentroidalMomentum(model, data, q[0], v[0])
    found = bridge.computeCentroidalMomentum(fast, mine, q[0], v[0])
    assert np.allclose(
        found.vector, theirs.vector, atol=1e-12 * (1.0 + np.abs(theirs.vector).max())
    )
    assert np.array_equal(mine.hg.vector, found.vector)
    many = bridge.computeCentroidalMomentum(fast, None, q, v)
    assert np.array_equal(many[0], found.vector)


def test_frames_that_are_not_there_are_refused() -> None:
    fast = bridge.prepare(arm())
    q = np.zeros(7)
    with pytest.raises(ModelError, match="there is no number 99"):
        bridge.computeFrameJacobian(fast, None, q, 99)
    with pytest.raises(StateError, match="frame_id"):
        bridge.computeFrameJacobian(fast, None, q, "tool")
