"""Axes and lengths that are not quite right: what is redundant is so on every road, or on none."""

from __future__ import annotations

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.solve.reduced import METHODS
from tests.machines import MANY
from tests.misaligned import off_by
from tests.robots import own_urdfs
from tests.tolerances import LOOPS

STARTS = {"four_bar": "crank", "slider_crank": "crank", "bricard": "joint_1"}


@pytest.mark.parametrize(
    ("name", "axis"),
    [("four_bar", 1), ("four_bar", 3), ("slider_crank", 1), ("slider_crank", 3), ("bricard", 1)],
)
def test_every_road_takes_the_same_rows_for_redundant(name, axis):
    moving = []
    for amount in (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-3):
        m = off_by(name, axis, amount)
        at = m.assemble(near={STARTS[name]: 0.5}, check=False)
        dynamics, tau = m.constrained_dynamics(), np.zeros(m.nv)
        try:
            a, lam = dynamics.forward(at.q, at.v, tau)
        except StateError:
            moving.append(False)
            continue
        many, shared = dynamics.forward(np.tile(at.q, (MANY, 1)), at.v, tau)
        assert (many == a).all()
        assert (shared == lam).all()
        for method in METHODS:
            other, forces = dynamics.forward(at.q, at.v, tau, method=method)
            assert np.abs(other - a).max() < LOOPS * (1.0 + np.abs(a).max())
            assert np.abs(forces - lam).max() < LOOPS * np.abs(lam).max()
        free = bool(np.abs(a).max() > 1e-3)
        if free:
            check_that_inverse_dynamics_agrees(m, name, at)
        elif at.closed:
            with pytest.raises(SolveError, match="0 degrees of freedom and 1 actuator"):
                m.inverse_dynamics(at.q, at.v, a, actuated=STARTS[name])
        assert (m.loops.report(at.q).dof > 0) == free
        moving.append(free and at.closed)
    if name == "bricard":  # with 1e-3 only folded, where it has two degrees of freedom
        assert all(moving)
        check_that_it_is_folded_and_says_so(m, at)
        return
    passage = moving.index(False)
    assert passage > 4
    assert not any(moving[passage:])


def check_that_it_is_folded_and_says_so(m, at):
    """Two singular values that the tolerance takes for rounding, seen without row choices."""
    _, phi_q, _ = m.compile("constraints")(at.q, np.zeros(5))
    s = np.linalg.svd(phi_q / m.model.row_scale[:, None] * m.model.velocity_scale)[1]
    assert s[2] > 1e-2 * s[0] and s[3] < m.model.rank_tolerance * s[0]
    assert np.abs(np.abs(at.q[[1, 3]]) - np.pi / 2).max() < 0.02
    report = m.loops.report(at.q)
    assert (report.dof, report.redundant["joint_6"]) == (2, 5)
    (line,) = report.imprecise
    assert "joint_6: taken for redundant although off by" in line


def check_that_inverse_dynamics_agrees(m, name, at):
    """A torque, its accelerations, and back: alone, among others, with the same multipliers."""
    tau = np.zeros(m.nv)
    tau[m.model.velocity_names.index(STARTS[name])] = 3.0
    dynamics = m.constrained_dynamics(actuated=[STARTS[name]])
    a, lam = dynamics.forward(at.q, at.v, tau)
    one = dynamics.inverse(at.q, at.v, a)
    assert np.abs(one.tau - tau).max() < LOOPS * 3.0
    assert np.abs(one.lam - lam).max() < LOOPS * np.abs(lam).max()
    many = dynamics.inverse(np.tile(at.q, (MANY, 1)), at.v, a)
    assert all((x == y).all() for x, y in zip(many, one, strict=True))
    loads = m.joint_loads(at.q, at.v, a, actuated=STARTS[name])
    exact = mbd.load(own_urdfs()[name])
    there = exact.assemble(near={STARTS[name]: at.q[m.coordinate_names.index(STARTS[name])]})
    right = exact.joint_loads(there.q, there.v, there.a, actuated=STARTS[name])
    assert (loads.unique == right.unique).all()
    assert (loads.actuation_unique == right.actuation_unique).all()


