"""Claims about designs: which values the factors take."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import mbd_bridge as mbd
from mbd_bridge.applications import studies


def test_a_grid_has_every_combination_the_last_factor_fastest() -> None:
    design = studies.grid({"a": [1.0, 2.0], "b": [10.0, 20.0, 30.0], "c": 5.0})
    assert design.shape == (2, 3, 1)
    expected = list(itertools.product([1.0, 2.0], [10.0, 20.0, 30.0], [5.0]))
    assert design.values.tolist() == [list(one) for one in expected]


def test_a_latin_hypercube_has_one_variant_in_each_part_of_every_range() -> None:
    design = studies.latin_hypercube({"a": (2.0, 4.0), "b": (-1.0, 0.0)}, 50, seed=3)
    for name, low, width in (("a", 2.0, 2.0), ("b", -1.0, 1.0)):
        parts = np.floor((design[name] - low) / width * 50).astype(int)
        assert sorted(parts) == list(range(50))


def test_sobol_points_integrate_better_than_random_ones() -> None:
    factors = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}
    even = studies.sobol(factors, 1024, seed=1)
    exact, squares = (np.e - 1.0) ** 3, ((np.e**2 - 1.0) / 2.0) ** 3
    error = abs(np.exp(even.values).prod(axis=1).mean() - exact)
    assert error < 0.1 * np.sqrt((squares - exact**2) / 1024)  # a tenth of what random points leave


def test_distributions_come_out_as_they_go_in() -> None:
    factor = stats.norm(3.0, 0.5)
    design = studies.latin_hypercube({"a": factor, "b": (0.0, 1.0)}, 2000, seed=0)
    assert stats.kstest(design["a"], factor.cdf).pvalue > 0.99  # stratified: better than random
    assert np.isfinite(studies.sobol({"a": factor}, 2**12, seed=0).values).all()


def test_the_same_seed_gives_the_same_design_and_another_one_another() -> None:
    for make in (studies.sobol, studies.latin_hypercube):
        one, same, other = (make({"a": (0.0, 1.0)}, 8, seed=k) for k in (1, 1, 2))
        assert one.values.tobytes() == same.values.tobytes() != other.values.tobytes()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: studies.grid({}), "expected one or more"),
        (lambda: studies.sobol({"a": (2.0, 1.0)}, 4), "low < high"),
        (lambda: studies.sobol({"a": (1.0, np.nan)}, 4), "low < high"),
        (lambda: studies.sobol({"a": [1.0, 2.0, 3.0]}, 4), "low < high"),
        (lambda: studies.sobol({"a": (0.0, 1.0)}, 0), "whole number from 1"),
        (lambda: studies.sobol({"a": (0.0, 1.0)}, 10**400), "split it"),
        (lambda: studies.grid({"a": [1.0, np.inf]}), "variant 1"),
        (lambda: studies.table({"a": [1.0, 2.0], "b": [1.0]}), "as many numbers"),
        (lambda: studies.saltelli({"a": (0.0, 1.0)}, 100), "power of two"),
        (lambda: studies.grid({name: np.zeros(100) for name in "abcde"}), "split it"),
    ],
)
def test_designs_that_cannot_be_are_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(mbd.MbdError, match=words):
        make()


def ishigami(f: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    a, b = 7.0, 0.1
    y = np.sin(f["x1"]) + a * np.sin(f["x2"]) ** 2 + b * f["x3"] ** 4 * np.sin(f["x1"])
    return {"y": y}


def test_sobol_indices_of_ishigamis_function_are_its_closed_form() -> None:
    ends = (-np.pi, np.pi)
    design = studies.saltelli({"x1": ends, "x2": ends, "x3": ends}, 4096)
    assert len(design) == 4096 * 5
    found = mbd.studies.study(ishigami, design, batch=1000).sensitivity("y")
    a, b = 7.0, 0.1
    v1, v2 = 0.5 * (1 + b * np.pi**4 / 5) ** 2, a**2 / 8
    v13 = 8 * b**2 * np.pi**8 / 225
    total = v1 + v2 + v13
    first = np.array([v1, v2, 0.0]) / total
    whole = np.array([v1 + v13, v2, v13]) / total
    assert found["names"] == ("x1", "x2", "x3")
    assert np.abs(found["first"] - first).max() < 0.02
    assert np.abs(found["total"] - whole).max() < 0.02
    assert (np.abs(found["first"] - first) < 1.5 * found["first_bound"]).all()
