"""Accelerations and multipliers of a constrained mechanism at one state: four roads.

    M q̈ + Φ_qᵀ λ = Q,   Φ_q q̈ = γ                                       Lee94 (22)

With a basis N of the null space, Φ_q N = 0, and a right inverse I_R, Φ_q I_R = 1 on its range,
the multipliers vanish:

    Nᵀ M N z̈ = Nᵀ (Q - M I_R γ),   q̈ = I_R γ + N z̈                       KimYoo97 (4.12), (4.8)
    λ = I_Rᵀ (Q - M q̈)                                                    (4.11, sign corrected)

``svd`` (LeeJoo90), ``qr`` and ``projection`` (KimYoo97) differ only in where N and I_R come from;
``multipliers`` (Lee94) keeps all coordinates. They see independent rows only (`row_choice`); λ is
then spread over all rows, the smallest of all that give the same motion:

    Φ_q = C Φ_R,   λ = C (Cᵀ C)⁻¹ λ_R                                      with Cᵀ λ = λ_R

Everything is dimensionless (see `rank`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.rank import independent_columns, pivoted
from mbd_bridge.solve.tolerances import MASSLESS, ROUNDED

# The equations in all coordinates and multipliers, by the Schur complement of M (Lee94).
#
#     [M Φ_qᵀ; Φ_q 0] [x; λ] = [Q; γ]                                        (22), (26), (29)
#
#     M = L Lᵀ,   Y = L⁻¹ Φ_qᵀ,   Yᵀ Y = G Gᵀ
#     G Gᵀ λ = Yᵀ L⁻¹ Q - γ,   Lᵀ x = L⁻¹ Q - Y λ
#
# for independent rows. One factorised matrix serves accelerations and both corrections.


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


Method = Literal["svd", "qr", "projection", "multipliers"]


class Reduced(NamedTuple):
    """Basis N (nv, degrees of freedom) and right inverse I_R (nv, m) of the constraints."""

    N: Array
    right: Array


class ReducedMotion(NamedTuple):
    """Accelerations (nv,) and multipliers (m,)."""

    a: Array
    lam: Array


def by_svd(phi_q: Array) -> Reduced:
    """N from the right singular vectors (LeeJoo90 (40), (42)), I_R the pseudo-inverse (43)."""
    U, s, Vt = np.linalg.svd(phi_q)
    rank = int(np.sum(s > ROUNDED * s.max(initial=0.0)))
    return Reduced(Vt[rank:].T, (Vt[:rank].T / s[:rank]) @ U[:, :rank].T)


def by_qr(phi_q: Array) -> Reduced:
    """N from the orthogonal factor of Φ_qᵀ, its columns chosen by pivoting."""
    Q, R, order, rank = pivoted(phi_q.T, ROUNDED)
    # Φ_qᵀ P = Q [R1 R2; 0 0]: the pseudo-inverse of a matrix of full row rank, rows in order P
    rows = np.zeros_like(R[:rank])
    rows[:, order] = R[:rank]
    small = np.linalg.solve(rows @ rows.T, rows) if rank else rows
    return Reduced(Q[:, rank:], Q[:, :rank] @ small)


def by_projection(phi_q: Array) -> Reduced:
    """P_N = 1 - Φ_qᵀ (Φ_q Φ_qᵀ)⁻¹ Φ_q (KimYoo97 (3.6)) on independent rows; n - m columns."""
    n = phi_q.shape[1]
    chosen = independent_columns(phi_q.T)
    some, rank = phi_q[list(chosen)], len(chosen)
    inverse = np.linalg.solve(some @ some.T, some).T if rank else np.zeros((n, 0))  # (3.1)
    P = np.eye(n) - inverse @ some
    columns = pivoted(P, ROUNDED).order
    # the smallest multipliers of all rows, from those of the independent ones
    spread = phi_q @ inverse
    return Reduced(P[:, columns[: n - rank]], inverse @ np.linalg.pinv(spread))


BASES: dict[str, Callable[[Array], Reduced]] = {
    "svd": by_svd,
    "qr": by_qr,
    "projection": by_projection,
}
METHODS: tuple[str, ...] = get_args(Method)


def with_basis(M: Array, Q: Array, gamma: Array, basis: Reduced) -> ReducedMotion:
    """Return accelerations and multipliers by the reduced equations."""
    N, right = basis
    particular = right @ gamma
    z = _solve(N.T @ M @ N, M, N.T @ (Q - M @ particular))
    a = particular + N @ z
    return ReducedMotion(a, right.T @ (Q - M @ a))


def with_multipliers(M: Array, Q: Array, phi_q: Array, gamma: Array) -> ReducedMotion:
    """Return both from Lee94 (22) on independent rows, the multipliers spread over all rows."""
    rows = list(independent_columns(phi_q.T))
    factors = schur(M, phi_q[rows])
    assert factors is not None, "rows were chosen as independent"
    a, some = factors.solve(Q, gamma[rows])
    lam = np.linalg.lstsq(phi_q.T, phi_q[rows].T @ some, rcond=ROUNDED)[0]
    return ReducedMotion(a, lam)


def by_method(
    M: Array, Q: Array, phi_q: Array, gamma: Array, method: Method, rows: Sequence[int]
) -> ReducedMotion:
    """Return accelerations and multipliers of dimensionless equations by any of the methods.

    Parameters
    ----------
    rows : that are independent, or nearly dependent where the position is nearly singular
    """
    some, rates = phi_q[list(rows)], gamma[list(rows)]
    if method == "multipliers":
        motion = with_multipliers(M, Q, some, rates)
    elif method in BASES:
        motion = with_basis(M, Q, rates, BASES[method](some))
    else:
        raise SolveError(f"method={method!r} is not known; use one of {METHODS}")
    if len(rows) == len(phi_q):
        return motion
    lam = np.zeros(len(phi_q))
    if len(rows):
        C = phi_q @ np.linalg.pinv(some, rcond=ROUNDED)
        lam[:] = np.linalg.pinv(C.T, rcond=ROUNDED) @ motion.lam
    return ReducedMotion(motion.a, lam)


def _solve(inner: Array, M: Array, right: Array) -> Array:
    try:
        L = with_inertia(inner, M)
    except np.linalg.LinAlgError:
        raise SolveError(
            "the mass matrix of the closed mechanism is singular: some motion that the loops "
            "allow moves no mass"
        ) from None
    return np.asarray(np.linalg.solve(L.T, np.linalg.solve(L, right)))
