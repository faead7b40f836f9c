"""Many states assembled together are those that `assemble` finds one by one."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.model.parameters import Parameters
from tests.machines import four_bar, rssr
from tests.robots import own_urdfs

BAR = four_bar(1, 2, 1.5, 2.5)


@pytest.mark.parametrize("make", [lambda: BAR, rssr], ids=["four-bar", "rssr"])
def test_states_are_those_of_assemble(make):
    m = make()
    angles, rates = np.linspace(0.2, 1.2, 7), np.linspace(-2, 2, 7)
    found = m.assemble_batch({"crank": angles}, fixed="crank", velocity={"crank": rates})
    assert found.closed.all() and found.q.shape == (7, m.nq) and found.v.shape == (7, m.nv)
    for k in range(7):
        at = m.assemble({"crank": angles[k]}, fixed="crank", velocity={"crank": rates[k]})
        assert np.allclose(found.q[k], at.q, atol=1e-9) and np.allclose(found.v[k], at.v, atol=1e-8)


def test_far_guesses_come_home_too():
    leg = mbd.load(own_urdfs()["stewart"])
    rng = np.random.default_rng(0)
    guesses = leg.neutral() + rng.uniform(-0.3, 0.3, (9, leg.nq))
    found = leg.assemble_batch(guesses)
    assert found.closed.all() and found.residual.max() < 1e-13
    for k in range(9):
        assert np.allclose(found.q[k], leg.assemble(guesses[k]).q, atol=1e-7)


def test_variants_close_with_their_own_lengths():
    rods = np.column_stack([np.zeros(4), np.zeros(4), np.linspace(0.8, 1.2, 4)])
    given = {"elbow.xyz": rods}
    found = BAR.assemble_batch({"crank": 0.5}, fixed="crank", parameters=given)
    parameters = Parameters.of(BAR.model, given)
    for k in range(4):
        own = mbd.Mechanism(parameters.variant(k))
        assert np.allclose(found.q[k], own.assemble({"crank": 0.5}, fixed="crank").q, atol=1e-9)
    assert np.ptp(found.q[:, 1]) > 0.01


def test_what_cannot_be_closed_is_counted():
    rods = np.array([[0, 0, 1.0], [0, 0, 9.0], [0, 0, 1.1]])
    with pytest.raises(SolveError, match="1 of 3 states cannot be closed, the first is number 1"):
        BAR.assemble_batch({"crank": 0.5}, parameters={"elbow.xyz": rods})
    found = BAR.assemble_batch({"crank": 0.5}, parameters={"elbow.xyz": rods}, check=False)
    assert found.closed.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("near", "message"),
    [
        ({"cronk": 1.0}, "did you mean 'crank'"),
        ({"crank": np.ones(3), "elbow": np.ones(2)}, "one value or N of them"),
        (np.zeros((2, 5)), "expected (3,) or (N, 3)"),
        ({"crank": np.nan}, "finite"),
    ],
)
def test_guesses_that_make_no_sense_are_explained(near, message):
    with pytest.raises(StateError) as error:
        BAR.assemble_batch(near)
    assert message in str(error.value)
