"""A smoothing spline and what is known of its errors.

Of values y at times t with the standard deviations 1 / √w (up to a common factor s) it is the
function f with the smallest

    Σ w (y - f(t))² + Σ u (z - ḟ(t))² + λ ∫ (f⁽ᵖ⁾)² dt,

z being measured velocities with weights u, if there are any. This is the mean of a Gaussian process
whose p-th derivative is white noise, given the data (Wahba78); the covariance of value, velocity
and acceleration at a time follows from the same band matrix A = Σ w b bᵀ + ... + λ Ω by

    s² B A⁻¹ Bᵀ,    of A⁻¹ only the band is needed (Takahashi's recursion; HutchinsonDeHoog85).

λ is given by the frequency ω = 2πf at which the spline halves a sine, its cut-off:

    λ ω²ᵖ = Σw / T + ω² Σu / T.

Knots need not be as dense as the samples: some of them in each period 1 / f are enough. Where f
nears the sampling rate they stand twice as dense, since only knots between the samples know what
the process does there. Where rows are missing for long, the data are smoothed part by part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mbd_bridge.motion.smoothing.basis import Basis, Floats, band_product

OVERSAMPLING = {3: 8, 4: 6, 5: 4}
"""Knots in each period of the cut-off, at least, by order: a hundredth or less of a sine passes the
smoother that the knots would not. More of them would only cost digits."""
GAP = 10.0
"""Ratio of a time step to the usual one from which on what is behind it is smoothed by itself."""
USUAL = 90.0
"""Percentile of the time steps that is the usual one: some rows may be missing."""
FEWEST = 12
"""Rows, at least, of a part that is smoothed by itself."""
DECAY = 1e-10
"""What is left of the influence of a datum where it is neglected."""
SLOW_DECAY = 1e-5
"""The same of the slow mean of positions beside measured velocities: of many data that count
little."""
REFINEMENTS = 1
"""Times that a solution is improved by its residual: a penalty of 1e19 is beside weights of 1e6."""
CHUNK = 256
"""Coefficients, at least, that one lane of Takahashi's recursion covers."""


@dataclass(frozen=True, eq=False)
class Data:
    """Values at times, and how exactly they are known.

    Attributes
    ----------
    time : (N,) s, growing
    values, weights : (N,), and 1 / variance, up to a common factor; 0 where nothing was measured
    rates, rate_weights : (N,) measured velocities and their weights, or None
    """

    time: Floats
    values: Floats
    weights: Floats
    rates: Floats | None = None
    rate_weights: Floats | None = None

    @property
    def number(self) -> int:
        """How many numbers were measured."""
        rates = 0 if self.rate_weights is None else np.count_nonzero(self.rate_weights)
        return int(np.count_nonzero(self.weights) + rates)

    def rows(self, rows: slice) -> Data:
        """Return some of the rows."""
        more = self.rates, self.rate_weights
        first, second = (None if x is None else x[rows] for x in more)
        return Data(self.time[rows], self.values[rows], self.weights[rows], first, second)


def usual_step(times: Sequence[Floats]) -> float:
    """Return the usual time step, s, of some blocks of times."""
    return float(np.percentile(np.concatenate([np.diff(time) for time in times]), USUAL))


def parts_of(time: Floats, step: float, fewest: int = FEWEST) -> list[slice]:
    """Return the rows between long gaps of times (N,), where the usual step is known."""
    found, begin = [], 0
    for gap in np.flatnonzero(np.diff(time) > GAP * step) + 1:
        if gap - begin >= fewest and len(time) - gap >= fewest:
            found.append(slice(begin, int(gap)))
            begin = int(gap)
    return [*found, slice(begin, len(time))]


def penalty_weight(cutoff: float, order: int, density: float, rate_density: float = 0.0) -> float:
    """Return λ for a cut-off, Hz, where the densities are Σw / T and Σu / T."""
    omega = 2.0 * math.pi * cutoff
    return (density + omega**2 * rate_density) / omega ** (2 * order)


