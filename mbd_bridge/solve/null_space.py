"""Constrained acceleration in the null space of Φ_q, as straight-line code that needs no SVD.

A decomposition at one position gives V1, which spans the rows of Φ_q there, and V2, which spans its
null space (LeeJoo90 (40), (42)). At a position near it the right inverse and the tangent basis are

    I_R = V1 (Φ_q V1)⁻¹,   N = V2 - I_R Φ_q V2,   Φ_q N = 0,   V2ᵀ N = 1

exactly, whatever V1 and V2 are, as long as Φ_q V1 is well conditioned. So V1 and V2 are kept, from
step to step, and N follows the motion. With them the multipliers vanish:

    Nᵀ M N z̈ = Nᵀ (Q - M I_R γ),   q̈ = I_R γ + N z̈              LeeJoo90 (49), (47); KimYoo97 (4.12)
    λ = (Φ_q V1)⁻ᵀ V1ᵀ (Q - M q̈)                                 KimYoo97 (4.11), sign corrected
    Δq = -I_R Φ                                                  (5.1): the coordinates V2ᵀ q stay

V1 is Φ_qᵀ itself, which spans its rows and has no more numbers than they have: Φ_q V1 = Φ_q Φ_qᵀ is
positive definite where it is made, so its factors need no pivoting, and their pivots tell how far
the motion has come from there and how near a singular position is. Coordinates that no row involves
have unit vectors in V2.

Decompositions are renewed in the step itself, by V2 projected onto the new null space and turned as
little as can be (Procrustes): the orthonormal basis nearest to the old one is the polar factor of
P_N V2, whichever basis of that space one begins with, that of an SVD or of a QR decomposition. Both
numbers are without dimension: velocities divided by their scales s, V1 = s² Φ_qᵀ, V2ᵀ s⁻² V2 = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.kernels.expression import Tape
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.solve.closed import ClosedTerms, near_dependence, rows_of
from mbd_bridge.solve.factor import (
    Eliminated,
    eliminate,
    factorise,
    not_zero,
    solved,
    solved_columns,
    substitute,
)

TURNS = 3
"""Newton's steps to the polar factor, each of which squares what is left of it; the last of it is
taken by Cholesky's factor, so that V2 is orthonormal to rounding."""


class Kept(NamedTuple):
    """What is kept of a decomposition: V1 (nv, r), V2 (nv, nv - r), reciprocals (r,) of the pivots
    of Φ_q V1 there, and how many decompositions there have been.
    """

    V1: Array
    V2: Array
    reciprocals: Array
    count: Any


class OnNullSpace(NamedTuple):
    """Accelerations (nv,), multipliers (r,), V1, the factors of Φ_q V1, risk (see `solve.closed`);
    what M and h say of selected joints; what is integrated, if not the accelerations.
    """

    a: Array
    lam: Array
    V1: Array
    inner: Eliminated
    risk: Any
    sections: tuple[Any, ...] = ()
    rates: Array | None = None

    @property
    def dv(self) -> Array:
        """What a step integrates (nv,)."""
        return self.a if self.rates is None else self.rates

    def correction(self, residual: Array) -> Array:
        """Return the velocity step that takes `residual` off the rows; V2ᵀ of it is 0."""
        return -self.V1 @ solved(self.inner, residual)


def on_null_space(kept: Kept, terms: ClosedTerms, printed: bool = False) -> OnNullSpace:
    """Return the acceleration by the reduced equations.

    Parameters
    ----------
    printed : whether V2 z̈ alone is integrated: z' goes on as the basis moves (KimYoo97 (4.8))
    """
    M, Q, phi_q, V1 = terms.M, terms.Q, terms.phi_q, kept.V1
    B = phi_q @ V1
    inner = eliminate(B)
    particular = V1 @ solved(inner, terms.gamma)
    N = kept.V2 - V1 @ solved_columns(inner, phi_q @ kept.V2)
    MN = M @ N
    reduced = _symmetric(N, MN)
    names = [f"independent velocity {k}" for k in range(N.shape[1])]
    factors = factorise(reduced, not_zero(reduced), names)
    z = substitute(factors, N.T @ Q - MN.T @ particular)
    a = particular + N @ z
    lam = transposed(inner, V1.T @ (Q - M @ a))
    risk = near_dependence(np.diagonal(B), inner.reciprocals, terms.scale)
    rates = kept.V2 @ z if printed else None
    return OnNullSpace(a, lam, V1, inner, risk, terms.sections, rates)


