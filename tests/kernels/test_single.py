"""The prepared caller for one state: the kernel's digits, every kind of argument, no leaks."""

import gc
import sys
import weakref
from array import array

import numpy as np
import pytest

from mbd_bridge.base.errors import StateError
from mbd_bridge.kernels import compile_kernel
from tests.kernels.functions import ARM_INPUTS, arm, states


@pytest.fixture(scope="module")
def kernel():
    return compile_kernel(arm, ARM_INPUTS, name="arm", cache=None)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e12])
def test_digits_are_those_of_the_batch(kernel, scale):
    q, v = states(50, seed=1, scale=scale)
    expected = kernel(q, v)
    run = kernel.single().run
    for k in range(50):
        for a, b in zip(run(q[k], v[k]), expected, strict=True):
            np.testing.assert_array_equal(a, b[k])


def test_buffers_can_be_written_and_read_in_place(kernel):
    q, v = (a[0] for a in states(1, seed=2))
    single = kernel.single()
    single.inputs[0][...], single.inputs[1][...] = q, v
    results = single.run()
    assert results is single.outputs
    assert [a.shape for a in results] == [(5,), (2, 3)]
    for a, b in zip(results, kernel(q, v), strict=True):
        np.testing.assert_array_equal(a, b)


def test_arguments_of_any_type_and_layout(kernel):
    q, v = (a[0].astype(np.float32).astype(float) for a in states(1, seed=3))
    run = kernel.single().run
    expected = [a.copy() for a in run(q, v)]
    backwards = q[::-1].copy()[::-1]
    unaligned = np.zeros(25, dtype=np.uint8)[1:].view(float)
    unaligned[:] = q
    for other in (
        list(q), tuple(q), backwards, np.repeat(q, 2)[::2], unaligned, array("d", q),
        memoryview(q.copy()), q.astype(np.float32), q.astype(">f8"), np.frombuffer(q.tobytes()),
    ):  # fmt: skip
        run(np.zeros(3), np.zeros(3))
        for a, b in zip(run(other, v), expected, strict=True):
            np.testing.assert_array_equal(a, b)
    whole = np.array([1, -2, 3])
    np.testing.assert_array_equal(run(whole, v)[0].copy(), run(whole.astype(float), v)[0])


def test_wrong_arguments_are_refused(kernel):
    q, v = (a[0] for a in states(1, seed=4))
    run = kernel.single().run
    for arguments in (
        (q,), (q, v, v), (q[:2], v), (q[None], v), (q, None), (q, "abc"), (q, b"x" * 24),
        (q.reshape(3, 1), v), (q, 1.0), (q, v + 1j), (q, np.zeros((3, 3))), (q, {}),
    ):  # fmt: skip
        with pytest.raises(StateError):
            run(*arguments)
    with pytest.raises(TypeError):
        run(q=q, v=v)


def test_callers_do_not_disturb_each_other(kernel):
    q, v = states(2, seed=5)
    one, two = kernel.single(), kernel.single()
    first = one.run(q[0], v[0])[0].copy()
    two.run(q[1], v[1])
    np.testing.assert_array_equal(one.outputs[0], first)


def test_the_function_outlives_kernel_and_caller():
    q, v = states(1, seed=6)
    kernel = compile_kernel(arm, ARM_INPUTS, cache=None)
    expected = kernel(q[0], v[0])
    run = kernel.single().run
    del kernel
    gc.collect()
    for _ in range(100):
        for a, b in zip(run(q[0], v[0]), expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_nothing_is_kept_or_lost(kernel):
    q, v = (a[0] for a in states(1, seed=7))
    single = kernel.single()
    watched = weakref.ref(single.outputs[0])
    counts = [sys.getrefcount(x) for x in (q, v, single.outputs, None)]
    for _ in range(1000):
        single.run(q, v)
        single.run(list(q), v)
        with pytest.raises(StateError):
            single.run(q)
    after = [sys.getrefcount(x) for x in (q, v, single.outputs, None)]
    assert all(abs(a - b) < 10 for a, b in zip(counts, after, strict=True))
    del single
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_strict_single_gives_nothing_where_a_result_is_not_finite(value):
    kernel = compile_kernel(lambda x: (x[:2], 3.0 * x), {"x": 5}, cache=None)
    strict, other = kernel.single(strict=True), kernel.single()
    for place in range(5):
        x = np.ones(5)
        x[place] = value
        assert strict.run(x) is None
        np.testing.assert_array_equal(other.run(x)[1], 3.0 * x)
    large = np.array([1.7e308, 1.7e308, -1.7e308, 0.0, 1.0]) / 3.0
    np.testing.assert_array_equal(strict.run(large)[1], 3.0 * large)
    assert strict.run(np.ones(4)) is None and strict.run([1.0] * 5) is None


def test_a_strict_single_of_nothing_is_finite():
    assert compile_kernel(lambda x: (x[:0],), {"x": 1}, cache=None).single(strict=True).run(
        np.array([np.nan])
    )[0].shape == (0,)