def reach(weight: float, order: int, density: float, rate_density: float = 0.0) -> float:
    """Return for how long, s, a datum has an influence, for the densities Σw / T and Σu / T.

    The smoother's exponentials e^(-rt) are the roots of λ (-r²)ᵖ - u r² + w = 0. Where velocities
    are measured much better than positions, these are averaged over long: one root is much slower
    than the others, and each datum counts little.
    """
    equation = np.zeros(order + 1)
    equation[[0, -1]] = weight, density
    equation[-2] += rate_density
    rates = np.sort(np.abs(np.sqrt(-np.roots(equation) + 0.0j).real))
    fastest = rates[1 if rate_density > 0.0 else 0]
    slow, fast = -math.log(SLOW_DECAY) / rates[0], -math.log(DECAY) / fastest
    return float(max(slow, fast))


class NormalEquations:
    """The normal equations of data, for splines of one order on knots of one spacing."""

    def __init__(self, data: Data, order: int, spacing: float, begin: float | None = None) -> None:
        time = data.time
        self.data, self.order = data, order
        start = float(time[0]) if begin is None else begin
        self.basis = Basis(start, float(time[-1]), spacing, 2 * order - 1)
        self.cell = self.basis.cells_of(time)
        self.rows = self.basis.rows(time, self.cell)
        self._band = self.basis.gram(self.cell, self.rows, data.weights)
        self._right = self.basis.moments(self.cell, self.rows, data.weights * data.values)
        self._rate_rows = None
        if data.rates is not None and data.rate_weights is not None:
            self._rate_rows = rows = self.basis.rows(time, self.cell, 1)
            self._band += self.basis.gram(self.cell, rows, data.rate_weights)
            self._right += self.basis.moments(self.cell, rows, data.rate_weights * data.rates)
        self._penalty = self.basis.penalty(order)

    def solve(self, weight: float) -> Spline:
        """Return the smoothing spline for a weight λ of the penalty."""
        from scipy.linalg import cho_solve_banded, cholesky_banded

        factor = cholesky_banded(self._band + weight * self._penalty, lower=True)
        coefficients = cho_solve_banded((factor, True), self._right)
        for _ in range(REFINEMENTS):
            rough = self.basis.roughness(self.order, coefficients)[1]
            left = self._right - band_product(self._band, coefficients) - weight * rough
            coefficients = coefficients + cho_solve_banded((factor, True), left)
        slowest = reach(weight, self.order, *self._densities())
        return Spline(self.basis, coefficients, factor, self.order, weight, slowest)

    def _densities(self) -> tuple[float, float]:
        """Return Σw / T and Σu / T."""
        data = self.data
        lasting = float(data.time[-1] - data.time[0])
        rates = 0.0 if data.rate_weights is None else float(data.rate_weights.sum())
        return float(data.weights.sum()) / lasting, rates / lasting

    def deviance(self, spline: Spline) -> tuple[float, float]:
        """Return Σ w r² + λ ∫ (f⁽ᵖ⁾)², and log |A| - log |λ Ω| (but for a constant)."""
        data, basis = self.data, self.basis
        left = data.values - basis.values(self.cell, self.rows, spline.coefficients)
        squares = float(np.sum(data.weights * left * left))
        if self._rate_rows is not None and data.rates is not None:
            assert data.rate_weights is not None
            left = data.rates - basis.values(self.cell, self._rate_rows, spline.coefficients)
            squares += float(np.sum(data.rate_weights * left * left))
        squares += spline.weight * basis.roughness(self.order, spline.coefficients)[0]
        prior = basis.log_determinant(self.order)
        prior += (basis.size - self.order) * math.log(spline.weight)
        return squares, 2.0 * float(np.log(spline.factor[0]).sum()) - prior


