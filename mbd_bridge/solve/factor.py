"""Solution of M x = b for a symmetric positive definite M, in a fixed order that can be traced.

M = Lᵀ D L, from the last row to the first. With the coordinates of bodies after those of the
bodies that carry them, this order makes no new entries: what one body does not carry stays zero
(Featherstone's branch-induced sparsity). The pattern is structure, so that zeros cost nothing.
There is no pivoting: the pivots are returned, and the caller judges them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import SolveError, massless
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
