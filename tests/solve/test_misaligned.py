"""Rounded axes: batches, methods, runs, the stepper, threads and pinocchio's calls agree."""

import numpy as np
import pytest

import mbd_bridge as mbd
from mbd_bridge.base.errors import StateError
from tests.machines import MANY
from tests.misaligned import Case, states_by

ALL = None
SOME = ("state", "batch", "threads", "stepper", "pinocchio")
"""Of `tests.misaligned.Case.roads`."""


@pytest.mark.parametrize(
    ("name", "axis", "roads"),
    [("three cranks", 2, ALL), ("three cranks", 3, SOME), ("welded", 3, SOME), ("welded", 1, SOME)],
)
@pytest.mark.parametrize(("amount", "moves"), [(1e-7, True), (1e-3, False)])
def test_rows_are_redundant_on_every_road_or_on_none(name, axis, roads, amount, moves):
    what, wrong = Case(name, axis, amount).verdict(roads)
    assert wrong == []
    assert (what == "moves") == moves


def test_the_stepper_goes_on_while_redundant_rows_are_as_open_as_runs_leave_them():
    assert Case("welded", 3, 1e-4).verdict(("state", "run", "stepper")) == ("moves", [])


def test_the_passage_is_where_the_user_puts_it_for_threads_the_stepper_and_pinocchio():
    for tolerance, expected in ((1e-3, "moves"), (1e-8, "open")):
        case = Case("welded", 3, 1e-5, rank_tolerance=tolerance)
        assert case.verdict(SOME) == (expected, [])


@pytest.mark.parametrize(
    ("name", "axis", "what"),
    [
        ("four_bar", 3, "open"),
        ("four_bar", 5, "open"),
        ("slider_crank", 3, "open"),
        ("three cranks", 2, "moves"),  # 4e-5 of its size: so far redundant rows may stay open
    ],
)
def test_roads_agree_on_machines_off_by_ten_tolerances(name, axis, what):
    """A row that locks is held to a given state; what is left of it is not that of redundant ones.

    A redundant row of a length that is off has its direction off as well, away from zero position.
    """
    roads = ("state", "batch", "svd", "threads", "run", "batch run", "svd run", "stepper")
    assert Case(name, axis, 1e-4).verdict(roads) == (what, [])


def ask_everywhere(m: mbd.Mechanism, active: str, q: np.ndarray, v: np.ndarray) -> list[str]:
    """Return the roads that refuse a state as open."""
    dynamics, tau = m.constrained_dynamics(actuated=[active]), np.zeros(m.nv)
    a, _ = dynamics.forward(q, v, tau, check=False)
    roads = {
        "state": lambda: dynamics.forward(q, v, tau),
        "batch": lambda: dynamics.forward(np.tile(q, (MANY, 1)), v, tau),
        "svd": lambda: dynamics.forward(q, v, tau, method="svd"),
        "inverse": lambda: dynamics.inverse(q, v, a),
        "inverse batch": lambda: dynamics.inverse(np.tile(q, (MANY, 1)), v, a),
        "run": lambda: m.simulate(1e-4, step=1e-4, q=q, v=v, check=False),
    }
    refused = []
    for road, ask in roads.items():
        try:
            ask()
        except StateError:
            refused.append(road)
    status = m.simulate(1e-4, step=1e-4, q=[q, q], v=[v, v]).status[0]
    return [*refused, *(["batch run"] if "not started" in status else [])]


@pytest.mark.parametrize("choice", [0, 1])
def test_a_state_is_closed_by_any_choice_of_rows_that_tells_the_motion(choice):
    assert ask_everywhere(*states_by(choice)) == []


@pytest.mark.parametrize("choice", [0, 1])
@pytest.mark.parametrize("lost", [2e-7, 2e-5])
def test_kept_rows_are_held_to_lost_digits_though_redundant_ones_are_further_off(choice, lost):
    m, active, q, v = states_by(choice)
    fast = v.copy()
    q[m.model.velocity_names.index(active)] += lost
    fast[m.model.velocity_names.index(active)] += lost
    everywhere = ["state", "batch", "svd", "inverse", "inverse batch", "run", "batch run"]
    expected = everywhere if lost > 1e-6 else []
    assert ask_everywhere(m, active, q, v) == expected
    assert ask_everywhere(m, active, states_by(choice)[2], fast) == expected
