"""Whether measured velocities agree with the positions beside them, and how much they then count.

Controllers filter velocities, difference them, round them and send them late. White noise is taken
away by a spline through positions and velocities; what filters do is not, and the better such
velocities look, the more they would count. So they are compared with the rates ḟ of the spline
through the positions alone, in means R of their differences over the rows that this spline
averages. They are used if R is no larger than the errors of both explain, and neither a lag nor a
wrong scale, which regressions of R on f̈ and ḟ show, would harm the accelerations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mbd_bridge.motion.derivatives import derivatives
from mbd_bridge.motion.smoothing.basis import Floats

APART = 2.0
"""Ratio of the squares of these differences to what noise explains from which on they count."""
SURE = 4.0
"""Standard deviations from which on a lag or a wrong scale is no chance."""
HARM = 0.1
"""Error of the accelerations by a lag or a wrong scale, relative to that from positions alone, from
which on it matters."""
SAME = 1e-3
"""Difference of exact rates, relative to their size, from which on they are not those of the
positions."""
MEAN = 16
"""Rows over which differences of exact rates are averaged."""


@dataclass(frozen=True, eq=False)
class ComparedRates:
    """Measured rates beside the spline through the positions alone, in rows of one part.

    Attributes
    ----------
    rates : (N,) measured
    derived : (3, N) ḟ, f̈ and the third derivative
    variances : (2, N) of ḟ and f̈
    """

    rates: Floats
    derived: Floats
    variances: Floats


def agreement(
    parts: Sequence[ComparedRates], white: float, rows: int, freedom: float = 1.0
) -> tuple[float, float]:
    """Return the white noise that rates count with; and how far they are apart, 0 if they agree.

    Parameters
    ----------
    white : their white noise, 0 where none shows: then it is errors of a filter that they have
    rows : over which the spline through the positions averages
    freedom : ratio of the columns to the numbers that they really are
    """
    left = np.concatenate([_means(part.rates - part.derived[0], rows) for part in parts])
    speed, acceleration, jerk = (
        np.concatenate([_means(part.derived[k], rows) for part in parts]) for k in range(3)
    )
    known, known_second = (
        np.concatenate([_means(part.variances[k], rows) for part in parts]) for k in range(2)
    )
    explained = known + white**2 / rows
    squares = freedom * float(np.mean(left * left))
    apart = squares > APART * float(np.mean(explained))
    usual = math.sqrt(float(np.mean(known_second)))
    for cause, effect in ((acceleration, jerk), (speed, acceleration)):
        size = float(np.sum(cause * cause))
        if size == 0.0:
            continue
        share = float(np.sum(left * cause)) / size
        by_chance = math.sqrt(float(np.sum(explained * cause * cause))) / size
        harm = abs(share) * math.sqrt(float(np.mean(effect * effect)))
        apart |= abs(share) > SURE * by_chance and harm > HARM * usual
    if apart:
        return 0.0, math.sqrt(squares)
    if white > 0.0:
        return white, 0.0
    errors = max(float(np.mean(known)), squares - float(np.mean(known)))
    return math.sqrt(errors * rows), 0.0


def exact_apart(time: Floats, values: Floats, rates: Floats) -> float:
    """Return how far rates (N, n) are from those of positions, both exact, 0 if they agree."""
    (derived,) = derivatives(time, values, (1,))
    left = np.concatenate([_means(column, MEAN) for column in (rates - derived).T])
    off = math.sqrt(float(np.mean(left * left)))
    return off if off > SAME * math.sqrt(float(np.mean(rates * rates))) else 0.0


def _means(values: Floats, rows: int) -> Floats:
    """Return the means of numbers (N,) over so many rows, without what is left at the end."""
    rows = min(rows, len(values))
    count = len(values) // rows
    return np.asarray(values[: count * rows].reshape(count, rows).mean(axis=1))
