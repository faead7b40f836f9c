"""A mechanism as weighted points, of which the positions alone give its mass matrix (LeeJoo90).

    M_ij = Σ_p ∫ J_pᵀ J_p ρ A dx          J_p = ∂r_p / ∂q                                   (24)

What an integral over a body knows of it is the Gram matrix of its shapes, [m, ∫βᵀ; ∫β, ∫ββᵀ] with
the mass integrals of `flexible.integrals` (of a rigid body the one shape s). Its eigenvectors are
points with the same Gram matrix, as few as its rank:

    P_r(q) = c_r r + A Σ_b α_b(η) β_br,      Σ_r (∂P_r/∂q)ᵀ (∂P_r/∂q) = M

r and A are origin and axes of the body, α the amplitudes of its shapes. c_r² is mass (kg).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mbd_bridge.equations.cartesian import body_placements
from mbd_bridge.equations.flexible import amplitudes
from mbd_bridge.equations.mass_moments import MassMoments
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros

NOTHING = 1e-14
"""Eigenvalues below this part of the largest are rounding."""


def material_points(model: Model, q: Array) -> Array:
    """Return the points P_r (r, 3), sqrt(kg) m, in the world."""
    places = body_placements(model, q)
    points = []
    for index, body in enumerate(model.bodies):
        own = MassMoments.of(body.inertia)
        A, r = places[index, :3, :3], places[index, :3, 3]
        for c, shapes in _points(own.mass, own.first[None], own.second[None, None]):
            points.append(c * r + A @ shapes[0])
    for part in model.flexible:
        own_integrals = part.integrals
        alpha = amplitudes(part, q, np.zeros(model.nv)).alpha
        A, r = places[part.body, :3, :3], places[part.body, :3, 3]
        for c, shapes in _points(own_integrals.mass, own_integrals.first, own_integrals.second):
            points.append(c * r + A @ (shapes.T @ alpha))
    out = zeros((len(points), 3), places)
    for k, point in enumerate(points):
        out[k] = point
    return out


def potential(model: Model, q: Array) -> Any:
    """Return the potential energy of gravity, of which (25) is the derivative, J."""
    places = body_placements(model, q)
    energy: Any = 0.0
    for index, body in enumerate(model.bodies):
        centre = places[index, :3, 3] + places[index, :3, :3] @ body.inertia.centre
        energy = energy - body.inertia.mass * (model.gravity @ centre)
    for part in model.flexible:
        alpha = amplitudes(part, q, np.zeros(model.nv)).alpha
        A, r = places[part.body, :3, :3], places[part.body, :3, 3]
        first = part.integrals.mass * r + A @ (part.integrals.first.T @ alpha)
        energy = energy - model.gravity @ first
    return energy


def _points(mass: float, first: Array, second: Array) -> Iterator[tuple[float, Array]]:
    """Yield c_r and β_br (b, 3) of the points of a body."""
    count = len(first)
    gram = np.zeros((1 + 3 * count, 1 + 3 * count))
    gram[0, 0] = mass
    gram[0, 1:] = gram[1:, 0] = first.ravel()
    gram[1:, 1:] = second.transpose(0, 2, 1, 3).reshape(3 * count, 3 * count)
    values, vectors = np.linalg.eigh(gram)
    for value, vector in zip(values, vectors.T, strict=True):
        if value > NOTHING * values[-1]:
            point = np.sqrt(value) * vector
            yield float(point[0]), point[1:].reshape(count, 3)
