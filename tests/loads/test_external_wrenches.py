"""Wrenches on links: what they add to the loads, and what is no wrench."""

import numpy as np
import pytest

from mbd_bridge.base.errors import StateError
from tests.machines import boom


def test_wrenches_on_other_links_are_another_solver():
    """Both take six numbers: only the address of the code tells them apart."""
    arm, push = boom(), np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    rest = [0.0], [0.0], [0.0]
    free = arm.joint_loads(*rest, ["pin"]).force[0]
    on_boom = arm.joint_loads(*rest, ["pin"], external={"boom": push}).force[0]
    on_plate = arm.joint_loads(*rest, ["pin"], external={"plate": push}).force[0]
    assert np.allclose(free - on_boom, (1, 2, 3))
    assert np.allclose(free - on_plate, (3, 2, -1))  # the plate is turned by 90 degrees about y


def test_external_wrenches_are_given_at_the_link_in_its_axes():
    arm = boom()
    q, v, a = [0.3], [1.0], [-2.0]
    push = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    free = arm.joint_loads(q, v, a, ["bolt", "pin"])
    pushed = arm.joint_loads(q, v, a, ["bolt", "pin"], external={"plate": push})
    assert np.allclose(free.wrench[0] - pushed.wrench[0], push)
    bolt = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # plate axes in boom axes
    force, moment = bolt @ push[:3], bolt @ push[3:] + np.cross([2, 0, 0], bolt @ push[:3])
    difference = free.wrench[1] - pushed.wrench[1]
    assert np.allclose(difference, np.r_[force, moment])
    M = arm.mass_matrix(q)[0, 0]
    tau = arm.inverse_dynamics(q, v, a, external={"plate": push})
    assert np.allclose(arm.forward_dynamics(q, v, tau, external={"plate": push}), a)
    assert np.allclose(arm.inverse_dynamics(q, v, a) - tau, moment[1]) and M > 0


def test_external_wrenches_for_many_states_and_for_all():
    arm = boom()
    q, v, a = np.random.default_rng(0).normal(size=(3, 5, 1))
    each = np.random.default_rng(1).normal(size=(5, 6))
    many = arm.joint_loads(q, v, a, ["pin"], external={"plate": each, "boom": np.ones(6)})
    for k in range(5):
        one = arm.joint_loads(
            q[k], v[k], a[k], ["pin"], external={"plate": each[k], "boom": np.ones(6)}
        )
        assert np.allclose(many.wrench[k], one.wrench, rtol=1e-12)
    # The order in which they are named has no meaning, and each counts on its own.
    free = arm.joint_loads(q, v, a, ["pin"]).wrench
    on_plate = arm.joint_loads(q, v, a, ["pin"], external={"plate": each}).wrench
    on_boom = arm.joint_loads(q, v, a, ["pin"], external={"boom": np.ones(6)}).wrench
    assert np.allclose(many.wrench - free, on_plate - free + on_boom - free, atol=1e-12)


def test_a_solver_prepared_for_external_wrenches_wants_them():
    solver = boom().compile("joint_loads", ["pin"], links=["plate"])
    with pytest.raises(StateError, match="got nothing"):
        solver([0], [0], [0])


def test_a_solver_prepared_for_no_wrenches_refuses_them():
    """Dropped in silence, they would be missing in the load."""
    with pytest.raises(StateError, match="links="):
        boom().compile("joint_loads", ["pin"])([0], [0], [0], np.ones((1, 6)))


def test_wrenches_on_a_link_that_is_named_twice_add():
    solver = boom().compile("joint_loads", ["pin"], links=["boom", "boom"])
    free = boom().joint_loads([0], [0], [0], ["pin"])
    pushes = np.array([[1.0, 2, 3, 4, 5, 6], [10.0, 20, 30, 40, 50, 60]])
    pushed = solver([0], [0], [0], pushes)
    assert np.allclose((free.wrench - pushed.wrench)[0], pushes.sum(axis=0))


@pytest.mark.parametrize(
    "external",
    [[np.ones(6)], np.ones(6), {"boom": "push"}, {"boom": np.ones(6) * 1j}, {"boom": None}],
)
def test_what_is_no_wrench_is_refused(external):
    arm = boom()
    with pytest.raises(StateError, match="external"):
        arm.joint_loads([0], [0], [0], external=external)
    with pytest.raises(StateError, match="external"):
        arm.inverse_dynamics([0], [0], [0], external)


@pytest.mark.parametrize(
    "external", [np.ones(6), "push", {"boom": np.ones(6)}, np.ones((1, 6)) * 1j]
)
def test_a_solver_refuses_what_is_no_wrench(external):
    with pytest.raises(StateError, match="external"):
        boom().compile("joint_loads", ["pin"], links=["boom"])([0], [0], [0], external)
