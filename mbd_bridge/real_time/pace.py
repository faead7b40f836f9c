"""Waiting for the time at which a step is due."""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections.abc import Callable, Iterator

SPIN = 3e-4
"""s before a step is due, from which on the clock is read without sleeping: the system wakes a
sleeping process up to some 0.1 ms late."""

NEW = 2_000
"""Objects that may be in cycles, from which on they are looked through: some 0.1 ms."""

MOST = 200_000
"""The same, from which on they are looked through although a step is late: some 50 MB."""

FIRST_COST = 1e-4
"""s, that a collection takes, until one is measured."""

Collect = Callable[[float], None]
"""(s until the next step is due) -> nothing."""

SWITCH = 1e-4
"""s, after which another Python thread must let this one go on; Python's own is 5 ms."""


def wait_until(due: float) -> float:
    """Wait until a time of `time.monotonic`; return the time that it is then, s."""
    now = time.monotonic()
    while now < due:
        left = due - now
        if left > SPIN:
            time.sleep(left - SPIN)
        now = time.monotonic()
    return now


class Collector:
    """Collects cycles of objects where there is time for it: the garbage collector is off."""

    def __init__(self) -> None:
        self._times, self._costs = 0, [FIRST_COST] * 3

    def collect(self, left: float) -> None:
        """Collect, if there are new objects, and it takes less than what is left, s."""
        new = gc.get_count()[0]
        if new < NEW:
            return
        oldest = next(g for g, every in ((2, 100), (1, 10), (0, 1)) if self._times % every == 0)
        if 2.0 * self._costs[oldest] > left and new < MOST:
            self._costs[oldest] *= 0.99  # the last time may have been an exception
            return
        start = time.monotonic()
        gc.collect(oldest)
        self._costs[oldest] = time.monotonic() - start
        self._times += 1


@contextlib.contextmanager
def without_pauses() -> Iterator[Collect]:
    """Collect garbage only when told, and let other threads hold Python for a short time only.

    Gives the function to be told with: `Collector.collect`. What is there already is not looked at.
    """
    collecting, interval = gc.isenabled(), sys.getswitchinterval()
    frozen = gc.get_freeze_count() > 0
    gc.collect()
    gc.disable()
    if not frozen:
        gc.freeze()
    sys.setswitchinterval(SWITCH)
    try:
        yield Collector().collect
    finally:
        sys.setswitchinterval(interval)
        if not frozen:
            gc.unfreeze()
        if collecting:
            gc.enable()
