"""Adams-Bashforth predictor, Adams-Moulton corrector, of variable step and order (Lee94).

    P   y_p = y + ∫ p(s) ds,    p through the last k rates
    E   f_p = f(t + h, y_p)
    C   y_j = y + ∫ c_j(s) ds,  c_j through f_p and the last j - 1 rates;   y = y_(k+1)
    E   f(t + h, y), after the state was put onto the constraints

The difference of two correctors, y_(k+1) - y_k, is the error of the k-th order; the better one is
kept (local extrapolation). Steps and order are what promises the longest next step; weights are
those of the times as they are. It starts by itself, with the first order and short steps.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.integrators.base import Integrator, Rate, Settle

HIGHEST = 6
"""Highest order of the predictor; beyond, what is stable shrinks faster than the error."""

SAFETY, SLOWEST, FASTEST = 0.8, 0.3, 2.0
"""Part of the step that the estimate allows; bounds of the change from step to step."""

GROWTH = 1.2
"""Gain in step below which nothing is changed: unequal steps cost accuracy."""

MOST_REJECTED = 25
"""Rejections in a row after which a step is given up."""


class AdamsBashforthMoulton(Integrator):
    """Variable step and order, P E C E."""

    def __init__(self, rate: Rate, settle: Settle, tolerance: float) -> None:
        super().__init__(rate, settle, tolerance)
        self._times: list[float] = []
        self._rates: list[Array] = []
        self._order = 1
        self._h = 0.0
        self.sizes: list[tuple[float, float, int]] = []

    @property
    def order(self) -> int:
        """That of the predictor; the corrector's is one higher."""
        return self.sizes[-1][2] if self.sizes else 1

    def advance(self, t: float, y: Array, end: float) -> Array:
        """Take as many steps as it takes; the last one ends at `end`."""
        if not self._times:
            self._remember(t, self.f(t, y))
            # the first order errs by about (h f)² relative to y: well below the tolerance
            size = _norm(self._rates[0] / (1.0 + np.abs(y)))
            self._h = min(end - t, 0.5 * np.sqrt(self.tolerance) / max(size, 1e-8))
        while t < end:
            t, y = self._step(t, y, end)
            self.check_evaluations(t, self._h)
        return y

    def forget(self) -> None:
        """Start anew with the first order."""
        self._times, self._rates, self._order = [], [], 1

    def facts(self) -> dict[str, float]:
        """Return what was counted, and the shortest and longest step."""
        steps = [h for _, h, _ in self.sizes] or [0.0]
        highest = max((order for _, _, order in self.sizes), default=1)
        return {
            **super().facts(),
            "shortest_step": min(steps),
            "longest_step": max(steps),
            "highest_order": highest,
        }

    def _step(self, t: float, y: Array, end: float) -> tuple[float, Array]:
        """Take one step that satisfies the tolerance."""
        met: SolveError | None = None
        for _ in range(MOST_REJECTED):
            left = end - t
            parts = max(1, int(np.ceil(left / self._h - 1e-9)))
            h = left / parts
            k = min(self._order, len(self._times))
            predicted = y + h * self._increment(t, h, k, None)
            stop = end if parts == 1 else t + h
            try:
                fresh = self.f(stop, predicted)
            except SolveError as problem:  # too far out for the mechanism
                met = problem
                self._reject(h * SLOWEST)
                continue
            most = min(k + 2, len(self._times) + 1)
            correctors = {
                j: y + h * self._increment(t, h, j - 1, fresh) for j in range(max(1, k - 1), most)
            }
            correctors[most] = y + h * self._increment(t, h, most - 1, fresh)
            weight = self.absolute(y) + self.tolerance * np.abs(y)
            error = _norm((correctors[k + 1] - correctors[k]) / weight)
            if not np.isfinite(error):
                self._reject(h * SLOWEST)
            elif error > 1.0:
                self._reject(h * max(SLOWEST, SAFETY * error ** (-1.0 / (k + 1))))
            else:
                try:
                    settled = self.settle(stop, correctors[k + 1])
                    rate = self.f(stop, settled)
                except SolveError as problem:
                    met = problem
                    self._reject(h * SLOWEST)
                    continue
                self._accept(t, h, k, correctors, weight)
                self._remember(stop, rate)
                return stop, settled
        if met is not None:
            raise met
        raise SolveError(
            f"the tolerance {self.tolerance:g} is not met with steps of {self._h:.3g} s: the "
            f"motion has a jump here, or the tolerance is too small"
        )

    def _reject(self, h: float) -> None:
        self.rejected += 1
        self._h = h
        self._order = max(1, self._order - 1)

    def _accept(
        self, t: float, h: float, k: int, correctors: dict[int, Array], weight: Array
    ) -> None:
        """Choose step and order of the next step."""
        self.steps += 1
        self.sizes.append((t, h, k))
        factor = {}
        for order in (k - 1, k, k + 1):
            if 1 <= order <= HIGHEST and {order, order + 1} <= correctors.keys():
                error = _norm((correctors[order + 1] - correctors[order]) / weight)
                factor[order] = SAFETY * max(error, 1e-12) ** (-1.0 / (order + 1))
        if len(self._times) <= k and k < HIGHEST:  # it starts: an order is gained every step
            factor[k + 1] = factor[k]
        best = max(factor, key=lambda order: (factor[order], order))
        self._order = best
        gain = min(FASTEST, factor[best])
        self._h = h * gain if gain > GROWTH or gain < 1.0 else h

    def _increment(self, t: float, h: float, past: int, fresh: Array | None) -> Array:
        """Return the mean rate of the polynomial through `past` rates, and the fresh one."""
        nodes = [(time - t) / h for time in self._times[:past]]
        rates = self._rates[:past]
        if fresh is not None:
            nodes, rates = [1.0, *nodes], [fresh, *rates]
        powers = np.vander(nodes, increasing=True).T
        weights = np.linalg.solve(powers, 1.0 / np.arange(1, len(nodes) + 1))
        return np.asarray(weights @ np.array(rates))

    def _remember(self, t: float, rate: Array) -> None:
        self._times = [t, *self._times[: HIGHEST + 1]]
        self._rates = [rate, *self._rates[: HIGHEST + 1]]


def _norm(x: Array) -> float:
    return float(np.sqrt(np.mean(x * x)))
