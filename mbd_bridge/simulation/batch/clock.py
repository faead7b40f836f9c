"""The times of the steps and records of a batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.model.spatial import Array


class Clock(NamedTuple):
    """So many steps of h seconds from the start, every `every`-th recorded."""

    start: float
    h: float
    steps: int
    every: int

    def times(self) -> Array:
        """Return the times of the records, with the roundings of the steps that add them up."""
        at = self.of_steps(self.start, self.steps)
        times = at[:: self.every]
        return times if self.steps % self.every == 0 else np.append(times, at[-1])

    def of_steps(self, start: float, count: int) -> Array:
        """Return the times (count + 1,) of steps that begin at `start`."""
        return np.add.accumulate(np.concatenate([[start], np.full(count, self.h)]))
