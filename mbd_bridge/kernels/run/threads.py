"""The threads that share the work on a large batch."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_pools: dict[int, ThreadPoolExecutor] = {}


SMALLEST_SHARE = 512
"""States: handing work to a thread takes as long as a few hundred states of a small mechanism."""


def split(total: int, parts: int, block: int) -> list[tuple[int, int]]:
    """Return ranges that cover 0 .. total, cut at multiples of `block`.

    There are `parts` of them, or fewer if there are fewer processors or not enough states.
    """
    parts = min(parts, total // SMALLEST_SHARE)
    if parts <= 1:
        return [(0, total)]
    parts = min(parts, os.cpu_count() or 1)
    blocks = -(-total // block)
    cuts = [min(total, (blocks * k // parts) * block) for k in range(parts)] + [total]
    return list(itertools.pairwise(cuts))


def run(work: Callable[[int, int], None], ranges: list[tuple[int, int]]) -> None:
    """Call ``work(first, last)`` for every range, the first one in this thread."""
    if len(ranges) == 1:
        work(*ranges[0])
        return
    helpers = len(ranges) - 1
    pool = _pools.get(helpers)
    if pool is None:
        pool = _pools.setdefault(helpers, ThreadPoolExecutor(helpers, "mbd-kernel"))
    waiting = [pool.submit(work, first, last) for first, last in ranges[1:]]
    try:
        work(*ranges[0])
    finally:
        for task in waiting:
            task.result()


# A forked child has none of its parent's threads: a pool inherited from it would wait for ever.
os.register_at_fork(after_in_child=_pools.clear)
