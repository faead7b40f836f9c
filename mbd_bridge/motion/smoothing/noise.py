"""The noise of sampled signals, estimated from high divided differences, and their rounding steps.

A divided difference of order d removes polynomials below degree d, and most of a smooth motion, but
white noise passes. Scaled to the noise's standard deviation, white noise gives the same number at
every order from some order on; what still shrinks from order to order is motion. Medians are taken,
so that corners of the motion do not count, over the differences of rows between which the signal
moves: a machine at rest, read by an encoder, has no noise at all there.
"""

from __future__ import annotations

import math

import numpy as np

from mbd_bridge.base.arrays import Flags, Floats
from mbd_bridge.base.lazy import cached_property

ORDERS = (2, 3, 4, 6, 8, 10)
"""Orders of the differences that are compared."""
FEWEST = 40
"""Rows from which on the noise can be estimated: four times the highest order."""
MEDIAN_OF_NORMAL = 0.6744897501960817
"""Median of the size of a standard normal variable."""
SETTLED = 1.7
"""Ratio of the estimates of orders 8 and 10 below which the differences are noise. Of a sine with f
samples in a period it is 3.8 / (2 sin(π/f))²: 10 for ten samples, 2.7 for five."""
MOST_DIGITS = 9
"""Decimals to which numbers may have been rounded, at most: rounding to more is no noise."""
ON_GRID = 1e-3
"""Share of a rounding step by which values on its grid may be off: roundings of floats."""
ON_COUNTS = 0.05
"""The same for the counts of an encoder that were written with a few digits."""
SAME_LEVEL = 1e-10
"""Values that differ by less, relative to the largest, are the same."""
LEVELS = 4
"""Different values, at least, that show a grid."""
UNIFORM = 12.0**-0.5
"""Standard deviation of what is distributed uniformly over one step."""
RESTING = 11
"""Equal values one after another from which on a signal rests: a difference of order 10 is 0."""
SCATTERED = 0.05
"""Ratio of the tenth part of the differences to their median below which a signal that rests in
between has corners and no noise; of normal variables it is 0.19."""
MOVING = 95.0
"""Percentile of the differences that is looked at where a signal moves most."""
MOVING_NORMAL = 1.959963984540054
"""That percentile of the size of a standard normal variable."""
FEWEST_CHANGES = 8
"""Changes of a value, at least, from which something is concluded."""
ROUNDING_SHARE = 0.25
"""Share of what rounding would make of the differences from which on there was rounding; exact
numbers that happen to stand on a grid, such as 0.01 k, make none."""


EVEN = 1e-7
"""Share of a step by which even times are off."""


class Differences:
    """Divided differences at times (N,): of several signals, of which each is seen alone."""

    def __init__(self, time: Floats) -> None:
        self.time = time

    @cached_property
    def _spans(self) -> list[Floats]:
        """Times between the rows of a difference, by order."""
        return [self.time[k:] - self.time[:-k] for k in range(1, ORDERS[-1] + 1)]

    @cached_property
    def _norms(self) -> dict[int, Floats]:
        """What a difference makes of white noise of size 1, by order."""
        found, factors = dict[int, Floats](), np.ones((1, len(self.time)))
        for order, spans in enumerate(self._spans, 1):
            weights = np.zeros((order + 1, len(spans)))
            weights[1:] += factors[:, 1:]
            weights[:-1] -= factors[:, :-1]
            factors = weights / spans
            if order in ORDERS:
                found[order] = np.sqrt(np.sum(factors * factors, axis=0))
        return found

    @cached_property
    def even(self) -> bool:
        """Whether the times are even, to rounding."""
        steps = np.diff(self.time)
        return bool(np.ptp(steps) <= EVEN * float(steps[0]))

    def sizes(self, values: Floats, order: int) -> Floats:
        """Return the sizes (N - order,) of the differences of a signal (N, n), one of all columns.

        Scaled to that of white noise.
        """
        if self.even:
            each = np.array([even_differences(column, order) for column in values.T])
            return np.asarray(np.abs(each[0]) if len(each) == 1 else np.linalg.norm(each, axis=0))
        difference = values
        for spans in self._spans[:order]:
            difference = (difference[1:] - difference[:-1]) / spans[:, None]
        return np.asarray(np.linalg.norm(difference, axis=1) / self._norms[order])

    def white_noise(self, values: Floats) -> Floats:
        """Return the standard deviation (n,) of the white noise in a signal's columns (N, n).

        It is 0 where there are too few rows that move, or where no noise shows beside the motion.
        """
        if len(self.time) < FEWEST:
            return np.zeros(values.shape[1])
        rests = _rests(values)
        sizes = self._sizes(values, rests, whole=True)
        found = {order: _size(x, 50.0, MEDIAN_OF_NORMAL) for order, x in sizes.items()}
        settled = found[ORDERS[-2]] <= SETTLED * found[ORDERS[-1]]
        if rests.any():
            least = _size(sizes[ORDERS[-1]], 10.0, MEDIAN_OF_NORMAL)
            settled &= least > SCATTERED * found[ORDERS[-1]]
        return np.where(settled, np.min(list(found.values()), axis=0), 0.0)

    def moving_noise(self, values: Floats) -> Floats:
        """Return what differences make of noise (n,), or of motion, where a signal moves most."""
        if len(self.time) < FEWEST:
            return np.zeros(values.shape[1])
        sizes = self._sizes(values, _rests(values))
        each = [_size(x, MOVING, MOVING_NORMAL) for x in sizes.values()]
        return np.asarray(np.min(each, axis=0))

    def _sizes(self, values: Floats, rests: Flags, whole: bool = False) -> dict[int, Floats]:
        """Return the sizes (M, n) of differences, scaled to that of white noise, by order.

        Parameters
        ----------
        rests : between which rows (N - 1,) nothing moves; differences of these alone do not count
        whole : only those count in which all moves; none do where they are fewer than `FEWEST`
        """
        found, difference = dict[int, Floats](), values
        resting = np.concatenate([[0], np.cumsum(rests)])
        for order, spans in enumerate(self._spans, 1):
            difference = (difference[1:] - difference[:-1]) / spans[:, None]
            if order not in ORDERS:
                continue
            sizes = np.abs(difference) / self._norms[order][:, None]
            if resting[-1]:
                among = resting[order:] - resting[:-order]
                sizes = sizes[among == 0 if whole else among < order]
            if len(sizes) < (FEWEST if whole and resting[-1] else 1):
                sizes = np.zeros((1, values.shape[1]))
            found[order] = sizes
        return found


