"""The equations in all coordinates and multipliers, by the Schur complement of M (Lee94).

    [M Φ_qᵀ; Φ_q 0] [x; λ] = [Q; γ]                                        (22), (26), (29)

    M = L Lᵀ,   Y = L⁻¹ Φ_qᵀ,   Yᵀ Y = G Gᵀ
    G Gᵀ λ = Yᵀ L⁻¹ Q - γ,   Lᵀ x = L⁻¹ Q - Y λ

for independent rows. One factorised matrix serves accelerations and both corrections.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.tolerances import MASSLESS


class Schur(NamedTuple):
    """L of M = L Lᵀ, Y = L⁻¹ Φ_qᵀ on independent rows, and G of Yᵀ Y = G Gᵀ."""

    L: Array
    Y: Array
    G: Array

    @property
    def spread(self) -> float:
        """Smallest over largest pivot of G: 0 where the rows depend on each other."""
        pivots = np.diag(self.G)
        return float(pivots.min(initial=np.inf) / pivots.max(initial=1e-300))

    def solve(self, Q: Array, gamma: Array) -> tuple[Array, Array]:
        """Return x (nv,) and the multipliers of the rows."""
        free = np.linalg.solve(self.L, Q)
        lam = self._multipliers(self.Y.T @ free - gamma)
        return np.linalg.solve(self.L.T, free - self.Y @ lam), lam

    def correction(self, residual: Array) -> Array:
        """Return the smallest step x, in the sense of M, with Φ_q x = residual."""
        return np.linalg.solve(self.L.T, self.Y @ self._multipliers(residual))

    def _multipliers(self, right: Array) -> Array:
        return np.linalg.solve(self.G.T, np.linalg.solve(self.G, right))


def schur(M: Array, phi_q: Array) -> Schur | None:
    """Return the factors; None if the rows (r, nv) depend on each other."""
    try:
        L = with_inertia(M, M)
    except np.linalg.LinAlgError:
        raise SolveError(
            "the mass matrix is singular: something that moves has no mass; method='svd' needs "
            "only that what the loops allow moves some"
        ) from None
    Y = np.linalg.solve(L, phi_q.T)
    try:
        return Schur(L, Y, np.linalg.cholesky(Y.T @ Y))
    except np.linalg.LinAlgError:
        return None


def with_inertia(inner: Array, M: Array) -> Array:
    """Return L of L Lᵀ = NᵀMN, or raise LinAlgError where some motion moves no inertia.

    Rounding leaves 1e-17 of M where nothing is, now above zero and now below.
    """
    L = np.asarray(np.linalg.cholesky(inner))
    if (np.diag(L) ** 2 <= MASSLESS * np.abs(M).max(initial=0.0)).any():
        raise np.linalg.LinAlgError
    return L
