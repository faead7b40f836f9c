"""Uniform B-splines: values and derivatives at times, normal equations and penalties as bands.

Symmetric band matrices are stored as SciPy stores them, lower form: ``band[d, j] = A[j + d, j]``.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Floats

Places = NDArray[np.intp]

SYMBOL_POINTS = 4096
"""Points of the mean over all frequencies in `log_determinant`: far more than it needs."""
WHOLE = 1e-9
"""Share of a cell by which a last time may be beyond a knot, from rounding."""


class Basis:
    """B-splines of a degree on cells of equal length, which cover the times from first to last.

    Parameters
    ----------
    begin, end : s, the first and the last time
    spacing : s, of the knots
    degree : of the pieces

    Attributes
    ----------
    cells : number of intervals between knots
    size : number of coefficients, cells + degree
    """

    def __init__(self, begin: float, end: float, spacing: float, degree: int) -> None:
        self.begin, self.spacing, self.degree = begin, spacing, degree
        self.cells = max(1, math.ceil((end - begin) / spacing - WHOLE))
        self.size = self.cells + degree
        self._grams = dict[int, Floats]()

    def cells_of(self, time: Floats) -> Places:
        """Return the cell (N,) in which each time is."""
        cell = ((time - self.begin) / self.spacing).astype(np.intp)
        return np.clip(cell, 0, self.cells - 1)

    def rows(self, time: Floats, cell: Places, order: int = 0) -> Floats:
        """Return a derivative of the degree + 1 splines of its cell at each time, (degree + 1, N).

        Their coefficients are those from number `cell` on.
        """
        pieces = _pieces(self.degree, order)
        inside = (time - self.begin) / self.spacing - cell
        values = np.empty((len(pieces), len(time)))
        for value, powers in zip(values, pieces / self.spacing**order, strict=True):
            value[:] = powers[-1]
            for factor in powers[-2::-1]:
                value *= inside
                value += factor
        return values

    def gram(self, cell: Places, rows: Floats, weights: Floats) -> Floats:
        """Return Σ w b bᵀ over the rows b, as a band (degree + 1, size)."""
        width = self.degree + 1
        band = np.zeros((width, self.size))
        for i in range(width):
            weighted = weights * rows[i]
            for j in range(i, width):
                sums = np.bincount(cell, weighted * rows[j], minlength=self.cells)
                band[j - i, i : i + self.cells] += sums
        return band

    def moments(self, cell: Places, rows: Floats, values: Floats) -> Floats:
        """Return Σ b y over the rows b, (size,)."""
        total = np.zeros(self.size)
        for i in range(self.degree + 1):
            sums = np.bincount(cell, values * rows[i], minlength=self.cells)
            total[i : i + self.cells] += sums
        return total

    def values(self, cell: Places, rows: Floats, coefficients: Floats) -> Floats:
        """Return the spline (N,) of some coefficients at the times of the rows."""
        total = rows[0] * coefficients[cell]
        for i in range(1, self.degree + 1):
            total += rows[i] * coefficients[cell + i]
        return np.asarray(total)

    def penalty(self, order: int) -> Floats:
        """Return ∫ b⁽ᵖ⁾ b⁽ᵖ⁾ᵀ dt over all cells for the derivative of an order p, as a band."""
        one = _cell_gram(self.degree, order) / self.spacing ** (2 * order - 1)
        width = self.degree + 1
        band = np.zeros((width, self.size))
        for i in range(width):
            for j in range(i, width):
                band[j - i, i : i + self.cells] += one[i, j]
        return band

    def roughness(self, order: int, coefficients: Floats) -> tuple[float, Floats]:
        """Return cᵀ Ω c and Ω c of the penalty's Ω.

        From the p-th derivative, whose coefficients are Δᵖc / hᵖ: the band of Ω would lose the
        digits of a spline that is much smoother than its knots are dense.
        """
        if order not in self._grams:
            lower = Basis(self.begin, self.begin, self.spacing, self.degree - order)
            lower.cells, lower.size = self.cells, self.size - order
            self._grams[order] = lower.penalty(0)
        curved = np.diff(coefficients, order) / self.spacing**order
        product = band_product(self._grams[order], curved)
        padded = np.zeros(self.size + order)
        padded[order : self.size] = product * (-1.0 / self.spacing) ** order
        return float(curved @ product), np.diff(padded, order)

    def log_determinant(self, order: int) -> float:
        """Return log |Ω| of the penalty's part that is not singular, but for a constant.

        The constant depends on degree and order alone: with it bases of different spacing have the
        same prior, so that likelihoods over them can be compared.
        """
        free, log_spacing = self.size - order, math.log(self.spacing)
        from_spacing = free * (2 * order - 1) + order * (order - 1)
        return free * _symbol(self.degree, order) - from_spacing * log_spacing


def band_product(band: Floats, vector: Floats) -> Floats:
    """Return A x for a symmetric band matrix."""
    total = band[0] * vector
    for d in range(1, len(band)):
        total[:-d] += band[d, :-d] * vector[d:]
        total[d:] += band[d, :-d] * vector[:-d]
    return np.asarray(total)


@cache
def _pieces(degree: int, order: int = 0) -> Floats:
    """Return the polynomials (degree + 1, degree + 1 - order) of a cell's splines, in its u.

    The cell goes from u = 0 to 1; powers ascend.
    """
    pieces = np.ones((1, 1))
    for d in range(1, degree + 1):
        higher = np.zeros((d + 1, d + 1))
        for j in range(d + 1):
            if j > 0:
                higher[j, :d] += pieces[j - 1] * (d - j) / d
                higher[j, 1:] += pieces[j - 1] / d
            if j < d:
                higher[j, :d] += pieces[j] * (j + 1) / d
                higher[j, 1:] -= pieces[j] / d
        pieces = higher
    for _ in range(order):
        pieces = pieces[:, 1:] * np.arange(1, pieces.shape[1])
    return pieces


@cache
def _cell_gram(degree: int, order: int) -> Floats:
    """Return the integral over a cell of length 1 of the products of derivatives."""
    pieces = _pieces(degree, order)
    nodes, weights = np.polynomial.legendre.leggauss(degree - order + 1)
    rows = (0.5 * (nodes[:, None] + 1.0)) ** np.arange(pieces.shape[1]) @ pieces.T
    return np.asarray((rows * (0.5 * weights)[:, None]).T @ rows)


@cache
def _symbol(degree: int, order: int) -> float:
    """Return by how much log |Ω| grows with each coefficient (Szegö): the mean of log of its
    symbol, in which (2 - 2 cos)ᵖ counts nothing.
    """
    angles = (np.arange(SYMBOL_POINTS) + 0.5) * np.pi / SYMBOL_POINTS
    gram = _cell_gram(degree - order, 0)
    symbol = np.full(SYMBOL_POINTS, np.trace(gram))
    for d in range(1, len(gram)):
        symbol += 2.0 * np.trace(gram, d) * np.cos(d * angles)
    return float(np.mean(np.log(symbol)))
