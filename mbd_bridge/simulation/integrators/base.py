"""What every integrator promises: from here to there, settled after each step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.model.spatial import Array

UNCOUNTED = 1e300
"""Error that is allowed in what only goes with the motion."""

Rate = Callable[[float, Array], Array]
"""f(t, y)."""

Settle = Callable[[float, Array], Array]
"""Puts a state onto the constraints."""


class BudgetError(SolveError):
    """An integrator that chooses its own steps has evaluated as often as it may."""


class Integrator(ABC):
    """A method for y' = f(t, y), with what it remembers of the motion.

    Parameters
    ----------
    rate, settle : the equations; `settle` is called after every step
    tolerance : error of a step that is allowed, relative and absolute (variable steps only)

    Attributes
    ----------
    last : s, beyond which no step may go: there forces jump
    counted : components of y whose errors decide about variable steps; behind them is the work,
        which the motion does not depend on. None: all
    allowed : evaluations from which on `advance` gives up (variable steps only)
    """

    def __init__(self, rate: Rate, settle: Settle, tolerance: float) -> None:
        self.rate, self.settle, self.tolerance = rate, settle, tolerance
        self.steps = self.evaluations = self.rejected = 0
        self.allowed = self.last = math.inf
        self.counted: int | None = None

    @abstractmethod
    def advance(self, t: float, y: Array, end: float) -> Array:
        """Return y at `end`: one step of a method with fixed steps, as many as it takes otherwise.

        Calls follow each other: t and y are the end and the result of the last one.
        """

    @abstractmethod
    def forget(self) -> None:
        """Forget the motion so far: the next step starts as the first one did."""

    @property
    @abstractmethod
    def order(self) -> int:
        """Order of the method in the last step; 0 if it is not told."""

    def absolute(self, y: Array) -> Array:
        """Return the absolute error that is allowed in each component of y."""
        allowed = np.full(len(y), self.tolerance)
        if self.counted is not None:
            allowed[self.counted :] = UNCOUNTED
        return allowed

    def check_evaluations(self, t: float, h: float) -> None:
        """Give up if too much was evaluated by t, where steps have h seconds."""
        if self.evaluations > self.allowed:
            raise BudgetError(
                f"by t = {t:.9g} s steps of {h:.2g} s have cost more evaluations than "
                f"most_evaluations= allows: forces change abruptly here, such as dry friction at "
                f"rest, or the motion is stiff. Make forces smoother (tanh(v/0.01) for sign(v)), "
                f"take integrator='scipy:BDF' where they are stiff or 'rk4' with fixed steps, a "
                f"larger tolerance=, or allow more"
            )

    def f(self, t: float, y: Array) -> Array:
        """Return the rate, and count."""
        self.evaluations += 1
        return self.rate(t, y)

    def facts(self) -> dict[str, float]:
        """Return what was counted."""
        return {
            "steps": self.steps,
            "evaluations": self.evaluations,
            "rejected": self.rejected,
        }
