"""Tables in machine code: SciPy's numbers, at knots, between them, at the ends and far away."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from mbd_bridge import functions as fn
from mbd_bridge.base.errors import StateError
from mbd_bridge.kernels import compile_kernel
from mbd_bridge.kernels.tracing import trace


def grid(even, number=37):
    rng = np.random.default_rng(number)
    return np.linspace(-1.0, 9.0, number) if even else np.sort(rng.uniform(-1.0, 9.0, number))


def places(x):
    near = [x, np.nextafter(x, -99.0), np.nextafter(x, 99.0), 0.5 * (x[1:] + x[:-1])]
    return np.concatenate([*near, np.linspace(-4.0, 12.0, 1001), [1e9, -1e9, 0.0, -0.0]])


@pytest.mark.parametrize("number", [2, 3, 4, 5, 37, 64, 65, 1000])
@pytest.mark.parametrize("even", [True, False])
def test_straight_lines_are_those_of_numpy(even, number):
    x = grid(even, number)
    y = np.cos(3.0 * x)
    table = fn.Lookup(x, y)
    kernel = compile_kernel(lambda q: (table(q),), {"q": 1}, cache=None)
    q = places(x)
    got = kernel(q[:, None])[0][:, 0]
    steep = np.max(np.abs(np.diff(y) / np.diff(x)))
    np.testing.assert_allclose(got, np.interp(q, x, y), rtol=0.0, atol=1e-14 * (1.0 + steep))
    np.testing.assert_array_equal(kernel(x[:, None])[0][:, 0], y)


@pytest.mark.parametrize("even", [True, False])
def test_splines_are_those_of_scipy(even):
    x = grid(even)
    y = np.cos(x)
    table = fn.Lookup(x, y, "cubic", "extend")
    held = fn.Lookup(x, y, "cubic")
    kernel = compile_kernel(lambda q: (table(q), held(q)), {"q": 1}, cache=None)
    q = places(x)[:-4]
    for got, at in zip(kernel(q[:, None]), (q, np.clip(q, x[0], x[-1])), strict=True):
        expected = CubicSpline(x, y)(at)
        np.testing.assert_allclose(got[:, 0], expected, rtol=1e-13, atol=1e-13)


def test_an_even_grid_gives_the_digits_of_the_general_search():
    x = np.linspace(0.1, 0.7, 61)
    even = fn.Lookup(x, np.sin(x), "cubic")
    general = fn.Lookup(x, np.sin(x), "cubic")
    object.__setattr__(general._data, "even", False)
    object.__setattr__(general._data, "digest", "general")
    assert even._data.even
    kernel = compile_kernel(lambda q: (even(q), general(q)), {"q": 1}, cache=None)
    one, other = kernel(np.concatenate([places(x), np.linspace(0, 1, 9999)])[:, None])
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("outside", ["hold", "extend"])
@pytest.mark.parametrize("even", [True, False])
def test_infinities_and_nan_read_nothing_outside_the_table(even, outside):
    x = grid(even)
    table = fn.Lookup(x, x * x, "linear", outside)
    kernel = compile_kernel(lambda q: (table(q),), {"q": 1}, cache=None)
    got = kernel(np.array([[np.inf], [-np.inf], [np.nan], [1e308]]))[0][:, 0]
    if outside == "hold":
        np.testing.assert_array_equal(got, [x[-1] ** 2, x[0] ** 2, np.nan, x[-1] ** 2])
    else:
        np.testing.assert_array_equal(got[:3], [np.inf, np.inf, np.nan])


def test_equal_tables_are_looked_up_once():
    x = grid(True)
    graph = trace(lambda q: (fn.interp(q[0], x, x) + fn.interp(q[0], x, x),), {"q": 1})
    assert graph.counts()["table"] == 1


def test_floats_arrays_and_symbols_agree():
    x = grid(False)
    table = fn.Lookup(x, np.sin(x), "cubic")
    q = places(x)
    kernel = compile_kernel(lambda q: (table(q),), {"q": 1}, cache=None)
    np.testing.assert_allclose(kernel(q[:, None])[0][:, 0], table(q), rtol=0.0, atol=1e-15)
    assert table(float(q[3])) == table(q)[3]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (([0.0, 1.0], [1.0]), "as many values"),
        (([0.0], [1.0]), "two at least"),
        (([0.0, 0.0], [1.0, 2.0]), "increase"),
        (([0.0, np.nan], [1.0, 2.0]), "increase"),
        (([0.0, 1.0], [1.0, np.inf]), "finite"),
        (([0.0, 1.0], [1.0, 2.0], "quintic"), "linear"),
        (([0.0, 1.0], [1.0, 2.0], "linear", "wrap"), "extend"),
    ],
)
def test_what_is_no_table_is_refused(arguments, reason):
    with pytest.raises(StateError, match=reason):
        fn.Lookup(*arguments)