def on_loops(kept: Kept, phi_q: Array, rate: Array, v: Array) -> Array:
    """Return the velocity that takes `rate` off the rows, and has the same V2ᵀ v."""
    return np.asarray(v - kept.V1 @ solved(eliminate(phi_q @ kept.V1), rate))


def _symmetric(left: Array, right: Array) -> Array:
    """Return leftᵀ right, which is symmetric."""
    count = left.shape[1]
    out = zeros((count, count), left, right)
    for i in range(count):
        for j in range(i + 1):
            out[i, j] = out[j, i] = left[:, i] @ right[:, j]
    return out


def transposed(factors: Eliminated, b: Array) -> Array:
    """Return the solution of Aᵀ x = b, A = U L."""
    x = zeros(len(b), b, factors.matrix)
    x[:] = b
    for k in range(len(b) - 1, -1, -1):
        x[k] = x[k] * factors.reciprocals[k]
        for j in factors.before[k]:
            x[j] = x[j] - factors.matrix[k, j] * x[k]
    for k in range(len(b)):
        for i in factors.above[k]:
            x[k] = x[k] - factors.matrix[i, k] * x[i]
    return x


class KeptDecomposition:
    """Decompositions of the rows of a mechanism, as numbers in the memory of a step.

    In this order: how many there have been, reciprocals of pivots, V1 where Φ_q is not zero, V2.

    Parameters
    ----------
    pattern : (r, nv) where Φ_q is not structurally zero
    scale : (nv,) of velocities

    Attributes
    ----------
    size : of the memory
    free : number of coordinates that no row involves; their unit vectors come first in V2
    """

    def __init__(self, pattern: Array, scale: Array) -> None:
        self.pattern, self.scale = pattern, scale
        (self.rows, self.nv), involved = pattern.shape, pattern.any(axis=0)
        self._loop, self._others = np.flatnonzero(involved), np.flatnonzero(~involved)
        self.free, self._own = len(self._others), len(self._loop) - int(self.rows)
        self.size = 1 + self.rows + int(pattern.sum()) + len(self._loop) * self._own

    def packed(self, count: Any, reciprocals: Array, V1: Array, V2: Array) -> Array:
        """Return the memory (size,) of floats or symbols."""
        out = zeros(self.size, reciprocals, V1, V2)
        ends = 1 + self.rows, self.size - len(self._loop) * self._own
        out[0], out[1 : ends[0]] = count, reciprocals
        out[ends[0] : ends[1]] = V1.T[self.pattern]
        out[ends[1] :] = V2[self._loop, self.free :].reshape(-1)
        return out

    def unpacked(self, memory: Array) -> Kept:
        """Return what is kept, from a memory."""
        V1, V2 = zeros((self.rows, self.nv), memory), zeros((self.nv, self.dof), memory)
        ends = 1 + self.rows, self.size - len(self._loop) * self._own
        V1[self.pattern] = memory[ends[0] : ends[1]]
        V2[self._others, np.arange(self.free)] = 1.0
        own = memory[ends[1] :].reshape(len(self._loop), self._own)
        V2[self._loop, self.free :] = own
        return Kept(V1.T, V2, memory[1 : ends[0]], memory[0])

    @property
    def dof(self) -> int:
        """Number of independent velocities."""
        return self.free + self._own

    def right(self, phi_q: Array) -> Array:
        """Return the V1 (nv, r) of a position."""
        V1 = zeros((self.nv, self.rows), phi_q)
        V1[:] = phi_q.T * self.scale[:, None] ** 2
        return V1

    def independent(self, V2: Array, v: Array) -> Array:
        """Return the independent velocities ż (dof,) of velocities v (nv,) that keep the loops."""
        own, _ = self.own_velocities(V2, v)
        return np.concatenate([(v / self.scale)[self._others], own])

    def in_basis(self, V2: Array, v: Array) -> Array:
        """Return V2 z' (nv,) with the z' that a V2 of any length has of velocities v (nv,)."""
        out, X = zeros(self.nv, V2, v), V2[:, self.free :] / self.scale[:, None]
        gram = _symmetric(X, X)
        names = [f"independent velocity {k}" for k in range(self._own)]
        rates = substitute(factorise(gram, not_zero(gram), names), X.T @ (v / self.scale))
        out[:] = self.scale * (X @ rates)
        out[self._others] = v[self._others]
        return out

    def own_velocities(self, V2: Array, v: Array) -> tuple[Array, Array]:
        """Return the independent ones, and all without dimension, of coordinates in loops."""
        sizes = v / self.scale
        return V2[:, self.free :].T @ (sizes / self.scale), sizes[self._loop]

    def first(self, phi_q: Array, before: Array | None = None) -> Array:
        """Return the memory of a position, by LAPACK; `before` is one to whose V2 it turns."""
        V1 = self.right(phi_q)
        own = phi_q[:, self._loop] * self.scale[self._loop]
        V2, count = np.linalg.svd(own)[2][self.rows :].T, 0.0
        if before is not None:
            U, _, Wt = np.linalg.svd(V2.T @ (self._own_part(before)))
            V2, count = V2 @ (U @ Wt), float(before[0])
        whole = np.zeros((self.nv, self.dof))
        whole[self._loop, self.free :] = V2 * self.scale[self._loop][:, None]
        return self.packed(count + 1.0, eliminate(phi_q @ V1).reciprocals, V1, whole)

    def _own_part(self, memory: Array) -> Array:
        """Return V2 of the coordinates that rows involve, without dimension."""
        V2 = self.unpacked(memory).V2[self._loop, self.free :]
        return np.asarray(V2 / self.scale[self._loop][:, None])

    def renewed(self, phi_q: Array, kept: Kept, turns: int = TURNS, whole: bool = True) -> Array:
        """Return the memory of another position, straight from the last V2 (Procrustes).

        Parameters
        ----------
        whole : whether it is a decomposition: counted, and V2 orthonormal to rounding
        """
        V1 = self.right(phi_q)
        B = phi_q @ V1
        factors = factorise(B, not_zero(B), [f"row {k}" for k in range(self.rows)])
        V2 = zeros(kept.V2.shape, kept.V2, phi_q)
        V2[:] = kept.V2
        for k in range(self.free, self.dof):
            V2[:, k] = V2[:, k] - V1 @ substitute(factors, phi_q @ V2[:, k])
        V2[:, self.free :] = self._orthonormal(V2[:, self.free :], turns, whole)
        return self.packed(kept.count + float(whole), factors.reciprocals, V1, V2)

    def _orthonormal(self, X: Array, turns: int, whole: bool) -> Array:
        """Return the polar factor of X, but for what `turns` steps leave of it."""
        count, weights = X.shape[1], self.scale[:, None] ** -2.0
        for _ in range(turns if count > 1 or not whole else 0):
            gram = _symmetric(X, X * weights)
            X = 1.5 * X - 0.5 * (X @ gram)
        if not whole:
            return X
        gram = _symmetric(X, X * weights)
        out = zeros(X.shape, X)
        out[:] = X
        for k in range(count):  # Cholesky, column by column
            norm = 1.0 / np.sqrt(gram[k, k])
            out[:, k] = out[:, k] * norm
            gram[k, k:] = gram[k, k:] * norm
            for j in range(k + 1, count):
                out[:, j] = out[:, j] - out[:, k] * gram[k, j]
                gram[j, j:] = gram[j, j:] - gram[k, j] * gram[k, j:]
        return out


def pattern_of(
    tape: Tape, model: Model, rows: Sequence[int], prescribed_velocities: Sequence[int]
) -> Array:
    """Return where the rows of Φ_q are not structurally zero (r, nv); lengths may be symbols."""
    q, v = tape.vector("q", model.nq), tape.vector("v", model.nv)
    wanted = np.zeros(len(prescribed_velocities))
    return not_zero(rows_of(model, rows, q, v, prescribed_velocities, wanted)[0])
