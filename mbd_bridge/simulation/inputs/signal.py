"""What a user gives that may vary: numbers, expressions, tables, inputs from outside, callables.

How a signal enters the machine code of a step:

    constant, input, sampled    held: numbers that stay during a step, an input of it
    table                       streamed: the numbers at the three times of each step
    expression, force element   traced: it is part of the step

A signal gives `size` numbers (1 along a velocity, 6 for a wrench), the same for all trajectories or
others for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.expressions.jet import Jet, lift
from mbd_bridge.forces.outside import Input
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.inputs.element_forces import ElementForces
from mbd_bridge.simulation.inputs.table import FEWEST, table_rows

StateFunction = Callable[[Any, Array, Array], Any]
"""A function of (t, q, v)."""


@dataclass(frozen=True, eq=False)
class Constant:
    """The same at all times.

    Attributes
    ----------
    values : (N, size) of N trajectories, or (1, size) for all
    """

    values: Array

    @staticmethod
    def each(where: str, given: Any, expected: str) -> Constant:
        """Return a number for all trajectories, or one for each; `expected` is for the message."""
        try:
            values = np.atleast_1d(as_floats(where, given))
        except StateError:
            values = np.zeros((0, 0))
        if values.shape == (0,):
            raise StateError(f"{where}: expected at least one trajectory, got none")
        if values.ndim != 1:
            raise StateError(f"{where}: expected {expected}, got {given!r:.60}")
        return Constant(finite(where, values)[:, None])

    @property
    def number(self) -> int:
        """N, or 1."""
        return len(self.values)

    def of(self, members: Array) -> Array:
        """Return the values (L, size) of some trajectories."""
        return self.values[members if len(self.values) > 1 else members * 0]


@dataclass(frozen=True, eq=False)
class TracedSignal:
    """A function that is traced: of (t, q, v), of a prescribed motion of t.

    Attributes
    ----------
    text : that says it, if one does: then two of the same text are the same
    of_time : a prescribed motion, whose argument is a `Jet` of time
    """

    function: Callable[..., Any]
    text: str | None = None
    of_time: bool = False
    number = 1


@dataclass(frozen=True, eq=False)
class PolynomialSignal:
    """Pieces of polynomials between times.

    Attributes
    ----------
    times : (n,) s
    pieces : (d + 1, n - 1, N or 1, size), highest power first
    """

    times: Array
    pieces: Array

    @property
    def number(self) -> int:
        """N, or 1."""
        return int(self.pieces.shape[2])

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last time of the table, s."""
        return float(self.times[0]), float(self.times[-1])

    @staticmethod
    def spline(where: str, given: tuple[Any, ...]) -> PolynomialSignal:
        """Return cubic splines (continuous f, f', f''), as prescribed motions take."""
        from scipy.interpolate import CubicSpline  # here: importing mbd_bridge loads no SciPy

        t, x = table_rows(where, given, FEWEST)
        return PolynomialSignal(t, np.asarray(CubicSpline(t, x).c))

    @staticmethod
    def lines(where: str, given: tuple[Any, ...], size: int = 1) -> PolynomialSignal:
        """Return straight lines from row to row, as forces take."""
        t, x = table_rows(where, given, 2, size, jumps=True)
        return PolynomialSignal(
            t, np.stack([np.diff(x, axis=0) / np.diff(t)[:, None, None], x[:-1]])
        )

    def at(self, time: Array, members: Array, orders: int = 0) -> list[Array]:
        """Return the value and its first derivatives, (T, L, size) each, or (T, 1, size) for all.

        Parameters
        ----------
        time : (T,) s
        members : (L,) numbers of trajectories
        """
        c = self.pieces if self.number == 1 else self.pieces[:, :, members]
        piece = np.clip(np.searchsorted(self.times, time, "right") - 1, 0, c.shape[1] - 1)
        u = (time - self.times[piece])[:, None, None]
        found = []
        for order in range(orders + 1):
            powers = range(len(c) - 1, order - 1, -1)
            factors = [float(np.prod(range(p - order + 1, p + 1))) for p in powers]
            total: Any = 0.0
            for row, factor in zip(c, factors, strict=False):
                total = total * u + (factor * row).take(piece, axis=0)
            found.append(np.broadcast_to(total, (len(time), *c.shape[2:])))
        return found


@dataclass(frozen=True, eq=False)
class Sampled:
    """A Python function of (t, q, v), called at the start of each step and held during it.

    A step that calls Python costs some microseconds, and holding is an error of the first order in
    the step: what can be written with `mbd_bridge.functions` is better traced.

    Attributes
    ----------
    element : name of the force element that it is the function of, if it is one's

    Examples
    --------
    >>> mbd.simulate(arm, 1.0, torque=mbd.Sampled(controller))          # doctest: +SKIP
    """

    function: StateFunction
    element: str = field(default="", kw_only=True)
    number = 1

    @property
    def label(self) -> str:
        """What it is, for messages."""
        return f"GeneralForce {self.element!r}" if self.element else "Sampled"


Signal: TypeAlias = Constant | TracedSignal | PolynomialSignal | Sampled | Input | ElementForces

HELD = Constant, Sampled, Input
"""Signals whose numbers stay during a step."""


def jets(signal: TracedSignal, t: Any) -> Jet:
    """Return a prescribed motion with its derivatives at t, a float, an array or a symbol."""
    return lift(signal.function(Jet(t, 1.0, 0.0)))


def finite(where: str, values: Array) -> Array:
    """Return numbers, or complain of what is none."""
    if not np.isfinite(values).all():
        raise StateError(
            f"{where}: expected finite numbers, got {np.asarray(values).tolist()!r:.60}"
        )
    return values
