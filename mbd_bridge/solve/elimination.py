"""Solution of A x = b for a square matrix close to a positive definite one, to be traced.

A = U L, U a unit upper triangle, from the last row to the first as in `factor`, without pivoting.
A need not be symmetric. Entries that are plain zeros cost nothing; which zeros fill up is found
while it is traced.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.solve.minimum_norm import not_zero


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
