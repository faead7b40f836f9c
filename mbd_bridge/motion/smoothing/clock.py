"""Time stamps that jitter about a clock: which clock, and how much they are off.

A controller samples at even times, but a message's stamp is set a little later by a computer that
does other things too. Then even times describe the motion better than the stamps. If it is the
sampling itself that is uneven (and the stamps are right), the stamps describe it better. The
positions tell which: the noise in their differences is smaller with the right times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.motion.smoothing.noise import FEWEST, Differences
from mbd_bridge.motion.smoothing.spline import (
    Data,
    NormalEquations,
    Samples,
    parts_of,
    penalty_weight,
    reach,
    usual_step,
)

JITTER = 1e-4
"""Share of a step by which stamps are off an even clock, from which on it is asked for."""
FARTHEST = 0.45
"""Share of a step by which most stamps may be off; beyond, nobody knows which tick is meant."""
BEYOND = 0.01
"""Share of the stamps that may be farther off."""
BETTER = 0.8
"""Ratio of the noise with even times and with stamps below which the clock is taken."""
DRIFT = 1000.0
"""Ticks in which the clocks of two computers may drift apart: the period at which the smoothing
spline through the stamps halves a sine."""
BENDING, KNOTS = 2, 16
"""Order of the derivative that it penalises (a line is free), and its knots in each period."""


@dataclass(frozen=True)
class EvenClock:
    """An even clock behind time stamps.

    Attributes
    ----------
    period : s, between two ticks
    jitter : s, standard deviation of the stamps about the ticks
    """

    period: float
    jitter: float


def ticks(stamps: Floats) -> tuple[Floats, EvenClock] | None:
    """Return the times (N,) of an even clock at stamps (N,), or None if there is none.

    The times are a smoothing spline through the stamps over the numbers of the ticks: steps of
    about two periods, where rows are missing, count twice. After a long gap the clock starts anew.
    """
    parts = parts_of(stamps, usual_step([stamps]), FEWEST)
    found = [_ticks(stamps[part]) for part in parts]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    period, jitter = (float(np.median(x)) for x in zip(*(clock for _, clock in known), strict=True))
    times = np.concatenate([times for times, _ in known])
    return None if np.diff(times).min() <= 0.0 else (times, EvenClock(period, jitter))


def _ticks(stamps: Floats) -> tuple[Floats, tuple[float, float]] | None:
    """Return times, period and jitter of a part without long gaps."""
    if len(stamps) < FEWEST:
        return None
    steps = np.diff(stamps)
    counts = np.maximum(np.round(steps / np.median(steps)), 1.0)
    for _ in range(2):  # the median is one of the steps, their mean is much better
        counts = np.maximum(np.round(steps * counts.sum() / (stamps[-1] - stamps[0])), 1.0)
    number = np.concatenate([[0.0], np.cumsum(counts)])
    slope = (stamps[-1] - stamps[0]) / number[-1]
    line = stamps[0] + slope * number
    if np.sqrt(np.mean((stamps - line) ** 2)) < JITTER * slope:  # a spline is nearer yet
        return None
    times = line + _smooth(number, stamps - line)
    off = stamps - times
    period = float((times[-1] - times[0]) / (number[-1] - number[0]))
    jitter = float(np.std(off))
    if jitter < JITTER * period or np.mean(np.abs(off) > FARTHEST * period) > BEYOND:
        return None
    return times, (period, jitter)


def rows_of_influence() -> int:
    """Return how many rows away a stamp has an influence on a tick."""
    return math.ceil(reach(penalty_weight(1.0 / DRIFT, BENDING, 1.0), BENDING, 1.0))


def better(stamps: Sequence[Floats], even: Sequence[Floats], values: Sequence[Floats]) -> bool:
    """Return whether signals (N, n) in blocks are less noisy at even times than at stamps (N,)."""
    first, second = (
        np.stack([Differences(t).moving_noise(x) for t, x in zip(times, values, strict=True)])
        for times in (stamps, even)
    )
    moves = (first > 0.0) & (second > 0.0)
    if not moves.any():
        return False
    ratios = second[moves] / first[moves]
    return bool(ratios.min() < BETTER and ratios.min() * ratios.max() < 1.0)


def _smooth(number: Floats, values: Floats) -> Floats:
    """Return values (N,) as a slowly bending line over the numbers of their ticks."""
    data = Data(Samples(number), values, np.ones(len(values)))
    weight = penalty_weight(1.0 / DRIFT, BENDING, 1.0)
    spline = NormalEquations(data, BENDING, DRIFT / KNOTS).solve(weight)
    return np.asarray(spline.at_data((0,))[0])
