"""Equal bins whose width doubles whenever a number comes that is beyond them.

Widths are powers of two, so that two bins become exactly one: the counts in the end are those of
the final bins, wherever the pieces were cut.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Floats


class Axis:
    """Places of numbers in bins of one width, below and above zero.

    Attributes
    ----------
    width : of a bin, a power of two; 0 before the first number that is not zero
    """

    def __init__(self, bins: int, *, signed: bool) -> None:
        self.bins = bins
        self.width = 0.0
        self._below = bins // 2 if signed else 0

    def widen(self, values: Floats) -> int:
        """Double the width until all numbers have a place; return how often."""
        largest = float(np.abs(values).max(initial=0.0))
        if largest == 0.0:
            return 0
        room = self.bins - self._below
        exponent = math.ceil(math.log2(largest / room)) if largest / room > 0.0 else -1022
        while largest >= room * math.ldexp(1.0, exponent):
            exponent += 1
        while exponent > -1022 and largest < room * math.ldexp(1.0, exponent - 1):
            exponent -= 1
        width = math.ldexp(1.0, exponent)
        if self.width == 0.0:
            self.width = width
            return 0
        times = max(0, exponent - round(math.log2(self.width)))
        self.width = max(self.width, width)
        return times

    def places(self, values: Floats) -> NDArray[np.int64]:
        """Return the bin of each number."""
        steps = np.floor(values / self.width) if self.width else np.zeros(len(values))
        return steps.astype(np.int64) + self._below

    def halved(self) -> NDArray[np.int64]:
        """Return in which bin each bin goes when the width doubles."""
        return (np.arange(self.bins) - self._below) // 2 + self._below

    @property
    def edges(self) -> Floats:
        """Edges of the bins (bins + 1,)."""
        return np.asarray((np.arange(self.bins + 1) - self._below) * self.width, np.float64)
