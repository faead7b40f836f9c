"""Bases of the velocities that constraints allow, kept from step to step.

To add one: a file with one final class that derives from `KeptBasis`, and its name in `BASES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.rank import independent_columns, pivoted
from mbd_bridge.solve.reduced import Reduced
from mbd_bridge.solve.tolerances import LARGEST_INVERSE

# What every basis promises: made once, renewed after every step, evaluated anywhere between.
#
# A basis is a matrix N (n, n - r) with Φ_q N = 0 and a right inverse I_R (n, r) of r independent
# rows, Φ_q I_R = 1. Independent velocities are ż in q̇ = I_R b + N ż; they have a meaning from
# step to step only if N does not jump. So a method keeps directions D (`Held.directions`) which a
# re-decomposition turns as little as it can.
#
# All matrices are dimensionless (see `solve.rank`).

DEPENDENT_ROWS = "rows of the constraints depend on each other here: a singular position"
"""What a method says where it cannot go on; a simulation then takes the step with more care."""

Choose = Callable[[Array], tuple[int, ...]]
"""Which rows of Φ_q are independent: `row_choice`, or pivots where its numbers are exact."""


def by_pivots(phi_q: Array) -> tuple[int, ...]:
    """Return rows that are independent but for rounding."""
    return independent_columns(phi_q.T)


@dataclass(frozen=True, eq=False)
class HeldBasis:
    """What a method keeps between steps.

    Attributes
    ----------
    directions : (n, n - r) the basis, or what it is made from
    rows : of Φ_q, independent of each other
    floor : smallest pivot when the rows were chosen
    decompositions : how often rows and directions were chosen anew, the first time included
    choose : how rows are chosen
    """

    directions: Array
    rows: tuple[int, ...]
    floor: float
    decompositions: int
    choose: Choose = by_pivots


@dataclass(frozen=True)
class KeptBasis(ABC):
    """A way to make a basis and to keep it."""

    @abstractmethod
    def init(self, phi_q: Array, choose: Choose = by_pivots) -> HeldBasis:
        """Choose rows and directions at one position."""

    @abstractmethod
    def renew(self, held: HeldBasis, phi_q: Array, v: Array) -> HeldBasis:
        """Follow the motion to the next position, where the velocity is v."""

    @abstractmethod
    def at(self, held: HeldBasis, phi_q: Array) -> Reduced:
        """Return N and I_R (for the rows held) at a position near the one that was held."""


def turned_towards(basis: Array, directions: Array) -> Array:
    """Return the orthonormal basis of the same space that is nearest to `directions`.

    Minimise |basis R - directions| over rotations R: R = U Wᵀ from basisᵀ directions = U Σ Wᵀ
    (Procrustes), so that the directions of the basis are continuous (LeeJoo90).
    """
    if not basis.size or basis.shape != directions.shape:
        return basis
    U, _, Wt = np.linalg.svd(basis.T @ directions)
    return np.asarray(basis @ (U @ Wt))


def solved(matrix: Array, right: Array) -> Array:
    """Return matrix⁻¹ right, or say that rows have become dependent."""
    try:
        found = np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        raise SolveError(DEPENDENT_ROWS) from None
    if not np.abs(found).max(initial=0.0) < LARGEST_INVERSE:
        raise SolveError(DEPENDENT_ROWS)
    return found


def renewed(held: HeldBasis, fresh: HeldBasis) -> HeldBasis:
    """Return a fresh choice of rows, unless it has fewer of them: then they depend here."""
    if len(fresh.rows) < len(held.rows):
        raise SolveError(DEPENDENT_ROWS)
    return fresh


# Basis carried on by projection: one product a step, no criterion (KimYoo97).
#
#     I_R = Φ_qᵀ (Φ_q Φ_qᵀ)⁻¹                                                (3.1)
#     P_N = 1 - I_R Φ_q                                                      (3.6)
#     P_NT(new) = P_N(new) P_NT(old)                                         (A3)
#
# n - m columns of the first P_N are chosen by pivoting; from then on they are only projected. Each
# projection shortens them by a factor 1 - O(h²), which changes no motion; they stay independent as
# long as no step turns a direction by a right angle.
#
# The readable reference; compiled steps do the same to their V2 (`solve.null_space`).


@dataclass(frozen=True)
class ProjectionBasis(KeptBasis):
    """Columns of P_N, projected from step to step."""

    def init(self, phi_q: Array, choose: Choose = by_pivots) -> HeldBasis:
        """Choose n - m columns of P_N."""
        rows = choose(phi_q)
        floor = float(np.linalg.svd(phi_q[list(rows)], compute_uv=False).min(initial=1.0))
        right = _right(phi_q, rows)
        P = np.eye(phi_q.shape[1]) - right @ phi_q[list(rows)]
        return HeldBasis(P[:, pivoted(P).order[: P.shape[1] - len(rows)]], rows, floor, 1, choose)

    def renew(self, held: HeldBasis, phi_q: Array, v: Array) -> HeldBasis:
        """Project the columns."""
        return HeldBasis(
            self.at(held, phi_q).N, held.rows, held.floor, held.decompositions, held.choose
        )

    def at(self, held: HeldBasis, phi_q: Array) -> Reduced:
        """Return P_N P_NT and I_R."""
        right = _right(phi_q, held.rows)
        N = held.directions - right @ (phi_q[list(held.rows)] @ held.directions)
        return Reduced(N, right)


def _right(phi_q: Array, rows: tuple[int, ...]) -> Array:
    J = phi_q[list(rows)]
    return solved(J @ J.T, J).T


# Basis from the orthogonal factor of Φ_qᵀ, its pivoting renewed on a criterion (KimYoo97's rival).
#
#     Φ_qᵀ = [Q1 Q2] [R; 0] on independent rows,   N = Q2,   I_R = Q1 R⁻ᵀ
#
# The factors are formed at every position, the pivoting that chooses the rows only where the
# smallest pivot has lost too much of what it was when they were chosen.

LOSS = 0.5
"""Part of the smallest pivot that may be left before the pivoting is renewed."""


@dataclass(frozen=True)
class QrBasis(KeptBasis):
    """Q2 of Φ_qᵀ on rows that are held."""

    loss: float = LOSS

    def init(self, phi_q: Array, choose: Choose = by_pivots) -> HeldBasis:
        """Choose rows by pivoting."""
        rows = choose(phi_q)
        _, R, Q2 = _factors(phi_q, rows)
        return HeldBasis(Q2, rows, _smallest(R), 1, choose)

    def renew(self, held: HeldBasis, phi_q: Array, v: Array) -> HeldBasis:
        """Turn the basis on; pivot again if a row has come near to depending on the others."""
        _, R, Q2 = _factors(phi_q, held.rows)
        rows, floor, count = held.rows, held.floor, held.decompositions
        if _smallest(R) < self.loss * held.floor:
            fresh = renewed(held, self.init(phi_q, held.choose))
            rows, floor, Q2, count = fresh.rows, fresh.floor, fresh.directions, count + 1
        return HeldBasis(turned_towards(Q2, held.directions), rows, floor, count, held.choose)

    def at(self, held: HeldBasis, phi_q: Array) -> Reduced:
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


# Basis from the singular value decomposition, renewed on Mani's criterion (LeeJoo90).
#
#     Φ_q = U Σ [V1 V2]ᵀ,   Φ_q V2 = 0                                       (40), (42)
#
# Between decompositions V2 is held, and z = V2ᵀ q are the independent coordinates:
#
#     [Φ_q; V2ᵀ] [I_R N] = 1
#
# which is a linear solution where a decomposition would cost ten times as much. As the motion
# turns away from V2, less of the velocity is independent; below a ratio |V2ᵀ q̇| / |q̇| of `RATIO`
# the matrix is decomposed anew, and the new V2 turned towards the old one.

RATIO = 0.95
"""Part of the velocity's norm that must be independent: the motion is within 18° of V2."""


