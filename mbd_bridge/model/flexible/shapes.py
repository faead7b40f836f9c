"""Shapes of modes along a beam: scalar functions of x with two derivatives, in one direction.

A mode displaces and rotates the cross section at x, along the beam's axes, by

    axial      u = f e_x                    torsion    θ = f e_x
    bending_y  u = f e_y,  θ =  f' e_z      bending_z  u = f e_z,  θ = -f' e_y

The frame of a flexible link is tangent to it at its root section, x_r: a mode that moves there is
shifted by the rigid motion that takes this away (`ShapeMode.tangent_at`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Direction = Literal["bending_y", "bending_z", "torsion", "axial"]
DIRECTIONS: tuple[Direction, ...] = ("bending_y", "bending_z", "torsion", "axial")
"""In the order of the coordinates."""


class ShapeValues(NamedTuple):
    """A function and its first two derivatives at some places, (N,) each."""

    f: Floats
    f1: Floats
    f2: Floats


class Function(ABC):
    """A scalar function of x, m from the beam's start."""

    @abstractmethod
    def at(self, x: Floats) -> ShapeValues:
        """Return value, slope and second derivative at x (N,)."""


@dataclass(frozen=True)
class Sum(Function):
    """Σ c_k f_k(x) + c0 + c1 x."""

    functions: tuple[Function, ...]
    factors: tuple[float, ...]
    c0: float = 0.0
    c1: float = 0.0

    def at(self, x: Floats) -> ShapeValues:
        """Return value, slope and second derivative at x (N,)."""
        f, f1, f2 = self.c0 + self.c1 * x, np.full(x.shape, self.c1), np.zeros(x.shape)
        for function, factor in zip(self.functions, self.factors, strict=True):
            own = function.at(x)
            f, f1, f2 = f + factor * own.f, f1 + factor * own.f1, f2 + factor * own.f2
        return ShapeValues(f, f1, f2)


@dataclass(frozen=True)
class Hermite(Function):
    """Piecewise cubic through values and slopes at nodes: a bent finite-element beam."""

    nodes: tuple[float, ...]
    values: tuple[float, ...]
    slopes: tuple[float, ...]

    def at(self, x: Floats) -> ShapeValues:
        """Return value, slope and second derivative at x (N,)."""
        nodes, w, s = (np.asarray(part) for part in (self.nodes, self.values, self.slopes))
        e = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
        h = nodes[e + 1] - nodes[e]
        t = (x - nodes[e]) / h
        rise, a, b = w[e + 1] - w[e], h * s[e], h * s[e + 1]
        cubic, square = a + b - 2.0 * rise, 3.0 * rise - 2.0 * a - b
        f = w[e] + t * (a + t * (square + t * cubic))
        f1 = (a + t * (2.0 * square + 3.0 * t * cubic)) / h
        return ShapeValues(f, f1, (2.0 * square + 6.0 * t * cubic) / h**2)


@dataclass(frozen=True)
class Linear(Function):
    """Piecewise linear through values at nodes: a finite-element rod in twist or extension."""

    nodes: tuple[float, ...]
    values: tuple[float, ...]

    def at(self, x: Floats) -> ShapeValues:
        """Return value, slope and second derivative at x (N,)."""
        nodes, w = np.asarray(self.nodes), np.asarray(self.values)
        e = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
        slope = (w[e + 1] - w[e]) / (nodes[e + 1] - nodes[e])
        return ShapeValues(w[e] + slope * (x - nodes[e]), slope, np.zeros(x.shape))


@dataclass(frozen=True)
class ShapeMode:
    """A function in one direction: displacements in m (rotations of torsion in rad) by unit
    coordinate.
    """

    direction: Direction
    function: Function

    @property
    def bends(self) -> bool:
        """Whether it bends the beam."""
        return self.direction in ("bending_y", "bending_z")

    def tangent_at(self, root: float) -> ShapeMode:
        """Return the mode without the rigid motion of the section at x = root."""
        own = self.function.at(np.array([root]))
        f, slope = float(own.f[0]), float(own.f1[0]) if self.bends else 0.0
        if f == 0.0 and slope == 0.0:
            return self
        return ShapeMode(self.direction, Sum((self.function,), (1.0,), slope * root - f, -slope))

    def displacement(self, x: Floats) -> Floats:
        """Return the displacement (N, 3) of the axis."""
        out = np.zeros((len(x), 3))
        place = {"axial": 0, "bending_y": 1, "bending_z": 2}.get(self.direction)
        if place is not None:
            out[:, place] = self.function.at(x).f
        return out

    def rotation(self, x: Floats) -> Floats:
        """Return the rotation vector (N, 3) of the sections."""
        out, own = np.zeros((len(x), 3)), self.function.at(x)
        if self.direction == "torsion":
            out[:, 0] = own.f
        elif self.direction == "bending_y":
            out[:, 2] = own.f1
        elif self.direction == "bending_z":
            out[:, 1] = -own.f1
        return out

    def strain(self, x: Floats) -> Floats:
        """Return curvature (1/m), twist (rad/m) or extension (N,): what the stiffness resists."""
        own = self.function.at(x)
        return own.f2 if self.bends else own.f1
