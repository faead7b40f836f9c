"""Interpolated signals: beside jumps of the acceleration, and where nothing is to be trusted.

Exact positions are not an exact acceleration: where it jumps, a spline through all points swings to
both sides. What the neighbours of a point do not foretell shows in differences of high order. Those
of order 6 that are large in 6 rows one after another, and small before and behind, have a jump in
between; splines on both sides of it are interpolated by themselves. Other large differences are
noise, or a motion that is too quick for its sampling: there the stretch is smoothed by itself if
noise is found in it, and else has a band.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Floats
from mbd_bridge.motion.derivatives import DEGREE, derivatives
from mbd_bridge.motion.smoothing.guard import Curve, Stretch, apart, blend
from mbd_bridge.motion.smoothing.noise import runs_of
from mbd_bridge.motion.smoothing.spline import Samples

INTERPOLATED = 4.4, 1.8
"""What an interpolating spline makes of white noise of size 1 at steps of 1: standard deviations of
its second (π²/√5) and of its first derivative (π/√3)."""
FORETOLD, NEAR = 10, 6
"""Orders of the differences that find rows that are not foretold, and what is beside a jump."""
JUMPS = 1e-3
"""Error of the acceleration, relative to the largest, from which on jumps are looked for."""
DOUBTED = 1e-2
"""The same from which on the acceleration has a band."""
SMALL = 1e-5
"""Ratio of the differences beside a jump to those across it, where the motion beside is none."""
ROUGHLY = 0.01
"""Share of the largest acceleration by which a velocity may be off within a step, beside a jump."""
USUAL, STEEP = 30.0, 10.0
"""Percentile of the differences around that is the motion's own, and the ratio to it of those
across a jump, at least."""
ROUNDINGS = 30.0
"""Roundings of positions and times that a difference of a high order may add up."""
AROUND = 1024
"""Rows on either side of a stretch from which its noise is estimated."""


def interpolated(
    samples: Samples, values: Floats, step: float, smooth: Callable[[slice], Curve | None]
) -> Curve | None:
    """Return the curve through the columns of a signal (N, n), or None where one spline does.

    Parameters
    ----------
    step : s, the usual one
    smooth : returns some rows as they are smoothed by themselves, None if there is no noise
    """
    time = samples.time
    if len(time) <= 2 * FORETOLD:
        return None
    moved = np.diff(values, axis=0)
    speed, size = np.abs(moved).max() / step, np.abs(np.diff(moved, axis=0)).max() / step**2
    rounding = np.abs(values).max() + speed * np.abs(time).max()
    floor = ROUNDINGS * float(np.finfo(float).eps) * rounding
    limits = [max(floor, share * size * step**2 / INTERPOLATED[0]) for share in (JUMPS, DOUBTED)]
    unforetold = samples.differences.sizes(values, FORETOLD)
    if unforetold.max() <= limits[0]:
        return None
    breaks = _breaks(samples.differences.sizes(values, NEAR), unforetold > limits[0], floor)
    derived, breaks = _beside(time, values, breaks, ROUGHLY * size * step)
    curve = Curve(derived, time[[0, -1]], np.zeros((2, 3, 3)))
    for begin in breaks:
        curve.stretches.append(Stretch(float(time[begin[0]]), float(time[begin[1]]), "jump"))
        unforetold[max(0, begin[0] - FORETOLD + 1) : begin[1]] = 0.0
    if not np.any(unforetold > limits[1]):
        whole = np.array(derivatives(time, values, (2,))[0])
        changed = np.abs(derived[2] - whole).max()
        return curve if changed > DOUBTED * size else _silent(curve)
    runs = [(rows, 0.0) for rows in runs_of(unforetold > limits[1])]
    for rows, _ in apart(runs, AROUND):
        if not _smoothed(curve, time, _seen(rows, time), smooth):
            for part in runs_of(unforetold[rows] > limits[1]):
                part = slice(rows.start + part.start, rows.start + part.stop)
                _widen(curve, time, _seen(part, time), float(unforetold[part].max()), step)
    return curve


def _seen(windows: slice, time: Floats) -> slice:
    """Return the rows of windows of differences."""
    return slice(windows.start, min(windows.stop + FORETOLD, len(time)))


def _silent(curve: Curve) -> Curve:
    curve.stretches.clear()
    return curve


def _smoothed(
    curve: Curve, time: Floats, rows: slice, smooth: Callable[[slice], Curve | None]
) -> bool:
    """Smooth rows by themselves; return whether there is noise in them."""
    wide = slice(max(0, rows.start - AROUND), min(len(time), rows.stop + AROUND))
    own = smooth(wide)
    if own is None:
        return False
    share = blend(wide, rows, len(time))[:, None]
    curve.derived[:, wide] += share * (own.derived - curve.derived[:, wide])
    begin, end = float(time[wide.start]), float(time[wide.stop - 1])
    curve.splice(begin, end, own.knots, own.covariance)
    others = [s for s in curve.stretches if s.kind != "jump" or s.end < begin or end < s.begin]
    curve.stretches = [*others, *own.stretches, Stretch(begin, end, "own")]
    return True


def _widen(curve: Curve, time: Floats, rows: slice, sigma: float, step: float) -> None:
    """Give rows the band of noise that is interpolated."""
    more = sigma * np.array([1.0, INTERPOLATED[1] / step, INTERPOLATED[0] / step**2])
    begin, end = float(time[rows.start]), float(time[rows.stop - 1])
    curve.widen(np.array([begin, end]), 1.0, more[:, None])
    curve.stretches.append(Stretch(begin, end, "rough"))


def _breaks(near: Floats, unforetold: NDArray[np.bool_], floor: float) -> list[tuple[int, int]]:
    """Return the last row before each jump and the first one behind it, or a row of both twice."""
    from scipy.ndimage import maximum_filter1d, percentile_filter

    around = 4 * NEAR + 1
    motion = STEEP * percentile_filter(near, USUAL, around)
    large = near > np.maximum(np.maximum(SMALL * maximum_filter1d(near, around), motion), floor)
    large[1:-1] |= large[:-2] & large[2:]  # a jump at a row is odd: the difference amid is 0
    found: list[tuple[int, int]] = []
    for rows in runs_of(large):
        first = max(0, rows.start - FORETOLD + NEAR)
        if (
            not NEAR - 2 <= rows.stop - rows.start <= NEAR
            or not unforetold[first : rows.stop].any()
        ):
            continue
        left, right = rows.start + NEAR - 1, rows.stop
        if rows.start == 0 or rows.stop == len(near):
            continue  # nothing tells what is beside it
        if right <= left:
            left = right = (left + right) // 2
        if not found or left - found[-1][1] >= DEGREE:
            found.append((left, right))
    return found


def _beside(
    time: Floats, values: Floats, breaks: list[tuple[int, int]], slack: float
) -> tuple[Floats, list[tuple[int, int]]]:
    """Return a signal with its derivatives (3, N, n), interpolated piece by piece, and the breaks
    where really the acceleration jumps.
    """
    begins = [0, *(right for _, right in breaks)]
    ends = [*(left for left, _ in breaks), len(time) - 1]
    rows = [slice(begin, end + 1) for begin, end in zip(begins, ends, strict=True)]
    parts = [np.array([values[k], *derivatives(time[k], values[k], (1, 2))]) for k in rows]
    real = [
        pair
        for pair, before, behind in zip(breaks, parts, parts[1:], strict=False)
        if _goes_on(before[:, -1], behind[:, 0], np.diff(time[[*pair]])[0], slack)
    ]
    if len(real) < len(breaks):
        return _beside(time, values, real, slack)
    derived = np.concatenate(parts, axis=1) if len(parts) == 1 else np.zeros((3, *values.shape))
    for k, part in zip(rows, parts, strict=True):
        before = np.array(derived[2, k.start])
        derived[:, k] = part
        if np.linalg.norm(before) > np.linalg.norm(part[2, 0]):  # the larger one of both sides
            derived[2, k.start] = before
    return derived, breaks


def _goes_on(before: Floats, behind: Floats, lasting: float, slack: float) -> bool:
    """Return whether position and velocity go on beside a jump of the acceleration.

    Parameters
    ----------
    before, behind : (3, n) value, velocity, acceleration at its two sides
    lasting : s, from one side to the other
    slack : by which the velocity may be off
    """
    (q, v, a), (q_behind, v_behind, a_behind) = before, behind
    most = np.linalg.norm(a_behind - a) * lasting + slack
    faster = np.linalg.norm(v_behind - v - a * lasting)
    farther = np.linalg.norm(q_behind - q - v * lasting - 0.5 * a * lasting**2)
    return bool(faster < most and farther <= 0.5 * most * lasting)
