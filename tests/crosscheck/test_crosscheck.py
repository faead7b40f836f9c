"""The referee: every real robot agrees, and a wrong model does not."""

from dataclasses import replace

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import MbdError
from mbd_bridge.engines.crosscheck import compare
from tests.robots import installed, own_urdfs, robot, robots

pytestmark = pytest.mark.filterwarnings("ignore::mbd_bridge.base.errors.MbdWarning")

READABLE = {
    name: path
    for name, path in robots().items()
    if name
    not in {
        # refused by us; docs/reference/urdf_coverage.md says why
        "erd/ur/ur3",
        "pb/bicycle/bike",
        "pb/biped/biped2d_pybullet",
        "pb/husky/husky",
        "pb/quadruped/microtaur/microtaur",
        "pb/torus_deform",
    }
}

ILL = {"erd/human/human", "erd/icub/icub", "erd/icub/icub_reduced"}
"""At some of the states M loses more than five digits: pinocchio does not know better then."""


@pytest.mark.parametrize("name", READABLE)
def test_real_robots_agree_with_every_referee(name):
    """6-D load of every joint, actuators, bias, M, forward dynamics; 20 states each."""
    report = mbd.load(READABLE[name]).crosscheck(states=20)
    assert report.passed, str(report)
    for row in report.rows:
        if "pinocchio" in row.referee and name not in ILL:
            assert row.tolerance == 1e-11, str(report)


@pytest.mark.parametrize(
    "name", installed("erd/talos/talos_reduced", "pb/humanoid/humanoid", "erd/go2/go2")
)
def test_floating_robots_agree(name):
    report = mbd.load(robot(name), floating=True).crosscheck(states=20)
    assert report.passed, str(report)


@pytest.mark.parametrize("name", own_urdfs())
def test_our_own_models_agree(name):
    for floating in (False, True):
        report = mbd.load(own_urdfs()[name], floating=floating, flexible=()).crosscheck()
        assert report.passed, str(report)


@pytest.mark.parametrize("what", ["mass", "placement"])
def test_a_wrong_model_is_caught_and_the_place_is_named(what):
    """A referee that always agrees is worth nothing: change the model behind the file's back."""
    model = mbd.load(own_urdfs()["kuka_iiwa"]).model
    bodies = list(model.bodies)
    body = bodies[4]
    if what == "mass":
        bodies[4] = replace(
            body, inertia=replace(body.inertia, mass=body.inertia.mass * (1 + 1e-6))
        )
    else:
        moved = body.placement.translation + np.array([0, 0, 1e-6])
        bodies[4] = replace(body, placement=replace(body.placement, translation=moved))
    report = compare.crosscheck(replace(model, bodies=tuple(bodies)), states=3, pybullet=False)
    assert not report.passed
    assert "DISAGREES" in str(report)


def test_a_singular_mass_matrix_is_said_not_compared():
    builder = mbd.Builder("b").link("rod", 1.0, (1, 0, 0), (0.1, 0.1, 0.1))
    builder.joint("good", "revolute", "base", "rod").joint("idle", "revolute", "rod", "ghost")
    report = mbd.Mechanism.build(builder).crosscheck(states=2)
    assert report.passed
    (row,) = [row for row in report.rows if not row.compared]
    assert row.quantity == "forward dynamics"
    assert "idle" in row.note
    assert str(report).endswith("agreement, 1 quantity not compared")


def test_nothing_compared_is_no_agreement():
    row = compare._not_compared("x", _Referee(), "why not")
    assert not compare.Report("b", 1, (row,), ()).passed


def test_nan_is_no_agreement():
    row = compare._row("x", _Referee(), np.array([[np.nan]]), np.ones((1, 1)), ["a"])
    assert not row.passed


class _Referee:
    name, joints, tolerance = "nobody", (), 1e-11


