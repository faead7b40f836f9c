"""Basis carried on by projection: one product a step, no criterion (KimYoo97).

    I_R = Φ_qᵀ (Φ_q Φ_qᵀ)⁻¹                                                (3.1)
    P_N = 1 - I_R Φ_q                                                      (3.6)
    P_NT(new) = P_N(new) P_NT(old)                                         (A3)

n - m columns of the first P_N are chosen by pivoting; from then on they are only projected. Each
projection shortens them by a factor 1 - O(h²), which changes no motion; they stay independent as
long as no step turns a direction by a right angle.

The readable reference: the compiled step projects in the sense of M instead (`solve.closed`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.bases.base import Choose, Held, NullSpace, by_pivots, solved
from mbd_bridge.solve.rank import pivoted
from mbd_bridge.solve.reduced import Reduced


@dataclass(frozen=True)
class ProjectionBasis(NullSpace):
    """Columns of P_N, projected from step to step."""

    def init(self, phi_q: Array, choose: Choose = by_pivots) -> Held:
        """Choose n - m columns of P_N."""
        rows = choose(phi_q)
        floor = float(np.linalg.svd(phi_q[list(rows)], compute_uv=False).min(initial=1.0))
        right = _right(phi_q, rows)
        P = np.eye(phi_q.shape[1]) - right @ phi_q[list(rows)]
        return Held(P[:, pivoted(P).order[: P.shape[1] - len(rows)]], rows, floor, 1, choose)

    def renew(self, held: Held, phi_q: Array, v: Array) -> Held:
        """Project the columns."""
        return Held(self.at(held, phi_q).N, held.rows, held.floor, held.decompositions, held.choose)

    def at(self, held: Held, phi_q: Array) -> Reduced:
        """Return P_N P_NT and I_R."""
        right = _right(phi_q, held.rows)
        N = held.directions - right @ (phi_q[list(held.rows)] @ held.directions)
        return Reduced(N, right)


def _right(phi_q: Array, rows: tuple[int, ...]) -> Array:
    J = phi_q[list(rows)]
    return solved(J @ J.T, J).T
