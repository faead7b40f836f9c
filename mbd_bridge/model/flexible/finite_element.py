"""Finite elements of a beam in one direction: its mass and stiffness matrices, and its modes.

Bending: two nodes with deflection and slope, cubic between them (Bernoulli and Euler); twist and
extension: linear between two nodes. Coefficients that vary along an element are integrated.

    M = ∫ ρA Nᵀ N + ρI N'ᵀ N' dx        K = ∫ EI N''ᵀ N'' dx      (N'' for bending; else N', GJ, EA)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.flexible.beam import Beam

# Shapes of modes along a beam: scalar functions of x with two derivatives, in one direction.
#
# A mode displaces and rotates the cross section at x, along the beam's axes, by
#
#     axial      u = f e_x                    torsion    θ = f e_x
#     bending_y  u = f e_y,  θ =  f' e_z      bending_z  u = f e_z,  θ = -f' e_y
#
# The frame of a flexible link is tangent to it at its root section, x_r: a mode that moves there
# is shifted by the rigid motion that takes this away (`ShapeMode.tangent_at`).

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
            term = function.at(x)
            f, f1, f2 = f + factor * term.f, f1 + factor * term.f1, f2 + factor * term.f2
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
        values = self.function.at(np.array([root]))
        f, slope = float(values.f[0]), float(values.f1[0]) if self.bends else 0.0
        if f == 0.0 and slope == 0.0:
            return self
        return ShapeMode(self.direction, Sum((self.function,), (1.0,), slope * root - f, -slope))

    def displacement(self, x: Floats) -> Floats:
        """Return the displacement (N, 3) of the axis."""
        out = np.zeros((len(x), 3))
        axis = {"axial": 0, "bending_y": 1, "bending_z": 2}.get(self.direction)
        if axis is not None:
            out[:, axis] = self.function.at(x).f
        return out

    def rotation(self, x: Floats) -> Floats:
        """Return the rotation vector (N, 3) of the sections."""
        out, values = np.zeros((len(x), 3)), self.function.at(x)
        if self.direction == "torsion":
            out[:, 0] = values.f
        elif self.direction == "bending_y":
            out[:, 2] = values.f1
        elif self.direction == "bending_z":
            out[:, 1] = -values.f1
        return out

    def strain(self, x: Floats) -> Floats:
        """Return curvature (1/m), twist (rad/m) or extension (N,): what the stiffness resists."""
        values = self.function.at(x)
        return values.f2 if self.bends else values.f1


# Integrals along a beam: Gauss points between its breaks.
#
# Sixteen points an interval and at least `INTERVALS` intervals integrate products of polynomials
# of degree 15 exactly and those of a beam's first dozens of modes to rounding.

INTERVALS = 16
"""Fewest intervals along a beam."""
POINTS = 16
"""Gauss points an interval."""


def intervals(*breaks: Floats) -> Floats:
    """Return places between which to integrate: all breaks, and a fine even division."""
    start, end = breaks[0][0], breaks[0][-1]
    every = np.concatenate([np.linspace(start, end, INTERVALS + 1), *breaks])
    places = np.unique(every)
    apart = np.concatenate([[True], np.diff(places) > 1e-9 * (end - start)])
    places = places[apart]
    places[-1] = end
    return np.asarray(places)


def gauss(places: Floats) -> tuple[Floats, Floats]:
    """Return points and weights of the integral over all intervals."""
    at, weight = np.polynomial.legendre.leggauss(POINTS)
    half = 0.5 * np.diff(places)[:, None]
    points = places[:-1, None] + half * (1.0 + at)
    return points.ravel(), (half * weight).ravel()


def running(places: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return the integral from the first place to each Gauss point, and to each place.

    `values` (points,) are those at the points of `gauss`; the integral of the polynomial through
    an interval's values is exact.
    """
    at, weight = np.polynomial.legendre.leggauss(POINTS)
    powers = np.polynomial.legendre.legvander(at, POINTS - 1)
    degree = np.arange(POINTS)
    to_series = (0.5 * (2 * degree + 1))[:, None] * (powers * weight[:, None]).T
    integral = np.polynomial.legendre.legint(to_series, lbnd=-1.0, axis=0)
    inside = np.polynomial.legendre.legvander(at, POINTS) @ integral  # (points, values)
    half, by_interval = 0.5 * np.diff(places), values.reshape(len(places) - 1, POINTS)
    ends = np.concatenate([[0.0], np.cumsum(half * (by_interval @ weight))])
    return (ends[:-1, None] + half[:, None] * (by_interval @ inside.T)).ravel(), ends


