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
from mbd_bridge.forces.formula import Jet, lift
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


Signal: TypeAlias = Constant | TracedSignal | PolynomialSignal | Sampled | Input


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
