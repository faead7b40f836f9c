"""Waiting for the time at which a step is due."""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections.abc import Iterator

SPIN = 3e-4
"""s before a step is due, from which on the clock is read without sleeping: the system wakes a
sleeping process up to some 0.1 ms late."""

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


@contextlib.contextmanager
def without_pauses() -> Iterator[None]:
    """Put off the garbage collector, and let other threads hold Python for a short time only."""
    collecting, interval = gc.isenabled(), sys.getswitchinterval()
    gc.collect()
    gc.disable()
    sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if collecting:
            gc.enable()
