"""Memory that is used again, and never while somebody holds it."""

import numpy as np
import pytest

from mbd_bridge.kernels import compile_kernel, layout


@pytest.fixture(autouse=True)
def _fresh():
    layout._kept.clear()
    yield
    layout._kept.clear()


def test_a_block_that_nobody_holds_is_used_again():
    first = layout.take(1000)
    place = first.ctypes.data
    del first
    assert layout.take(1000).ctypes.data == place


@pytest.mark.parametrize("hold", [lambda b: b, lambda b: b[3:5], lambda b: b.reshape(10, 100).T])
def test_a_block_with_any_view_is_left_alone(hold):
    first = layout.take(1000)
    first[:] = 7.0
    held = hold(first)
    del first
    second = layout.take(1000)
    second[:] = 0.0
    assert np.all(held == 7.0)


def test_results_that_are_kept_stay_as_they_are():
    kernel = compile_kernel(lambda x: (x * 2.0, x[:1]), {"x": 2}, cache=None)
    x = np.random.default_rng(0).normal(size=(200_000, 2))
    kept = [kernel(x + k)[0] for k in range(8)]
    for k, result in enumerate(kept):
        assert np.array_equal(result, (x + k) * 2.0)


def test_no_more_is_kept_than_the_limit():
    for size in (10**6, 2 * 10**6, 3 * 10**6, 4 * 10**6, 5 * 10**6):
        layout.take(size)
    assert sum(b.nbytes for b in layout._kept) <= layout.KEPT_BYTES
    assert len(layout._kept) <= layout.KEPT_BLOCKS
    layout.take(layout.KEPT_BYTES // 4)
    assert sum(b.nbytes for b in layout._kept) <= layout.KEPT_BYTES


def test_threads_never_share_a_block():
    from concurrent.futures import ThreadPoolExecutor

    kernel = compile_kernel(lambda x: (x * 3.0, x[:1]), {"x": 2}, cache=None)
    x = np.random.default_rng(0).normal(size=(100_000, 2))

    def work(k):
        return all(np.array_equal(kernel(x + k)[0], (x + k) * 3.0) for _ in range(20))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
