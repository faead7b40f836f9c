"""The smallest solution of A x = b with more unknowns than rows, as straight-line code.

    A Aᵀ y = b,   x = Aᵀ y                               what no row notices is not in x
    z - Aᵀ (A Aᵀ)⁻¹ A z                                  the part of z that no row notices

The rows are independent ones, chosen beforehand. Squaring A costs digits; one more step for what is
left of b, with the same factors, brings them back. `risk` grows beyond bounds where the rows become
dependent, and the caller then takes singular values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.solve.factor import elimination_operations, factorise, substitute

LARGEST = 20_000
"""Multiply-adds of the factors that are still worth compiling: some seconds."""


class MinimumNorm:
    """Factors of A Aᵀ for a matrix A (r, m) of floats or symbols with independent rows."""

    def __init__(self, A: Array) -> None:
        self.A = A
        count = len(A)
        S = zeros((count, count), A)
        for i in range(count):
            for j in range(i + 1):
                S[i, j] = S[j, i] = A[i] @ A[j]
        self._factor = factorise(S, not_zero(S), [f"equation {k}" for k in range(count)])
        self.risk: Any = 0.0
        if count:
            mean = np.diagonal(S).sum() * (1.0 / count)
            self.risk = mean * self._factor.reciprocals.sum() * (1.0 / count)

    def solution(self, b: Array) -> Array:
        """Return the smallest x (m,) with A x = b."""
        x = self._step(b)
        return np.asarray(x + self._step(b - self.A @ x))

    def unnoticed(self, z: Array) -> Array:
        """Return the part of z (m,) that A does not notice."""
        for _ in range(2):
            z = z - self._step(self.A @ z)
        return z

    def shares(self, z: Array) -> Array:
        """Return y (r,) with Aᵀ y = z, for a z (m,) that the rows of A make up."""
        y = self._multipliers(self.A @ z)
        return np.asarray(y + self._multipliers(self.A @ (z - self.A.T @ y)))

    def _step(self, b: Array) -> Array:
        return np.asarray(self.A.T @ self._multipliers(b))

    def _multipliers(self, b: Array) -> Array:
        return np.asarray(substitute(self._factor, b)) if len(self.A) else np.zeros(0)


def spread(phi_q: Array, places: Sequence[int], chosen: Array) -> tuple[Array, Any]:
    """Return the smallest multipliers of all rows that do what those of independent ones do.

    Parameters
    ----------
    phi_q : (m, nv), like the multipliers without dimension
    places : of the independent rows
    chosen : (r,) their multipliers

    Returns
    -------
    Multipliers (m,), and the risk that the independent rows are not.
    """
    out = zeros(len(phi_q), chosen, phi_q)
    others = [k for k in range(len(phi_q)) if k not in places]
    if not others:
        out[list(places)] = chosen
        return out, 0.0
    rows = MinimumNorm(phi_q[list(places)])
    C = zeros((len(places), len(phi_q)), phi_q)
    C[:, list(places)] = np.eye(len(places))
    for k in others:
        C[:, k] = rows.shares(phi_q[k])
    return MinimumNorm(C).solution(chosen), rows.risk


def projected(phi_q: Array, places: Sequence[int]) -> tuple[Array, Any]:
    """Return rows (m, nv) projected onto the space of independent ones, and the risk of these."""
    rows = MinimumNorm(phi_q[list(places)])
    out = zeros(phi_q.shape, phi_q)
    for k in range(len(phi_q)):
        out[k] = phi_q[k] if k in places else rows.A.T @ rows.shares(phi_q[k])
    return out, rows.risk


def operations(A: Array) -> int:
    """Return about how many multiply-adds the factors of A Aᵀ take, from where A is not zero."""
    pattern = not_zero(A).astype(np.int64)
    common = pattern @ pattern.T
    return int(common.sum()) + elimination_operations(common > 0)


def not_zero(matrix: Array) -> Array:
    """Return where a matrix of symbols is not structurally zero (floats: where it is not 0)."""
    flat = [not (isinstance(x, float) and x == 0.0) for x in matrix.ravel()]
    return np.array(flat, dtype=bool).reshape(matrix.shape)


def minimum_norm_multipliers(
    model: Model,
    rows: Sequence[int],
    prescribed_velocities: Sequence[int],
    q: Array,
    v: Array,
    chosen: Array,
) -> Array:
    """Return the smallest multipliers of all rows for those of the independent ones."""
    cut = len(model.row_scale)
    if len(rows) == cut:
        return chosen
    own = np.eye(model.nv)[list(prescribed_velocities)]
    scale = np.concatenate([model.row_scale, model.velocity_scale[list(prescribed_velocities)]])
    found = constraints(model, state_vectors(model, q, v)).phi_q
    phi_q = np.vstack([found, own]) if len(own) else found
    phi_q = phi_q / scale[:, None] * model.velocity_scale
    places = [*rows, *range(cut, cut + len(prescribed_velocities))]
    return np.asarray(spread(phi_q, places, chosen * scale[places])[0] / scale)
