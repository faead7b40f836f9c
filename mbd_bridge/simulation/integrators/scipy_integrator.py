"""SciPy's integrators, one class for all of them.

They choose their own steps and know nothing of constraints: the equations they are given pull the
closure (`right_hand_side`), what they hand out is put onto the constraints, and they themselves go
on from what they had.
"""

from __future__ import annotations

from typing import Any

from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.integrators.base import Integrator, Rate, Settle

SCIPY = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
"""Integrators of `scipy.integrate` that go by their names."""


class ScipyIntegrator(Integrator):
    """One of SciPy's; `end` is that of the motion, s."""

    def __init__(self, rate: Rate, settle: Settle, tolerance: float, name: str, end: float) -> None:
        super().__init__(rate, settle, tolerance)
        if name not in SCIPY:
            known = ", ".join(SCIPY)
            raise StateError(f"integrator='scipy:{name}' is not known; SciPy has {known}")
        self._name, self._end = name, end
        self._way: Any = None

    @property
    def order(self) -> int:
        """SciPy does not tell."""
        return 0

    def advance(self, t: float, y: Array, end: float) -> Array:
        """Take steps until `end` is reached, and look it up between them."""
        import scipy.integrate as scipy  # here, so that importing the package does not load SciPy

        if self._way is None or self._way.status != "running":  # it has ended at a jump
            kind, tolerance = getattr(scipy, self._name), self.tolerance
            last = max(end, min(self.last, self._end))
            self._way = kind(self.f, t, y, last, rtol=tolerance, atol=self.absolute(y))
        while self._way.t < end:
            problem = self._way.step()
            self.steps += 1
            if self._way.status == "failed":
                raise SolveError(str(problem))
            self.check_evaluations(self._way.t, self._way.t - self._way.t_old)
        return self.settle(end, self._way.dense_output()(end) if self._way.t > end else self._way.y)

    def forget(self) -> None:
        """Start anew with the next step."""
        self._way = None
