"""Tables of times and values as functions of t without a branch: smooth, or straight lines.

The cubic spline through the values has pieces p_k on [t_k, t_k + d_k]. With the time that has
passed within each piece, u_k = min(max(t - t_k, 0), d_k),

    f(t) = p_0(0) + Σ_k (p_k(u_k) - p_k(0)),      f' and f'' likewise from p_k' and p_k''

because every piece that lies behind contributes its whole rise and every piece ahead nothing.
Prescribed motions are such splines; forces go in straight lines from row to row, f and nothing else
continuous, since a spline would overshoot where they jump.
max(x, 0) = (x + sqrt(x²)) / 2 is exact in floating point, and compiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import as_floats
from mbd_bridge.errors import StateError
from mbd_bridge.simulate.given.jet import Jet
from mbd_bridge.spatial import Array

MOST = 1500
"""Rows of a table: each costs some 40 operations of the compiled step (a few seconds in all)."""

JUMP = 64 * np.finfo(np.float64).eps
"""How long a jump takes, relative to the largest time: some roundings of times."""

FEWEST = 4
"""Rows that a cubic spline needs."""


@dataclass(frozen=True, eq=False)
class Table:
    """A cubic spline (continuous f, f', f'') as a traceable function of t.

    Attributes
    ----------
    start : (n,) s, where the pieces start
    length : (n,) s
    coefficients : (4, n), p_k(u) = c3 + u (c2 + u (c1 + u c0)), highest power first
    """

    start: Array
    length: Array
    coefficients: Array

    @staticmethod
    def through(name: str, times: ArrayLike, values: ArrayLike) -> Table:
        """Return the spline through a table's rows; `name` is for messages."""
        from scipy.interpolate import CubicSpline  # here: importing mbd_bridge loads no SciPy

        t, x = table_rows(f"drive {name!r}", times, values, FEWEST)
        spline = CubicSpline(t, x)
        return Table(t[:-1], np.diff(t), np.asarray(spline.c))

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last time of the table, s."""
        return float(self.start[0]), float(self.start[-1] + self.length[-1])

    def __call__(self, t: Jet) -> Jet:
        """Return value, velocity and acceleration at t (a bare time: its rate is 1)."""
        c3, c2, c1, c0 = self.coefficients
        value: Any = float(c0[0])
        first: Any = float(c1[0])
        second: Any = 2.0 * float(c2[0])
        for k in range(len(self.start)):
            d = float(self.length[k])
            passed = _above(t.value - float(self.start[k]))
            u = d - _above(d - passed)
            a, b, c = float(c3[k]), float(c2[k]), float(c1[k])
            value = value + u * (c + u * (b + u * a))
            first = first + u * (2.0 * b + u * (3.0 * a))
            second = second + u * (6.0 * a)
        return Jet(value, first, second)


@dataclass(frozen=True, eq=False)
class Lines:
    """Straight lines between the rows of a table, as a traceable function of t.

    Attributes
    ----------
    times, values : (n,) s, and N or N m
    """

    times: Array
    values: Array

    @staticmethod
    def through(name: str, times: ArrayLike, values: ArrayLike) -> Lines:
        """Return the lines through a table's rows; `name` is for messages."""
        return Lines(*table_rows(f"torque {name!r}", times, values, 2, jumps=True))

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last time of the table, s."""
        return float(self.times[0]), float(self.times[-1])

    def __call__(self, t: Any) -> Any:
        """Return the value at t, a float or a symbol."""
        if isinstance(t, float | int):
            return float(np.interp(t, self.times, self.values))
        length = np.diff(self.times)
        slope = np.diff(self.values) / length
        value: Any = float(self.values[0])
        for start, d, m in zip(self.times[:-1].tolist(), length.tolist(), slope, strict=True):
            passed = _above(t - start)
            value = value + float(m) * (d - _above(d - passed))
        return value


def table_rows(
    where: str,
    times: ArrayLike,
    values: ArrayLike,
    fewest: int,
    several: bool = False,
    jumps: bool = False,
) -> tuple[Array, Array]:
    """Return times (n,) and values (n,), or with `several` (N, n) as well, checked.

    With `jumps` a time may stand twice: there the values jump, from one row to the next.
    """
    t, x = as_floats(f"{where}: times", times), as_floats(f"{where}: values", values)
    flat = x.ndim in ((1, 2) if several else (1,))
    if t.ndim != 1 or not flat or x.shape[-1:] != t.shape or not fewest <= len(t) <= MOST:
        raise StateError(
            f"{where}: a table is (times, values), both (n,) with {fewest} to {MOST} rows"
            f"{', or values (N, n)' if several else ''}; got {t.shape} and {x.shape}"
        )
    if jumps:
        t = _apart(t)
    if not (np.all(np.isfinite(t)) and np.all(np.isfinite(x)) and np.all(np.diff(t) > 0.0)):
        twice = " (a time that stands twice is a jump)" if jumps else ""
        raise StateError(f"{where}: times must grow{twice}, times and values be finite")
    return t, x


def _apart(t: Array) -> Array:
    """Return times of which those that stand twice are a few roundings apart."""
    again = np.flatnonzero(np.diff(t) == 0.0) + 1
    if len(again):
        t = t.copy()
        t[again] += JUMP * max(float(np.abs(t).max()), 1e-300)
    return t


def check_covers(where: str, first: float, last: float, start: float, end: float) -> None:
    """Complain about a table from `first` to `last` that does not reach over a simulation."""
    slack = 1e-9 * max(1.0, abs(start), abs(end))
    if first > start + slack or last < end - slack:
        raise StateError(
            f"{where}: the table goes from {first:g} to {last:g} s, the simulation from "
            f"{start:g} to {end:g} s"
            if start < end
            else f"{where}: the table goes from {first:g} to {last:g} s and is asked for "
            f"t = {start:g} s. Give a longer one, or stop before"
        )


def thinned(times: Array, values: Array, smooth: bool = True) -> tuple[Array, Array, float]:
    """Return as many rows of a long table as one may have, and by how much it leaves the others.

    Every k-th row and the last one are kept; the third result is the largest distance of what goes
    through these (a `Table` if it is to be smooth, else `Lines`) from the rows that are left out.
    """
    if len(times) <= MOST:
        return times, values, 0.0
    from scipy.interpolate import CubicSpline  # here: importing mbd_bridge loads no SciPy

    kept = np.arange(0, len(times), -(-len(times) // (MOST - 1)))
    if kept[-1] != len(times) - 1:
        kept = np.append(kept, len(times) - 1)
    t, x = times[kept], values[kept]
    found = CubicSpline(t, x)(times) if smooth else np.interp(times, t, x)
    return t, x, float(np.abs(found - values).max())


def _above(x: Any) -> Any:
    """Return max(x, 0)."""
    return 0.5 * (x + np.sqrt(x * x))
