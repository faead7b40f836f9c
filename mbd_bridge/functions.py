"""Functions for what a user writes as a function: torques, external wrenches, prescribed motions.

Each one takes floats, arrays, and the symbols with which a function is called while it is traced
into machine code. NumPy's own sin, cos, tan, sqrt, exp, log, tanh, arcsin, arccos, arctan, arctan2
and abs do so too; what chooses or looks up does not, and is here.

- for ``a if x > 0 else b`` and ``np.where``: ``where(x > 0, a, b)``, both are computed;
- for ``x > 0`` of arrays: ``greater(x, 0)``;
- for ``and``, ``or``, ``not``: `logical_and`, `logical_or`, `logical_not`;
- for ``max``, ``np.maximum``, ``np.clip``: `maximum`, `minimum`, `clip`;
- for ``np.sign`` and ``np.interp``: `sign`, and `interp` or a `Lookup` that is made once.

Largest errors in machine code and C source, in units in the last place: exp, log, atan 1; sin, cos
and atan2 1.5; asin, acos 2; tanh 2.5. min, max, abs, sign and comparisons are exact. The digits
are the same for one state, for many, and in C. nan gives nan; zeros keep their signs (but sin(-0)
is +0) and infinities have their limits, as in NumPy.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import StateError
from mbd_bridge.kernels import table
from mbd_bridge.kernels.expression import operate
from mbd_bridge.kernels.table import Floats, PolynomialTable as Polynomials

__all__ = [
    "Lookup",
    "absolute",
    "arccos",
    "arcsin",
    "arctan",
    "arctan2",
    "clip",
    "cos",
    "equal",
    "exp",
    "greater",
    "greater_equal",
    "interp",
    "less",
    "less_equal",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "maximum",
    "minimum",
    "not_equal",
    "sign",
    "sin",
    "sqrt",
    "tan",
    "tanh",
    "where",
]


def sin(x: Any) -> Any:
    """Return the sine."""
    return operate("sin", x)


def cos(x: Any) -> Any:
    """Return the cosine."""
    return operate("cos", x)


def tan(x: Any) -> Any:
    """Return the tangent, sine over cosine."""
    return sin(x) / cos(x)


def sqrt(x: Any) -> Any:
    """Return the square root."""
    return operate("sqrt", x)


def exp(x: Any) -> Any:
    """Return e to the power x."""
    return operate("exp", x)


def log(x: Any) -> Any:
    """Return the natural logarithm."""
    return operate("log", x)


def tanh(x: Any) -> Any:
    """Return the hyperbolic tangent: a smooth step, for friction as ``tanh(v / v0)``."""
    return operate("tanh", x)


def arcsin(x: Any) -> Any:
    """Return the inverse sine, rad."""
    return operate("asin", x)


def arccos(x: Any) -> Any:
    """Return the inverse cosine, rad."""
    return operate("acos", x)


def arctan(x: Any) -> Any:
    """Return the inverse tangent, rad."""
    return operate("atan", x)


def arctan2(y: Any, x: Any) -> Any:
    """Return the angle of the point (x, y), rad, -π ... π."""
    return operate("atan2", y, x)


def absolute(x: Any) -> Any:
    """Return the absolute value; its derivative at 0 is taken as 0."""
    return operate("abs", x)


def sign(x: Any) -> Any:
    """Return -1, 0 or 1."""
    return operate("sign", x)


def minimum(a: Any, b: Any) -> Any:
    """Return the lesser of two; nan if one is nan, `b` of two equal ones."""
    return operate("min", a, b)


def maximum(a: Any, b: Any) -> Any:
    """Return the greater of two; nan if one is nan, `b` of two equal ones."""
    return operate("max", a, b)


def clip(x: Any, low: Any, high: Any) -> Any:
    """Return x held between two bounds."""
    return minimum(maximum(x, low), high)


def less(a: Any, b: Any) -> Any:
    """Return the condition a < b."""
    return operate("lt", a, b)


def less_equal(a: Any, b: Any) -> Any:
    """Return the condition a <= b."""
    return operate("le", a, b)


def greater(a: Any, b: Any) -> Any:
    """Return the condition a > b."""
    return operate("lt", b, a)


def greater_equal(a: Any, b: Any) -> Any:
    """Return the condition a >= b."""
    return operate("le", b, a)


def equal(a: Any, b: Any) -> Any:
    """Return the condition a == b."""
    return operate("eq", a, b)


def not_equal(a: Any, b: Any) -> Any:
    """Return the condition a != b."""
    return operate("ne", a, b)


def logical_and(a: Any, b: Any) -> Any:
    """Return whether both conditions hold."""
    return operate("and", a, b)


def logical_or(a: Any, b: Any) -> Any:
    """Return whether one of two conditions holds."""
    return operate("or", a, b)


def logical_not(a: Any) -> Any:
    """Return whether a condition does not hold."""
    return operate("not", a)


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where the condition holds, else `b`.

    Both are computed, and the one that is not chosen may be nan or infinite without harm, in
    derivatives too.
    """
    return operate("where", condition, a, b)


