"""What every integrator promises: from here to there, settled after each step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from mbd_bridge.spatial import Array

Rate = Callable[[float, Array], Array]
"""f(t, y)."""

Settle = Callable[[float, Array], Array]
"""Puts a state onto the constraints."""


class Integrator(ABC):
    """A method for y' = f(t, y), with what it remembers of the motion.

    Parameters
    ----------
    rate, settle : the equations; `settle` is called after every step
    tolerance : error of a step that is allowed, relative and absolute (variable steps only)
    """

    def __init__(self, rate: Rate, settle: Settle, tolerance: float) -> None:
        self.rate, self.settle, self.tolerance = rate, settle, tolerance
        self.steps = self.evaluations = self.rejected = 0

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
