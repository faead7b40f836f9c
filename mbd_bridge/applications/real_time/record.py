"""What is kept of a run at wall-clock pace while it goes on: bounded, however long that is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from mbd_bridge.model.spatial import Array

BLOCK = 65_536
"""Rows for which memory is taken at once."""

TIMED = 2**20
"""Steps of which each time is kept, the last ones: 17 minutes at 1 kHz, 16 MB."""

SHORTEST = 1e-9
"""s, below which durations are not told apart."""

PARTS = 200
"""Classes of a histogram by a factor of e: half a percent each."""

CLASSES = 7_000
"""Of a histogram: up to 1e6 s."""


class Rows:
    """Rows of numbers as they come; of more than `most` the last ones.

    Parameters
    ----------
    widths : numbers in each part of a row
    most : rows that are kept; None: all
    """

    def __init__(self, widths: Sequence[int], most: int | None = None) -> None:
        ends = np.cumsum([0, *widths]).tolist()
        self._parts = [slice(*pair) for pair in itertools.pairwise(ends)]
        self._width, self._most = ends[-1], most
        self._blocks: list[Array] = []
        self.count = 0

    def add(self, *parts: float | Array) -> None:
        """Keep a row, given in its parts."""
        # One place more than needed: an interrupt may come while a row is written.
        index = self.count if self._most is None else self.count % (self._most + 1)
        block, place = divmod(index, BLOCK)
        if block == len(self._blocks):
            self._blocks.append(np.empty((BLOCK, self._width)))
        row = self._blocks[block][place]
        for where, part in zip(self._parts, parts, strict=True):
            row[where] = part
        self.count += 1

    def array(self) -> Array:
        """Return the rows, (K, width), in their order."""
        rows = np.concatenate([*self._blocks, np.empty((0, self._width))])
        if self._most is None or self.count <= self._most:
            return rows[: self.count]
        cycle = self._most + 1
        return rows[np.arange(self.count - self._most, self.count) % cycle]


class DurationCounts:
    """How often durations came, in classes of half a percent, and the largest one."""

    def __init__(self) -> None:
        self._counts = [0] * CLASSES
        self.largest = math.nan

    def add(self, seconds: float) -> None:
        """Count a duration."""
        place = int(PARTS * math.log1p(max(seconds, 0.0) / SHORTEST))
        self._counts[min(place, CLASSES - 1)] += 1
        if not seconds <= self.largest:
            self.largest = seconds

    def percentiles(self, percent: tuple[float, ...]) -> list[float]:
        """Return the durations below which so many percent are, to half a percent."""
        below = np.cumsum(self._counts)
        places = np.searchsorted(below, np.asarray(percent) / 100.0 * below[-1])
        middles = SHORTEST * np.expm1((places + 0.5) / PARTS)
        return [
            self.largest if one == 100.0 else min(middle, self.largest)
            for one, middle in zip(percent, middles.tolist(), strict=True)
        ]
