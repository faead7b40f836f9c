"""Dynamics as kernels: against the reference, against fifty digits, at awkward states."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.model import Builder, build_model
from mbd_bridge.solve import FUNCTIONS, ForwardDynamics, dynamics as forward, prepare
from mbd_bridge.solve.dynamics import traceable
from mbd_bridge.solve.factor import (
    elimination_operations,
    factorise,
    mass_pattern,
    pivots,
    substitute,
)
from tests.oracles.many_digits import precisely
from tests.robots import own_urdfs
from tests.sample import sample
from tests.tolerances import KERNEL
from tests.trees import random_state, random_tree

SEEDS = st.integers(0, 2**32 - 1)
ARGUMENTS = {
    "inverse_dynamics": ("q", "v", "a"),
    "bias_forces": ("q", "v"),
    "mass_matrix": ("q",),
    "forward_dynamics": ("q", "v", "a"),
    "constraints": ("q", "v"),
    "centroid": ("q", "v"),
    "inverse_dynamics_derivatives": ("q", "v", "a"),
    "forward_dynamics_derivatives": ("q", "v", "a"),
}


@sample(6)
@given(SEEDS, st.booleans())
def test_kernels_equal_the_reference(seed, floating):
    rng = np.random.default_rng(seed)
    builder = random_tree(rng, 5, mimics=0.2)
    model = build_model(builder.description(), floating=floating)
    state = dict(zip("qva", random_state(model, rng), strict=True))
    for what in FUNCTIONS:
        arguments = [state[name] for name in ARGUMENTS[what]]
        reference = traceable(model, what).function(*arguments)
        for ours, expected in zip(prepare(model, what)(*arguments), reference, strict=True):
            size = np.abs(expected).max(initial=1.0)
            slack = 1e3 if what == "forward_dynamics" else 1  # M may be badly conditioned
            assert np.abs(ours - expected).max(initial=0.0) <= slack * KERNEL * size


@sample(10)
@given(SEEDS, st.booleans())
def test_forward_dynamics_undoes_inverse_dynamics(seed, floating):
    rng = np.random.default_rng(seed)
    model = build_model(random_tree(rng, 7, mimics=0.2).description(), floating=floating)
    q, v, a = random_state(model, rng)
    tau = traceable(model, "inverse_dynamics").function(q, v, a)[0]
    again = traceable(model, "forward_dynamics").function(q, v, tau)[0]
    M = traceable(model, "mass_matrix").function(q)[0]
    allowed = 1e-15 * 100 * (np.linalg.cond(M) if model.nv else 1.0)
    size = np.abs(a).max(initial=1.0) + np.abs(tau).max(initial=0.0)
    assert np.abs(again - a).max(initial=0.0) <= allowed * size


def test_forward_dynamics_of_the_humanoid_against_fifty_digits():
    model = mbd.load(own_urdfs()["humanoid"], floating=True).model
    q, v, tau = random_state(model, np.random.default_rng(2))
    exact = precisely(traceable(model, "forward_dynamics").function, q, v, tau)[0]
    ours = prepare(model, "forward_dynamics")(q, v, tau)[0]
    assert np.abs(ours - exact).max() <= 1e-12 * np.abs(exact).max()


def test_light_far_links_keep_their_digits():
    """A 1 g finger on a 5 m boom: about one common origin M would keep ten digits of it."""
    builder = (
        Builder("boom")
        .link("boom", 500.0, (2.5, 0, 0), (10, 1000, 1000))
        .link("finger", 1e-3, (0.01, 0, 0), (1e-9, 1e-8, 1e-8))
        .joint("boom", "revolute", "base", "boom", axis=(0, 0, 1))
        .joint("finger", "revolute", "boom", "finger", (5, 0, 0), axis=(0, 0, 1))
    )
    model = build_model(builder.description())
    q = np.array([0.3, 1.1])
    exact = precisely(traceable(model, "mass_matrix").function, q)[0]
    ours = prepare(model, "mass_matrix")(q)[0]
    assert np.abs(ours / exact - 1).max() < 1e-14


def test_a_floating_base_a_kilometre_away_loses_no_digits():
    robot = mbd.load(own_urdfs()["humanoid"], floating=True)
    q, v, a = random_state(robot.model, np.random.default_rng(0))
    away = q.copy()
    away[:3] += 1000.0
    assert np.array_equal(robot.inverse_dynamics(q, v, a), robot.inverse_dynamics(away, v, a))
    assert np.array_equal(robot.forward_dynamics(q, v, a), robot.forward_dynamics(away, v, a))
    here, there = robot.joint_loads(q, v, a), robot.joint_loads(away, v, a)
    assert np.array_equal(here.wrench, there.wrench)


@pytest.mark.parametrize("angle", [1e-9, 1e6, -1e6 - 0.5])
def test_kernels_at_tiny_and_huge_angles(angle):
    robot = mbd.load(own_urdfs()["kuka_iiwa"])
    q = np.full(robot.nq, angle)
    v, a = np.random.default_rng(0).normal(size=(2, robot.nv))
    exact = precisely(traceable(robot.model, "inverse_dynamics").function, q, v, a)[0]
    assert np.abs(robot.inverse_dynamics(q, v, a) - exact).max() < KERNEL * np.abs(exact).max()


def test_nan_comes_out_where_it_goes_in_and_nowhere_else():
    robot = mbd.load(own_urdfs()["kuka_iiwa"])
    q, v, a = np.random.default_rng(0).normal(size=(3, 33, robot.nq))
    clean = robot.inverse_dynamics(q, v, a)
    v[17, 3] = np.nan
    tau = robot.inverse_dynamics(q, v, a, check=False)
    assert np.isnan(tau[17]).any()
    others = np.arange(33) != 17
    assert np.array_equal(tau[others], clean[others])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_states_that_are_not_finite_are_named(value):
    robot = mbd.load(own_urdfs()["kuka_iiwa"])
    q, v, a = np.random.default_rng(0).normal(size=(3, 33, robot.nq))
    v[17, 3] = value
    with pytest.raises(StateError, match=r"state 17: v\[3\] \(lbr_iiwa_joint_4\) is"):
        robot.inverse_dynamics(q, v, a)
    with pytest.raises(StateError, match="state 17"):
        robot.joint_loads(q, v, a, ["lbr_iiwa_joint_2"])
    with pytest.raises(StateError, match=r"^v\[3\]"):
        robot.forward_dynamics(q[17], v[17], a[17])


def test_a_state_at_which_m_is_singular_is_named():
    """A point mass at the end of two massless links: stretched, nothing resists along them."""
    builder = (
        mbd.Builder("reach")
        .link("tip", 1.0)
        .joint("one", "revolute", "base", "rod", axis=(0, 0, 1))
        .joint("two", "revolute", "rod", "mid", (1, 0, 0), axis=(0, 0, 1))
        .joint("end", "fixed", "mid", "tip", (1, 0, 0))
    )
    robot = mbd.Mechanism.build(builder, gravity=(0, 0, 0))
    bent, stretched, zero = np.array([0.0, 1.0]), np.array([0.0, 0.0]), np.zeros(2)
    assert np.isfinite(robot.forward_dynamics(bent, zero, np.ones(2))).all()
    with pytest.raises(SolveError, match=r"^the result.*singular"):
        robot.forward_dynamics(stretched, zero, np.ones(2))
    with pytest.raises(SolveError, match=r"^state 2: .*singular"):
        robot.forward_dynamics(np.array([bent, bent, stretched, bent]), zero, np.ones(2))


def test_beyond_the_size_for_straight_lines_lapack_solves(monkeypatch):
    rng = np.random.default_rng(0)
    model = build_model(random_tree(rng, 9, mimics=0.5).description(), floating=True)
    assert any(body.coupled for body in model.bodies)
    whole = ForwardDynamics(model, (1,))
    monkeypatch.setattr(forward, "LARGEST", 0)
    monkeypatch.setattr(forward, "BLOCK", 3 * model.nv**2)  # three states at a time
    split = ForwardDynamics(model, (1,))
    assert whole.straight and not split.straight
    states = [random_state(model, rng) for _ in range(8)]
    q, v, tau = (np.array(column) for column in zip(*states, strict=True))
    push = rng.normal(size=6)
    expected = whole(q, v, tau, push)
    assert np.allclose(split(q, v, tau, push), expected, rtol=1e-9, atol=1e-9)
    assert np.allclose(split(q[0], v[0], tau[0], push), expected[0], rtol=1e-9, atol=1e-9)
    assert np.allclose(split(q[0], v, tau, push)[0], expected[0], rtol=1e-9, atol=1e-9)


def test_states_and_forces_of_a_large_mechanism_have_the_same_shapes(monkeypatch):
    """The way through LAPACK takes what the kernel takes: nothing is broadcast by chance."""
    monkeypatch.setattr(forward, "LARGEST", 0)
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    q = np.zeros((4, 7))
    for tau in (0.0, np.zeros(1), np.zeros((4, 1)), np.zeros((1, 7)), np.zeros((5, 7))):
        with pytest.raises(StateError, match="tau: expected"):
            arm.forward_dynamics(q, q, tau)
    assert arm.forward_dynamics(q, q[0], q[0]).shape == (4, 7)
    assert arm.forward_dynamics(q[:0], q[:0], q[:0]).shape == (0, 7)


def test_pivots_of_many_matrices_are_those_of_the_factors():
    model = mbd.load(own_urdfs()["humanoid"], floating=True).model
    states = [random_state(model, np.random.default_rng(k)) for k in range(3)]
    M = prepare(model, "mass_matrix")(np.array([q for q, _, _ in states]))[0]
    factors = [factorise(one, mass_pattern(model), model.velocity_names) for one in M]
    assert np.allclose(pivots(M), [factor.pivots for factor in factors], rtol=1e-9)
    assert not np.isfinite(pivots(np.zeros((1, 3, 3)))[0, :2]).any()


def test_operations_of_the_factorisation_are_counted_with_fill():
    dense = np.ones((4, 4), dtype=bool)
    assert elimination_operations(dense) == 9 + 5 + 2
    assert elimination_operations(np.eye(4, dtype=bool)) == 0
    arrow = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=bool)
    assert elimination_operations(arrow) == 5 + 2  # the last row joins the other two


def test_a_joint_that_moves_nothing_is_named():
    builder = Builder("b").link("rod", 1.0, (1, 0, 0), (0.1, 0.1, 0.1))
    builder.joint("good", "revolute", "base", "rod").joint("idle", "revolute", "rod", "ghost")
    robot = mbd.Mechanism.build(builder)
    with pytest.raises(SolveError, match="'idle'"):
        robot.forward_dynamics([0, 0], [0, 0], [0, 0])
    assert np.isfinite(robot.inverse_dynamics([0, 0], [0, 0], [0, 0])).all()


def test_a_coupling_across_two_branches_fills_the_factor():
    """One hand actuators both: its row of M joins two arms that have nothing else in common."""
    builder = Builder("couple")
    for side in ("left", "right"):
        builder.link(f"{side} arm", 1.0, (0.3, 0, 0), (0.1, 0.2, 0.2))
        builder.link(f"{side} hand", 1.0, (0.1, 0.1, 0), (0.1, 0.2, 0.2))
        builder.joint(f"{side} arm", "revolute", "base", f"{side} arm")
        options = {"mimic": "right hand", "multiplier": 0.5} if side == "left" else {}
        arm, hand = f"{side} arm", f"{side} hand"
        builder.joint(hand, "revolute", arm, hand, (0.5, 0, 0), **options)
    model = build_model(builder.description())
    assert model.coordinate_names == ("left arm", "right arm", "right hand")
    q, v, a = random_state(model, np.random.default_rng(0))
    robot = mbd.Mechanism(model)
    M = robot.mass_matrix(q)
    assert M[0, 1] == 0.0 and factorise(M, mass_pattern(model), "abc").rows == [[], [0], [0, 1]]
    tau = robot.inverse_dynamics(q, v, a)
    assert np.allclose(robot.forward_dynamics(q, v, tau), a, rtol=1e-12)  # M: condition below 100


def test_kernels_for_wrenches_on_different_links_are_different():
    """Both take six numbers: only the address of the code tells them apart."""
    arm = mbd.load(own_urdfs()["kuka_iiwa"])
    q, push = np.full(7, 0.5), np.arange(6.0)
    still = np.zeros(7)
    for what in ("inverse_dynamics", "forward_dynamics"):
        for link in (3, 6):
            reference = traceable(arm.model, what, (link,)).function(q, still, still, push)[0]
            ours = prepare(arm.model, what, (link,))(q, still, still, push)[0]
            assert np.abs(ours - reference).max() <= KERNEL * np.abs(reference).max()
            name = arm.model.links[link].name
            through = getattr(arm, what)(q, still, still, external={name: push})
            assert np.array_equal(through, ours)


def test_factors_of_a_branched_matrix_have_no_fill():
    pattern = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1]], dtype=bool)
    M = np.array([[4.0, 1, 2], [1, 3, 0], [2, 0, 5]])
    factor = factorise(M, pattern, "abc")
    assert factor.rows == [[], [0], [0]]
    assert np.allclose(M @ substitute(factor, np.array([1.0, 2, 3])), [1, 2, 3])
    dense = np.ones((3, 3), dtype=bool)
    A = M + 0.3
    assert np.allclose(A @ substitute(factorise(A, dense, "abc"), np.ones(3)), 1)


def test_one_state_that_is_not_finite_leaves_the_others_of_a_closed_mechanism_alone():
    bar = mbd.load(own_urdfs()["four_bar"])
    at = bar.assemble({"crank": 0.5}, fixed="crank", velocity={"crank": 1.0})
    q, v, zero = (np.repeat(x[None], 33, axis=0) for x in (at.q, at.v, 0.0 * at.v))
    clean = bar.forward_dynamics(q, v, zero), bar.inverse_dynamics(q, v, zero, actuated=["crank"])
    q[17, 1] = np.nan
    others = np.arange(33) != 17
    forward = bar.forward_dynamics(q, v, zero, check=False)
    inverse = bar.inverse_dynamics(q, v, zero, actuated=["crank"], check=False)
    for found, expected in zip((forward, inverse), clean, strict=True):
        assert np.isnan(found[17]).any()
        assert np.array_equal(found[others], expected[others])
    with pytest.raises(StateError, match=r"state 17: q\[1\]"):
        bar.forward_dynamics(q, v, zero)
    with pytest.raises(StateError, match=r"state 17: q\[1\]"):
        bar.inverse_dynamics(q, v, zero, actuated=["crank"])