@dataclass(frozen=True)
class Elements:
    """A beam in elements, in one direction.

    Attributes
    ----------
    nodes : (n,) m
    M, K : (n d, n d), d = 2 for bending (deflection, slope), else 1; kg and N/m (and with the
        slope's rad)
    """

    direction: Direction
    nodes: Floats
    M: Floats
    K: Floats

    @property
    def unknowns(self) -> int:
        """Unknowns a node."""
        return 2 if self.direction in ("bending_y", "bending_z") else 1

    def of_node(self, x: float) -> list[int]:
        """Return the places of a node's unknowns."""
        node = int(np.abs(self.nodes - x).argmin())
        return [self.unknowns * node + k for k in range(self.unknowns)]

    def mode(self, values: Floats) -> ShapeMode:
        """Return the mode with these nodal values."""
        nodes = tuple(self.nodes.tolist())
        function: Function
        if self.unknowns == 2:
            function = Hermite(nodes, tuple(values[::2].tolist()), tuple(values[1::2].tolist()))
        else:
            function = Linear(nodes, tuple(values.tolist()))
        return ShapeMode(self.direction, function)


def elements(beam: Beam, direction: Direction, nodes: Floats) -> Elements:
    """Return a beam in elements between nodes (m, increasing)."""
    d = 2 if direction in ("bending_y", "bending_z") else 1
    size = d * len(nodes)
    M, K = np.zeros((size, size)), np.zeros((size, size))
    for e in range(len(nodes) - 1):
        x, weight = gauss(nodes[e : e + 2])
        section = beam.at(x)
        h, t = nodes[e + 1] - nodes[e], (x - nodes[e]) / (nodes[e + 1] - nodes[e])
        places = slice(d * e, d * e + 2 * d)
        if d == 1:
            N, N1 = np.array([1.0 - t, t]), np.array([-1.0, 1.0])[:, None] / h * np.ones_like(t)
            twists = direction == "torsion"
            mass = section.rotary_y + section.rotary_z if twists else section.mass
            stiff = section.GJ if twists else section.EA
            M[places, places] += np.einsum("in,jn,n->ij", N, N, weight * mass)
            K[places, places] += np.einsum("in,jn,n->ij", N1, N1, weight * stiff)
            continue
        N, N1, N2 = _cubics(t, h)
        along_y = direction == "bending_y"
        rotary = section.rotary_z if along_y else section.rotary_y
        stiff = section.EIz if along_y else section.EIy
        M[places, places] += np.einsum("in,jn,n->ij", N, N, weight * section.mass)
        M[places, places] += np.einsum("in,jn,n->ij", N1, N1, weight * rotary)
        K[places, places] += np.einsum("in,jn,n->ij", N2, N2, weight * stiff)
    return Elements(direction, nodes, M, K)


def _cubics(t: Floats, h: float) -> tuple[Floats, Floats, Floats]:
    """Return the four Hermite polynomials and their derivatives (4, N)."""
    ones = np.ones_like(t)
    N = np.array(
        [1 - 3 * t**2 + 2 * t**3, h * t * (1 - t) ** 2, t**2 * (3 - 2 * t), h * t**2 * (t - 1)]
    )
    N1 = np.array([6 * (t**2 - t) / h, 1 - 4 * t + 3 * t**2, 6 * (t - t**2) / h, 3 * t**2 - 2 * t])
    N2 = np.array(
        [(12 * t - 6 * ones) / h**2, (6 * t - 4) / h, (6 - 12 * t) / h**2, (6 * t - 2) / h]
    )
    return N, N1, N2


def lowest(M: Floats, K: Floats, count: int) -> tuple[Floats, Floats]:
    """Return ω (count,) rad/s and mass-normalised columns of K x = ω² M x, the lowest first."""
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise ModelError(
            "the mass matrix of the modes is not positive definite: two modes have the same shape, "
            "or a mode has no mass; use fewer modes or more elements"
        ) from None
    with np.errstate(over="ignore", invalid="ignore"):
        half = np.linalg.solve(L, K)
        square = np.linalg.solve(L, half.T)
    if not np.isfinite(square).all():
        raise ModelError(
            "the frequencies of the modes overflow: expected stiffness and mass of a beam, with E "
            "in Pa and density in kg/m^3; look at these, and at its section"
        )
    squares, vectors = np.linalg.eigh(square)
    return np.sqrt(np.maximum(squares[:count], 0.0)), np.linalg.solve(L.T, vectors[:, :count])
