"""Routines that are called only where a condition holds."""

import ctypes
import subprocess

import numpy as np
import pytest

from mbd_bridge.kernels import c_source
from mbd_bridge.kernels.march import compile_march
from mbd_bridge.kernels.tracing import Conditional, trace

SIZES = {"x": 2, "h": 1}


def rare(x, h):
    """Return a root that exists for positive numbers only, and a matrix with a zero."""
    return np.array([np.sqrt(x[0] - 1.0), x[1] * h[0]]), np.array([[h[0] * x[1], 0.0]])


def step(x, h):
    """Double x; once x[0] is above 1, go back by the rare way."""
    found = Conditional(rare, x, h)
    assert found.result[1][0, 1] == 0.0
    end, more = found.where(x[0] > 1.0, (2.0 * x, np.array([[x[0], 0.0]])))
    return end, h, np.array([0.0 * more[0, 0]])


def in_python(x, h, steps):
    for _ in range(steps):
        x = np.array([np.sqrt(x[0] - 1.0), x[1] * h[0]]) if x[0] > 1.0 else 2.0 * x
    return x


STARTS = np.array([[0.3, 1.0], [0.9, -1.0], [1.7, 2.0], [0.1, 3.0], [5.0, 0.5], [0.01, 1.0]])
H = np.array([0.7])


def held(x, h):
    """Count down; at 0 begin again from what the rare way gives, and keep that."""
    found = Conditional(lambda x: (np.array([x[1] + 1.0, x[1] + 1.0]),), x)
    (end,) = found.where(x[0] < 0.5, (np.array([x[0] - 1.0, x[1]]),))
    return end, h, np.zeros(1)


def test_what_stays_without_the_call_stays_in_each_lane():
    """Triangular numbers, each lane at another place."""
    starts = np.array([[3.0, 3.0], [0.0, 0.0], [1.0, 2.0], [5.0, 5.0]])
    march = compile_march(held, SIZES, 2, cache=None, lanes=4)
    stage, places = march.start(starts, H), np.zeros((3, 4), dtype=np.int64)
    expected = starts.copy()
    for count in (1, 7, 2, 13):
        march.advance_into(stage, count, 1, places)
        for _ in range(count):
            for one in expected:
                one[:] = [one[1] + 1.0] * 2 if one[0] < 0.5 else [one[0] - 1.0, one[1]]
        assert np.array_equal(march.state_of(stage)[0], expected)


def marched(lanes, starts, steps=13):
    march = compile_march(step, SIZES, 2, cache=None, lanes=lanes)
    places = np.zeros((3, lanes), dtype=np.int64)
    stage = march.start(starts, H)
    assert march.advance_into(stage, steps, 1, places) == steps
    return march.state_of(stage)[0]


def test_it_is_one_call_on_a_condition():
    graph = trace(step, SIZES, calls=True)
    (call,) = [node for node in graph.nodes if node[0] == "call_if"]
    assert len(call[-1].graph.outputs[0]) == 2  # what nobody asks for is not computed
    assert "call_if" not in {node[0] for node in trace(step, SIZES).nodes}


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_each_lane_goes_its_own_way(lanes):
    found = [marched(1, x) for x in STARTS]
    np.testing.assert_allclose(found, [in_python(x, H, 13) for x in STARTS], rtol=1e-14)
    if lanes > 1:
        for k in range(0, len(STARTS) - lanes + 1):
            assert np.array_equal(marched(lanes, STARTS[k : k + lanes]), found[k : k + lanes])


def test_with_floats_it_is_the_function():
    x = np.array([1.7, 2.0])
    assert np.array_equal(step(x, H)[0].astype(float), in_python(x, H, 1))


def test_c_calls_it_on_the_condition(tmp_path):
    text = c_source(trace(step, SIZES, calls=True), "go", batch=False)
    assert "if (" in text.split("void go(")[-1]
    (tmp_path / "go.c").write_text(text)
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-shared"]
    command = ["cc", *flags, "-fPIC", "-o", str(tmp_path / "go.so"), str(tmp_path / "go.c"), "-lm"]
    subprocess.run(command, check=True)
    go = ctypes.CDLL(str(tmp_path / "go.so")).go
    for x in STARTS:
        out = [np.zeros(2), np.zeros(1), np.zeros(1)]
        go(*(ctypes.c_void_p(array.ctypes.data) for array in (x, H, *out)))
        assert np.array_equal(out[0], marched(1, x, 1))
