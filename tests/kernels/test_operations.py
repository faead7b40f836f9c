"""Every operation against mpmath: over its range, at its ends, at zeros and infinities, for nan."""

import ctypes
import shutil

import mpmath
import numpy as np
import pytest

from mbd_bridge import functions as fn
from mbd_bridge.kernels import c_source, compile_kernel, llvm_body, places
from tests.kernels.c_library import build, pointers
from tests.kernels.functions import FUNCTIONS, SEED, sizes

INF, NAN = np.inf, np.nan
SPECIAL = [
    0.0,
    -0.0,
    INF,
    -INF,
    NAN,
    5e-324,
    -5e-324,
    1e-310,
    2.0**-1022,
    1.7e308,
    -1.7e308,
    1.0,
    -1.0,
]


MIDDLE = np.concatenate([SEED.normal(size=600), SEED.uniform(-40.0, 40.0, 300)])


def error(value, true):
    """Return the error in units in the last place; overflow and underflow as IEEE 754 rounds."""
    if isinstance(true, mpmath.mpc) or mpmath.isnan(true):
        return 0.0 if np.isnan(value) else INF
    near = float(true)
    if np.isinf(near) or value == near:
        return 0.0 if value == near else INF
    return float(abs(mpmath.mpf(float(value)) - true) / mpmath.mpf(float(np.spacing(abs(near)))))


def oracle(function, x):
    with mpmath.workprec(200):
        try:
            return function(*(mpmath.mpf(float(v)) for v in x))
        except (ValueError, ZeroDivisionError):
            return mpmath.nan


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_argument_equal_mpmath(name):
    function, exact, worst, more = FUNCTIONS[name]
    x = np.concatenate([MIDDLE, SPECIAL, *more])
    kernel = compile_kernel(lambda q: (function(q),), {"q": 1}, cache=None)
    got = kernel(x[:, None])[0][:, 0]
    log_of_zero = (x == 0.0) & (name == "log")
    assert np.all(got[log_of_zero] == -INF)
    with mpmath.workprec(200):
        errors = [
            error(v, oracle(exact, [at]))
            for v, at, skip in zip(got, x, log_of_zero, strict=True)
            if not skip and not (np.isinf(at) and name in ("sin", "cos"))
        ]
    assert max(errors) <= worst
    assert np.all(np.isnan(got[np.isnan(x)]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_zeros_and_infinities_are_those_of_numpy(name):
    function = FUNCTIONS[name][0]
    x = np.array(SPECIAL)
    kernel = compile_kernel(lambda q: (function(q),), {"q": 1}, cache=None)
    got = kernel(x[:, None])[0][:, 0]
    with np.errstate(all="ignore"):
        expected = function(x)
    np.testing.assert_allclose(got, expected, rtol=1e-15, atol=0.0)
    at_zero = (x == 0.0) & (name != "sin")  # the reduced angle of -0 is +0
    np.testing.assert_array_equal(np.signbit(got[at_zero]), np.signbit(expected[at_zero]))


def pairs():
    special = [*SPECIAL, 2.0, -2.0, 1e300]
    grid = np.array([(a, b) for a in special for b in special])
    spread = np.stack([sizes(-30, 30, 1500), sizes(-30, 30, 1500)], 1)
    return np.concatenate([grid, SEED.normal(size=(1500, 2)), spread])


def test_the_angle_of_a_point_equals_mpmath_and_its_special_values_numpy():
    p = pairs()
    kernel = compile_kernel(lambda q: (fn.arctan2(q[0], q[1]),), {"q": 2}, cache=None)
    (got,) = kernel(p)
    with np.errstate(all="ignore"):
        expected = np.arctan2(p[:, 0], p[:, 1])
    plain = np.all(np.isfinite(p) & (p != 0.0), axis=1)
    signed = ~plain & ~np.isnan(expected)
    np.testing.assert_array_equal(got[~plain], expected[~plain])
    np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(expected[signed]))
    with mpmath.workprec(200):
        errors = [
            error(v, oracle(mpmath.atan2, at)) for v, at in zip(got[plain], p[plain], strict=True)
        ]
    assert max(errors) <= 1.5


def chooses(q):
    a, b = q[0], q[1]
    return (
        fn.minimum(a, b),
        fn.maximum(a, b),
        a < b,
        a <= b,
        a > b,
        a >= b,
        a == b,
        a != b,
        fn.where((a < b) & (b > 0.5) | ~(a == b), a, b),
        fn.where(fn.logical_and(a > 0.0, fn.logical_not(b > 0.0)), 1.0, a),
        (a > b) * 2.0 - (a < b),
    )


def test_choices_and_comparisons_are_those_of_numpy_to_the_bit():
    p = pairs()
    got = compile_kernel(chooses, {"q": 2}, cache=None)(p)
    a, b = p.T
    expected = [
        np.minimum(a, b), np.maximum(a, b), a < b, a <= b, a > b, a >= b, a == b, a != b,
        np.where((a < b) & (b > 0.5) | ~(a == b), a, b),
        np.where((a > 0.0) & ~(b > 0.0), 1.0, a),
        (a > b) * 2.0 - (a < b),
    ]  # fmt: skip
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, np.asarray(other, dtype=float))


X = np.sort(SEED.uniform(0.0, 10.0, 23))
EVEN = np.linspace(0.0, 10.0, 23)
TABLES = [fn.Lookup(x, np.sin(x), k, o) for x in (X, EVEN) for k in ("linear", "cubic")
          for o in ("hold", "extend")]  # fmt: skip


def everything(q):
    a, b = q[0], q[1]
    return (
        np.array([row[0](a) for row in FUNCTIONS.values()]),
        np.array([fn.arctan2(a, b), *chooses(q)[:2], *chooses(q)[8:]]),
        np.array([table(a) for table in TABLES]),
    )


def test_one_state_many_and_c_have_the_same_digits(tmp_path):
    p = pairs()
    kernel = compile_kernel(everything, {"q": 2}, cache=None, name="all")
    expected = kernel(p)
    run = kernel.single().run
    for k in range(0, len(p), 3):
        for one, many in zip(run(p[k]), expected, strict=True):
            np.testing.assert_array_equal(one, many[k])
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    library = build(c_source(kernel), tmp_path, "-march=native")
    got = [np.empty_like(a) for a in expected]
    library.all_batch(ctypes.c_size_t(len(p)), *pointers([p, *got]))
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_conditions_wait_between_the_parts_of_a_long_function(monkeypatch):
    p = SEED.normal(size=(50, 2))
    whole = compile_kernel(everything, {"q": 2}, cache=None)(p)
    monkeypatch.setattr(places, "WHOLE_LENGTH", 7)
    monkeypatch.setattr(places, "PART_LENGTH", 7)
    monkeypatch.setattr(llvm_body, "LONG", 3)
    monkeypatch.setattr(llvm_body, "BLOCK", 2)
    cut = compile_kernel(everything, {"q": 2}, cache=None)(p)
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_digits_do_not_depend_on_lanes(lanes):
    p = pairs()[:60]
    usual = compile_kernel(everything, {"q": 2}, cache=None)(p)
    other = compile_kernel(everything, {"q": 2}, cache=None, lanes=lanes)(p)
    for one, two in zip(usual, other, strict=True):
        np.testing.assert_array_equal(one, two)
