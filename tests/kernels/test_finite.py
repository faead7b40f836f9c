"""The kernel itself tells whether all that it wrote is finite."""

import numpy as np
import pytest

from mbd_bridge.kernels import compile_kernel


def function(x, y):
    first = np.array([x[0] * y[1], 1.0, np.sin(x[1])], dtype=object)
    return first, np.array([x[0] / y[0]], dtype=object)


@pytest.fixture(scope="module")
def kernel():
    return compile_kernel(function, {"x": 2, "y": 2}, cache=None)


def states(count):
    rng = np.random.default_rng(count)
    return rng.normal(size=(2, count, 2))


@pytest.mark.parametrize("count", [1, 3, 8, 9, 16, 33])
def test_finite_results_are_known_as_such(kernel, count):
    outputs, finite = kernel.run(*states(count))
    assert finite
    assert all(np.isfinite(output).all() for output in outputs)


@pytest.mark.parametrize("count", [1, 3, 8, 9, 16, 33])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_one_bad_state_is_seen_wherever_it_is(kernel, count, value):
    for place in range(count):
        x, y = states(count)
        x[place, 0] = value
        assert not kernel.run(x, y).finite


def test_a_division_by_zero_is_seen(kernel):
    x, y = states(20)
    y[13, 0] = 0.0
    assert not kernel.run(x, y).finite


def test_threads_tell_of_each_other(kernel):
    x, y = states(100_000)
    assert kernel.run(x, y, threads=2).finite
    x[99_999, 0] = np.nan
    assert not kernel.run(x, y, threads=2).finite


def test_what_no_output_depends_on_does_not_matter():
    only = compile_kernel(lambda x, y: (x[:1] * 2.0,), {"x": 2, "y": 2}, cache=None)
    x, y = states(5)
    y[:] = np.nan
    assert only.run(x, y).finite


def test_nothing_is_finite(kernel):
    assert kernel.run(np.zeros((0, 2)), np.zeros((0, 2))).finite
