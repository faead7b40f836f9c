"""What is given over time to many trajectories: one course for all, or one for each.

`along` gives a course's value and its first and second derivative at many times for some
trajectories; `of` gives it as `simulate` takes it for one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbd_bridge.arguments import as_floats
from mbd_bridge.errors import StateError
from mbd_bridge.simulate.given.formula import text_formula
from mbd_bridge.simulate.given.jet import Jet, lift
from mbd_bridge.simulate.given.table import FEWEST, check_covers, table_rows
from mbd_bridge.spatial import Array


class Course(ABC):
    """A number along time for each of N trajectories, or one for all."""

    @property
    def number(self) -> int:
        """N, or 1."""
        return 1

    @abstractmethod
    def along(self, time: Array, own: Array, orders: int = 0) -> list[Array]:
        """Return the value and `orders` derivatives, (T, L) or (T, 1) if all have the same.

        Parameters
        ----------
        time : (T,) s, growing
        own : (L,) numbers of trajectories
        """

    @abstractmethod
    def of(self, number: int) -> Any:
        """Return one trajectory's course as `simulate` takes it."""


@dataclass(frozen=True, eq=False)
class Constant(Course):
    """The same at all times: values (N,)."""

    values: Array

    @property
    def number(self) -> int:
        """N, or 1."""
        return len(self.values)

    def along(self, time: Array, own: Array, orders: int = 0) -> list[Array]:
        """Return the values, and zeros."""
        own = own if len(self.values) > 1 else own[:1] * 0
        value = np.broadcast_to(self.values[own], (len(time), len(own)))
        return [value, *([np.zeros_like(value)] * orders)]

    def of(self, number: int) -> float:
        """Return one trajectory's value."""
        return float(self.values[number if len(self.values) > 1 else 0])


@dataclass(frozen=True, eq=False)
class Formula(Course):
    """A function of t, the same for all (see `jet`)."""

    function: Callable[[Any], Any]

    def along(self, time: Array, own: Array, orders: int = 0) -> list[Array]:
        """Return the function and its derivatives (T, 1)."""
        jet = lift(self.function(Jet(time, 1.0, 0.0)))
        parts = (jet.value, jet.first, jet.second)[: orders + 1]
        return [np.broadcast_to(part, time.shape)[:, None] for part in parts]

    def of(self, number: int) -> Callable[[Any], Any]:
        """Return the function."""
        return self.function


@dataclass(frozen=True, eq=False)
class Rows(Course):
    """A table: pieces of polynomials between times (n,), highest power first (d + 1, n - 1, N)."""

    times: Array
    values: Array
    pieces: Array

    @property
    def number(self) -> int:
        """N, or 1."""
        return len(self.values)

    @staticmethod
    def spline(name: str, times: Any, values: Any) -> Rows:
        """Return cubic splines (continuous f, f', f''), as prescribed motions take."""
        from scipy.interpolate import CubicSpline  # here: importing mbd_bridge loads no SciPy

        t, x = table_rows(f"drive {name!r}", times, values, FEWEST, several=True)
        x = np.atleast_2d(x)
        return Rows(t, x, np.asarray(CubicSpline(t, x, axis=1).c))

    @staticmethod
    def lines(name: str, times: Any, values: Any) -> Rows:
        """Return straight lines from row to row, as forces take."""
        t, x = table_rows(f"torque {name!r}", times, values, 2, several=True, jumps=True)
        x = np.atleast_2d(x)
        return Rows(t, x, np.stack([(np.diff(x) / np.diff(t)).T, x[:, :-1].T]))

    def along(self, time: Array, own: Array, orders: int = 0) -> list[Array]:
        """Return the polynomials and their derivatives."""
        c = self.pieces if self.number == 1 else self.pieces[:, :, own]
        piece = np.clip(np.searchsorted(self.times, time, "right") - 1, 0, c.shape[1] - 1)
        u = (time - self.times[piece])[:, None]
        found = []
        for order in range(orders + 1):
            powers = range(len(c) - 1, order - 1, -1)
            factors = [float(np.prod(range(p - order + 1, p + 1))) for p in powers]
            total: Any = 0.0
            for row, factor in zip(c, factors, strict=False):
                total = total * u + (factor * row).take(piece, axis=0)
            found.append(np.broadcast_to(total, (len(time), c.shape[2])))
        return found

    def of(self, number: int) -> tuple[Array, Array]:
        """Return one trajectory's table."""
        return self.times, self.values[number if self.number > 1 else 0]


def course(
    kind: str, name: str, given: Any, table: Callable[..., Rows], start: float, end: float
) -> Course:
    """Return what is given for one coordinate: a number, N of them, a table or a function."""
    where = f"{kind} {name!r}"
    if isinstance(given, tuple):
        if len(given) != 2:
            raise StateError(f"{where}: a table is (times, values), got {len(given)} parts")
        found = table(name, *given)
        check_covers(where, float(found.times[0]), float(found.times[-1]), start, end)
        return found
    if isinstance(given, str):
        given = text_formula(kind, name, given)
    if callable(given):
        return Formula(given)
    try:
        values = np.atleast_1d(as_floats(where, given))
    except StateError:
        values = np.array([[np.nan]])
    if values.ndim != 1 or not np.isfinite(values).all():
        raise StateError(
            f"{where}: expected a number, one for each trajectory, (times, values), a formula "
            f"such as '2*pi*t' or a function of t, got {given!r:.60}"
        )
    return Constant(values)
