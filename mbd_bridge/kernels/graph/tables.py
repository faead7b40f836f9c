"""Tables from values: straight lines, or a cubic spline."""

from __future__ import annotations

import numpy as np

from mbd_bridge.kernels.elementary.table import Floats, PolynomialTable


def linear(x: Floats, y: Floats, hold: bool) -> PolynomialTable:
    """Return the table of straight lines through points."""
    return _held(x, np.array([y[:-1], np.diff(y) / np.diff(x)]), y, hold)


def cubic(x: Floats, y: Floats, hold: bool) -> PolynomialTable:
    """Return the table of the cubic spline through points, "not-a-knot" at the ends."""
    from scipy.interpolate import CubicSpline  # here: importing mbd_bridge loads no SciPy

    return _held(x, np.asarray(CubicSpline(x, y).c)[::-1], y, hold)


def polynomials(x: Floats, coefficients: Floats, end: float) -> PolynomialTable:
    """Return the table of polynomials that begin at x; the first and the last go on."""
    return PolynomialTable(x, coefficients, end, False)


def _held(x: Floats, coefficients: Floats, y: Floats, hold: bool) -> PolynomialTable:
    """Return a table; one that holds has a last interval in which nothing changes."""
    if not hold:
        return PolynomialTable(x[:-1], coefficients, float(x[-1]), False)
    last = np.zeros((len(coefficients), 1))
    last[0] = y[-1]
    return PolynomialTable(x, np.append(coefficients, last, axis=1), float(x[-1]), True)
