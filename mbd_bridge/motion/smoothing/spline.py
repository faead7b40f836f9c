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
from functools import cache

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Floats
from mbd_bridge.motion.smoothing.noise import Differences

# Uniform B-splines: values and derivatives at times, normal equations and penalties as bands.
#
# Symmetric band matrices are stored as SciPy stores them, lower form: ``band[d, j] = A[j + d,
# j]``.

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


class SplineRows:
    """The rows b of B-splines at times, and their sums, made once for all data at these times."""

    def __init__(self, time: Floats, order: int, spacing: float, begin: float) -> None:
        self.time, self.order = time, order
        self.basis = Basis(begin, float(time[-1]), spacing, 2 * order - 1)
        self.cell = self.basis.cells_of(time)
        self.penalty = self.basis.penalty(order)
        self._rows, self._grams = dict[int, Floats](), dict[int, Floats]()

    def rows(self, derivative: int = 0) -> Floats:
        """Return a derivative of the splines of its cell at each time, (degree + 1, N)."""
        if derivative not in self._rows:
            self._rows[derivative] = self.basis.rows(self.time, self.cell, derivative)
        return self._rows[derivative]

    def gram(self, weights: Floats, derivative: int = 0) -> Floats:
        """Return Σ w b bᵀ as a band; for equal weights from the same sum for all data."""
        rows = self.rows(derivative)
        if weights.min() < weights.max():
            return self.basis.gram(self.cell, rows, weights)
        if derivative not in self._grams:
            self._grams[derivative] = self.basis.gram(self.cell, rows, np.ones(len(weights)))
        return np.asarray(weights[0] * self._grams[derivative])

    def moments(self, values: Floats, derivative: int = 0) -> Floats:
        """Return Σ b y."""
        return self.basis.moments(self.cell, self.rows(derivative), values)

    def values(self, coefficients: Floats, derivative: int = 0) -> Floats:
        """Return a derivative of the spline of some coefficients at the times."""
        return self.basis.values(self.cell, self.rows(derivative), coefficients)


class Samples:
    """Times at which signals were measured, and what is the same for all signals there."""

    def __init__(self, time: Floats) -> None:
        self.time, self.differences = time, Differences(time)
        self._parts = dict[float, list[tuple[slice, Samples]]]()
        self._designs = dict[tuple[int, float, float], SplineRows]()

    def parts(self, step: float) -> list[tuple[slice, Samples]]:
        """Return the rows between long gaps, where the usual step is known, and their samples."""
        if step not in self._parts:
            rows = parts_of(self.time, step)
            alone = len(rows) == 1
            self._parts[step] = [
                (part, self if alone else Samples(self.time[part])) for part in rows
            ]
        return self._parts[step]

    def design(self, order: int, spacing: float, begin: float | None = None) -> SplineRows:
        """Return the rows of splines of an order on knots of a spacing."""
        key = order, spacing, float(self.time[0]) if begin is None else begin
        if key not in self._designs:
            self._designs[key] = SplineRows(self.time, *key)
        return self._designs[key]


