"""Savitzky-Golay and Butterworth filters of a cut-off, for those who want these by name.

Both need even times. Their errors from white noise follow from what they make of one impulse; what
they take away of the motion itself is not told by anything.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from mbd_bridge.motion.derivatives import derivatives
from mbd_bridge.motion.smoothing.basis import Floats

POLYNOMIAL = 5
"""Degree of the Savitzky-Golay polynomials: the error of second derivatives is of fourth order."""
BUTTERWORTH = 4
"""Order of the Butterworth filter; run forwards and backwards its attenuation is that of 8."""
LENGTHS = 10.0
"""Periods of the cut-off over which a filter's response has died away."""

Filter = Literal["savgol", "lowpass"]


def window(cutoff: float, step: float) -> int:
    """Return the odd number of rows of the Savitzky-Golay filter with a cut-off (Schafer11).

    f ≈ (n + 1) / (3.2 M - 4.6) of half the sampling rate, for the degree n and 2 M + 1 rows.
    """
    half = ((POLYNOMIAL + 1) / (2.0 * cutoff * step) + 4.6) / 3.2
    return 2 * max(math.ceil(half), POLYNOMIAL // 2 + 1) + 1


def filtered(method: Filter, time: Floats, values: Floats, cutoff: float) -> list[Floats]:
    """Return signals (N, n) at even times, filtered, and their first two derivatives."""
    from scipy import signal

    step = float((time[-1] - time[0]) / (len(time) - 1))
    if method == "savgol":
        rows = window(cutoff, step)
        return [
            signal.savgol_filter(values, rows, POLYNOMIAL, deriv=k, delta=step, axis=0)
            for k in range(3)
        ]
    sections = signal.butter(BUTTERWORTH, cutoff, fs=1.0 / step, output="sos")
    smooth = signal.sosfiltfilt(sections, values, axis=0, padlen=padding(cutoff, step, len(time)))
    return [smooth, *derivatives(time, smooth, (1, 2))]


def padding(cutoff: float, step: float, rows: int) -> int:
    """Return by how many rows the signal is continued at both ends, point-symmetrically."""
    return max(0, min(rows - 1, math.ceil(1.0 / (cutoff * step))))


def noise_covariance(method: Filter, cutoff: float, step: float) -> Floats:
    """Return the covariance (3, 3) of value, velocity, acceleration from noise of variance 1."""
    rows = 2 * math.ceil(LENGTHS / (cutoff * step)) + 1
    time, impulse = np.asarray(step * np.arange(float(rows))), np.zeros((rows, 1))
    impulse[rows // 2] = 1.0
    responses = np.hstack(filtered(method, time, impulse, cutoff))
    return np.asarray(responses.T @ responses)
