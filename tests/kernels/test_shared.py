"""Functions that are traced once and called several times."""

import numpy as np
import pytest

from mbd_bridge.kernels import tracing
from mbd_bridge.kernels.march import compile_march
from mbd_bridge.kernels.tracing import shared, trace

SIZES = {"x": 3, "h": 1}
RNG = np.random.default_rng(7)
MIX = RNG.normal(size=(3, 3))


@pytest.fixture
def always(monkeypatch):
    """Make routines of the shortest functions."""
    monkeypatch.setattr(tracing, "WORTH", 0)


def slope(x, t):
    """Return a rate, what it takes as it is, a matrix with zeros, and a constant."""
    matrix = np.zeros((2, 2), dtype=object)
    matrix[0, 1] = np.sin(x[0]) * t
    rate = MIX @ np.sin(x) * (1.0 / (1.0 + x @ x)) + t * np.cos(x[::-1])
    return rate, (x[:1], matrix), [2.0, None]


def midpoint(f):
    def step(x, h):
        first, (same, matrix), (two, _) = f(x, h[0])
        second, _, _ = f(x + 0.5 * h[0] * first, 0.5 * h[0])
        end = x + h[0] * second + 1e-3 * matrix[0, 1] * two + 0.0 * matrix[1, 1] * same[0]
        return end, h, h * 0.0

    return step


def flat_and_called():
    return [trace(midpoint(f), SIZES, calls=True) for f in (slope, shared(slope))]


def test_a_shared_function_stands_once_in_the_graph(always):
    flat, called = flat_and_called()
    calls = [node for node in called.nodes if node[0] == "call"]
    assert len(calls) == 2
    assert len({node[-1] for node in calls}) == 1
    size = len(called.nodes) + len(calls[0][-1].graph.nodes)
    assert size < len(flat.nodes)
    # what no call is asked for is not computed, and structure is known to who calls
    assert len(calls[0][-1].graph.outputs[0]) == 4
    assert called.counts()["sin"] == 2 * 3


def test_short_functions_are_written_out():
    flat, called = flat_and_called()
    assert called == flat


def test_others_do_not_see_calls(always):
    assert trace(midpoint(shared(slope)), SIZES) == trace(midpoint(slope), SIZES)


def test_with_floats_it_is_the_function():
    x = np.array([0.1, 0.2, 0.3])
    assert np.array_equal(shared(slope)(x, 0.5)[0], slope(x, 0.5)[0])


def test_other_structure_is_another_routine(always):
    """A constant among the arguments folds into the routine that takes it."""

    def step(f):
        return lambda x, h: (f(x, h[0])[0] + f(x, 2.0)[0] + f(x, 3.0)[0] + f(x, 3.0)[0], h, h * 0.0)

    called = trace(step(shared(slope)), SIZES, calls=True)
    assert len({node[-1] for node in called.nodes if node[0] == "call"}) == 3
    ends = [run(step(f), 1, 1) for f in (slope, shared(slope))]
    assert np.abs(ends[0] - ends[1]).max() < 1e-14


def run(step, lanes, steps=50):
    march = compile_march(step, SIZES, 2, cache=None, lanes=lanes)
    stage = march.start(np.array([0.3, -0.2, 0.9]), np.array([0.01]))
    places = np.zeros((3, lanes), dtype=np.int64)
    assert march.advance_into(stage, steps, 1, places) == steps
    end = march.state_of(stage)[0]
    return end if lanes == 1 else end[-1]


def test_calls_give_what_written_out_code_gives(always):
    ends = [run(midpoint(f), 1) for f in (slope, shared(slope))]
    assert np.abs(ends[0] - ends[1]).max() < 1e-14


@pytest.mark.parametrize("lanes", [2, 8])
def test_many_lanes_have_the_digits_of_one(always, lanes):
    step = midpoint(shared(slope))
    assert np.array_equal(run(step, 1), run(step, lanes))


def test_routines_may_be_longer_than_a_part(always, monkeypatch):
    whole = run(midpoint(shared(slope)), 1)
    for length in ("WHOLE_LENGTH", "PART_LENGTH"):
        monkeypatch.setattr(f"mbd_bridge.kernels.places.{length}", 7)
    assert np.array_equal(run(midpoint(shared(slope)), 1), whole)


def test_addresses_tell_routines_apart(always):
    texts = {repr(trace(midpoint(shared(f)), SIZES, calls=True).nodes) for f in (slope, slope)}
    assert len(texts) == 1
    other = shared(lambda x, t: slope(2.0 * x, t))
    assert repr(trace(midpoint(other), SIZES, calls=True).nodes) not in texts
