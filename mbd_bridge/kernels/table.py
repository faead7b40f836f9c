"""A table over one variable: polynomials between knots, found by their number.

    value = c0 + u (c1 + u (c2 + u c3)),     u = x - knot,     knot <= x < next knot

On a uniform grid the number is a product and one comparison with the next knot, else it is found by
halving the range, a comparison for each bit of the number of knots. Both find the same interval.
"""

from __future__ import annotations

import hashlib
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import KernelError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.kernels.recipe import Operand, Value, Writer

Floats = NDArray[np.float64]

EVEN = 1e-9
"""Largest deviation of a knot from an even grid, in spacings, that still counts as even: far from
the half spacing at which the wrong interval would be taken."""

STRIDE = 8
"""Doubles from one interval's row (knot and coefficients) to the next: a cache line."""


class PolynomialTable:
    """Polynomials over intervals. Immutable; equal if all numbers are.

    Attributes
    ----------
    knots : (n,) where the intervals begin, increasing
    coefficients : (d, n) with d <= 5, the lowest power first
    end : where the last interval ends
    hold : arguments outside [knots[0], end] are moved to the ends; else the first and the last
        polynomial go on
    even : the knots are an even grid
    """

    __slots__ = ("__dict__", "coefficients", "end", "even", "hold", "knots")

    knots: Floats
    coefficients: Floats
    end: float
    hold: bool
    even: bool

    def __init__(self, knots: Floats, coefficients: Floats, end: float, hold: bool) -> None:
        put = super().__setattr__
        steps = np.diff(knots)
        if not (len(knots) and np.all(np.isfinite(knots)) and np.all(steps > 0.0)):
            raise KernelError("a table needs finite knots that increase")
        if not np.all(np.isfinite(coefficients)):
            raise KernelError("a table needs finite values")
        put("knots", _frozen(knots))
        put("coefficients", _frozen(coefficients))
        put("end", float(end))
        put("hold", bool(hold))
        off = np.abs(knots - np.linspace(knots[0], knots[-1], len(knots)))
        put("even", len(knots) > 2 and bool(np.max(off) <= EVEN * np.min(steps)))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Table cannot be changed ({name})")

    @property
    def start(self) -> float:
        """Where the first interval begins."""
        return float(self.knots[0])

    @cached_property
    def digest(self) -> str:
        """A digest of all numbers."""
        digest = hashlib.sha256(repr((self.coefficients.shape, self.end, self.hold)).encode())
        digest.update(self.knots.tobytes())
        digest.update(self.coefficients.tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PolynomialTable) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Table({self.digest})"

    def __reduce__(self) -> tuple[Any, ...]:
        return PolynomialTable, (self.knots, self.coefficients, self.end, self.hold)

    def slope(self) -> PolynomialTable:
        """Return the table of the derivative, which does not hold."""
        powers = np.arange(1.0, len(self.coefficients))[:, None]
        rates = self.coefficients[1:] * powers
        if not len(rates):
            rates = np.zeros((1, len(self.knots)))
        return PolynomialTable(self.knots, rates, self.end, False)

    def derivative(self) -> PolynomialTable:
        """Return the table of the derivative, 0 where the end's value holds."""
        slope = self.slope()
        if not self.hold:
            return slope
        first = self.knots[0] - (self.knots[1] - self.knots[0])  # keeps an even grid even
        still = np.zeros((len(slope.coefficients), 1))
        rates = np.append(still, slope.coefficients, axis=1)
        return PolynomialTable(np.append(first, self.knots), rates, self.end, False)

    def integral(self) -> PolynomialTable:
        """Return the table of an antiderivative, 0 at the first knot; it does not hold."""
        knots, rates = self.knots, self.coefficients
        if self.hold:  # the held value before the first knot is an interval of its own
            knots = np.append(knots[0] - 1.0, knots)
            before = np.zeros((len(rates), 1))
            before[0] = rates[0, 0]
            rates = np.append(before, rates, axis=1)
        powers = np.arange(1.0, len(rates) + 1)[:, None]
        pieces = np.append(np.zeros((1, len(knots))), rates / powers, axis=0)
        grown = (pieces * np.append(np.diff(knots), 0.0) ** np.append(0.0, powers)[:, None]).sum(0)
        pieces[0, 1:] = np.cumsum(grown[:-1])
        pieces[0] -= pieces[0, 1] if self.hold else 0.0
        return PolynomialTable(knots, pieces, self.end, False)

    def evaluate(self, x: Any) -> Any:
        """Return the values at floats, of any shape."""
        x = np.asarray(x, dtype=np.float64)
        if self.hold:
            x = np.where(x < self.knots[0], self.knots[0], np.where(x > self.end, self.end, x))
        number = np.searchsorted(self.knots, x, side="right") - 1
        number = np.clip(number, 0, len(self.knots) - 1)
        u = x - self.knots[number]
        total = self.coefficients[-1][number]
        for row in self.coefficients[-2::-1]:
            total = total * u + row[number]
        return total[()]


