"""How exactly a spline is known where the motion is quicker, or quieter, than elsewhere.

The covariance of a smoothing spline is that of a motion whose p-th derivative is the same white
noise all along. A machine rests, and then its acceleration jumps: how much it is driven where, is
seen in the curve itself. With x the frequency over the cut-off, and a + b x² the shares of
positions and velocities in what is measured (a + b = 1), the spline passes

    H = (a + b x²) / (a + b x² + x²ᵖ),

and where the motion is driven with r times its mean power, the mean over a period of

    e = λ (f⁽ᵖ⁺ᵏ⁾)² / (s² ω²ᵏ)    is about    cutoff · 2 ∫ x²ᵏ H (1 - H + r H) dx.

Of the variance of the d-th derivative, ∫ x²ᵈ / (a + b x² + x²ᵖ) dx, the share ∫ x²ᵈ (1 - H) / (...)
is what smoothing takes away of the motion, and grows with r; the rest is noise, and stays.
k = p - 3 shows jumps of a low derivative, too, in a motion that is smooth elsewhere: what they
leave is more than their part in f⁽ᵖ⁾.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from mbd_bridge.motion.smoothing.basis import Floats
from mbd_bridge.motion.smoothing.likelihood import ORDERS, Choice
from mbd_bridge.motion.smoothing.spline import Data, Spline

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