def even_differences(values: Floats, order: int) -> Floats:
    """Return differences (N - order,) of numbers at even times, scaled to their white noise."""
    factors = np.array([(-1.0) ** k * math.comb(order, k) for k in range(order + 1)])
    return np.correlate(np.ascontiguousarray(values), factors / np.linalg.norm(factors))


def runs_of(flags: Flags) -> list[slice]:
    """Return where flags are true one after another."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return [slice(int(b), int(e)) for b, e in zip(edges[::2], edges[1::2], strict=True)]


def _size(sizes: Floats, percent: float, normal: float) -> Floats:
    """Return the standard deviation (n,) of which sizes (M, n) have a percentile."""
    place = 0.01 * percent * (len(sizes) - 1)
    low, high = math.floor(place), math.ceil(place)
    near = np.partition(sizes, (low, high), axis=0)[[low, high]]
    return np.asarray((near[0] + (place - low) * (near[1] - near[0])) / normal)


def _rests(values: Floats) -> Flags:
    """Return between which rows a signal (N, n) rests, (N - 1,)."""
    still = np.all(values[1:] == values[:-1], axis=1)
    if np.mean(still) * len(still) < RESTING:
        return np.zeros(len(still), dtype=bool)
    edges = np.flatnonzero(np.diff(still)) + 1
    lengths = np.diff([0, *edges, len(still)])
    return np.asarray(still & np.repeat(lengths >= RESTING, lengths))


def rounding_step(
    differences: Differences, values: Floats, factor: float = 1.0, other: float = 0.0
) -> float:
    """Return the step to which numbers (N,) were rounded, 0 if none shows.

    Decimals of the file, or the counts of an encoder: all differences are whole multiples of it.

    Parameters
    ----------
    factor : of the file's unit: values / factor is what stood there
    other : step of another joint of the machine, which explains one or two levels
    """
    if len(values) < FEWEST:
        return 0.0
    levels = np.unique(values)  # all that is asked of the values but how they change
    if 1 < len(levels) < LEVELS:  # at rest, where the last digit flickers
        least = float(np.diff(levels).min())
        whole = other > 0.0 and abs(least / other - round(least / other)) < ON_COUNTS
        flickers = np.count_nonzero(np.diff(values)) >= FEWEST_CHANGES
        return other if whole and least > 0.5 * other else least if flickers else 0.0
    step = max(_decimals(levels / factor) * factor, count_step(levels))
    if step == 0.0:
        return 0.0
    moving = differences.moving_noise(values[:, None])[0]
    return step if moving > ROUNDING_SHARE * UNIFORM * step or _staircase(values, step) else 0.0


def _decimals(written: Floats) -> float:
    """Return the last decimal of numbers that is not 0, as 0.001; 0 if there are too many."""
    if len(written) < LEVELS:
        return 0.0
    for digits in range(MOST_DIGITS + 1):
        scaled = written * 10.0**digits
        if np.abs(scaled - np.round(scaled)).max() < ON_GRID:
            return float(10.0**-digits)
    return 0.0


def count_step(values: Floats) -> float:
    """Return the smallest difference of two levels if all others are whole multiples, else 0."""
    levels = np.unique(values)
    levels = levels[np.append(True, np.diff(levels) > SAME_LEVEL * np.abs(levels).max())]
    if len(levels) < LEVELS:
        return 0.0
    gaps = np.diff(levels)
    step = float(gaps.min())
    for most in (5.0, 50.0, np.inf):  # written with a few digits, a single gap tells it roughly
        near = gaps[gaps < most * step]
        step = float(near.sum() / np.round(near / step).sum())
    counts = np.append(0.0, np.cumsum(np.round(gaps / step)))
    step = float((levels[-1] - levels[0]) / counts[-1])
    off = np.abs((levels - levels[0]) / step - counts).max()
    return step if off < ON_COUNTS else 0.0


def _staircase(values: Floats, step: float) -> bool:
    """Return whether most changes are jumps of about one step between equal values."""
    change = np.round(np.diff(values) / step)
    rises = np.flatnonzero(change[1:-1]) + 1
    if not len(rises):
        return False
    lonely = (change[rises - 1] == 0.0) | (change[rises + 1] == 0.0)
    return bool(np.mean(lonely) > 0.5)


def repeats(values: Floats) -> Floats:
    """Return for each value (N,) how many equal ones stand side by side with it."""
    changes = np.flatnonzero(np.diff(values) != 0.0) + 1
    edges = np.concatenate([[0], changes, [len(values)]])
    lengths = np.diff(edges)
    return np.repeat(lengths, lengths).astype(np.float64)
