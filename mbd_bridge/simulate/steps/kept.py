"""Factors of Newton's matrix J that implicit steps hand on, and whether a step may use them.

A step is first solved with the factors of an earlier one. With the sizes d₁ and d₂ of its last two
corrections, ratio θ = d₂ / d₁, what it leaves is about θ d₂. It is taken so if corrections fall
quickly and what is left is small beside what is allowed and beside the error of the step itself
(`good_enough`), and otherwise solved once more with a J of its own, whose factors are handed on.

θ d₂ says nothing of directions that were stiff when J was formed and no longer are, as behind a
stop: corrections there are small from the beginning. Stiffness and damping only add to M, so what
is left is at most M⁻¹ R with the last residual R, taken here with the diagonal of M⁻¹ (and the
number of velocities, for what is beside it), and this has to be small too.

How often J is formed follows from the motion alone, so all roads have the same digits.

With constraint rows each step forms its own J: multipliers are exact to h² only if J is of the
place where a step ends, and the corrections of accelerations do not show that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.equations.body_composites import mass_matrix_by_bodies
from mbd_bridge.mechanism import Model
from mbd_bridge.solve.elimination import Eliminated
from mbd_bridge.solve.factor import factorise, mass_pattern, outward
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

SURE = 1e-2
"""Part of `converged` that may be left if nothing is stiff any more: 1e-8 rad by default."""

SURE_OF_CHANGE = 10.0
"""Part of d₁²/|x| that may be left then: of the order of h² in accelerations, too."""

OF_SIZE = 1e-9
"""Part of |x| that may be left in any case."""

ROUNDING = 1e-9
"""Part of `converged` below which corrections are rounding errors, whose ratio says nothing."""


class Kept(NamedTuple):
    """How many J's have been formed (1,), factors of the last one, the diagonal of M⁻¹ there."""

    formed: Array
    J: Eliminated
    mobility: Array


class KeptFactors:
    """Places of how many J's have been formed, U, L, the reciprocals of L's diagonal, and the
    diagonal of M⁻¹.

    Parameters
    ----------
    unknowns, nv : n, and how many of them are accelerations
    """

    def __init__(self, unknowns: int, nv: int) -> None:
        self.unknowns = unknowns if unknowns <= MOST_UNKNOWNS else 0
        self.nv = nv

    @property
    def size(self) -> int:
        """Numbers in all; none where J is not kept."""
        return 1 + self.unknowns**2 + self.nv if self.unknowns else 0

    def packed(self, kept: Kept) -> Array:
        """Return the numbers (size,) of what is kept."""
        matrix = zeros(kept.J.matrix.shape, kept.J.matrix)
        matrix[:] = kept.J.matrix
        np.fill_diagonal(matrix, kept.J.reciprocals)
        out = zeros(self.size, matrix, *kept[::2])
        out[:1], out[1 : -self.nv], out[-self.nv :] = kept.formed, matrix.reshape(-1), kept.mobility
        return out

    def unpacked(self, numbers: Array, pattern: Array) -> Kept:
        """Return the factors among such numbers.

        Parameters
        ----------
        pattern : (size,) which of them are not structurally zero
        """
        n, inner = self.unknowns, slice(1, -self.nv)
        filled, matrix = pattern[inner].reshape(n, n), zeros((n, n), numbers)
        matrix[filled] = numbers[inner].reshape(n, n)[filled]
        above = [[i for i in range(k) if filled[i, k]] for k in range(n)]
        before = [[j for j in range(k) if filled[k, j]] for k in range(n)]
        factors = Eliminated(matrix, np.diagonal(matrix), above, before)
        return Kept(numbers[:1], factors, numbers[-self.nv :])


def mobility(model: Model, q: Array) -> Array:
    """Return the diagonal (nv,) of M⁻¹."""
    factor = factorise(mass_matrix_by_bodies(model, q), mass_pattern(model), model.velocity_names)
    unit = np.eye(model.nv)
    columns = [outward(factor, unit[k]) for k in range(model.nv)]
    return np.array(
        [sum(x * x * d for x, d in zip(c, factor.reciprocals, strict=True)) for c in columns]
    )


def good_enough(size: Any, before: Any, last: Any, bound: Any, converged: float) -> Any:
    """Return whether corrections with kept factors are small, by squares.

    Parameters
    ----------
    size, before, last : |x|, d₁ and d₂, squared
    bound : what may be left, squared, whatever J is
    """
    left = last * last  # times d₁²
    falling = last <= SLOWEST**2 * before
    closer = (left * size <= OF_CHANGE**2 * before**3) | (left <= OF_SIZE**2 * size * before)
    small = (last <= converged**2) & (left <= (LEFT * converged) ** 2 * before)
    sure = (bound <= (SURE * converged) ** 2) & (
        (bound * size <= SURE_OF_CHANGE**2 * before**2) | (bound <= OF_SIZE**2 * size)
    )
    rounding = (ROUNDING * converged) ** 2
    return ((small & falling & closer) | (last <= rounding)) & (sure | (bound <= rounding))
