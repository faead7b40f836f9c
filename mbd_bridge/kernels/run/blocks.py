"""Memory for large results, used again once nobody holds them.

Freed blocks of some megabytes go back to the system, and the next ones are mapped and cleared page
by page: 15 ns a state for two results of (100000, 3), more than the computation. A few blocks are
therefore kept. One is given out again only when no array looks at it any more.
"""

from __future__ import annotations

import sys
import threading

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.forking import hold_over_forks

KEPT_BYTES = 2**26
"""Most memory that is kept while nobody uses it: 64 MiB."""
KEPT_BLOCKS = 4

_kept: list[NDArray[np.float64]] = []
_lock = threading.Lock()

hold_over_forks(lambda: _lock)


def take(size: int) -> NDArray[np.float64]:
    """Return a vector of `size` doubles that nobody else holds; its content is left over."""
    with _lock:
        for index in range(len(_kept)):
            # the list's own reference and the argument's: no view, no caller
            if _kept[index].size >= size and sys.getrefcount(_kept[index]) == _UNUSED:
                if _kept[index].size > 2 * size:
                    continue  # too large to be bound by a small result
                block = _kept.pop(index)
                _kept.append(block)
                return block[:size]
        block = np.empty(size)
        _kept.append(block)
        while len(_kept) > KEPT_BLOCKS or (
            len(_kept) > 1 and sum(b.nbytes for b in _kept) > KEPT_BYTES
        ):
            _kept.pop(0)
        if block.nbytes > KEPT_BYTES:
            _kept.clear()
        return block[:size]


def _unused() -> int:
    """Return what `sys.getrefcount` says of an array that only a list holds."""
    one = [np.empty(1)]
    return sys.getrefcount(one[0])


_UNUSED = _unused()