def _frozen(array: Floats) -> Floats:
    copy = np.array(array, dtype=np.float64)
    copy.flags.writeable = False
    return copy


def arrays(table: PolynomialTable) -> dict[str, Floats]:
    """Return the constants that the code of a table looks up: its knots, and a row an interval."""
    number = len(table.knots)
    ahead = np.full((1 << _bits(table)) + 1, nan)  # no argument has reached nan
    ahead[:number] = table.knots
    rows = np.zeros((number, STRIDE))
    rows[:, 0] = table.knots
    rows[:, 1 : 1 + len(table.coefficients)] = table.coefficients.T
    return {"knots": ahead, "rows": rows.ravel()}


def _bits(table: PolynomialTable) -> int:
    """Return the bits of the largest number of an interval."""
    return (len(table.knots) - 1).bit_length()


WHOLE = 2.0**52
WHOLE_BITS = 0x4330000000000000
"""2⁵²: its last bits are those of an integer."""


def look_up(do: Writer, x: Operand, table: PolynomialTable) -> Value:
    """Return the value of a table."""
    if table.hold:
        x = do("where", do("lt", x, table.start), table.start, x)
        x = do("where", do("lt", table.end, x), table.end, x)
    number = _on_even_grid(do, x, table) if table.even else _by_halving(do, x, table)
    row = do("shift_left", number, STRIDE.bit_length() - 1)

    def entry(k: int) -> Value:
        return do("look_up", do("bit_add", row, k) if k else row, data="rows")

    u = do("sub", x, entry(0))
    total = entry(len(table.coefficients))
    for k in range(len(table.coefficients) - 1, 0, -1):
        total = do("fma", u, total, entry(k))
    # nan is in the first interval, whose polynomial may be a constant.
    return do("where", do("eq", u, u), total, u)


def _on_even_grid(do: Writer, x: Operand, table: PolynomialTable) -> Value:
    """Return the number by a product: one below the nearest, and one more from the next knot on."""
    last = len(table.knots) - 1
    over = last / (float(table.knots[-1]) - table.start)
    along = do("fma", do("sub", x, table.start), over, -1.0)
    along = do("where", do("lt", 0.0, along), along, 0.0)
    along = do("where", do("lt", along, last - 1.0), along, last - 1.0)
    number = do("bit_and", do("bits", do("add", along, WHOLE)), (1 << 52) - 1)
    return _next(do, x, number, 1)


def _by_halving(do: Writer, x: Operand, table: PolynomialTable) -> Value:
    """Return the number bit by bit, the highest first."""
    number = do("bit_and", do("bits", x), 0)
    for bit in range(_bits(table) - 1, -1, -1):
        number = _next(do, x, number, 1 << bit)
    return number


def _next(do: Writer, x: Operand, number: Value, step: int) -> Value:
    """Return the number, or `step` more where x is not below that interval's knot."""
    ahead = do("bit_add", number, step)
    reached = do("le", do("look_up", ahead, data="knots"), x)
    return do("bit_where", reached, ahead, number)


# Tables from values: straight lines, or a cubic spline.


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