def test_what_is_too_large_for_straight_lines_is_compared_all_the_same(monkeypatch):
    """Also by pinocchio's calls: neither may try to compile a factorisation of any size."""
    from mbd_bridge.engines import pinocchio as bridge
    from mbd_bridge.solve import dynamics, dynamics as forward

    def refuse(*_):
        raise AssertionError("a factorisation was traced")

    monkeypatch.setattr(forward, "LARGEST", 0)
    monkeypatch.setattr(dynamics, "factorise", refuse)
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    report = arm.crosscheck(states=3, pybullet=False)
    assert report.passed and "forward dynamics" in {row.quantity for row in report.rows}
    still, model = np.zeros(7), arm.to_pinocchio()
    expected = arm.forward_dynamics(still, still, still)
    assert np.allclose(bridge.aba(bridge.prepare(model), None, still, still, still), expected)


@pytest.mark.parametrize("states", [0, -1, 1.5])
def test_a_comparison_needs_a_state(states):
    with pytest.raises(MbdError, match="states: expected"):
        mbd.load(own_urdfs()["pendulum"]).crosscheck(states=states)


LIES = {
    "joint loads": "inverse",
    "generalised forces": "inverse",
    "bias forces": "inverse",
    "mass matrix": "mass_matrix",
    "forward dynamics": "forward",
    "free body of each link": "link_loads",
}


@pytest.mark.parametrize("quantity", LIES)
def test_each_quantity_is_compared_on_its_own(quantity, monkeypatch):
    """A referee that is wrong in one quantity, by a hundred tolerances, is caught in that one."""
    from mbd_bridge.engines.pinocchio import referee

    wrong = 1 + 1e-9
    honest = getattr(referee.PinocchioReferee, LIES[quantity])

    def lie(self, *state):
        answer = honest(self, *state)
        if quantity in ("mass matrix", "forward dynamics"):
            return answer * wrong
        first, second = answer
        if quantity == "joint loads":
            second = second * wrong
        elif quantity == "free body of each link" or np.any(state[2]) == (
            quantity == "generalised forces"
        ):
            first = first * wrong
        return first, second

    monkeypatch.setattr(referee.PinocchioReferee, LIES[quantity], lie)
    report = mbd.load(own_urdfs()["kuka_iiwa"]).crosscheck(states=3, pybullet=False)
    assert {row.quantity for row in report.rows} == set(LIES)
    assert [row.quantity for row in report.rows if not row.passed] == [quantity]
    assert not report.passed


def test_rounding_in_place_of_an_inertia_is_singular_and_not_compared():
    """A point mass in a plane, carried by three joints: one degree of freedom too many at every
    state.
    """
    builder = mbd.Builder("arm").link("tip", 1.0)
    builder.joint("one", "revolute", "base", "a").joint("two", "revolute", "a", "b", (0.7, 0, 0))
    builder.joint("three", "revolute", "b", "c", (0.6, 0, 0))
    builder.joint("end", "fixed", "c", "tip", (0.5, 0, 0))
    report = mbd.Mechanism.build(builder).crosscheck(states=5)
    notes = [row.note for row in report.rows if row.quantity == "forward dynamics"]
    assert len(notes) == 1 and "no inertia resists" in notes[0]
    assert all(row.passed for row in report.rows if row.quantity != "forward dynamics")


def test_random_states_go_all_the_way_round():
    from mbd_bridge.engines.crosscheck.compare import random_states

    model = mbd.load(own_urdfs()["humanoid"], floating=True).model
    q, v, a = random_states(model, 50, np.random.default_rng(0))
    assert len({tuple(row) for row in q}) == 50 and q.shape[1] == model.nq
    single = q[:, 7:]
    assert single.min() < -3 and single.max() > 3 and np.abs(single).max() <= np.pi
    assert np.allclose(np.linalg.norm(q[:, 3:7], axis=1), 1.0)
    assert v.std() > 0.9 and a.std() > 0.9
