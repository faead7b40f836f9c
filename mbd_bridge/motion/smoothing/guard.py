"""Whether a curve is as near to a recording as the stated noise says, stretch by stretch.

Residuals r of values with the weights w = 1 / variance are tested in windows of n = 1 to 1024 rows:

    |Σ w r| / √Σ w          runs of one sign and, with n = 1, the largest; normal, of variance 1
    Σ w r²                  motion of any frequency that was smoothed away; χ² (Wilson-Hilferty)

A curve that follows its data has smaller ones. Where a window fails, the stretch is smoothed by
itself, with the smoothness of largest likelihood there, and what still fails in it once more. What
fails in the end has its covariance widened, and is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Floats
from mbd_bridge.motion.smoothing.likelihood import ORDERS, Blocks, local_covariance
from mbd_bridge.motion.smoothing.noise import FEWEST, runs_of
from mbd_bridge.motion.smoothing.spline import Data, at_times

WINDOWS = (1, 4, 16, 64, 256, 1024)
"""Rows of the windows in which residuals are tested; each begins amid the one before."""
FALSE = 1e-3
"""Probability that white noise fails in one of the windows of a piece of a recording."""
MORE = 1.5
"""Ratio of squares to the stated noise from which on they count: noise is known roughly."""
DEPTH = 4
"""How often a stretch of a stretch is smoothed by itself."""
SHORTER = 0.6
"""Share of the stretch around it below which one is smoothed by itself once more."""
MARGIN = 0.25
"""Share of a stretch by which more is looked at on either side."""
PERIODS = 2.0
"""Periods of its cut-off by which a stretch is smoothed beyond what is used."""
USUAL = 3.0
"""Standard deviations of the largest residual of a window that its noise explains."""
SIDE = 0.1
"""Share of a piece of a stretch over which a wider band narrows again."""
BLOCK = 0.5
"""Periods of a cut-off over which the largest difference of two curves is taken."""
QUICK = 0.2
"""Cut-off, relative to the sampling rate, from which on nobody can tell motion from faults."""

BRIEF = 0.75
"""Periods of the cut-off up to which a pulse of the acceleration, at half its height, is as short
as the smoothing lets it be: what it smooths away shows nowhere else. An impulse lasts for 0.6."""
PULSE = 0.3
"""Height of such pulses, relative to the largest acceleration, at least."""
SWINGS = 0.5
"""Acceleration the other way within a period, relative to its height, from which on it is none: a
vibration has them one after another."""
OPEN = 0.5
"""Standard deviation of their height, relative to it: it is twice as much, or nobody knows."""

Kind = Literal["own", "doubted", "brief", "jump", "rough"]


@dataclass(frozen=True)
class Stretch:
    """Times, s, between which a curve is not as the rest of it, and why.

    Attributes
    ----------
    kind : "own": smoothed by itself; "doubted": farther from the recording than the noise tells;
        "brief": its acceleration is a pulse no longer than the smoothing resolves;
        of interpolated ones, "jump": the acceleration does; "rough": other rows do not foretell it
    """

    begin: float
    end: float
    kind: Kind


@dataclass(eq=False)
class Curve:
    """A curve through the columns of a signal.

    Attributes
    ----------
    derived : (3, N, n) values, velocities and accelerations at the data's times
    knots, covariance : (K,) s and (K, 3, 3), linear between
    stretches : what was found of it
    """

    derived: Floats
    knots: Floats
    covariance: Floats
    stretches: list[Stretch] = field(default_factory=list)

    def splice(self, begin: float, end: float, knots: Floats, covariance: Floats) -> None:
        """Put other knots between two times."""
        before, behind = self.knots < begin, self.knots > end
        inside = (knots >= begin) & (knots <= end)
        self.knots = np.concatenate([self.knots[before], knots[inside], self.knots[behind]])
        parts = self.covariance[before], covariance[inside], self.covariance[behind]
        self.covariance = np.concatenate(parts)

    def widen(self, edges: Floats, factor: float, more: Floats | None = None) -> None:
        """Multiply deviations by a factor between the first and the last of some times.

        Parameters
        ----------
        edges : (K,) s
        more : (3, K - 1) by how much value, velocity and acceleration may be off between them
        """
        outside = [edges[0] - SIDE * (edges[1] - edges[0]), edges[-1] + SIDE * np.ptp(edges[-2:])]
        knots = np.unique(np.concatenate([self.knots, edges, outside]))
        covariance = at_times(knots, self.knots, self.covariance)
        inside = (knots >= edges[0]) & (knots <= edges[-1])
        covariance[inside] *= factor**2
        if more is not None:
            most = np.maximum(np.pad(more, ((0, 0), (0, 1))), np.pad(more, ((0, 0), (1, 0))))
            diagonal = at_times(knots[inside], edges, most.T) ** 2
            covariance[inside] += diagonal[:, :, None] * np.eye(3)
        self.knots, self.covariance = knots, covariance

    def widen_by(self, time: Floats, change: Floats, block: int) -> None:
        """Add to deviations what changes (3, N, n) at times (N,) are at most in blocks of rows."""
        begins = np.arange(0, change.shape[1] - 1, block)  # the last has two rows at least
        most = np.maximum.reduceat(np.abs(change).max(axis=2), begins, axis=1)
        self.widen(np.append(time[begins], time[-1]), 1.0, most)


@dataclass(frozen=True, eq=False)
class Guard:
    """Data of a signal, and what is stated of their noise.

    Attributes
    ----------
    data : of each column, with weights
    scale : by which 1 / √weight must be multiplied to give standard deviations
    sigma : 1 / √weight of a datum that counts as one
    bound : half the step to which values were rounded: noise may be as large for long
    step : s, the usual one
    own : whether stretches may be smoothed by themselves; else they are widened by what that makes
    cutoff : Hz, of the curve
    """

    data: Sequence[Data]
    scale: float
    sigma: float
    bound: float
    step: float
    own: bool = True
    cutoff: float = math.inf

    def watch(self, curve: Curve) -> None:
        """Compare a curve with the data; correct it or widen its covariance where it fails."""
        every = slice(0, len(self.data[0].time))
        cutoffs = np.full(every.stop, self.cutoff)
        failing = self.failing(curve, every)
        for rows, _ in apart(failing, self._margin(0)):
            self._follow(curve, rows, 0, cutoffs)
        for rows, off in self.failing(curve, every) if failing else ():
            self._doubt(curve, rows, off if self.own else USUAL)
        if self.own:
            self._look_for_pulses(curve, cutoffs)

    def _look_for_pulses(self, curve: Curve, cutoffs: Floats) -> None:
        """Widen the covariance where accelerations last no longer than the smoothing resolves."""
        from scipy.ndimage import minimum_filter1d

        time = self.data[0].time
        longest = math.ceil(BRIEF / (cutoffs.min() * self.step))
        for signed in curve.derived[2].T:
            size = np.abs(signed)
            tops = (size[1:-1] >= size[:-2]) & (size[1:-1] > size[2:])
            tops &= size[1:-1] > PULSE * size.max()
            tops &= minimum_filter1d(size, 2 * longest + 1)[1:-1] < 0.5 * size[1:-1]
            for row in (np.flatnonzero(tops) + 1).tolist():
                period = math.ceil(1.0 / (cutoffs[row] * self.step))
                before, behind = max(0, row - period), row + period + 1
                half = np.flatnonzero(size[before:behind] < 0.5 * size[row]) + before
                begin, end = (
                    half[half < row].max(initial=-1),
                    half[half > row].min(initial=len(size)),
                )
                brief = (end - begin - 1) * self.step * cutoffs[row] < BRIEF
                other = np.max(-signed[before:behind] * np.sign(signed[row]))
                if not brief or begin < 0 or end == len(size) or other > SWINGS * size[row]:
                    continue
                curve.widen(time[[begin, end]], 1.0, np.array([[0.0], [0.0], [OPEN * size[row]]]))
                self._say(curve, slice(begin, end + 1), "brief")

    def failing(self, curve: Curve, within: slice) -> list[tuple[slice, float]]:
        """Return the rows that fail, and the largest ratio of a residual to its deviation."""
        offs = np.zeros(within.stop - within.start)
        for column, one in enumerate(self.data):
            left = one.values[within] - curve.derived[0, within, column]
            weights = one.weights[within] / self.scale**2
            counts = one.weights[within] * self.sigma**2
            np.maximum(offs, _off(left, weights, counts, self.bound), out=offs)
            if one.rates is not None and one.rate_weights is not None:
                left = one.rates[within] - curve.derived[1, within, column]
                weights = one.rate_weights[within] / self.scale**2
                used = (weights > 0.0).astype(float)
                np.maximum(offs, _off(left, weights, used, 0.0), out=offs)
        return [
            (slice(within.start + rows.start, within.start + rows.stop), float(offs[rows].max()))
            for rows in runs_of(offs > 0.0)
        ]

    def _margin(self, rows: int) -> int:
        return max(FEWEST // 2, math.ceil(MARGIN * rows))

    def _wider(self, rows: slice, by: int) -> slice:
        return slice(max(0, rows.start - by), min(len(self.data[0].time), rows.stop + by))

    def _follow(self, curve: Curve, rows: slice, depth: int, cutoffs: Floats) -> None:
        """Smooth rows by themselves, and what still fails among them once more."""
        wide = self._wider(rows, self._margin(rows.stop - rows.start))
        blocks = Blocks([one.rows(wide) for one in self.data])
        choice = blocks.choose(ORDERS, scale=self.scale)
        more = math.ceil(PERIODS / (choice.cutoff * self.step))
        fit = self._wider(wide, more)
        splines = choice.splines([one.rows(fit) for one in self.data], self.step)
        time = self.data[0].time
        begin, end = float(time[wide.start]), float(time[wide.stop - 1])
        own = np.stack([np.array(spline(time[wide])) for spline in splines], axis=-1)
        ramp = blend(wide, rows, len(time))[:, None]
        change = ramp * (own - curve.derived[:, wide])
        if self.own:
            curve.derived[:, wide] += change
            known = replace(choice, scale=self.scale)
            curve.splice(begin, end, *local_covariance(splines, self.data[0].rows(fit), known))
            cutoffs[rows] = choice.cutoff
            self._say(curve, rows, "own")
        if not self.own or choice.cutoff * self.step > QUICK:
            block = max(2, math.ceil(BLOCK / (choice.cutoff * self.step)))
            curve.widen_by(time[wide], change, block)
            self._say(curve, rows, "doubted")
        if depth == DEPTH or not self.own:
            return
        for part, _ in apart(self.failing(curve, rows), FEWEST // 4):
            if part.stop - part.start < SHORTER * (rows.stop - rows.start):
                self._follow(curve, part, depth + 1, cutoffs)

    def _doubt(self, curve: Curve, rows: slice, off: float) -> None:
        time = self.data[0].time
        curve.widen(time[[rows.start, rows.stop - 1]], max(1.0, off / USUAL))
        self._say(curve, rows, "doubted")

    def _say(self, curve: Curve, rows: slice, kind: Kind) -> None:
        time = self.data[0].time
        curve.stretches.append(Stretch(float(time[rows.start]), float(time[rows.stop - 1]), kind))


def apart(failing: list[tuple[slice, float]], gap: int) -> list[tuple[slice, float]]:
    """Return failing rows with those joined between which there are few."""
    joined: list[tuple[slice, float]] = []
    for rows, off in failing:
        if joined and rows.start - joined[-1][0].stop < gap:
            rows, off = slice(joined[-1][0].start, rows.stop), max(off, joined[-1][1])
            joined.pop()
        joined.append((rows, off))
    return joined


def blend(wide: slice, rows: slice, size: int) -> Floats:
    """Return how much of a stretch's own curve is used in each of its rows: all inside."""
    number = np.arange(wide.start, wide.stop)
    rise = (number - wide.start + 0.5) / max(rows.start - wide.start, 1)
    fall = (wide.stop - number - 0.5) / max(wide.stop - rows.stop, 1)
    if wide.start == 0:
        rise = np.ones(len(number))
    if wide.stop == size:
        fall = np.ones(len(number))
    share = np.clip(np.minimum(rise, fall), 0.0, 1.0)
    return np.asarray(share * share * (3.0 - 2.0 * share))


