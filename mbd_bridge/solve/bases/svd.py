"""Basis from the singular value decomposition, renewed on Mani's criterion (LeeJoo90).

    Φ_q = U Σ [V1 V2]ᵀ,   Φ_q V2 = 0                                       (40), (42)

Between decompositions V2 is held, and z = V2ᵀ q are the independent coordinates:

    [Φ_q; V2ᵀ] [I_R N] = 1

which is a linear solution where a decomposition would cost ten times as much. As the motion turns
away from V2, less of the velocity is independent; below a ratio |V2ᵀ q̇| / |q̇| of `RATIO` the
matrix is decomposed anew, and the new V2 turned towards the old one.
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

RATIO = 0.95
"""Part of the velocity's norm that must be independent: the motion is within 18° of V2."""


@dataclass(frozen=True)
class SvdBasis(NullSpace):
    """V2 of Φ_q, held between decompositions."""

    ratio: float = RATIO

    def init(self, phi_q: Array, choose: Choose = by_pivots) -> Held:
        """Decompose."""
        rows = choose(phi_q)
        if not rows:
            return Held(np.eye(phi_q.shape[1]), rows, 1.0, 1, choose)
        _, s, Vt = np.linalg.svd(phi_q[list(rows)])
        return Held(Vt[len(rows) :].T, rows, float(s[-1]), 1, choose)

    def renew(self, held: Held, phi_q: Array, v: Array) -> Held:
        """Decompose again if the velocity has left the directions held."""
        if np.linalg.norm(held.directions.T @ v) >= self.ratio * np.linalg.norm(v):
            return held
        fresh = renewed(held, self.init(phi_q, held.choose))
        V2 = turned_towards(fresh.directions, held.directions)
        return Held(V2, fresh.rows, fresh.floor, held.decompositions + 1, held.choose)

    def at(self, held: Held, phi_q: Array) -> Reduced:
        """Return [I_R N] = [Φ_q; V2ᵀ]⁻¹."""
        count = len(held.rows)
        whole = np.vstack([phi_q[list(held.rows)], held.directions.T])
        inverse = solved(whole, np.eye(len(whole)))
        return Reduced(inverse[:, count:], inverse[:, :count])
