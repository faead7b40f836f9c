"""Solution of M x = b for a symmetric positive definite M, in a fixed order that can be traced.

M = Lᵀ D L, from the last row to the first. With the coordinates of bodies after those of the
bodies that carry them, this order makes no new entries: what one body does not carry stays zero
(Featherstone's branch-induced sparsity). The pattern is structure, so that zeros cost nothing.
There is no pivoting: the pivots are returned, and the caller judges them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.errors import SolveError, massless
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros


class Factor(NamedTuple):
    """L (unit lower triangle), the pivots D and their reciprocals, and where L is not zero."""

    L: Array
    pivots: Array
    reciprocals: Array
    rows: list[list[int]]


def mass_pattern(model: Model) -> Array:
    """Return where M can be other than zero: (nv, nv) booleans."""
    pattern = np.zeros((model.nv, model.nv), dtype=bool)
    for i, body in enumerate(model.bodies):
        for j in np.flatnonzero(model.path[i]):
            pattern[body.v, model.bodies[j].v] = True
            pattern[model.bodies[j].v, body.v] = True
    return pattern


def elimination_operations(pattern: Array) -> int:
    """Return the multiply-adds that `factorise` needs for a pattern, fill included."""
    filled, count = pattern.copy(), 0
    for k in range(len(filled) - 1, -1, -1):
        row = np.flatnonzero(filled[k, :k])
        filled[np.ix_(row, row)] = True
        count += len(row) * (len(row) + 3) // 2
    return count


def articulated_is_cheaper(model: Model) -> bool:
    """Return whether articulated bodies need fewer operations than M and its factors.

    Fitted to operation counts of chains of 5 to 60 skew joints and of humanoids: M costs some 40
    operations a pair of bodies on one branch, its factors 2.2 a multiply-add, articulated bodies
    360 more a body. A coupling (``<mimic>``) ties branches together, a flexible link bodies, and
    leave only M.
    """
    if model.flexible or any(body.coupled for body in model.bodies):
        return False
    pattern = mass_pattern(model)
    pairs = (int(pattern.sum()) - len(pattern)) / 2
    through_M = 2.2 * elimination_operations(pattern) + 40.0 * pairs
    return through_M > 360.0 * len(model.bodies)


def factorise(M: Array, pattern: Array, names: Sequence[str]) -> Factor:
    """Return the factors of M (n, n), computing only what `pattern` (or fill) makes necessary.

    Parameters
    ----------
    names : of the rows, for the message of the error

    Raises
    ------
    SolveError
        A pivot is structurally zero: nothing with mass moves along that coordinate.
    """
    n = len(M)
    L = M.copy()
    pivots, reciprocals = zeros(n, M), zeros(n, M)
    filled = pattern.copy()
    rows: list[list[int]] = [[] for _ in range(n)]
    for k in range(n - 1, -1, -1):
        rows[k] = [i for i in range(k) if filled[k, i]]
        if isinstance(L[k, k], float) and L[k, k] == 0.0:
            raise SolveError(massless(names[k]))
        pivots[k] = L[k, k]
        reciprocals[k] = 1.0 / L[k, k]
        for position in range(len(rows[k]) - 1, -1, -1):  # row k is used up from its end
            i = rows[k][position]
            scaled = L[k, i] * reciprocals[k]
            for j in rows[k][: position + 1]:
                L[i, j] = L[i, j] - scaled * L[k, j]
                filled[i, j] = True
            L[k, i] = scaled
    return Factor(L, pivots, reciprocals, rows)


def outward(factor: Factor, b: Array) -> Array:
    """Return L⁻ᵀ b."""
    x = zeros(len(b), b, factor.L)
    x[:] = b
    for k in range(len(b) - 1, -1, -1):
        for i in factor.rows[k]:
            x[i] = x[i] - factor.L[k, i] * x[k]
    return x


def inward(factor: Factor, b: Array) -> Array:
    """Return L⁻¹ D⁻¹ b."""
    x = zeros(len(b), b, factor.L)
    for k in range(len(b)):
        x[k] = b[k] * factor.reciprocals[k]
        for i in factor.rows[k]:
            x[k] = x[k] - factor.L[k, i] * x[i]
    return x


def substitute(factor: Factor, b: Array) -> Array:
    """Return the solution x of Lᵀ D L x = b."""
    return inward(factor, outward(factor, b))


def inverse_of(factor: Factor) -> Array:
    """Return the inverse (n, n) of the matrix that was factorised."""
    n = len(factor.pivots)
    inverse = zeros((n, n), factor.L)
    for k, unit in enumerate(np.eye(n)):
        inverse[: k + 1, k] = inverse[k, : k + 1] = substitute(factor, unit)[: k + 1]
    return inverse


def pivots(M: Array) -> Array:
    """Return the pivots D (N, n) that `factorise` finds in M (N, n, n), without tracing it.

    Where M is singular they are 0 or not finite.
    """
    left = np.array(M)
    with np.errstate(all="ignore"):
        for k in range(left.shape[-1] - 1, 0, -1):
            row = left[:, k, :k]
            left[:, :k, :k] -= row[:, :, None] * (row / left[:, k, k, None])[:, None, :]
    return np.array(np.diagonal(left, axis1=1, axis2=2))


# The smallest solution of A x = b with more unknowns than rows, as straight-line code.
#
#     A Aᵀ y = b,   x = Aᵀ y                               what no row notices is not in x
#     z - Aᵀ (A Aᵀ)⁻¹ A z                                  the part of z that no row notices
#
# The rows are independent ones, chosen beforehand. Squaring A costs digits; one more step for what
# is left of b, with the same factors, brings them back. `risk` grows beyond bounds where the rows
# become dependent, and the caller then takes singular values.

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


# Solution of A x = b for a square matrix close to a positive definite one, to be traced.
#
# A = U L, U a unit upper triangle, from the last row to the first as in `factor`, without
# pivoting. A need not be symmetric. Entries that are plain zeros cost nothing; which zeros fill up
# is found while it is traced.


class Eliminated(NamedTuple):
    """U above the diagonal and L on and below it, the reciprocals of the pivots.

    Attributes
    ----------
    above, before : of each row k the rows i < k with U_ik, the columns j < k with L_kj, not zero
    """

    matrix: Array
    reciprocals: Array
    above: list[list[int]]
    before: list[list[int]]


def eliminate(A: Array) -> Eliminated:
    """Return the factors of A (n, n)."""
    n = len(A)
    left, reciprocals = zeros((n, n), A), zeros(n, A)
    left[:] = A
    filled = not_zero(A)
    above: list[list[int]] = [[] for _ in range(n)]
    before: list[list[int]] = [[] for _ in range(n)]
    for k in range(n - 1, -1, -1):
        reciprocals[k] = 1.0 / left[k, k]
        above[k] = [i for i in range(k) if filled[i, k]]
        before[k] = [j for j in range(k) if filled[k, j]]
        for i in above[k]:
            left[i, k] = left[i, k] * reciprocals[k]
            for j in before[k]:
                left[i, j] = left[i, j] - left[i, k] * left[k, j]
                filled[i, j] = True
    return Eliminated(left, reciprocals, above, before)


def solved(factors: Eliminated, b: Array) -> Array:
    """Return the solution x (n,) of A x = b."""
    x = zeros(len(b), b, factors.matrix)
    x[:] = b
    for k in range(len(b) - 1, -1, -1):
        for i in factors.above[k]:
            x[i] = x[i] - factors.matrix[i, k] * x[k]
    for k in range(len(b)):
        for j in factors.before[k]:
            x[k] = x[k] - factors.matrix[k, j] * x[j]
        x[k] = x[k] * factors.reciprocals[k]
    return x


def solved_columns(factors: Eliminated, B: Array) -> Array:
    """Return the solution X (n, m) of A X = B."""
    X = zeros(np.shape(B), B, factors.matrix)
    for k in range(X.shape[1]):
        X[:, k] = solved(factors, B[:, k])
    return X