def _off(left: Floats, weights: Floats, counts: Floats, bound: float) -> Floats:
    """Return for each row the largest ratio by which a window with it fails, 0 where none does.

    Parameters
    ----------
    left, weights : (N,) residuals and 1 / variance
    counts : (N,) as how many data each row counts
    bound : size of residuals of one sign that noise may have for long
    """
    from scipy.special import ndtri

    rows = len(left)
    windows = sum(rows / max(1, window // 2) for window in WINDOWS)
    sure = -float(ndtri(0.5 * FALSE / windows))
    found = np.zeros(rows)
    weighted = weights * left
    sums = [_cumulative(x) for x in (weighted, weighted * left, weights, counts)]
    for window in WINDOWS:
        if window > rows:
            break
        stride = max(1, window // 2)
        one, squares, weight, number = (x[window::stride] - x[:-window:stride] for x in sums)
        weight = np.maximum(weight, np.finfo(float).tiny)
        runs = np.abs(one) / np.sqrt(weight)
        bad = (runs > sure) & (np.abs(one) > bound * weight)
        off = np.where(bad, runs, 0.0)
        if window > 4:
            number = np.maximum(number, 1.0)
            share = 2.0 / (9.0 * number)
            ratio = squares / number
            normal = (np.cbrt(ratio) - 1.0 + share) / np.sqrt(share)
            limit = MORE + bound**2 * float(weights.max())
            loud = (normal > sure) & (ratio > limit)
            off = np.maximum(off, np.where(loud, USUAL * np.sqrt(np.maximum(ratio, 0.0)), 0.0))
        for k in np.flatnonzero(off):
            part = found[k * stride : k * stride + window]
            np.maximum(part, off[k], out=part)
    return found


def _cumulative(values: Floats) -> NDArray[np.float64]:
    return np.concatenate([[0.0], np.cumsum(values)])
