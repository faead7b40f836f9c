"""pinocchio's derivatives of dynamics with another import: names, signatures, data, batches."""

import numpy as np
import pinocchio as pin
import pytest

from mbd_bridge.engines import pinocchio as bridge
from tests.bridges.composite import TURNING_AXES, composite_model
from tests.bridges.every_urdf import derivatives_difference, readable
from tests.robots import robot

AGREE = 1e-10
"""Of the largest number; by a as far as M can be solved with."""

FLOATING = pin.JointModelFreeFlyer()


def read(part: str, *root: object) -> pin.Model:
    path = next(path for name, path in sorted(readable().items()) if part in name)
    return pin.buildModelFromUrdf(str(path), *root)


def a_state(model: pin.Model, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    return q, *rng.normal(size=(2, model.nv))


@pytest.mark.parametrize("part", ["kuka_iiwa/model", "erd/panda/panda", "finger_edu", "anymal"])
@pytest.mark.parametrize("root", [(), (FLOATING,)])
def test_robots_of_files_have_pinocchios_derivatives(part: str, root: tuple[object, ...]) -> None:
    assert derivatives_difference(read(part, *root)) < AGREE


def test_every_joint_of_pinocchios_is_derived_along_its_tangent() -> None:
    """Translation, screw, ball, endless and free joints."""
    assert derivatives_difference(composite_model(TURNING_AXES, chain=True)) < AGREE


@pytest.mark.parametrize(
    "model",
    [composite_model(chain=True), composite_model(TURNING_AXES)],
    ids=["turning axes", "numbers of branches mixed"],
)
def test_ours_are_those_of_rnea_where_pinocchios_are_not(model: pin.Model) -> None:
    """Composite, ZYX and universal joints; joints of two branches by turns."""
    data, (q, v, a) = model.createData(), a_state(model)
    h = 1e-5
    states = [
        [(pin.integrate(model, q, s * h * unit), v, a) for s in (1, -1)]
        for unit in np.eye(model.nv)
    ]
    states += [[(q, v + s * h * unit, a) for s in (1, -1)] for unit in np.eye(model.nv)]
    torques = [[pin.rnea(model, data, *state).copy() for state in pair] for pair in states]
    expected = np.array([(ahead - behind) / (2 * h) for ahead, behind in torques]).T
    ours = np.hstack(bridge.computeRNEADerivatives(model, None, q, v, a)[:2])
    theirs = np.hstack(pin.computeRNEADerivatives(model, data, q, v, a)[:2])
    assert np.abs(ours - expected).max() < 1e-8 * np.abs(expected).max()
    assert np.abs(theirs - expected).max() > 0.1 * np.abs(expected).max()


def test_data_are_filled_as_pinocchio_fills_them() -> None:
    model = read("kuka_iiwa/model")
    (q, v, a), mine, theirs = a_state(model), model.createData(), model.createData()
    for name, fields in (
        ("computeRNEADerivatives", ("tau", "dtau_dq", "dtau_dv", "M")),
        ("computeABADerivatives", ("ddq", "ddq_dq", "ddq_dv", "Minv")),
    ):
        returned = getattr(bridge, name)(model, mine, q, v, a)
        expected = getattr(pin, name)(model, theirs, q, v, a)
        assert len(returned) == len(expected) == 3
        for field in fields:
            expected = getattr(theirs, field)
            np.testing.assert_allclose(getattr(mine, field), expected, atol=1e-8, err_msg=field)


def test_rest_and_the_inverse_of_the_mass_matrix() -> None:
    model = read("kuka_iiwa/model", FLOATING)
    (q, _, _), data = a_state(model), model.createData()
    forces = [pin.Force(np.arange(6.0)) for _ in range(model.njoints)]
    for name, more in (
        ("computeGeneralizedGravityDerivatives", ()),
        ("computeStaticTorque", (forces,)),
        ("computeStaticTorqueDerivatives", (forces,)),
        ("computeMinverse", ()),
    ):
        expected = getattr(pin, name)(model, data, q, *more).copy()
        if name == "computeMinverse":
            expected = np.triu(expected) + np.triu(expected, 1).T
        for own in (None, model.createData()):
            np.testing.assert_allclose(
                getattr(bridge, name)(model, own, q, *more), expected, atol=1e-7, err_msg=name
            )


@pytest.mark.parametrize("model", [read("kuka_iiwa/model"), composite_model()], ids=["arm", "all"])
def test_torques_are_the_regressor_times_the_inertial_numbers(model: pin.Model) -> None:
    state, data = a_state(model), model.createData()
    ours = bridge.computeJointTorqueRegressor(model, None, *state)
    expected = pin.computeJointTorqueRegressor(model, data, *state)
    np.testing.assert_allclose(ours, expected, atol=1e-11 * np.abs(expected).max())
    numbers = np.concatenate(
        [inertia.toDynamicParameters() for inertia in list(model.inertias)[1:]]
    )
    torques = pin.rnea(model, data, *state)
    np.testing.assert_allclose(ours @ numbers, torques, atol=1e-10 * np.abs(torques).max())
    many = bridge.computeJointTorqueRegressor(model, None, *(np.tile(x, (3, 1)) for x in state))
    np.testing.assert_allclose(many[1], ours, atol=1e-12)


def test_many_states_are_rows_and_equal_the_single_ones() -> None:
    model = read("anymal", FLOATING)
    states = [a_state(model, seed) for seed in range(5)]
    arrays = [np.array(part) for part in zip(*states, strict=True)]
    forces = np.random.default_rng(9).normal(size=(5, model.njoints, 6))
    for function in (bridge.computeRNEADerivatives, bridge.computeABADerivatives):
        many = function(model, None, *arrays, forces)
        for k, state in enumerate(states):
            for rows, one in zip(many, function(model, None, *state, forces[k]), strict=True):
                np.testing.assert_allclose(rows[k], one, atol=1e-11 * np.abs(one).max())


def test_what_is_too_large_to_compile_is_solved_by_lapack(monkeypatch: pytest.MonkeyPatch) -> None:
    model = read("kuka_iiwa/model", FLOATING)
    state, forces = a_state(model), np.random.default_rng(0).normal(size=(model.njoints, 6))
    whole = bridge.computeABADerivatives(bridge.prepare(model), None, *state, forces)
    monkeypatch.setattr("mbd_bridge.solve.dynamics.LARGEST", 0)
    ready, rows = bridge.prepare(model), [np.tile(x, (3, 1)) for x in state]
    many = bridge.computeABADerivatives(ready, None, *rows, forces)
    one = bridge.computeABADerivatives(ready, None, *state, forces)
    for parts in (one, [part[1] for part in many]):
        for x, y in zip(parts, whole, strict=True):
            np.testing.assert_allclose(x, y, atol=1e-9 * np.abs(y).max())


def test_a_single_state_takes_no_longer_than_twice_pinocchios_time() -> None:
    """0.65 and 3.0 us of machine code and pinocchio's algorithm; Python takes more."""
    import timeit

    model = pin.buildModelFromUrdf(str(robot("pb/kuka_iiwa/model")))
    state, data, kernel = a_state(model), model.createData(), bridge.prepare(model)
    run = kernel.kernel("inverse_dynamics_derivatives")
    for _ in range(5):
        run(*state)
    ours = min(timeit.repeat(lambda: run(*state), number=200, repeat=7))
    theirs = min(
        timeit.repeat(lambda: pin.computeRNEADerivatives(model, data, *state), number=200, repeat=7)
    )
    assert ours < 2.0 * theirs
