"""Rainflow cycles (ASTM E1049-85, 5.4.4), counted while the signal comes in.

Of four turning points in a row with the ranges X, Y, Z the inner one is a full cycle if
Y <= X and Y <= Z; its two points are taken out. What is left in the end, first growing ranges and
then shrinking ones, counts as half cycles. The order in which cycles are taken out changes neither
the cycles nor what is left (equal ranges may pair up differently, which changes no count), so all
that can be are taken out at once; what such passes leave, the package ``rainflow`` counts.

The three-point rule that the standard words gives the same: what it counts as half cycles while it
drops the starting point are the growing ranges of what is left.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
import rainflow as package
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.loads.streaming.bins import Axis

# The turning points of a signal: all that cycle counting needs of it, taken in piece by piece.


class TurningPoints:
    """Peaks and valleys of a signal that comes in pieces.

    The first and the last sample are turning points too, as in ASTM E1049-85. What comes out does
    not depend on where the pieces are cut.
    """

    def __init__(self) -> None:
        # The last turning point that is sure, and the last sample: it may become one.
        self._held = np.zeros(0)

    def add(self, values: Floats) -> Floats:
        """Take in samples (N,); return the turning points that have become sure with them."""
        values = signal(values)
        if not len(values):
            return values
        known = np.concatenate([self._held, values])
        moves = np.concatenate([[True], known[1:] != known[:-1]])
        known = known[moves]
        rises = known[1:] > known[:-1]
        turns = np.flatnonzero(rises[1:] != rises[:-1]) + 1
        first = known[:1] if not len(self._held) else known[:0]
        last_sure = known[turns[-1]] if len(turns) else known[0]
        self._held = np.array([last_sure, known[-1]])
        return np.concatenate([first, known[turns]])

    def last(self) -> Floats:
        """Return the last sample (1,), which ends the signal; none if it never moved."""
        held = self._held
        return held[1:] if len(held) and held[0] != held[1] else held[:0]


def signal(values: object) -> Floats:
    """Return samples (N,) as numbers, all of them finite.

    Raises
    ------
    StateError
        if they are no row of finite numbers; the first bad one is named
    """
    try:
        samples = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise StateError(f"expected a row of numbers, got {type(values).__name__}") from None
    if samples.ndim != 1:
        raise StateError(f"expected samples (N,), one signal, got the shape {samples.shape}")
    bad = np.flatnonzero(~np.isfinite(samples))
    if len(bad):
        raise StateError(
            f"expected finite samples, got {samples[bad[0]]} as sample {bad[0]} "
            f"({len(bad)} of {len(samples)} are not finite): cycles across a gap mean nothing; "
            f"fill it, or count the parts apart"
        )
    return samples


Places = NDArray[np.int64]

WORTH = 0.02
"""Share of the points that a pass over all of them must take out to be quicker than one by one."""


class Cycles(NamedTuple):
    """Cycles of a signal, in its unit.

    Attributes
    ----------
    ranges : (K,) from valley to peak
    means : (K,) half way between them
    counts : (K,) 1 for a full cycle, 0.5 for a half one
    """

    ranges: Floats
    means: Floats
    counts: Floats


class CycleCounter:
    """Rainflow cycles of a signal that comes in pieces.

    What comes out does not depend on where the pieces are cut; only what is still open is kept.
    """

    def __init__(self) -> None:
        self._turns = TurningPoints()
        self._open = np.zeros(0)

    def add(self, values: Floats) -> Cycles:
        """Take in samples (N,); return the full cycles that were closed by them."""
        points = np.concatenate([self._open, self._turns.add(values)])
        closed, self._open = _close(points)
        return closed

    def half_cycles(self) -> Cycles:
        """Return what is open at the end of the signal (the signal may still go on)."""
        closed, points = _close(np.concatenate([self._open, self._turns.last()]))
        halves = _between(points[:-1], points[1:], 0.5)
        return Cycles(*map(np.concatenate, zip(closed, halves, strict=True)))


def rainflow(values: Floats) -> Cycles:
    """Return the rainflow cycles of a whole signal (N,), full ones first.

    Examples
    --------
    >>> rainflow([0.0, 3.0, 1.0, 2.0, 0.0]).ranges            # doctest: +SKIP
    array([1., 3., 3.])
    """
    counter = CycleCounter()
    parts = counter.add(values), counter.half_cycles()
    return Cycles(*map(np.concatenate, zip(*parts, strict=True)))


def _between(start: Floats, end: Floats, count: float) -> Cycles:
    return Cycles(np.abs(end - start), 0.5 * (start + end), np.full(len(start), count))


def _close(points: Floats) -> tuple[Cycles, Floats]:
    """Return the full cycles among turning points, and the points that are left."""
    pairs, left = _pairs(points)
    return _between(points[pairs[:, 0]], points[pairs[:, 1]], 1.0), points[left]


def _pairs(points: Floats) -> tuple[Places, Places]:
    """Return the places (K, 2) of full cycles among turning points, and of those left."""
    places, cycles = np.arange(len(points)), [np.zeros((0, 2), dtype=np.int64)]
    while len(points) >= 4:
        inner = _innermost(points)
        if len(inner) < 0.5 * WORTH * len(points):
            inner = _one_by_one(points)
            if not len(inner):
                break
        cycles.append(places[inner])
        stays = np.ones(len(points), dtype=bool)
        stays[inner] = False
        points, places = points[stays], places[stays]
    return np.concatenate(cycles), places


def cycle_places(values: object) -> tuple[Places, Floats]:
    """Return the samples (K, 2) between which a whole signal's cycles run, and counts (K,).

    Of samples that stand still the first is taken.
    """
    samples = signal(values)
    moves = np.flatnonzero(np.concatenate([[True], samples[1:] != samples[:-1]])[: len(samples)])
    rises = np.diff(samples[moves]) > 0.0
    ends = np.concatenate([[True], rises[1:] != rises[:-1], [True]])[: len(moves)]
    turns = moves[ends]
    pairs, left = _pairs(samples[turns])
    halves = np.stack([left[:-1], left[1:]], axis=1)
    counts = np.repeat([1.0, 0.5], [len(pairs), len(halves)])
    return turns[np.concatenate([pairs, halves])], counts


def _innermost(points: Floats) -> Places:
    """Return the places (K, 2) of cycles that contain no other ones and share no point."""
    ranges = np.abs(np.diff(points))
    inside = (ranges[1:-1] <= ranges[:-2]) & (ranges[1:-1] <= ranges[2:])
    places = np.flatnonzero(inside) + 1
    begins = np.concatenate([[True], np.diff(places) > 1]) if len(places) else inside[:0]
    # Neighbours are both innermost if their ranges are equal: every other one is taken.
    along = np.arange(len(places))
    in_row = along - np.maximum.accumulate(np.where(begins, along, 0))
    places = places[in_row % 2 == 0]
    return np.stack([places, places + 1], axis=1)


def _one_by_one(points: Floats) -> Places:
    """Return the places (K, 2) of all full cycles, found by the package."""
    found = [
        (start, end)
        for _, _, count, start, end in package.extract_cycles(points.tolist())
        if count == 1.0
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


# Counts of cycles by range and mean, in bins that widen.

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
