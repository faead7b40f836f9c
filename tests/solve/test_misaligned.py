"""Rounded axes: batches, methods, runs, the stepper, threads and pinocchio's calls agree."""

import pytest

from tests.misaligned import Case

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
