"""A filter through which exact positions went before they were recorded, and what it took away.

Behind each jump of a derivative a filter leaves a tail. In differences y of high order, in which
the motion itself is hardly seen, the tail of a filter of order 2 is

    y[n] = -a₁ y[n - 1] - a₂ y[n - 2],    z² + a₁ z + a₂ = (z - e^(sh)) (z - e^(s̄h)),

to rounding, with s its pole and h the step. Windows of rows that obey some such equation tell a
pole each; if most tell the same, well damped one, it is a filter's, or a drive's. Recorded values
times 1 + a₁/z + a₂/z², which has the filter's delay, are what went into it.
"""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mbd_bridge.motion.derivatives import derivatives
from mbd_bridge.motion.smoothing.basis import Floats
from mbd_bridge.motion.smoothing.noise import even_differences
from mbd_bridge.motion.smoothing.spline import Samples

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
ALIKE, MOST, FEWEST = 0.05, 0.7, 10
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
    if len(every) < FEWEST:
        return None
    usual = complex(np.median(every.real), np.median(every.imag))
    alike = np.abs(every - usual) < ALIKE * abs(usual)
    frequency, damping = abs(usual) / (2.0 * math.pi), -usual.real / abs(usual)
    if np.count_nonzero(alike) < max(FEWEST, MOST * len(every)) or frequency * step > SLOW:
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
