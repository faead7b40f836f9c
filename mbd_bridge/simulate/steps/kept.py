"""Factors of Newton's matrix J that implicit steps hand on, and whether a step may use them.

A step is first solved with the factors of an earlier one. With the sizes d₁ and d₂ of its last two
corrections, ratio θ = d₂ / d₁, what it leaves is about θ d₂. It is taken so if corrections fall
quickly and what is left is small beside what is allowed and beside the error of the step itself
(`good_enough`), and otherwise solved once more with a J of its own, whose factors are handed on.
How often J is formed follows from the motion alone, so all roads have the same digits.

With constraint rows each step forms its own J: multipliers are exact to h² only if J is of the
place where a step ends, and the corrections of accelerations do not show that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.solve.elimination import Eliminated
from mbd_bridge.spatial import Array, zeros

MOST_UNKNOWNS = 64
"""Accelerations and rates up to which J is kept: its factors take the square of that in a state,
which is copied at each step."""

SLOWEST = 0.1
"""θ up to which corrections are trusted to go on as they do."""

LEFT = 1e-4
"""Part of `converged` that may be left: 1e-10 rad by default. J formed in the step leaves less than
this at most steps of the papers' vehicles; they then agree to more digits than steps are exact."""

OF_CHANGE = 3e-2
"""Part of d₁²/|x| that may be left of the accelerations x. d₁ is their change in a step, of the
order of h, and this of the order of h², as the error of the step is."""

OF_SIZE = 1e-9
"""Part of |x| that may be left in any case."""

ROUNDING = 1e-9
"""Part of `converged` below which corrections are rounding errors, whose ratio says nothing."""


class Kept(NamedTuple):
    """How many J's have been formed (1,), and the factors of the last one."""

    formed: Array
    J: Eliminated


class KeptFactors:
    """Places of U, L and the reciprocals of L's diagonal, behind the number of J's formed so far.

    Parameters
    ----------
    unknowns : n
    """

    def __init__(self, unknowns: int) -> None:
        self.unknowns = unknowns if unknowns <= MOST_UNKNOWNS else 0

    @property
    def size(self) -> int:
        """Numbers in all; none where J is not kept."""
        return 1 + self.unknowns**2 if self.unknowns else 0

    def packed(self, J: Eliminated, formed: Array) -> Array:
        """Return the numbers (size,) of factors, behind how many there have been (1,)."""
        matrix = zeros(J.matrix.shape, J.matrix)
        matrix[:] = J.matrix
        np.fill_diagonal(matrix, J.reciprocals)
        out = zeros(self.size, matrix, formed)
        out[:1], out[1:] = formed, matrix.reshape(-1)
        return out

    def unpacked(self, numbers: Array, pattern: Array) -> Kept:
        """Return the factors among such numbers.

        Parameters
        ----------
        pattern : (size,) which of them are not structurally zero
        """
        n = self.unknowns
        filled, matrix = pattern[1:].reshape(n, n), zeros((n, n), numbers)
        matrix[filled] = numbers[1:].reshape(n, n)[filled]
        above = [[i for i in range(k) if filled[i, k]] for k in range(n)]
        before = [[j for j in range(k) if filled[k, j]] for k in range(n)]
        return Kept(numbers[:1], Eliminated(matrix, np.diagonal(matrix), above, before))


def good_enough(size: Any, before: Any, last: Any, converged: float) -> Any:
    """Return whether corrections with kept factors are small, by squares.

    Parameters
    ----------
    size, before, last : |x|, d₁ and d₂, squared
    """
    left = last * last  # times d₁²
    falling = last <= SLOWEST**2 * before
    closer = (left * size <= OF_CHANGE**2 * before**3) | (left <= OF_SIZE**2 * size * before)
    small = (last <= converged**2) & (left <= (LEFT * converged) ** 2 * before)
    return (small & falling & closer) | (last <= (ROUNDING * converged) ** 2)
