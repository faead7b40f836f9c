"""Rank of the constraints: degrees of freedom, redundant rows, which rows are independent.

Rows of Φ_q and velocities are made dimensionless by the size of the mechanism before singular
values are compared, so that the rank does not depend on units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.tolerances import ROUNDED, SINGULAR


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Singular value decomposition of the dimensionless Φ_q = U Σ Vᵀ.

    Attributes
    ----------
    rank : number of independent rows
    singular : singular values, the largest first
    motions : (nv, nv - rank) basis of the velocities that the constraints allow, Φ_q N = 0
    stresses : (m, m - rank) basis of multipliers that no velocity notices, Zᵀ Φ_q = 0
    """

    rank: int
    singular: Array
    motions: Array
    stresses: Array


def decompose(model: Model, phi_q: Array, most: int) -> Decomposition:
    """Return the decomposition of Φ_q (m, nv) at one position.

    Parameters
    ----------
    most : rows that are independent in general position (`row_choice`), or here if that is more
    """
    rows, columns = model.row_scale, model.velocity_scale
    U, singular, Vt = np.linalg.svd(model.scaled_jacobian(phi_q))
    rank = min(most, int(np.sum(singular > SINGULAR * singular.max(initial=0.0))))
    return Decomposition(
        rank,
        singular,
        _orthonormal(columns[:, None] * Vt[rank:].T),
        _orthonormal(U[:, rank:] / rows[:, None]),
    )


class Pivoted(NamedTuple):
    """Q R = the matrix's columns in an order in which each is the one farthest from those before.

    Attributes
    ----------
    order : of the columns; the first `rank` are independent
    """

    Q: Array
    R: Array
    order: Array
    rank: int


def pivoted(matrix: Array, tolerance: float = SINGULAR, largest: float | None = None) -> Pivoted:
    """Return the orthogonal triangles of a matrix (n, m), its columns in order of independence.

    Parameters
    ----------
    tolerance : pivots below this, relative to `largest`, are zero
    largest : None for the largest pivot
    """
    rows, columns = matrix.shape
    if not matrix.size:
        return Pivoted(np.eye(rows), np.zeros(matrix.shape), np.arange(columns), 0)
    if min(rows, columns) <= SMALL:
        Q, R, order = _reflected(matrix)
    else:
        from scipy.linalg import qr

        Q, R, order = qr(matrix, pivoting=True)
    pivots = np.abs(np.diag(R))
    whole = pivots.max(initial=0.0) if largest is None else largest
    return Pivoted(Q, R, order, int(np.sum(pivots > tolerance * max(whole, 1e-300))))


SMALL = 16
"""Columns or rows of matrices for which SciPy is not imported: that takes 0.15 s."""


def _reflected(matrix: Array) -> tuple[Array, Array, Array]:
    """Return Q, R and the order of the columns, by Householder's reflections."""
    rows, columns = matrix.shape
    R, Q, order = np.array(matrix, dtype=float), np.eye(rows), np.arange(columns)
    for k in range(min(rows, columns)):
        lengths = np.sqrt((R[k:, k:] ** 2).sum(axis=0))
        pivot = k + int(np.argmax(lengths))
        for each in (R.T, order):
            each[[k, pivot]] = each[[pivot, k]]
        if not R[k + 1 :, k].any():
            continue
        mirror = R[k:, k].copy()
        mirror[0] += np.copysign(lengths[pivot - k], mirror[0])
        mirror *= np.sqrt(2.0) / np.sqrt(mirror @ mirror)
        R[k:] -= np.outer(mirror, mirror @ R[k:])
        R[k + 1 :, k] = 0.0
        Q[:, k:] -= np.outer(Q[:, k:] @ mirror, mirror)
    return Q, R, order


def independent_columns(matrix: Array) -> tuple[int, ...]:
    """Return columns that are independent but for rounding."""
    found = pivoted(matrix, ROUNDED)
    return tuple(sorted(int(column) for column in found.order[: found.rank]))


def _orthonormal(basis: Array) -> Array:
    return np.linalg.qr(basis)[0] if basis.size else basis