@dataclass(frozen=True)
class SvdBasis(KeptBasis):
    """V2 of Φ_q, held between decompositions."""

    ratio: float = RATIO

    def init(self, phi_q: Array, choose: Choose = by_pivots) -> HeldBasis:
        """Decompose."""
        rows = choose(phi_q)
        if not rows:
            return HeldBasis(np.eye(phi_q.shape[1]), rows, 1.0, 1, choose)
        _, s, Vt = np.linalg.svd(phi_q[list(rows)])
        return HeldBasis(Vt[len(rows) :].T, rows, float(s[-1]), 1, choose)

    def renew(self, held: HeldBasis, phi_q: Array, v: Array) -> HeldBasis:
        """Decompose again if the velocity has left the directions held."""
        if np.linalg.norm(held.directions.T @ v) >= self.ratio * np.linalg.norm(v):
            return held
        fresh = renewed(held, self.init(phi_q, held.choose))
        V2 = turned_towards(fresh.directions, held.directions)
        return HeldBasis(V2, fresh.rows, fresh.floor, held.decompositions + 1, held.choose)

    def at(self, held: HeldBasis, phi_q: Array) -> Reduced:
        """Return [I_R N] = [Φ_q; V2ᵀ]⁻¹."""
        count = len(held.rows)
        whole = np.vstack([phi_q[list(held.rows)], held.directions.T])
        inverse = solved(whole, np.eye(len(whole)))
        return Reduced(inverse[:, count:], inverse[:, :count])


BASES: dict[str, KeptBasis] = {
    "svd": SvdBasis(),
    "qr": QrBasis(),
    "projection": ProjectionBasis(),
}
"""Name of the method -> how its basis is made and kept."""

__all__ = ["BASES", "HeldBasis", "KeptBasis", "ProjectionBasis", "QrBasis", "SvdBasis"]
