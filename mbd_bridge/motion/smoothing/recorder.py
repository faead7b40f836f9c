"""What a recorder did to a motion: its time stamps, a filter, fluctuations.

Time stamps that jitter about a clock: which clock, and how much they are off.

A controller samples at even times, but a message's stamp is set a little later by a computer that
does other things too. Then even times describe the motion better than the stamps. If it is the
sampling itself that is uneven (and the stamps are right), the stamps describe it better. The
positions tell which: the noise in their differences is smaller with the right times.
"""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.motion.derivatives import derivatives
from mbd_bridge.motion.smoothing.noise import FEWEST, Differences, even_differences
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


# A filter through which exact positions went before they were recorded, and what it took away.
#
# Behind each jump of a derivative a filter leaves a tail. In differences y of high order, in which
# the motion itself is hardly seen, the tail of a filter of order 2 is
#
#     y[n] = -a₁ y[n - 1] - a₂ y[n - 2],    z² + a₁ z + a₂ = (z - e^(sh)) (z - e^(s̄h)),
#
# to rounding, with s its pole and h the step. Windows of rows that obey some such equation tell a
# pole each; if most tell the same, well damped one, it is a filter's, or a drive's. Recorded
# values times 1 + a₁/z + a₂/z², which has the filter's delay, are what went into it.

DIFFERENCES = 8
"""Order of the differences."""
WINDOW = 6
"""Equations that tell a pole."""
OBEYED = 1e-2
"""What is left of these equations, relative to the differences, at most."""
LOUD = 3e3
"""Ratio of differences to the rounding of the values, at least."""
DAMPED = 0.3
"""Damping ratio, at least: machines vibrate with less."""
SLOW = 0.4
"""Frequency of the pole relative to the sampling rate, at most: quicker ones end in few rows."""
ALIKE, MOST, FEWEST_WINDOWS = 0.05, 0.7, 10
"""Relative difference of poles that are the same, and the share and number of windows with it."""
SAME = 0.25
"""Periods of the pole over which the largest of what was taken away counts."""


@dataclass(frozen=True)
class RecordedFilter:
    """A low-pass filter of order 2.

    Attributes
    ----------
    frequency, damping : of its pole, Hz and relative to the critical one
    """

    frequency: float
    damping: float

    def rows(self, step: float) -> int:
        """Return over how many rows what it took away is about the same."""
        return max(2, math.ceil(SAME / (self.frequency * step)))

    def change(self, samples: Samples, derived: Floats) -> Floats:
        """Return by how much a signal before the filter is off one behind it, (3, N, n).

        0 where times are uneven.

        Parameters
        ----------
        derived : (3, N, n) value, velocity and acceleration behind the filter
        """
        found, time = np.zeros_like(derived), samples.time
        if not _is_even(samples):
            return found
        step, (value, _, _) = (time[-1] - time[0]) / (len(time) - 1), derived
        real = -self.damping
        pole = complex(real, math.sqrt(max(1.0 - real * real, 0.0)))
        z = cmath.exp(2.0 * math.pi * self.frequency * step * pole)
        first, second = -2.0 * z.real, abs(z) ** 2
        gain = 1.0 + first + second
        before = (value[2:] + first * value[1:-1] + second * value[:-2]) / gain
        later = time + (first + 2.0 * second) / gain * step
        parts = before, *derivatives(time[2:], before, (1, 2))
        for order, part in enumerate(parts):
            for column in range(part.shape[1]):
                found[order, :, column] = np.interp(later, time[2:], part[:, column])
        return found - derived


def recorded_filter(
    samples: Sequence[Samples], values: Sequence[Floats], step: float
) -> RecordedFilter | None:
    """Return the filter whose tails a signal (N, n), which comes in blocks, has, or None.

    Parameters
    ----------
    step : s, the usual one
    """
    even = [_is_even(block) for block in samples]
    columns = [x for block in itertools.compress(values, even) for x in block.T]
    poles = [_poles(column, step) for column in columns]
    every = np.concatenate(poles) if poles else np.zeros(0, dtype=complex)
    if len(every) < FEWEST_WINDOWS:
        return None
    usual = complex(np.median(every.real), np.median(every.imag))
    alike = np.abs(every - usual) < ALIKE * abs(usual)
    frequency, damping = abs(usual) / (2.0 * math.pi), -usual.real / abs(usual)
    if np.count_nonzero(alike) < max(FEWEST_WINDOWS, MOST * len(every)) or frequency * step > SLOW:
        return None
    return RecordedFilter(frequency, damping)


