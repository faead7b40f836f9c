"""The classical Runge-Kutta method of the fourth order."""

from __future__ import annotations

from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.integrators.base import Integrator


class RungeKutta(Integrator):
    """Four rates a step, nothing remembered."""

    def forget(self) -> None:
        """There is nothing to forget."""

    @property
    def order(self) -> int:
        """Four."""
        return 4

    def advance(self, t: float, y: Array, end: float) -> Array:
        """Take one step."""
        self.steps += 1
        h = end - t
        one = self.f(t, y)
        two = self.f(t + h / 2, y + h / 2 * one)
        three = self.f(t + h / 2, y + h / 2 * two)
        four = self.f(end, y + h * three)
        return self.settle(end, y + h / 6 * (one + 2 * (two + three) + four))
