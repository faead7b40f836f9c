"""pinocchio's own scripts with another import: plain models, forces, constraints, speed."""

import time
from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

from mbd_bridge.base.errors import StateError
from mbd_bridge.engines import pinocchio as bridge
from mbd_bridge.engines.crosscheck.bench import in_turns
from tests.bridges.every_urdf import difference, readable
from tests.robots import robot

AGREE = 1e-11
"""Of the largest number: both sum up some hundred terms; M is solved with."""

KUKA = "pb/kuka_iiwa/model"


def kuka() -> pin.Model:
    return pin.buildModelFromUrdf(str(robot(KUKA)))


def a_state(model: pin.Model, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    return q, *rng.normal(size=(2, model.nv))


@pytest.mark.parametrize("part", ["finger_edu", "laikago_toes", "anymal", "ur5_robot"])
def test_robots_of_files_agree_with_external_forces_on_all_joints(part: str) -> None:
    """The first three were refused: their fixed links leave moments of rounding's size."""
    path = next(path for name, path in sorted(readable().items()) if part in path.stem)
    assert difference(pin.buildModelFromUrdf(str(path))) < AGREE


def test_a_model_of_pinocchios_prepares_itself_and_again_when_it_was_changed() -> None:
    model = kuka()
    q, v, a = a_state(model)
    for change in (
        lambda: None,
        lambda: setattr(model, "gravity", pin.Motion(np.array([0.0, 3.0, -5.0, 0.0, 0.0, 0.0]))),
        lambda: setattr(model.inertias[3], "mass", 20.0),
        lambda: setattr(model.jointPlacements[2], "translation", np.array([0.1, 0.2, 0.3])),
    ):
        change()
        expected = pin.rnea(model, model.createData(), q, v, a)
        np.testing.assert_allclose(bridge.rnea(model, None, q, v, a), expected, rtol=1e-11)


def test_external_forces_of_many_states_are_arrays() -> None:
    model = kuka()
    rng = np.random.default_rng(1)
    q, v, a = rng.normal(size=(3, 5, model.nv))
    forces = rng.normal(size=(5, model.njoints, 6))
    data = model.createData()
    expected = [
        pin.rnea(model, data, *state, [pin.Force(f) for f in own]).copy()
        for *state, own in zip(q, v, a, forces, strict=True)
    ]
    np.testing.assert_allclose(bridge.rnea(model, None, q, v, a, forces), expected, atol=1e-11)
    with pytest.raises(StateError, match="Force for each of the 8 joints"):
        bridge.rnea(model, None, q, v, a, forces[:, 1:])
    with pytest.raises(StateError, match="fext: expected"):
        bridge.aba(model, None, q, v, a, [1, 2, 3])


def test_what_is_no_model_is_told_what_to_give() -> None:
    with pytest.raises(StateError, match=r"expected a pinocchio.Model, or prepare\(model\)"):
        bridge.crba("robot.urdf", None, np.zeros(3))


def test_constraint_dynamics_is_called_as_pinocchios() -> None:
    model = kuka()
    q, v, tau = a_state(model)
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    end = pin.SE3(np.eye(3), np.array([0.1, 0.0, 0.2]))
    held = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, 5, end, 0, data.oMi[5] * end, pin.LOCAL
    )
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(held)
    datas.append(held.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    pin.constraintDynamics(model, data, q, v, tau, models, datas)
    J = pin.getConstraintsJacobian(model, data, models, datas)
    v -= np.linalg.pinv(J) @ (J @ v)
    settings = pin.ProximalSettings(1e-14, 1e-12, 200)
    args = q, v, tau, models, datas, settings
    expected = pin.constraintDynamics(model, data, *args).copy()
    mine = model.createData()
    bridge.initConstraintDynamics(model, mine, models, datas)
    np.testing.assert_allclose(bridge.constraintDynamics(model, mine, *args), expected, rtol=1e-9)
    np.testing.assert_array_equal(mine.lambda_c, datas[0].contact_force.vector[:3])
    M, h = pin.crba(model, data, q).copy(), pin.nonLinearEffects(model, data, q, v).copy()
    np.testing.assert_allclose(M @ mine.ddq + h - tau, J.T @ mine.lambda_c, atol=1e-9)
    pushed = [pin.Force.Zero() for _ in range(model.njoints)]
    pushed[5] = end.act(pin.Force(np.append(mine.lambda_c, np.zeros(3))))
    pin.rnea(model, data, q, v, mine.ddq, pushed)
    for ours, theirs in zip(list(mine.f)[1:], list(data.f)[1:], strict=True):
        np.testing.assert_allclose(ours.vector, theirs.vector, atol=1e-8)


def steps(module: object, model: pin.Model) -> Callable[[], None]:
    """Return a turn of a control loop that asks for much of the machine, a state at a time."""
    data, (q, v, tau) = model.createData(), a_state(model)
    asked: list[Callable[[], object]] = [
        lambda: module.forwardKinematics(model, data, q, v, tau),
        lambda: module.framesForwardKinematics(model, data, q),
        lambda: module.computeJointJacobians(model, data, q),
        lambda: module.centerOfMass(model, data, q),
        lambda: module.crba(model, data, q),
        lambda: module.nonLinearEffects(model, data, q, v),
        lambda: module.rnea(model, data, q, v, tau),
        lambda: module.aba(model, data, q, v, tau),
    ]

    def turn() -> None:
        for _ in range(100):
            for ask in asked:
                ask()

    return turn


def test_a_loop_of_small_calls_takes_no_more_than_twenty_times_pinocchios() -> None:
    """It took some hundred times as long. Of the twelve that are left data.f has the most."""
    model = kuka()
    ours, theirs = in_turns([steps(module, model) for module in (bridge, pin)], time.process_time)
    assert ours < 20.0 * theirs