def _is_even(samples: Samples) -> bool:
    return len(samples.time) > 4 * DIFFERENCES and samples.differences.even


def _poles(values: Floats, step: float) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
    """Return the poles, rad/s, that windows of numbers (N,) at even times tell, if they do."""
    difference = even_differences(values, DIFFERENCES)
    least = LOUD * float(np.finfo(float).eps) * float(np.abs(values).max())
    none = np.zeros(0, dtype=complex)
    if np.abs(difference).max() < least:
        return none
    now, last, older = difference[2:], difference[1:-1], difference[:-2]
    products = (last * last, last * older, older * older, now * last, now * older, now * now)
    windows = np.lib.stride_tricks.sliding_window_view(np.array(products), WINDOW, axis=1)
    s11, s12, s22, r1, r2, r0 = windows.sum(axis=2)
    loud = (s11 > least**2) & (r0 < 0.5 * s22)  # and falling
    s11, s12, s22, r1, r2, r0 = (x[loud] for x in (s11, s12, s22, r1, r2, r0))
    determinant = np.maximum(s11 * s22 - s12 * s12, np.finfo(float).tiny)
    first, second = (r2 * s12 - r1 * s22) / determinant, (r1 * s12 - r2 * s11) / determinant
    obeyed = r0 + first * r1 + second * r2 < OBEYED**2 * s11
    swings = obeyed & (first * first < 4.0 * second)
    first, second = first[swings], second[swings]
    z = 0.5 * (-first + 1j * np.sqrt(4.0 * second - first * first))
    pole = np.log(z) / step
    return np.asarray(pole[-pole.real > DAMPED * np.abs(pole)])


# Fluctuations that last all along a recording, far above its motion: noise that looks like motion.
#
# Noise that a filter has smoothed before it was recorded, or that hums at one frequency, is no
# white noise: a curve follows it, as it follows the motion. Nobody can tell it from a machine that
# trembles, but it can be seen: accelerations have less and less of a motion towards high
# frequencies, and a motion comes and goes, whereas such noise grows again and is there all the
# time. Octave by octave, the power in short windows (of 4 to 8 periods) is taken that three
# quarters of the windows exceed.

SHORTEST, PERIODS = 16, 4
"""Rows of the window of the highest octave, and the periods of its lowest frequency in it."""
DEGREE = 3
"""Of the polynomials that are taken out of a window, so that slow motions do not leak into it."""
WINDOWS = 8
"""Windows, at least, from which something is concluded."""
EXCEEDED, OF_MEAN = 25.0, 0.7
"""Percentile of the power in the windows, and what it is of the mean of noise, about."""
RISE = 2.0
"""Ratio of the accelerations in an octave to those in a lower one from which on it is no motion."""
FOUND_RISE = 1.0
"""The same where noise was found in differences of the values, and none is smoothed away."""
SMALL = 0.1
"""Velocities, relative to the range of all, up to which it is a fluctuation of a motion."""
MATTERS, DOUBTFUL = 3e-4, 0.01
"""Accelerations, relative to the largest, from which on bands know of it, and from which on it is
said."""
BEYOND_STATED = 1.2
"""Ratio of the squares of these accelerations to those of the stated errors from which on they
count."""


@dataclass(frozen=True, eq=False)
class Fluctuation:
    """What fluctuates all along a signal.

    Attributes
    ----------
    low, high : Hz
    covariance : (3, 3) of value, velocity and acceleration
    doubtful : whether loads may be off by it
    """

    low: float
    high: float
    covariance: Floats
    doubtful: bool

    @property
    def size(self) -> float:
        """Standard deviation of the value."""
        return math.sqrt(float(self.covariance[0, 0]))


