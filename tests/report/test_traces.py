"""What pictures need of signals does not depend on how these came."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mbd_bridge.base.errors import StateError
from mbd_bridge.loads.streaming.traces import TracesCounter


def traces_of(time, columns, cuts, cells):
    counter = TracesCounter(["a", "b"], cells)
    edges = [0, *sorted(cuts), len(time)]
    for start, end in pairwise(edges):
        if end > start:
            counter.add(time[start:end], columns[start:end])
    return counter.traces()


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 300), st.data(), st.integers(2, 40))
def test_traces_do_not_depend_on_where_a_motion_is_cut(rows, data, cells):
    rng = np.random.default_rng(rows)
    time, columns = np.cumsum(rng.uniform(0.1, 1.0, rows)), rng.normal(size=(rows, 2))
    cuts = data.draw(st.lists(st.integers(0, rows), max_size=8))
    whole, pieces = (traces_of(time, columns, c, cells) for c in ([], cuts))
    assert pieces.rows == whole.rows
    assert len(whole.time) <= cells
    for name in ("time", "low", "high"):
        assert np.array_equal(getattr(pieces, name), getattr(whole, name))
    # each while is what its rows are
    begins = np.arange(0, rows, whole.rows)
    assert np.array_equal(whole.time, time[begins])
    assert np.array_equal(whole.high, np.maximum.reduceat(columns, begins))
    assert np.array_equal(whole.low, np.minimum.reduceat(columns, begins))


def test_short_motions_are_drawn_row_by_row_and_long_ones_between_their_extremes():
    time = np.arange(8.0)
    columns = np.stack([time**2, -time], axis=1)
    every = traces_of(time, columns, [3], 8)
    assert every.rows == 1
    assert np.array_equal(every.line("a"), columns[:, 0]) and np.array_equal(every.times, time)
    few = traces_of(time, columns, [3], 2)
    assert few.rows == 4
    assert few.times.tolist() == [0, 0, 4, 4]
    assert few.line("a").tolist() == [0, 9, 16, 49]
    with pytest.raises(StateError, match="Available: a, b"):
        few.line("c")
