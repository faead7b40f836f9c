"""Rainflow cycles: the standard's example, the library's counts, and pieces of any size."""

from __future__ import annotations

import numpy as np
import pytest
import rainflow as library
from hypothesis import given, settings, strategies as st

from mbd_bridge.applications.durability import CycleCounter, rainflow
from mbd_bridge.applications.durability.cycles import TurningPoints
from mbd_bridge.base.errors import StateError
from tests.oracles.astm import FIGURE_6


def table(*parts):
    """Cycles by range, as the standard's table has them."""
    found: dict[float, float] = {}
    for cycles in parts:
        for size, number in zip(cycles.ranges, cycles.counts, strict=True):
            found[float(size)] = found.get(float(size), 0.0) + float(number)
    return sorted(found.items())


def test_the_example_of_astm_e1049_figure_6():
    found = rainflow(FIGURE_6)
    assert table(found) == [(3, 0.5), (4, 1.5), (6, 0.5), (8, 1.0), (9, 0.5)]
    by_hand = {(4, 1, 1), (3, -0.5, 0.5), (4, -1, 0.5), (8, 1, 0.5), (9, 0.5, 0.5)}
    by_hand |= {(8, 0, 0.5), (6, 1, 0.5)}  # range, mean, count; E-F is the full cycle
    assert set(zip(*map(tuple, found), strict=True)) == by_hand


def test_the_example_of_astm_e1049_figure_7_a_history_that_repeats():
    start = int(np.argmax(FIGURE_6))
    loop = np.roll(FIGURE_6[:-1], -start)  # I and A are one point where the history closes
    assert table(rainflow([*loop, loop[0]])) == [(3, 1), (4, 1), (7, 1), (9, 1)]


def test_constant_amplitude_is_one_cycle_a_period():
    found = table(rainflow(np.tile([0.0, 2.0], 500)))
    assert found == [(2.0, 499.5)]


def histories():
    whole = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=60)
    # The package multiplies differences: what is too small for that it takes for equal.
    uneven = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))
    return whole | st.lists(uneven, min_size=1, max_size=60)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_ranges_and_counts_are_those_of_the_library(samples):
    # The package's `reversals` loses the end of two samples and of one that stands still.
    wanted = [pair for pair in library.count_cycles(samples) if pair[0] > 0.0]
    if len(set(samples)) < 2 or len(samples) < 3:
        return
    found = table(rainflow(samples))
    assert len(found) == len(wanted)
    assert np.allclose(found, wanted, rtol=1e-12, atol=0.0)


@settings(max_examples=200, deadline=None)
@given(histories(), st.lists(st.integers(0, 60), max_size=4))
def test_where_the_pieces_are_cut_changes_nothing(samples, cuts):
    counter = CycleCounter()
    closed = [counter.add(part) for part in np.split(np.array(samples), sorted(cuts))]
    assert table(*closed, counter.half_cycles()) == table(rainflow(samples))


@pytest.mark.parametrize("seed", range(3))
def test_a_long_history_in_pieces_and_as_a_whole(seed):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=30_000)
    samples = (noise, np.cumsum(noise), np.sin(np.arange(30_000) / 50) + 0.01 * noise)[seed]
    counter = CycleCounter()
    closed = [counter.add(part) for part in np.array_split(samples, 7)]
    found = table(*closed, counter.half_cycles())
    assert np.allclose(found, library.count_cycles(samples.tolist()), rtol=1e-9)


def test_growing_and_shrinking_swings_are_half_cycles():
    swings = (
        np.concatenate([np.arange(1, 400), np.arange(400, 0, -1)]) * np.tile([1.0, -1], 400)[:799]
    )
    found = rainflow(swings)
    assert set(found.counts) == {0.5} and len(found.counts) == 798


def test_asking_in_between_does_not_change_what_comes_after():
    counter = CycleCounter()
    parts = [counter.add(np.array(FIGURE_6[:5]))]
    counter.half_cycles()
    parts += [counter.add(np.array(FIGURE_6[5:])), counter.half_cycles()]
    assert table(*parts) == table(rainflow(FIGURE_6))


def test_range_times_count_is_the_way_that_the_signal_goes():
    samples = np.random.default_rng(3).normal(size=5000)
    found = rainflow(samples)
    assert np.isclose(2.0 * found.ranges @ found.counts, np.abs(np.diff(samples)).sum(), rtol=1e-12)


def test_turning_points_leave_out_what_lies_between():
    turns = TurningPoints()
    found = [turns.add(np.array(x)) for x in ([0.0, 0, 1, 2], [2.0, 2], [3.0, 1], [1.0, 0])]
    assert np.concatenate([*found, turns.last()]).tolist() == [0, 3, 0]


@pytest.mark.parametrize("samples", [[], [1.0], [2.0, 2.0, 2.0]])
def test_what_does_not_move_has_no_cycles(samples):
    assert not len(rainflow(samples).ranges)


def test_two_samples_are_half_a_cycle():
    assert table(rainflow([0.0, 3.0])) == [(3.0, 0.5)]


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        ([0.0, np.nan, 1.0], "finite samples, got nan as sample 1"),
        ([0.0, np.inf], "got inf as sample 1"),
        ([[0.0, 1.0]], r"got the shape \(1, 2\)"),
        ("text", "row of numbers"),
    ],
)
def test_what_is_no_signal_is_refused(samples, words):
    with pytest.raises(StateError, match=words):
        rainflow(samples)