def fluctuation(
    accelerations: Sequence[Floats],
    step: float,
    variance: Callable[[], float],
    rounding: float,
    rise: float = RISE,
) -> Fluctuation | None:
    """Return what fluctuates, from accelerations at even times in parts, or None.

    Parameters
    ----------
    variance : returns that of the accelerations, as it is stated
    rounding : of the values: what is smaller is none
    rise : ratio of the accelerations in an octave to those in a lower one
    """
    octaves, rows = list[Floats](), SHORTEST
    lengths = dict.fromkeys(len(part) for part in accelerations)
    alike = [np.array([x for x in accelerations if len(x) == length]) for length in lengths]
    while True:
        power = [x for parts in alike for x in _power(parts, rows, step)]
        if sum(x.shape[1] for x in power) < WINDOWS:
            break
        octaves.append(np.percentile(np.hstack(power), EXCEEDED, axis=1) / OF_MEAN)
        rows *= 2
    if len(octaves) < 2:
        return None
    powers = np.array(octaves)[::-1]  # (octaves, 3), from low to high
    least = np.minimum.accumulate(powers[:, 2])
    rises = np.flatnonzero(powers[1:, 2] > rise**2 * least[:-1])
    largest = max(float(np.abs(part).max()) for part in accelerations)
    if not len(rises):
        return None
    lowest = int(np.argmin(powers[: rises[0] + 1, 2]))
    first = lowest + 1
    value, velocity, acceleration = powers[first:].sum(axis=0)
    size = math.sqrt(acceleration)
    range_of_rates = max(float(np.ptp(np.cumsum(part))) * step for part in accelerations)
    if (
        size < MATTERS * largest
        or math.sqrt(velocity) > SMALL * range_of_rates
        or math.sqrt(value) < rounding
        or acceleration < BEYOND_STATED * variance()
    ):
        return None
    value, velocity, acceleration = powers[lowest:].sum(axis=0)  # motion and noise are both in it
    covariance = np.diag([value, velocity, acceleration])
    covariance[0, 2] = covariance[2, 0] = -velocity
    loud = np.flatnonzero(powers[first:, 2] > 0.05 * acceleration) + first
    edges = 0.5 / step / 2.0 ** np.arange(len(powers), -1, -1.0)
    return Fluctuation(
        float(edges[loud[0]]), float(edges[loud[-1] + 1]), covariance, size > DOUBTFUL * largest
    )


def _power(values: Floats, rows: int, step: float) -> list[Floats]:
    """Return the variances (3, windows) of value, velocity, acceleration in the octave of a window.

    Parameters
    ----------
    values : (parts, N) accelerations, in windows that begin a quarter of their length apart
    """
    found, spectrum = list[Floats](), _spectrum(rows)
    omega = 2.0 * np.pi * np.arange(PERIODS, 2 * PERIODS) / (rows * step)
    factors = omega ** np.array([[-4], [-2], [0]])
    for begin in range(0, min(rows, values.shape[1] - rows + 1), rows // 4):
        end = begin + (values.shape[1] - begin) // rows * rows
        waves = values[:, begin:end].reshape(-1, rows) @ spectrum
        found.append(factors @ (waves[:, :PERIODS] ** 2 + waves[:, PERIODS:] ** 2).T)
    return found


@cache
def _spectrum(rows: int) -> Floats:
    """Return what makes of a window (rows,) the spectrum of its octave, cosines before sines.

    Slow motions are taken out, and the squares are the variances.
    """
    slow, _ = np.linalg.qr(np.vander(np.linspace(-1.0, 1.0, rows), DEGREE + 1))
    window = np.sin(np.pi * (np.arange(rows) + 0.5) / rows) ** 4
    angle = 2.0 * np.pi / rows * np.outer(np.arange(rows), np.arange(PERIODS, 2 * PERIODS))
    waves = window[:, None] * np.hstack([np.cos(angle), np.sin(angle)])
    waves -= slow @ (slow.T @ waves)
    return np.asarray(waves * math.sqrt(2.0 / (rows * np.sum(window**2))))
