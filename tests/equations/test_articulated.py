"""Articulated bodies against the road through M."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mbd_bridge.base.errors import SolveError
from mbd_bridge.equations.articulated import articulated_accelerations
from mbd_bridge.equations.mass_matrix import mass_matrix_by_bodies
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.model import Builder, build_model
from mbd_bridge.solve.factor import articulated_is_cheaper, factorise, mass_pattern
from tests.oracles.many_digits import precisely
from tests.trees import random_state, random_tree


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_articulated_bodies_undo_inverse_dynamics(seed, floating):
    rng = np.random.default_rng(seed)
    model = build_model(random_tree(rng, 7).description(), floating=floating)
    q, v, a = random_state(model, rng)
    external = {1: rng.normal(size=6), 3: rng.normal(size=6)}
    tau = recursive_loads(model, q, v, a, external=external).forces
    again, pivots = articulated_accelerations(model, q, v, tau, external)
    M = mass_matrix_by_bodies(model, q)
    size = np.abs(a).max(initial=1.0) + np.abs(tau).max(initial=0.0)
    allowed = 1e-14 * 10 * (np.linalg.cond(M) if model.nv else 1.0)
    assert np.abs(again - a).max(initial=0.0) <= allowed * size
    assert np.all(pivots > 0)


def test_pivots_are_those_of_the_mass_matrix():
    rng = np.random.default_rng(1)
    types = ("revolute", "prismatic")
    model = build_model(random_tree(rng, 8, types).description())
    q, v, a = random_state(model, rng)
    _, pivots = articulated_accelerations(model, q, v, a)
    factor = factorise(mass_matrix_by_bodies(model, q), mass_pattern(model), model.velocity_names)
    assert np.allclose(pivots, factor.pivots, rtol=1e-11)


def test_a_chain_of_sixty_keeps_its_digits():
    rng = np.random.default_rng(2)
    builder = Builder("chain")
    for k in range(60):
        builder.link(f"link{k + 1}", 1.0, rng.normal(size=3) * 0.1, (0.01, 0.02, 0.025))
        before = f"link{k}" if k else "base"
        builder.joint(
            f"j{k}", "revolute", before, f"link{k + 1}", (0.1, 0, 0), axis=rng.normal(size=3)
        )
    model = build_model(builder.description())
    assert articulated_is_cheaper(model)
    q, v, tau = random_state(model, rng)
    exact = precisely(lambda *x: articulated_accelerations(model, *x), q, v, tau)[0]
    ours = articulated_accelerations(model, q, v, tau)[0]
    assert np.abs(ours - exact).max() <= 1e-10 * np.abs(exact).max()


def test_short_arms_go_through_m_and_couplings_too():
    arm = Builder("arm")
    for k in range(6):
        arm.link(f"link{k + 1}", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
        arm.joint(f"j{k}", "revolute", f"link{k}" if k else "base", f"link{k + 1}", (0.1, 0, 0))
    assert not articulated_is_cheaper(build_model(arm.description()))
    rng = np.random.default_rng(0)
    coupled = random_tree(rng, 40, ("revolute",), mimics=0.5)
    assert not articulated_is_cheaper(build_model(coupled.description(), floating=True))


def test_a_joint_that_moves_nothing_is_named():
    b = Builder("b").joint("idle", "revolute", "base", "ghost")
    model = build_model(b.description())
    with pytest.raises(SolveError, match="'idle'"):
        articulated_accelerations(model, np.zeros(1), np.zeros(1), np.zeros(1))
