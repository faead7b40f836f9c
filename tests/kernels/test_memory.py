"""No byte beyond the caller's arrays is read or written: arrays end where the process may not."""

import ctypes
import mmap
import sys

import numpy as np
import pytest

from mbd_bridge.kernels import compile_kernel

PAGE = mmap.PAGESIZE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="uses mprotect")


class Fenced:
    """Memory between two pages that may not be touched."""

    def __init__(self, pages):
        self.map = mmap.mmap(-1, (pages + 2) * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for fence in (start, start + (pages + 1) * PAGE):
            assert protect(fence, PAGE, 0) == 0
        self.doubles = np.frombuffer(self.map, offset=PAGE, count=pages * PAGE // 8)

    def last(self, shape):
        return self.doubles[-int(np.prod(shape)) :].reshape(shape)

    def first(self, shape):
        return self.doubles[: int(np.prod(shape))].reshape(shape)


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8, 13, 17])
def test_arrays_at_the_edge_of_memory(size, lanes):
    kernel = compile_kernel(lambda q: (2.0 * q, q[0] * q), {"q": size}, cache=None, lanes=lanes)
    pages = 40 * size * 8 // PAGE + 1
    source, one, two = Fenced(pages), Fenced(pages), Fenced(pages)
    for number in (1, 2, 7, 8, 9, 16, 33):
        for place in ("last", "first"):
            q, a, b = (getattr(f, place)((number, size)) for f in (source, one, two))
            q[...] = np.random.default_rng(number).normal(size=q.shape)
            kernel(q, out=(a, b))
            np.testing.assert_array_equal(a, 2.0 * q)
            np.testing.assert_array_equal(b, q[:, :1] * q)
            kernel(q[::-1], out=(a[:, ::-1], b))
            np.testing.assert_array_equal(a, 2.0 * q[::-1, ::-1])


def test_large_results_are_apart():
    kernel = compile_kernel(lambda q: (q, 2.0 * q, q[:0], 3.0 * q[0]), {"q": 3}, cache=None)
    q = np.random.default_rng(0).normal(size=(100_003, 3))
    results = kernel(q)
    assert [r.shape for r in results] == [(100_003, 3), (100_003, 3), (100_003, 0), (100_003,)]
    for got, factor in zip(results[:2], (1.0, 2.0), strict=True):
        assert got.flags.c_contiguous
        assert got.flags.writeable
        np.testing.assert_array_equal(got, factor * q)
    np.testing.assert_array_equal(results[3], 3.0 * q[:, 0])
