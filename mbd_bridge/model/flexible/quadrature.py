"""Integrals along a beam: Gauss points between its breaks.

Sixteen points an interval and at least `INTERVALS` intervals integrate products of polynomials of
degree 15 exactly and those of a beam's first dozens of modes to rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

INTERVALS = 16
"""Fewest intervals along a beam."""
POINTS = 16
"""Gauss points an interval."""


def intervals(*breaks: Floats) -> Floats:
    """Return places between which to integrate: all breaks, and a fine even division."""
    start, end = breaks[0][0], breaks[0][-1]
    every = np.concatenate([np.linspace(start, end, INTERVALS + 1), *breaks])
    places = np.unique(every)
    apart = np.concatenate([[True], np.diff(places) > 1e-9 * (end - start)])
    places = places[apart]
    places[-1] = end
    return np.asarray(places)


def gauss(places: Floats) -> tuple[Floats, Floats]:
    """Return points and weights of the integral over all intervals."""
    at, weight = np.polynomial.legendre.leggauss(POINTS)
    half = 0.5 * np.diff(places)[:, None]
    points = places[:-1, None] + half * (1.0 + at)
    return points.ravel(), (half * weight).ravel()


def running(places: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return the integral from the first place to each Gauss point, and to each place.

    `values` (points,) are those at the points of `gauss`; the integral of the polynomial through
    an interval's values is exact.
    """
    at, weight = np.polynomial.legendre.leggauss(POINTS)
    powers = np.polynomial.legendre.legvander(at, POINTS - 1)
    degree = np.arange(POINTS)
    to_series = (0.5 * (2 * degree + 1))[:, None] * (powers * weight[:, None]).T
    integral = np.polynomial.legendre.legint(to_series, lbnd=-1.0, axis=0)
    inside = np.polynomial.legendre.legvander(at, POINTS) @ integral  # (points, values)
    half, own = 0.5 * np.diff(places), values.reshape(len(places) - 1, POINTS)
    ends = np.concatenate([[0.0], np.cumsum(half * (own @ weight))])
    return (ends[:-1, None] + half[:, None] * (own @ inside.T)).ravel(), ends
