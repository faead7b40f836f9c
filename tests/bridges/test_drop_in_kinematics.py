"""pinocchio's calls for frames, centre of mass, momentum and energy give pinocchio's results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.engines import pinocchio as bridge
from tests.bridges.composite import composite_model
from tests.robots import OWN, robot

REFERENCES = (
    pin.ReferenceFrame.LOCAL, pin.ReferenceFrame.WORLD, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
)  # fmt: skip


def arm() -> pin.Model:
    """Return an arm with a base that weighs something, and continuous joints."""
    return pin.buildModelFromUrdf(str(OWN / "kuka_iiwa.urdf"))


def walker() -> pin.Model:
    path = str(robot("erd/talos/talos_left_arm"))
    return pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())


def on_a_stand() -> pin.Model:
    """Return two rods on a stand of two welded parts, which pinocchio's universe takes in."""
    heavy = (
        '<inertial><origin xyz="0.3 0.1 0"/><mass value="7"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    hinge = '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
    return pin.buildModelFromXML(f"""<robot name="stand">
        <link name="floor"/><link name="foot">{heavy}</link><link name="post">{heavy}</link>
        <link name="rod">{heavy}</link><link name="tip">{heavy}</link>
        <joint name="bolts" type="fixed"><parent link="floor"/><child link="foot"/></joint>
        <joint name="weld" type="fixed"><parent link="foot"/><child link="post"/></joint>
        <joint name="hinge" type="revolute"><parent link="post"/><child link="rod"/>{hinge}
        <joint name="elbow" type="revolute"><parent link="rod"/><child link="tip"/>{hinge}
        </robot>""")


MODELS = {"arm": arm, "walker": walker, "composite": composite_model, "stand": on_a_stand}


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


def test_velocities_and_accelerations_of_joints_are_for_pinocchio_to_read(case: tuple) -> None:
    model, fast, q, v = case
    data, mine = model.createData(), fast.createData()
    pin.forwardKinematics(model, data, q[0], v[0], v[1])
    bridge.forwardKinematics(fast, mine, q[0], v[0], v[1])
    last = model.nframes - 1
    for read in (pin.getFrameVelocity, pin.getFrameAcceleration, pin.getFrameClassicalAcceleration):
        for reference in REFERENCES:
            theirs = read(model, data, last, reference).vector
            ours = read(model, mine, last, reference).vector
            assert np.allclose(ours, theirs, rtol=0, atol=1e-12 * (1 + np.abs(theirs).max()))
    pin.centerOfMass(model, data, q[0], v[0])
    bridge.centerOfMass(fast, mine, q[0], v[0])
    assert np.allclose(mine.vcom[0], data.vcom[0], rtol=0, atol=1e-12)


def test_what_is_not_here_says_whose_to_call() -> None:
    assert bridge.nonLinearEffects is bridge.nle
    with pytest.raises(AttributeError, match=r"call pinocchio's own, pinocchio\.computeCor"):
        _ = bridge.computeCoriolisMatrix
    with pytest.raises(AttributeError, match="has no attribute 'rneaa'"):
        _ = bridge.rneaa


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


def test_all_that_pinocchio_leaves_in_data_beside_the_result_is_of_the_same_state(
    case: tuple,
) -> None:
    model, fast, q, v = case
    data, mine = model.createData(), fast.createData()
    calls: dict[str, tuple] = {
        "jacobianCenterOfMass": (), "ccrba": (v[0],), "computeCentroidalMap": (),
        "computeCentroidalMomentum": (v[0],), "computeMechanicalEnergy": (v[0],),
    }  # fmt: skip
    for name, more in calls.items():
        mine.com[0] = np.full(3, np.nan)
        getattr(pin, name)(model, data, q[0], *more)
        getattr(bridge, name)(fast, mine, q[0], *more)
        if name == "computeMechanicalEnergy":
            kept = [(one.kinetic_energy, one.potential_energy) for one in (mine, data)]
        else:
            kept = [one.com[0] for one in (mine, data)]
        assert np.allclose(*kept, rtol=1e-12, atol=1e-12), name


def test_states_of_another_size_are_refused_as_pinocchio_refuses_them() -> None:
    fast = bridge.prepare(walker())
    nq, nv = fast.twin.model.nq, fast.twin.model.nv
    q, v = pin.neutral(fast.twin.model), np.zeros(nv)
    for call, name in (
        (lambda: bridge.rnea(fast, None, np.append(q, 0.0), v, v), "q"),
        (lambda: bridge.rnea(fast, None, q, q, v), "v"),
        (lambda: bridge.rnea(fast, None, q, v, q), "a"),
        (lambda: bridge.aba(fast, None, q, v, np.zeros(2 * nv)), "tau"),
        (lambda: bridge.centerOfMass(fast, None, np.zeros(nq - 1)), "q"),
        (lambda: bridge.computeKineticEnergy(fast, None, q, q), "v"),
        (lambda: bridge.nle(fast, None, q, 1j * v), "v"),
    ):
        with pytest.raises(StateError, match=f"^{name}: expected"):
            call()
