"""Extremes, means and what comes with an extreme, of the signals of loads that come in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.loads.signals import LoadSignal
from mbd_bridge.motion.smoothing import BAND


@dataclass(frozen=True, eq=False)
class Extreme:
    """The largest or smallest value of a signal.

    Attributes
    ----------
    value : in the signal's unit
    time : s, the first one at which it is reached
    together : the joint's other signals at that instant, by quantity (``"fy"``, ``"moment"``, ...)
    band : half the width of the band that holds 95 % of the errors from the motion's noise; None:
        nothing is known of it
    """

    value: float
    time: float
    together: dict[str, float]
    band: float | None = None


@dataclass(frozen=True, eq=False)
class SignalStatistics:
    """What a signal does along a motion.

    Attributes
    ----------
    signal : joint, quantity, unit
    largest, smallest : `Extreme` values
    mean, rms : over the rows
    determined : whether rigid-body mechanics determines the signal; else its numbers are those of
        one solution of many
    deviation : root of the mean square of its standard deviations; None: nothing is known of it
    """

    signal: LoadSignal
    largest: Extreme
    smallest: Extreme
    mean: float
    rms: float
    determined: bool
    deviation: float | None = None

    @property
    def peak(self) -> Extreme:
        """The extreme of the larger size."""
        up = abs(self.largest.value) >= abs(self.smallest.value)
        return self.largest if up else self.smallest


class StatisticsCounter:
    """Statistics of signals (N, S) that come in pieces."""

    def __init__(self, signals: Sequence[LoadSignal]) -> None:
        self._signals = tuple(signals)
        count = len(self._signals)
        self._rows = np.full((2, count, count), np.nan)
        self._values = np.full((2, count), -np.inf)
        self._times = np.full((2, count), np.nan)
        self._sums, self._squares, self.rows = np.zeros(count), np.zeros(count), 0
        self._bands, self._variances = np.full((2, count), np.nan), np.zeros(count)
        self._known = True

    def add(self, time: Floats, columns: Floats, deviations: Floats | None = None) -> None:
        """Take in signals (N, S), and their standard deviations, at the times (N,)."""
        self._known = self._known and deviations is not None
        if deviations is not None:
            self._variances += np.einsum("ij,ij->j", deviations, deviations)
        for k, sign in enumerate((1.0, -1.0)):
            best = columns.argmax(axis=0) if sign > 0.0 else columns.argmin(axis=0)
            values = sign * columns[best, np.arange(columns.shape[1])]
            better = np.flatnonzero(values > self._values[k])
            self._values[k, better] = values[better]
            self._times[k, better] = time[best[better]]
            self._rows[k, better] = columns[best[better]]
            if deviations is not None:
                self._bands[k, better] = BAND * deviations[best[better], better]
        self._sums += columns.sum(axis=0)
        self._squares += np.einsum("ij,ij->j", columns, columns)
        self.rows += len(columns)

    def statistics(self, determined: Sequence[bool]) -> tuple[SignalStatistics, ...]:
        """Return the statistics of each signal."""
        rows = max(self.rows, 1)
        means, rms = self._sums / rows, np.sqrt(self._squares / rows)
        return tuple(
            SignalStatistics(
                signal,
                self._extreme(0, k),
                self._extreme(1, k),
                float(means[k]),
                float(rms[k]),
                bool(sure),
                float(np.sqrt(self._variances[k] / rows)) if self._known else None,
            )
            for k, (signal, sure) in enumerate(zip(self._signals, determined, strict=True))
        )

    def _extreme(self, which: int, place: int) -> Extreme:
        joint = self._signals[place].joint
        together = {
            other.quantity: float(self._rows[which, place, k])
            for k, other in enumerate(self._signals)
            if other.joint == joint
        }
        value = float(self._rows[which, place, place])
        band = float(self._bands[which, place]) if self._known else None
        return Extreme(value, float(self._times[which, place]), together, band)
