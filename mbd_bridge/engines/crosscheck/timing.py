"""Timing several works in turns, so that a slow moment of the machine strikes none alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

REPETITIONS = 5
"""Turns that each work has at least."""
SECONDS = 0.5
"""Time after which a work has no more turns than it must have."""
MOST = 200
"""Turns that each work has at most."""

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """One row.

    Attributes
    ----------
    what : was computed by us
    ours : s a state, or s for a compilation; the best turn
    peer : what pinocchio computed, "" for nothing
    theirs : s a state, or None
    difference : largest relative difference of the results, None where they are not the same
    """

    what: str
    ours: float
    peer: str = ""
    theirs: float | None = None
    difference: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times faster than pinocchio we are."""
        return None if self.theirs is None else self.theirs / self.ours


def in_turns(works: Sequence[Work], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Return the best time of each work, s, measured in turns.

    Parameters
    ----------
    clock : s; of works on one thread `time.process_time` counts only what they use themselves,
        which other programs do not disturb
    """
    best, spent = [float("inf")] * len(works), [0.0] * len(works)
    for work in works:  # touch the memory, fill the caches
        work()
    for turn in range(MOST):
        if turn >= REPETITIONS and min(spent) > SECONDS:
            break
        for k, work in enumerate(works):
            start = clock()
            work()
            took = clock() - start
            best[k], spent[k] = min(best[k], took), spent[k] + took
    return best
