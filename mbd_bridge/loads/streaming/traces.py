"""Signals along time as a picture needs them: the smallest and largest value of each short while.

Rows are taken together by ones, twos, fours, ... as the motion grows, so that what comes out does
not depend on where the pieces were cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.arguments import known_name
from mbd_bridge.base.arrays import Floats

CELLS = 2048
"""Whiles there is room for: half of them or more are in use, as many as a picture has dots."""


@dataclass(frozen=True, eq=False)
class Traces:
    """Smallest and largest values of signals in each while.

    Attributes
    ----------
    names : of the signals
    time : (B,) s, at which each while begins
    low, high : (B, S)
    rows : of the motion in a while (the last one may have fewer)
    """

    names: tuple[str, ...]
    time: Floats
    low: Floats
    high: Floats
    rows: int

    @property
    def times(self) -> Floats:
        """Times (P,) of the points of `line`: each while's twice, or once where it is one row."""
        return self.time if self.rows == 1 else np.repeat(self.time, 2)

    def line(self, name: str) -> Floats:
        """Return the points (P,) of a signal: up and down between what it reaches in each while."""
        k = self.names.index(known_name("signal in these traces", name, self.names))
        if self.rows == 1:
            return np.array(self.low[:, k])
        return np.stack([self.low[:, k], self.high[:, k]], axis=1).ravel()


class TracesCounter:
    """The traces of signals (N, S) that come in pieces."""

    def __init__(self, names: Sequence[str], cells: int = CELLS) -> None:
        self.names = tuple(names)
        self._cells, self._rows, self._used = cells, 1, 0  # _used: rows in the last cell
        self._time = np.zeros(0)
        self._low = self._high = np.zeros((0, len(self.names)))

    def add(self, time: Floats, columns: Floats) -> None:
        """Take in the rows at the times (N,)."""
        while self._count(len(time)) > self._cells:
            self._merge()
        start = 0
        if 0 < self._used < self._rows:  # the last while has room yet
            start = min(self._rows - self._used, len(time))
            self._low[-1] = np.minimum(self._low[-1], columns[:start].min(axis=0))
            self._high[-1] = np.maximum(self._high[-1], columns[:start].max(axis=0))
            self._used += start
        if start == len(time):
            return
        begins = np.arange(start, len(time), self._rows)
        self._time = np.concatenate([self._time, time[begins]])
        self._low = np.vstack([self._low, np.minimum.reduceat(columns, begins)])
        self._high = np.vstack([self._high, np.maximum.reduceat(columns, begins)])
        self._used = len(time) - int(begins[-1])

    def _count(self, more: int) -> int:
        """Return how many whiles there are when so many rows more have come."""
        rows = max(len(self._time) - 1, 0) * self._rows + self._used + more
        return -(-rows // self._rows)

    def _merge(self) -> None:
        """Take two whiles together each."""
        whiles = len(self._time)
        if whiles:
            begins = np.arange(0, whiles, 2)
            self._time = self._time[begins]
            self._low = np.minimum.reduceat(self._low, begins)
            self._high = np.maximum.reduceat(self._high, begins)
            self._used += self._rows if whiles % 2 == 0 else 0
        self._rows *= 2

    def traces(self) -> Traces:
        """Return what came so far."""
        low, high = self._low.copy(), self._high.copy()
        return Traces(self.names, self._time.copy(), low, high, self._rows)
