"""Closed forms of the modes of a uniform beam, scaled to a largest deflection of 1 m or 1 rad.

Bending, with λ the k-th root and ξ = x / L, f = cosh λξ - cos λξ - σ (sinh λξ - sin λξ):

    clamped-free      cos λ cosh λ = -1,   σ = (cosh λ + cos λ) / (sinh λ + sin λ)
    clamped-clamped   cos λ cosh λ =  1,   σ = (cosh λ - cos λ) / (sinh λ - sin λ)
    clamped-pinned    tan λ = tanh λ,      σ as clamped-clamped
    pinned-pinned     f = sin kπξ

ω = λ² sqrt(EI / (ρA L⁴)). Hyperbolic functions of large λ cancel; f is written with e^(λ(ξ-1)).
Torsion and extension: sin((k - 1/2)πξ) with a free end, sin kπξ with a held one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mbd_bridge.flexible.shapes import Direction, Floats, Function, Mode, Values

Ends = Literal["clamped-free", "pinned-pinned", "clamped-clamped", "clamped-pinned"]
BISECTIONS = 60
"""Halvings of an interval of length pi: the root is then known to rounding."""


@dataclass(frozen=True)
class Sine(Function):
    """sin(k x)."""

    k: float

    def at(self, x: Floats) -> Values:
        """Return value, slope and second derivative at x (N,)."""
        k, f = self.k, np.sin(self.k * x)
        return Values(f, k * np.cos(k * x), -(k**2) * f)


@dataclass(frozen=True)
class Bent(Function):
    """c (cosh kx - cos kx - σ (sinh kx - sin kx)), with 1 - σ = `gap` · e^(-kL)."""

    k: float
    length: float
    sigma: float
    gap: float
    scale: float

    def at(self, x: Floats) -> Values:
        """Return value, slope and second derivative at x (N,)."""
        k, s = self.k, self.sigma
        grow = 0.5 * self.gap * np.exp(k * (x - self.length))
        fall = 0.5 * (1.0 + s) * np.exp(-k * x)
        cos, sin, c = np.cos(k * x), np.sin(k * x), self.scale
        return Values(
            c * (grow + fall - cos + s * sin),
            c * k * (grow - fall + sin + s * cos),
            c * k**2 * (grow + fall + cos - s * sin),
        )


def roots(ends: Ends, count: int) -> list[float]:
    """Return the first values of λ for bending."""
    if ends == "pinned-pinned":
        return [k * np.pi for k in range(1, count + 1)]
    first = {"clamped-free": 0.5, "clamped-pinned": 1.25, "clamped-clamped": 1.5}[ends]
    sign = {"clamped-free": 1.0, "clamped-clamped": -1.0, "clamped-pinned": 0.0}[ends]

    def residual(x: float) -> float:
        if ends == "clamped-pinned":
            return float(np.sin(x) - np.cos(x) * np.tanh(x))
        return float(np.cos(x) + sign / np.cosh(x))

    centres = [(first + k) * np.pi for k in range(count)]
    return [_bisect(residual, c - 0.5 * np.pi + 0.3, c + 0.5 * np.pi - 0.3) for c in centres]


def _bisect(residual: Callable[[float], float], low: float, high: float) -> float:
    rising = residual(high) > 0.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if (residual(middle) > 0.0) == rising:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def analytic_modes(ends: Ends, direction: Direction, count: int, length: float) -> list[Mode]:
    """Return the first modes of a uniform beam in one direction."""
    if direction in ("torsion", "axial"):
        shift = 0.5 if ends == "clamped-free" else 0.0
        return [Mode(direction, Sine((k - shift) * np.pi / length)) for k in range(1, count + 1)]
    found = []
    for root in roots(ends, count):
        if ends == "pinned-pinned":
            found.append(Mode(direction, Sine(root / length)))
            continue
        sign = 1.0 if ends == "clamped-free" else -1.0
        below = np.sinh(root) + sign * np.sin(root)
        sigma = (np.cosh(root) + sign * np.cos(root)) / below
        gap = (sign * (np.sin(root) - np.cos(root)) - np.exp(-root)) / below * np.exp(root)
        shape = Bent(root / length, length, sigma, gap, 1.0)
        x = np.linspace(0.0, length, 40 * count + 41)
        largest = 2.0 if ends == "clamped-free" else float(np.abs(shape.at(x).f).max())
        tip = float(shape.at(np.array([length])).f[0]) if ends == "clamped-free" else 1.0
        scale = np.sign(tip) / largest
        found.append(Mode(direction, Bent(root / length, length, sigma, gap, scale)))
    return found