@dataclass(frozen=True, eq=False)
class Data:
    """Values at times, and how exactly they are known.

    Attributes
    ----------
    samples : their times (N,) s, growing
    values, weights : (N,), and 1 / variance, up to a common factor; 0 where nothing was measured
    rates, rate_weights : (N,) measured velocities and their weights, or None
    """

    samples: Samples
    values: Floats
    weights: Floats
    rates: Floats | None = None
    rate_weights: Floats | None = None

    @property
    def time(self) -> Floats:
        """Times (N,) s."""
        return self.samples.time

    @property
    def number(self) -> int:
        """How many numbers were measured."""
        rates = 0 if self.rate_weights is None else np.count_nonzero(self.rate_weights)
        return int(np.count_nonzero(self.weights) + rates)

    def rows(self, rows: slice, samples: Samples | None = None) -> Data:
        """Return some of the rows, whose samples may be known."""
        samples = Samples(self.time[rows]) if samples is None else samples
        more = self.rates, self.rate_weights
        first, second = (None if x is None else x[rows] for x in more)
        return Data(samples, self.values[rows], self.weights[rows], first, second)


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
        self.data, self.order = data, order
        self.design = design = data.samples.design(order, spacing, begin)
        self._band = design.gram(data.weights)
        self._right = design.moments(data.weights * data.values)
        if data.rates is not None and data.rate_weights is not None:
            self._band += design.gram(data.rate_weights, 1)
            self._right += design.moments(data.rate_weights * data.rates, 1)

    def solve(self, weight: float) -> Spline:
        """Return the smoothing spline for a weight λ of the penalty."""
        from scipy.linalg.lapack import dpbtrf, dpbtrs

        factor, failed = dpbtrf(self._band + weight * self.design.penalty, lower=1)
        if failed:
            raise LinAlgError("the normal equations are not positive definite")
        coefficients = dpbtrs(factor, self._right, lower=1)[0]
        for _ in range(REFINEMENTS):
            rough = self.design.basis.roughness(self.order, coefficients)[1]
            left = self._right - band_product(self._band, coefficients) - weight * rough
            coefficients = coefficients + dpbtrs(factor, left, lower=1)[0]
        return Spline(self.design, coefficients, factor, self.order, weight, self._densities())

    def _densities(self) -> tuple[float, float]:
        """Return Σw / T and Σu / T."""
        data = self.data
        lasting = float(data.time[-1] - data.time[0])
        rates = 0.0 if data.rate_weights is None else float(data.rate_weights.sum())
        return float(data.weights.sum()) / lasting, rates / lasting

    def deviance(self, spline: Spline) -> tuple[float, float]:
        """Return Σ w r² + λ ∫ (f⁽ᵖ⁾)², and log |A| - log |λ Ω| (but for a constant)."""
        data, basis = self.data, self.design.basis
        left = data.values - self.design.values(spline.coefficients)
        squares = float(np.sum(data.weights * left * left))
        if data.rates is not None and data.rate_weights is not None:
            left = data.rates - self.design.values(spline.coefficients, 1)
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
    design, coefficients : at the times of its data, and (size,)
    factor : (bands, size) Cholesky factor of A, lower band form
    order, weight : p and λ
    densities : Σw / T and Σu / T
    """

    design: SplineRows
    coefficients: Floats
    factor: Floats
    order: int
    weight: float
    densities: tuple[float, float]

    @property
    def basis(self) -> Basis:
        """Its B-splines."""
        return self.design.basis

    def __call__(self, time: Floats, orders: tuple[int, ...] = (0, 1, 2)) -> list[Floats]:
        """Return derivatives of some orders at times (N,)."""
        cell = self.basis.cells_of(time)
        return [
            self.basis.values(cell, self.basis.rows(time, cell, order), self.coefficients)
            for order in orders
        ]

    def at_data(self, orders: tuple[int, ...] = (0, 1, 2)) -> Floats:
        """Return derivatives (K, N) of some orders at the times of the data."""
        return np.array([self.design.values(self.coefficients, order) for order in orders])

    def variances(self, time: Floats, order: int) -> Floats:
        """Return the variance (N,) of a derivative at few times; see `covariance`."""
        from scipy.linalg.lapack import dtbtrs

        cell = self.basis.cells_of(time)
        rows = np.zeros((self.basis.size, len(time)))
        places = cell + np.arange(self.basis.degree + 1)[:, None]
        rows[places, np.arange(len(time))] = self.basis.rows(time, cell, order)
        return np.asarray(np.sum(dtbtrs(self.factor, rows, uplo="L")[0] ** 2, axis=0))

    @property
    def knots(self) -> Floats:
        """Times (K,) s between which the covariance is nearly linear."""
        basis = self.basis
        return np.asarray(basis.begin + basis.spacing * np.arange(basis.cells + 1.0))

    def covariance(self) -> tuple[Floats, Floats]:
        """Return times (K,) and the covariance (K, 3, 3) there of value, velocity, acceleration.

        For data with weights 1 / variance; else times the square of their common factor. Between
        these times, the knots, it is nearly linear.
        """
        basis = self.basis
        inverse = inverse_band(self.factor, self.overlap)
        knots = self.knots
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
        """Over how many coefficients the influence of a datum decays."""
        slowest = reach(self.weight, self.order, *self.densities)
        return math.ceil(slowest / self.basis.spacing)


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
