"""A kernel gives what the traced function gives, in every layout and for every number of states."""

import numpy as np
import pytest

from mbd_bridge.kernels import compile_kernel


def arm(q, v):
    """A function with shared sines, a division and a root."""
    s, c = np.sin(q), np.cos(q)
    x = c[0] * v[1] - s[1] * v[0]
    return (
        np.array([x, s[0] * c[2] + v[2], np.sqrt(x * x + 2.0) / (3.0 + c[1])]),
        np.outer(s[:2], v),
    )


@pytest.fixture(scope="module")
def kernel():
    return compile_kernel(arm, {"q": 3, "v": 3}, name="arm")


def reference(q, v):
    pairs = [arm(a, b) for a, b in zip(q, v, strict=True)]
    return [np.array([p[k] for p in pairs]) for k in range(2)]


@pytest.mark.parametrize("number", range(1, 34))
def test_every_number_of_states_is_computed_to_the_last(kernel, number):
    rng = np.random.default_rng(number)
    q, v = rng.normal(size=(2, number, 3))
    for got, expected in zip(kernel(q, v), reference(q, v), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-14)
