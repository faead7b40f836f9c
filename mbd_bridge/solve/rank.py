"""Rank of the constraints: freedoms, redundant rows, distance from a singular position.

Rows of Φ_q and velocities are made dimensionless by the size of the mechanism before singular
values are compared, so that the rank does not depend on units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array

TOLERANCE = 1e-9
"""Singular values below this, relative to the largest, are zero: an assembled position is good to
1e-14, and a mechanism a nanoradian from a singular position is in it for every purpose."""


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Singular value decomposition of the dimensionless Φ_q = U Σ Vᵀ.

    Attributes
    ----------
    rank : number of independent rows
    singular : singular values, the largest first
    motions : (nv, nv - rank) basis of the velocities that the constraints allow, Φ_q N = 0
    stresses : (m, m - rank) basis of multipliers that no velocity notices, Zᵀ Φ_q = 0
    inverse : (nv, m) pseudo-inverse: the smallest velocity for given Φ̇
    """

    rank: int
    singular: Array
    motions: Array
    stresses: Array
    inverse: Array

    @property
    def condition(self) -> float:
        """Largest over smallest singular value that is not zero."""
        return float(self.singular[0] / self.singular[self.rank - 1]) if self.rank else 1.0


def decompose(model: Model, phi_q: Array, tolerance: float = TOLERANCE) -> Decomposition:
    """Return the decomposition of Φ_q (m, nv) at one position."""
    rows, columns = model.row_scale, model.velocity_scale
    U, singular, Vt = np.linalg.svd(phi_q / rows[:, None] * columns)
    rank = int(np.sum(singular > tolerance * singular.max(initial=0.0)))
    inverse = (Vt[:rank].T / singular[:rank]) @ U[:, :rank].T
    return Decomposition(
        rank,
        singular,
        _orthonormal(columns[:, None] * Vt[rank:].T),
        _orthonormal(U[:, rank:] / rows[:, None]),
        columns[:, None] * inverse / rows,
    )


def _orthonormal(basis: Array) -> Array:
    return np.linalg.qr(basis)[0] if basis.size else basis
