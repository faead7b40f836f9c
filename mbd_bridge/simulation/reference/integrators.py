"""Integrators of y' = f(t, y), run from Python; compiled steps are in `steps`.

What is a formula (`steps.schemes.Integrator`), as Runge-Kutta's or yours, is run here by any
method; others have a class of their own.

Adams-Bashforth of the third order, with which KimYou97 simulates, one rate a step:

    y(t + h) = y + h (23 f(t) - 16 f(t - h) + 5 f(t - 2 h)) / 12

Adams-Bashforth predictor, Adams-Moulton corrector, of variable step and order (Lee94):

    P   y_p = y + ∫ p(s) ds,    p through the last k rates
    E   f_p = f(t + h, y_p)
    C   y_j = y + ∫ c_j(s) ds,  c_j through f_p and the last j - 1 rates;   y = y_(k+1)
    E   f(t + h, y), after the state was put onto the constraints

The difference of two correctors, y_(k+1) - y_k, is the error of the k-th order; the better one is
kept (local extrapolation). Steps and order are what promises the longest next step; weights are
those of the times as they are. It starts by itself, with the first order and short steps.

SciPy's choose their own steps and know nothing of constraints: the equations they are given pull
the closure (`right_hand_side`), what they hand out is put onto the constraints, and they themselves
go on from what they had.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.steps.schemes import RK4, Integrator

UNCOUNTED = 1e300
"""Error that is allowed in what only goes with the motion."""


Rate = Callable[[float, Array], Array]
"""f(t, y)."""


Settle = Callable[[float, Array], Array]
"""Puts a state onto the constraints."""


class BudgetError(SolveError):
    """An integrator that chooses its own steps has evaluated as often as it may."""


class PythonIntegrator(ABC):
    """A method for y' = f(t, y), with what it remembers of the motion.

    Parameters
    ----------
    rate, settle : the equations; `settle` is called after every step
    tolerance : error of a step that is allowed, relative and absolute (variable steps only)

    Attributes
    ----------
    fixed : whether steps are those of the grid: it does not notice that one is too long
    last : s, beyond which no step may go: there forces jump
    counted : components of y whose errors decide about variable steps; behind them is the work,
        which the motion does not depend on. None: all
    allowed : evaluations from which on `advance` gives up (variable steps only)
    """

    fixed = False

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


SAME = 1e-9
"""Relative difference of steps that are the same up to the rounding of times."""


class FormulaSteps(PythonIntegrator):
    """Steps of an integrator that is written down as a formula (`schemes.Integrator`)."""

    fixed = True

    def __init__(
        self, scheme: Integrator, rate: Rate, settle: Settle, tolerance: float = 0.0
    ) -> None:
        super().__init__(rate, settle, tolerance)
        self._scheme, self._h = scheme, 0.0
        self._memory: Array | None = None

    def forget(self) -> None:
        """Begin with a new memory."""
        self._memory = None

    @property
    def order(self) -> int:
        """That of the formula."""
        return self._scheme.order

    def advance(self, t: float, y: Array, end: float) -> Array:
        """Take one step."""
        self.steps += 1
        h = end - t

        def f(c: float, x: Array) -> Array:
            return self.f(end if c == 1.0 else t + c * h, x)

        if self._memory is None or abs(h - self._h) > SAME * h:
            self._memory, self._h = self._scheme.start(f, y), h
        y, self._memory = self._scheme.step(f, y, h, self._memory)
        return self.settle(end, y)


class AdamsBashforth(PythonIntegrator):
    """Fixed steps."""

    fixed = True

    def __init__(self, rate: Rate, settle: Settle, tolerance: float) -> None:
        super().__init__(rate, settle, tolerance)
        self._before: list[Array] = []
        self._h, self._order = 0.0, 3
        self._starter = FormulaSteps(RK4, self.f, settle)

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


HIGHEST = 6
"""Highest order of the predictor; beyond, what is stable shrinks faster than the error."""


SAFETY, SLOWEST, FASTEST = 0.8, 0.3, 2.0
"""Part of the step that the estimate allows; bounds of the change from step to step."""


GROWTH = 1.2
"""Gain in step below which nothing is changed: unequal steps cost accuracy."""


MOST_REJECTED = 25
"""Rejections in a row after which a step is given up."""


class AdamsBashforthMoulton(PythonIntegrator):
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


SCIPY = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
"""Integrators of `scipy.integrate` that go by their names."""


class ScipyIntegrator(PythonIntegrator):
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


INTEGRATORS = ("rk4", "ab3", "abm")
"""Names of ours; SciPy's are called ``scipy:NAME``."""


def make_integrator(
    name: str, scheme: Integrator, rate: Rate, settle: Settle, tolerance: float, end: float
) -> PythonIntegrator:
    """Return an integrator by its name, or that of a scheme's formula.

    Parameters
    ----------
    end : s, of the motion
    """
    kind, _, scipy_name = name.partition(":")
    if kind == "scipy":
        return ScipyIntegrator(rate, settle, tolerance, scipy_name, end)
    if kind in ("ab3", "abm"):
        way = AdamsBashforth if kind == "ab3" else AdamsBashforthMoulton
        return way(rate, settle, tolerance)
    return FormulaSteps(scheme, rate, settle)
