"""Finite elements of a beam in one direction: its mass and stiffness matrices, and its modes.

Bending: two nodes with deflection and slope, cubic between them (Bernoulli and Euler); twist and
extension: linear between two nodes. Coefficients that vary along an element are integrated.

    M = ∫ ρA Nᵀ N + ρI N'ᵀ N' dx        K = ∫ EI N''ᵀ N'' dx      (N'' for bending; else N', GJ, EA)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.model.flexible.beam import Beam
from mbd_bridge.model.flexible.quadrature import gauss
from mbd_bridge.model.flexible.shapes import Direction, Floats, Function, Hermite, Linear, ShapeMode


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
        own = beam.at(x)
        h, t = nodes[e + 1] - nodes[e], (x - nodes[e]) / (nodes[e + 1] - nodes[e])
        places = slice(d * e, d * e + 2 * d)
        if d == 1:
            N, N1 = np.array([1.0 - t, t]), np.array([-1.0, 1.0])[:, None] / h * np.ones_like(t)
            twists = direction == "torsion"
            mass = own.rotary_y + own.rotary_z if twists else own.mass
            stiff = own.GJ if twists else own.EA
            M[places, places] += np.einsum("in,jn,n->ij", N, N, weight * mass)
            K[places, places] += np.einsum("in,jn,n->ij", N1, N1, weight * stiff)
            continue
        N, N1, N2 = _cubics(t, h)
        along_y = direction == "bending_y"
        rotary = own.rotary_z if along_y else own.rotary_y
        stiff = own.EIz if along_y else own.EIy
        M[places, places] += np.einsum("in,jn,n->ij", N, N, weight * own.mass)
        M[places, places] += np.einsum("in,jn,n->ij", N1, N1, weight * rotary)
        K[places, places] += np.einsum("in,jn,n->ij", N2, N2, weight * stiff)
    return Elements(direction, nodes, M, K)


def _cubics(t: Floats, h: float) -> tuple[Floats, Floats, Floats]:
    """Return the four Hermite polynomials and their derivatives (4, N)."""
    one = np.ones_like(t)
    N = np.array(
        [1 - 3 * t**2 + 2 * t**3, h * t * (1 - t) ** 2, t**2 * (3 - 2 * t), h * t**2 * (t - 1)]
    )
    N1 = np.array([6 * (t**2 - t) / h, 1 - 4 * t + 3 * t**2, 6 * (t - t**2) / h, 3 * t**2 - 2 * t])
    N2 = np.array(
        [(12 * t - 6 * one) / h**2, (6 * t - 4) / h, (6 - 12 * t) / h**2, (6 * t - 2) / h]
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
    half = np.linalg.solve(L, K)
    squares, vectors = np.linalg.eigh(np.linalg.solve(L, half.T))
    return np.sqrt(np.maximum(squares[:count], 0.0)), np.linalg.solve(L.T, vectors[:, :count])
