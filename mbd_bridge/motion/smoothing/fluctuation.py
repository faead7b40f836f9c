"""Fluctuations that last all along a recording, far above its motion: noise that looks like motion.

Noise that a filter has smoothed before it was recorded, or that hums at one frequency, is no white
noise: a curve follows it, as it follows the motion. Nobody can tell it from a machine that
trembles, but it can be seen: accelerations have less and less of a motion towards high frequencies,
and a motion comes and goes, whereas such noise grows again and is there all the time. Octave by
octave, the power in short windows (of 4 to 8 periods) is taken that three quarters of the windows
exceed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from mbd_bridge.motion.smoothing.basis import Floats

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
BEYOND = 1.2
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
        or acceleration < BEYOND * variance()
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
