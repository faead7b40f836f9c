"""The Adams-Bashforth method of the third order, with which KimYou97 simulates.

    y(t + h) = y + h (23 f(t) - 16 f(t - h) + 5 f(t - 2 h)) / 12

One rate a step. The first two steps are Runge-Kutta's, and so are two after a change of h.
"""

from __future__ import annotations

from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.integrators.base import Integrator, Rate, Settle
from mbd_bridge.simulation.integrators.runge_kutta import RungeKutta

SAME = 1e-9
"""Relative difference of steps that are the same up to the rounding of times."""


class AdamsBashforth(Integrator):
    """Fixed steps."""

    def __init__(self, rate: Rate, settle: Settle, tolerance: float) -> None:
        super().__init__(rate, settle, tolerance)
        self._before: list[Array] = []
        self._h, self._order = 0.0, 3
        self._starter = RungeKutta(self.f, settle, tolerance)

    def forget(self) -> None:
        """Start anew with Runge-Kutta's steps."""
        self._before = []

    @property
    def order(self) -> int:
        """Three; four in the first steps."""
        return self._order

    def advance(self, t: float, y: Array, end: float) -> Array:
        """Take one step."""
        h = end - t
        if abs(h - self._h) > SAME * h:
            self._before, self._h = [], h
        self.steps += 1
        now = self.f(t, y)
        self._order = 3 if len(self._before) == 2 else self._starter.order
        if len(self._before) < 2:
            out = self._starter.advance(t, y, end)
        else:
            last, earlier = self._before
            out = self.settle(end, y + h / 12 * (23 * now - 16 * last + 5 * earlier))
        self._before = [now, *self._before[:1]]
        return out