@dataclass(frozen=True, eq=False)
class Spline:
    """A smoothing spline.

    Attributes
    ----------
    basis, coefficients : (size,)
    factor : (bands, size) Cholesky factor of A, lower band form
    order, weight : p and λ
    reach : s, over which a datum has an influence
    """

    basis: Basis
    coefficients: Floats
    factor: Floats
    order: int
    weight: float
    reach: float

    def __call__(self, time: Floats, orders: tuple[int, ...] = (0, 1, 2)) -> list[Floats]:
        """Return derivatives of some orders at times (N,)."""
        cell = self.basis.cells_of(time)
        return [
            self.basis.values(cell, self.basis.rows(time, cell, order), self.coefficients)
            for order in orders
        ]

    def covariance(self) -> tuple[Floats, Floats]:
        """Return times (K,) and the covariance (K, 3, 3) there of value, velocity, acceleration.

        For data with weights 1 / variance; else times the square of their common factor. Between
        these times, the knots, it is nearly linear.
        """
        basis = self.basis
        inverse = inverse_band(self.factor, self.overlap)
        knots = np.asarray(basis.begin + basis.spacing * np.arange(basis.cells + 1.0))
        cell = np.minimum(np.arange(basis.cells + 1), basis.cells - 1)
        rows = np.array([basis.rows(knots, cell, order) for order in range(3)]).transpose(2, 0, 1)
        width = basis.degree + 1
        blocks = np.empty((len(knots), width, width))
        for i in range(width):
            for j in range(i, width):
                blocks[:, i, j] = blocks[:, j, i] = inverse[j - i, cell + i]
        return knots, np.asarray(rows @ blocks @ rows.transpose(0, 2, 1))

    @property
    def overlap(self) -> int:
        """Over how many coefficients an influence decays."""
        return math.ceil(self.reach / self.basis.spacing)


def inverse_band(factor: Floats, overlap: int) -> Floats:
    """Return the band of A⁻¹ (bands, size) from the band of A's Cholesky factor.

    With l = L[j+1:, j] / L[j, j], backwards from the last column (Takahashi):

        Z[j+1:, j] = -Z[j+1:, j+1:] l,    Z[j, j] = 1 / L[j, j]² - lᵀ Z[j+1:, j].

    What is `overlap` columns away has no influence: lanes of columns are computed side by side,
    each beginning so much behind its part.
    """
    bands, size = factor.shape
    width = bands - 1
    lanes = max(1, min(size // CHUNK, math.isqrt(size))) if overlap < size else 1
    part = -(-size // lanes)
    lanes = -(-size // part)
    begins = part * np.arange(lanes)
    steps = part + (overlap if lanes > 1 else 0)
    padded = np.zeros((bands, part * lanes + steps))
    padded[0] = 1.0
    padded[:, :size] = factor
    outside = np.ones(padded.shape[1])
    outside[:size] = padded[0, :size] ** -2.0
    outside[size:] = 0.0
    below = padded[1:] / padded[0]
    inverse = np.zeros((bands, part * lanes))
    block = np.zeros((lanes, width, width))
    for step in range(steps - 1, -1, -1):
        columns = begins + step
        l = below[:, columns].T  # noqa: E741 - as in the docstring
        column = -np.einsum("bij,bj->bi", block, l)
        corner = outside[columns] - np.einsum("bi,bi->b", l, column)
        if step < part:
            inverse[0, columns] = corner
            inverse[1:, columns] = column.T
        block[:, 1:, 1:] = block[:, :-1, :-1].copy()
        block[:, 0, 0] = corner
        block[:, 0, 1:] = block[:, 1:, 0] = column[:, :-1]
    return inverse[:, :size]


def at_times(time: Floats, knots: Floats, matrices: Floats) -> Floats:
    """Return matrices (N, ...) at times, linear between those (K, ...) at knots."""
    cell = np.clip(np.searchsorted(knots, time, side="right") - 1, 0, len(knots) - 2)
    share = np.clip((time - knots[cell]) / (knots[cell + 1] - knots[cell]), 0.0, 1.0)
    share = share.reshape(-1, *([1] * (matrices.ndim - 1)))
    return np.asarray((1.0 - share) * matrices[cell] + share * matrices[cell + 1])
