"""Basis from the orthogonal factor of Φ_qᵀ, its pivoting renewed on a criterion (KimYoo97's rival).

    Φ_qᵀ = [Q1 Q2] [R; 0] on independent rows,   N = Q2,   I_R = Q1 R⁻ᵀ

The factors are formed at every position, the pivoting that chooses the rows only where the
smallest pivot has lost too much of what it was when they were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.bases.base import (
    Choose,
    Held,
    NullSpace,
    by_pivots,
    renewed,
    solved,
    turned_towards,
)
from mbd_bridge.solve.reduced import Reduced

LOSS = 0.5
"""Part of the smallest pivot that may be left before the pivoting is renewed."""


@dataclass(frozen=True)
class QrBasis(NullSpace):
    """Q2 of Φ_qᵀ on rows that are held."""

    loss: float = LOSS

    def init(self, phi_q: Array, choose: Choose = by_pivots) -> Held:
        """Choose rows by pivoting."""
        rows = choose(phi_q)
        _, R, Q2 = _factors(phi_q, rows)
        return Held(Q2, rows, _smallest(R), 1, choose)

    def renew(self, held: Held, phi_q: Array, v: Array) -> Held:
        """Turn the basis on; pivot again if a row has come near to depending on the others."""
        _, R, Q2 = _factors(phi_q, held.rows)
        rows, floor, count = held.rows, held.floor, held.decompositions
        if _smallest(R) < self.loss * held.floor:
            fresh = renewed(held, self.init(phi_q, held.choose))
            rows, floor, Q2, count = fresh.rows, fresh.floor, fresh.directions, count + 1
        return Held(turned_towards(Q2, held.directions), rows, floor, count, held.choose)

    def at(self, held: Held, phi_q: Array) -> Reduced:
        """Return Q2, turned towards the directions held, and Q1 R⁻ᵀ."""
        Q1, R, Q2 = _factors(phi_q, held.rows)
        right = solved(R, Q1.T).T if len(R) else Q1
        return Reduced(turned_towards(Q2, held.directions), right)


def _factors(phi_q: Array, rows: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Return Q1, R and Q2."""
    count = len(rows)
    Q, R = np.linalg.qr(phi_q[list(rows)].T, mode="complete")
    return Q[:, :count], R[:count], Q[:, count:]


def _smallest(R: Array) -> float:
    return float(np.abs(np.diag(R)).min(initial=np.inf))
