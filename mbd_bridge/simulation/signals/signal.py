"""What a user gives that may vary: numbers, expressions, tables, inputs from outside, callables.

How a signal enters the machine code of a step:

    constant, input, sampled    held: numbers that stay during a step, an input of it
    table                       streamed: the numbers at the three times of each step
    expression                  traced: it is part of the step

A signal gives `size` numbers (1 along a velocity, 6 for a wrench), the same for all trajectories or
others for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.formula import Formula, Jet, lift, text_formula
from mbd_bridge.forces.varying import Input, Sampled
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.signals.tables import PolynomialSignal

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
    def each(where: str, given: Any, size: int | None, expected: str) -> Constant:
        """Return numbers for all trajectories, or some for each; see `signal_of`."""
        try:
            values = as_floats(where, given)
        except StateError:
            raise StateError(f"{where}: expected {expected}, got {given!r:.60}") from None
        tail = () if size is None else (size,)
        outer = values.ndim - len(tail)
        if outer not in (0, 1) or values.shape[outer:] != tail:
            raise StateError(f"{where}: expected {expected}, got the shape {values.shape}")
        if not values.size:
            raise StateError(f"{where}: expected at least one trajectory, got none")
        return Constant(finite(where, values.reshape(-1, size or 1)))

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


Signal: TypeAlias = Constant | TracedSignal | PolynomialSignal | Sampled | Input


HELD = Constant, Sampled, Input
"""Signals whose numbers stay during a step."""


@dataclass(frozen=True, eq=False)
class _Sized:
    """A function of (t, q, v) that complains of what is not `size` numbers."""

    where: str
    function: StateFunction
    size: int
    expected: str

    def __call__(self, t: Any, q: Array, v: Array) -> Array:
        """Return the numbers (size,), floats or symbols."""
        given = self.function(t, q, v)
        try:
            found = np.asarray(given)
        except ValueError:  # lists of several lengths
            found = np.zeros(0)
        if found.shape != (self.size,) or found.dtype.kind not in "fiubO":
            raise StateError(
                f"{self.where}: the function returned {given!r:.60}, which has the shape "
                f"{found.shape}; expected {self.expected}"
            )
        return found


@dataclass(frozen=True)
class _OfTime:
    """A formula of t as a function of (t, q, v)."""

    formula: Formula

    def __call__(self, t: Any, q: Array, v: Array) -> Any:
        """Return the value."""
        return self.formula(t)


def signal_of(where: str, given: Any, size: int | None, expected: str) -> Signal:
    """Return the signal for what a user gives for forces.

    Parameters
    ----------
    where, expected : for messages: what it is given for, what may be given
    size : of the vector that it is; None for one number, which may be a formula too
    """
    if isinstance(given, Sampled | Input):
        return given
    if isinstance(given, tuple) and (size is None or (size == WRENCH and len(given) == 2)):
        return PolynomialSignal.lines(where, given, size or 1)
    if size is None and isinstance(given, str | Formula):
        formula = text_formula(where, given)
        return TracedSignal(_OfTime(formula), formula.text)
    if callable(given):
        return TracedSignal(given if size is None else _Sized(where, given, size, expected))
    return Constant.each(where, given, size, expected)


WRENCH = 6
"""Numbers of a wrench, which a table may give."""


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
