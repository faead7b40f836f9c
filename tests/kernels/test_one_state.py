"""One state costs little, and gives what a batch of one gives."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from mbd_bridge.kernels import compile_kernel, layout
from tests.kernels.functions import ARM_INPUTS, arm, states


def test_one_state_has_the_digits_of_a_batch_whatever_its_strides():
    kernel = compile_kernel(arm, ARM_INPUTS, cache=None)
    q, v = states(5, seed=3)
    many = kernel(q, v)
    apart = np.asfortranarray(q)
    for k in range(5):
        for one in (kernel(q[k], v[k]), kernel(apart[k], list(v[k]))):
            for a, b in zip(one, many, strict=True):
                np.testing.assert_array_equal(a, b[k])


def test_results_of_earlier_calls_stay():
    kernel = compile_kernel(arm, ARM_INPUTS, cache=None)
    q, v = states(2, seed=4)
    first = kernel(q[0], v[0])
    kept = [x.copy() for x in first]
    kernel(q[1], v[1])
    for a, b in zip(first, kept, strict=True):
        np.testing.assert_array_equal(a, b)


def test_threads_share_no_memory():
    kernel = compile_kernel(arm, ARM_INPUTS, cache=None)
    q, v = states(400, seed=5)
    many = kernel(q, v)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(kernel, q, v))
    for k, one in enumerate(found):
        for a, b in zip(one, many, strict=True):
            np.testing.assert_array_equal(a, b[k])


def test_the_arrays_of_one_state_are_described_once(monkeypatch):
    """Describing them takes three times as long as all the rest of the call."""
    kernel = compile_kernel(arm, ARM_INPUTS, cache=None)
    q, v = states(1, seed=6)
    kernel(q[0], v[0])
    monkeypatch.setattr(layout, "Layout", None)
    assert kernel.run(q[0], v[0]).finite
    assert not kernel.run(q[0] * np.nan, v[0]).finite