@pytest.mark.parametrize("tolerance", [1e-8, 1e-5])
def test_the_passage_is_where_the_user_puts_it(tolerance):
    dof = [
        off_by("four_bar", 3, amount * tolerance, rank_tolerance=tolerance)
        .loops.report(np.zeros(3))
        .dof
        for amount in (0.1, 1.0, 10.0, 100.0)
    ]
    assert dof == [1, 1, 0, 0]


def test_the_report_says_how_far_redundant_rows_are_off_and_what_to_do():
    (line,) = off_by("four_bar", 3, 4e-6).loops.report().imprecise
    assert "coupler_pin" in line
    assert "4e-06 rad" in line
    assert "more digits" in line
    assert mbd.load(own_urdfs()["four_bar"]).loops.report().imprecise == ()
    (weak,) = off_by("four_bar", 3, 1e-4).loops.report(np.zeros(3)).imprecise[-1:]
    assert "larger rank_tolerance" in weak


def test_a_row_that_matters_counts_however_near_a_singular_position():
    m = off_by("four_bar", 3, 1e-6)
    exact = mbd.load(own_urdfs()["four_bar"])
    for distance in (1e-2, 1e-4, 1e-6):
        q = np.array([1.0, -1.0, 1.0]) * (np.pi / 2 - distance)
        v = np.array([1.0, -1.0, 1.0])
        for method in METHODS:
            a, _ = m.constrained_dynamics().forward(q, v, np.zeros(3), method=method)
            b, _ = exact.constrained_dynamics().forward(q, v, np.zeros(3), method=method)
            assert np.abs(a - b).max() < 1e-4 * (1.0 + np.abs(b).max())
            assert np.ptp(np.abs(a)) < 1e-4 * np.abs(a).max()  # on its branch


def test_a_state_has_the_same_digits_whatever_was_asked_before():
    bricard = mbd.load(own_urdfs()["bricard"])
    guesses = np.linspace(-0.3, 0.3, MANY)
    at = bricard.assemble_batch({"joint_1": guesses}, check=False)
    q, v, tau = at.q[at.closed], np.zeros(5), np.zeros(5)
    whole = mbd.load(own_urdfs()["bricard"]).forward_dynamics(q, v, tau)
    bricard.forward_dynamics(np.full((MANY, 5), np.nan), v, tau, check=False)
    assert (bricard.forward_dynamics(q, v, tau) == whole).all()
    one_by_one = [mbd.load(own_urdfs()["bricard"]).forward_dynamics(x, v, tau) for x in q[::20]]
    assert (np.array(one_by_one) == whole[::20]).all()


@pytest.mark.parametrize(("name", "actuated"), [("bricard", "joint_1"), ("four_bar", "crank")])
def test_inverse_dynamics_has_the_same_digits_whatever_was_asked_before(name, actuated):
    guesses = np.linspace(-0.3, 0.3, MANY)
    at = mbd.load(own_urdfs()[name]).assemble_batch({actuated: guesses}, check=False)
    q = at.q[at.closed]
    v = a = np.zeros(q.shape[1])
    fresh = mbd.load(own_urdfs()[name]).constrained_dynamics(actuated=[actuated])
    whole = fresh.inverse(q, v, a, check=False)
    spoilt = mbd.load(own_urdfs()[name]).constrained_dynamics(actuated=[actuated])
    spoilt.inverse(np.full_like(q, np.nan), v, a, check=False)
    for first in (spoilt.inverse(q, v, a, check=False), fresh.inverse(q, v, a, check=False)):
        assert all((x == y).all() for x, y in zip(first, whole, strict=True))
    one_by_one = [spoilt.inverse(x, v, a, check=False) for x in q]
    for column, part in zip(whole, zip(*one_by_one, strict=True), strict=True):
        assert (column == np.array(part)).all()


def test_a_tree_has_nothing_to_choose():
    report = mbd.load(own_urdfs()["pendulum"]).loops.report()
    assert (report.rows, report.rank, report.imprecise) == (0, 0, ())
