"""Counts of cycles by range and mean, in bins that widen."""

from __future__ import annotations

import copy

import numpy as np

from mbd_bridge.applications.durability.cycles import Cycles
from mbd_bridge.loads.streaming.bins import Axis

BINS = 128
"""Bins there are room for: of a quantity from zero on, half of them or more are in use."""


class Histogram:
    """Counts of cycles by range and mean, (BINS, BINS), that come in pieces.

    Attributes
    ----------
    counts : by range and by mean; their bins are `ranges` and `means`
    """

    def __init__(self) -> None:
        self.ranges = Axis(BINS, signed=False)
        self.means = Axis(BINS, signed=True)
        self.counts = np.zeros((BINS, BINS))

    def copy(self) -> Histogram:
        """Return the same counts, to go on with apart."""
        return copy.deepcopy(self)

    def add(self, cycles: Cycles) -> None:
        """Take in cycles."""
        for side, axis, values in ((0, self.ranges, cycles.ranges), (1, self.means, cycles.means)):
            for _ in range(min(axis.widen(values), self.ranges.bins)):
                merged = np.zeros_like(self.counts)
                by_axis = np.moveaxis(self.counts, side, 0)
                np.add.at(np.moveaxis(merged, side, 0), axis.halved(), by_axis)
                self.counts = merged
        bins = self.ranges.bins
        cell = self.ranges.places(cycles.ranges) * bins + self.means.places(cycles.means)
        self.counts += np.bincount(cell, cycles.counts, bins * bins).reshape(bins, bins)
