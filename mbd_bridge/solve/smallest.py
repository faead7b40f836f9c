"""The smallest solution of A x = b with more unknowns than rows, as straight-line code.

    A Aᵀ y = b,   x = Aᵀ y                               what no row notices is not in x
    z - Aᵀ (A Aᵀ)⁻¹ A z                                  the part of z that no row notices

The rows are independent ones, chosen beforehand. Squaring A costs digits; one more step for what is
left of b, with the same factors, brings them back. `risk` grows beyond bounds where the rows become
dependent, and the caller then takes singular values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mbd_bridge.solve.factor import elimination_operations, factorise, substitute
from mbd_bridge.spatial import Array, zeros


class Smallest:
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

    def _step(self, b: Array) -> Array:
        if not len(self.A):
            return np.zeros(self.A.shape[1])
        return np.asarray(self.A.T @ substitute(self._factor, b))


def operations(A: Array) -> int:
    """Return about how many multiply-adds the factors of A Aᵀ take, from where A is not zero."""
    pattern = not_zero(A).astype(np.int64)
    common = pattern @ pattern.T
    return int(common.sum()) + elimination_operations(common > 0)


def not_zero(matrix: Array) -> Array:
    """Return where a matrix of symbols is not structurally zero (floats: where it is not 0)."""
    flat = [not (isinstance(x, float) and x == 0.0) for x in matrix.ravel()]
    return np.array(flat, dtype=bool).reshape(matrix.shape)