class Lookup:
    """A function of one variable that a table gives; call it with floats, arrays or symbols.

    Parameters
    ----------
    x : (n,) where it is known, increasing; evenly spaced or not
    y : (n,) values
    kind : straight lines, or the cubic spline with continuous curvature (SciPy's `CubicSpline`,
        "not-a-knot" ends) between them
    outside : beyond the ends the end's value holds, as in ``np.interp``, or the first and the last
        polynomial go on
    """

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        kind: Literal["linear", "cubic"] = "linear",
        outside: Literal["hold", "extend"] = "hold",
    ) -> None:
        if kind not in ("linear", "cubic") or outside not in ("hold", "extend"):
            raise StateError(
                f"a table is 'linear' or 'cubic', and outside 'hold' or 'extend'; got {kind!r} and "
                f"{outside!r}"
            )
        at, values = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        if at.ndim != 1 or at.shape != values.shape or len(at) < 2:
            raise StateError(
                f"a table needs as many values as places, two at least; got the shapes {at.shape} "
                f"and {values.shape}"
            )
        if not (np.all(np.isfinite(values)) and np.all(np.diff(at) > 0.0)):
            raise StateError("a table needs finite values at places that increase")
        make = table.linear if kind == "linear" else table.cubic
        self._data = make(at, values, outside == "hold")
        self.kind, self.outside = kind, outside
        self._points = np.array([at, values])

    @staticmethod
    def of_polynomials(x: ArrayLike, coefficients: ArrayLike, end: float) -> Lookup:
        """Return the table of polynomials c0 + c1 u + c2 u² + ..., u from the place before.

        Parameters
        ----------
        x : (n,) where each begins, increasing
        coefficients : (d, n), d <= 5, the lowest power first
        end : where the last one ends; it goes on there, as the first one does before
        """
        result = Lookup.__new__(Lookup)
        numbers = np.array(x, dtype=float), np.array(coefficients, dtype=float)
        result._data = table.polynomials(*numbers, float(end))
        return result

    def __call__(self, x: Any) -> Any:
        """Return the values at x."""
        return operate("table", x, data=self._data)

    def antiderivative(self) -> Integral:
        """Return the function of the integral from the first place to x."""
        return Integral(self._data.integral())

    @property
    def points(self) -> tuple[Floats, Floats]:
        """The places (n,) and values (n,) that it was made of."""
        x, y = self._points
        return x.copy(), y.copy()

    def derivative(self) -> Lookup:
        """Return the table of the slope; it is 0 where the end's value holds."""
        result = Lookup.__new__(Lookup)
        result._data = self._data.derivative()
        return result

    @property
    def digest(self) -> str:
        """A text that two tables share if all their numbers are equal."""
        return self._data.digest

    def __repr__(self) -> str:
        return f"<Lookup of {len(self._data.knots)} knots>"


class Integral:
    """The integral of a table, a function of its upper bound."""

    def __init__(self, data: Polynomials) -> None:
        self._data = data

    def __call__(self, x: Any) -> Any:
        """Return the values at x."""
        return operate("table", x, data=self._data)


def interp(
    x: Any,
    xp: ArrayLike,
    fp: ArrayLike,
    kind: Literal["linear", "cubic"] = "linear",
    outside: Literal["hold", "extend"] = "hold",
) -> Any:
    """Return what a table (xp, fp) gives at x; make a `Lookup` where it is asked many times."""
    return Lookup(xp, fp, kind, outside)(x)
