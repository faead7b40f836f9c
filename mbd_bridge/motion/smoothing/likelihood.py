"""The smoothing that the data ask for: order, cut-off and noise of largest restricted likelihood.

Smoothing splines are Gaussian processes, so their parameters have a likelihood (Wahba85). With the
trend that the penalty leaves free integrated out (REML) and the common variance s² profiled,

    -2 log L = n log(Σ w r² + λ ∫ (f⁽ᵖ⁾)² dt) + log |A| - log |λ Ω|,    s² = (Σ w r² + ...) / n

with n numbers less p; where s is known, (Σ w r² + ...) / s² stands for the first term. It
undersmooths far less often than generalised cross-validation, and orders p can be
compared by it as cut-offs can: a motion with jumps of its acceleration asks for p = 3, a smooth one
for more. Data may come in blocks, which share the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.linalg import LinAlgError

from mbd_bridge.base.arrays import Floats
from mbd_bridge.motion.smoothing.spline import (
    OVERSAMPLING,
    Data,
    NormalEquations,
    Spline,
    penalty_weight,
    usual_step,
)

ORDERS = (3, 4, 5)
"""Orders of the derivative that is penalised. A second derivative needs 3; 6 gains nothing."""
STEP = math.sqrt(2.0)
"""Ratio of cut-offs that are tried one after another."""
PERIODS = 3.0
"""Periods of the lowest cut-off in a block, at least."""
MOTION_LEFT = 2.0
"""Ratio of what a spline leaves to the noise of the weights from which on motion is among it: the
likelihood may have another maximum at higher cut-offs."""
EXACT = 0.02
"""Relative accuracy of the cut-off: the likelihood is flat there."""


@dataclass(frozen=True)
class Choice:
    """Parameters of a smoothing spline.

    Attributes
    ----------
    order, weight : p, and λ for data of the weights that it was chosen with
    cutoff : Hz, at which a sine is halved
    scale : s, by which 1 / √weight of the data must be multiplied to give standard deviations
    deviance : -2 log L
    rough : the best of the lowest order, if this is of a higher one
    """

    order: int
    weight: float
    cutoff: float
    scale: float
    deviance: float
    rough: Choice | None = None

    def splines(
        self, data: Sequence[Data], step: float, origin: float | None = None
    ) -> list[Spline]:
        """Return the splines of the columns of a signal, for a usual time step.

        Parameters
        ----------
        origin : s, from which the knots are counted; None: the first time
        """
        spacing, begin = knot_spacing(self.order, self.cutoff, step), None
        if origin is not None:
            begin = origin + spacing * math.floor((data[0].time[0] - origin) / spacing)
        equations = [NormalEquations(one, self.order, spacing, begin) for one in data]
        return [one.solve(self.weight) for one in equations]


class Blocks:
    """Data in blocks that are smoothed with the same parameters."""

    def __init__(self, blocks: Sequence[Data]) -> None:
        self._step = usual_step([data.time for data in blocks])
        blocks = [data.rows(*part) for data in blocks for part in data.samples.parts(self._step)]
        self._blocks = blocks
        lasting = sum(float(data.time[-1] - data.time[0]) for data in blocks)
        self._density = sum(float(data.weights.sum()) for data in blocks) / lasting
        rates = [data.rate_weights for data in blocks if data.rate_weights is not None]
        self._rate_density = sum(float(weights.sum()) for weights in rates) / lasting
        self._lowest = PERIODS / max(float(data.time[-1] - data.time[0]) for data in blocks)
        self._highest = 1.0 / self._step
        self._scale: float | None = None
        self._equations: dict[tuple[int, float], list[NormalEquations]] = {}

    def choose(
        self,
        orders: Sequence[int] = ORDERS,
        cutoff: float | None = None,
        scale: float | None = None,
    ) -> Choice:
        """Return the parameters of largest likelihood, at a cut-off or a scale if one is given."""
        self._scale = scale
        if cutoff is not None:
            found = [self.at(order, cutoff) for order in orders]
        else:
            found = [self._best(order) for order in orders]
        best = min(found, key=lambda choice: choice.deviance)
        return best if best is found[0] else replace(best, rough=found[0])

    def at(self, order: int, cutoff: float) -> Choice:
        """Return the likelihood and the scale for an order and a cut-off."""
        weight = penalty_weight(cutoff, order, self._density, self._rate_density)
        squares = constant = 0.0
        number = 0
        for equations in self._assembled(order, cutoff):
            try:
                part, more = equations.deviance(equations.solve(weight))
            except LinAlgError:  # too few data for so little smoothing
                return Choice(order, weight, cutoff, math.nan, math.inf)
            squares, constant = squares + part, constant + more
            number += equations.data.number - order
        squares = max(squares, float(np.finfo(np.float64).tiny))
        if self._scale is not None:
            deviance = squares / self._scale**2 + constant
        else:
            deviance = number * math.log(squares) + constant
        return Choice(order, weight, cutoff, math.sqrt(squares / number), deviance)

    def _assembled(self, order: int, cutoff: float) -> list[NormalEquations]:
        """Return equations on knots that are dense enough."""
        key = order, knot_spacing(order, cutoff, self._step)
        if key not in self._equations:
            self._equations[key] = [NormalEquations(data, *key) for data in self._blocks]
        return self._equations[key]

    def _best(self, order: int) -> Choice:
        """Return the best cut-off: upwards until only noise is left, then between neighbours."""
        from scipy.optimize import minimize_scalar

        tried = [self.at(order, self._lowest)]
        while tried[-1].cutoff * STEP <= self._highest:
            tried.append(self.at(order, tried[-1].cutoff * STEP))
            worse = len(tried) > 2
            worse = worse and tried[-1].deviance > tried[-2].deviance > tried[-3].deviance
            if worse and tried[-1].scale < MOTION_LEFT:
                break
        best = min(tried, key=lambda choice: choice.deviance)
        found = minimize_scalar(
            lambda x: self.at(order, math.exp(x)).deviance,
            bounds=(math.log(best.cutoff / STEP), math.log(best.cutoff * STEP)),
            method="bounded",
            options={"xatol": EXACT},
        )
        refined = self.at(order, math.exp(float(found.x)))
        return min(refined, best, key=lambda choice: choice.deviance)


def knot_spacing(order: int, cutoff: float, step: float) -> float:
    """Return the spacing of knots, s, for a usual time step: half of it, at least.

    With knots no denser than the samples, a spline that follows them leaves nothing open between:
    its accelerations would seem far more exact than they are.
    """
    level = math.floor(math.log2(1.0 / (OVERSAMPLING[order] * cutoff * step)))
    return float(step * 2.0 ** max(-1, level))


# How exactly a spline is known where the motion is quicker, or quieter, than elsewhere.
#
# The covariance of a smoothing spline is that of a motion whose p-th derivative is the same white
# noise all along. A machine rests, and then its acceleration jumps: how much it is driven where,
# is seen in the curve itself. With x the frequency over the cut-off, and a + b x² the shares of
# positions and velocities in what is measured (a + b = 1), the spline passes
#
#     H = (a + b x²) / (a + b x² + x²ᵖ),
#
# and where the motion is driven with r times its mean power, the mean over a period of
#
#     e = λ (f⁽ᵖ⁺ᵏ⁾)² / (s² ω²ᵏ)    is about    cutoff · 2 ∫ x²ᵏ H (1 - H + r H) dx.
#
# Of the variance of the d-th derivative, ∫ x²ᵈ / (a + b x² + x²ᵖ) dx, the share ∫ x²ᵈ (1 - H) /
# (...) is what smoothing takes away of the motion, and grows with r; the rest is noise, and stays.
# k = p - 3 shows jumps of a low derivative, too, in a motion that is smooth elsewhere: what they
# leave is more than their part in f⁽ᵖ⁾.

LEAST = 0.7
"""Power relative to the mean, at least: that of a period is known roughly."""
POINTS, SHARE_STEPS = 4000, 100
"""Points of the integrals over frequencies, and the shares of positions that are told apart."""


def local_covariance(
    splines: Sequence[Spline], data: Data, choice: Choice
) -> tuple[Floats, Floats]:
    """Return times (K,) and covariances (K, 3, 3) there, of value, velocity and acceleration.

    Parameters
    ----------
    splines : of the columns of a signal, smoothed alike
    data, choice : of one of them
    """
    omega, scale, share = 2.0 * math.pi * choice.cutoff, choice.scale, 1.0
    if data.rate_weights is not None:
        positions, rates = float(data.weights.sum()), float(data.rate_weights.sum())
        share = positions / (positions + omega**2 * rates)
    knots, covariance = splines[-1].covariance()
    amid, higher = 0.5 * (knots[1:] + knots[:-1]), choice.order - ORDERS[0]
    derivatives = [spline(amid, (choice.order + higher,))[0] for spline in splines]
    squares = np.mean(np.square(derivatives), axis=0) / omega ** (2 * higher)
    usual, of_noise, of_motion = _integrals(choice.order, higher, round(share * SHARE_STEPS))
    period = 1.0 / (choice.cutoff * (knots[1] - knots[0]))
    energy = choice.weight * _means(squares, period) / (scale**2 * choice.cutoff * usual)
    power = np.maximum((energy - of_noise) / (1.0 - of_noise), LEAST)
    power = np.maximum(np.append(power[0], power), np.append(power, power[-1]))
    factors = np.sqrt(1.0 + of_motion * (power[:, None] - 1.0))
    return knots, scale**2 * covariance * factors[:, :, None] * factors[:, None, :]


def _means(values: Floats, length: float) -> Floats:
    """Return the means (N,) of values (N,) over so many around each."""
    half = max(1, round(0.5 * length))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    number = np.arange(len(values))
    begin, end = np.maximum(number - half, 0), np.minimum(number + half + 1, len(values))
    return np.asarray((sums[end] - sums[begin]) / (end - begin))


@cache
def _integrals(order: int, higher: int, hundredths: int) -> tuple[float, float, Floats]:
    """Return the mean of e / cutoff for r = 1; its share for r = 0; the shares (3,) that r drives.

    Parameters
    ----------
    order, higher : p and k
    hundredths : share of positions, in steps
    """
    share = hundredths / SHARE_STEPS
    angle = (np.arange(POINTS) + 0.5) * 0.5 * math.pi / POINTS
    x, dx = np.tan(angle), np.cos(angle) ** -2.0 * (0.5 * math.pi / POINTS)
    measured, driven = share + (1.0 - share) * x * x, x ** (2 * order)
    passed = measured / (measured + driven)
    seen = 2.0 * x ** (2 * higher) * passed * dx
    usual, of_noise = float(np.sum(seen)), float(np.sum(seen * (1.0 - passed)))
    parts = [x ** (2 * d) / (measured + driven) * dx for d in range(3)]
    shares = np.array([np.sum(part * (1.0 - passed)) / np.sum(part) for part in parts])
    return usual, of_noise / usual, shares
