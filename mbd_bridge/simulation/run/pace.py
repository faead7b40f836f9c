"""How many steps the machine code takes in one call, so that Python hears of it often enough."""

from __future__ import annotations

import time

BLOCK = 20_000
"""Records that one call of the machine code makes, at most: memory is taken for them."""

REPORT_INTERVAL = 0.1
"""s, about: how often progress is told, and Ctrl-C is listened to."""

FIRST = 64
"""Steps of the first call; each next one takes at most twice as many."""


class Pace:
    """How many steps are taken at once: some `REPORT_INTERVAL` seconds of them, whole records if
    they fit.

    Parameters
    ----------
    every : steps between records
    """

    def __init__(self, every: int) -> None:
        self._every, self._steps = every, FIRST
        self._last = time.perf_counter()

    def steps(self, done: int) -> int:
        """Return the steps to take after so many; those that begin between records end at one."""
        every, beyond = self._every, done % self._every
        most = min(self._steps, BLOCK * every)
        if beyond:
            return min(most, every - beyond)
        return most - most % every if most >= every else most

    def took(self, steps: int) -> None:
        """Learn from the time that steps have taken."""
        now = time.perf_counter()
        each = (now - self._last) / max(steps, 1)
        self._last = now
        self._steps = max(1, min(2 * self._steps, int(REPORT_INTERVAL / max(each, 1e-9))))
