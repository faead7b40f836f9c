"""What every basis promises: made once, renewed after every step, evaluated anywhere between.

A basis is a matrix N (n, n - r) with Φ_q N = 0 and a right inverse I_R (n, r) of r independent
rows, Φ_q I_R = 1. Independent velocities are ż in q̇ = I_R b + N ż; they have a meaning from step
to step only if N does not jump. So a method keeps directions D (`Held.directions`) which a
re-decomposition turns as little as it can.

All matrices are dimensionless (see `solve.rank`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.rank import independent_columns
from mbd_bridge.solve.reduced import Reduced
from mbd_bridge.solve.tolerances import LARGEST_INVERSE

DEPENDENT_ROWS = "rows of the constraints depend on each other here: a singular position"
"""What a method says where it cannot go on; a simulation then takes the step with more care."""

Choose = Callable[[Array], tuple[int, ...]]
"""Which rows of Φ_q are independent: `row_choice`, or pivots where its numbers are exact."""


def by_pivots(phi_q: Array) -> tuple[int, ...]:
    """Return rows that are independent but for rounding."""
    return independent_columns(phi_q.T)


@dataclass(frozen=True, eq=False)
class Held:
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


class NullSpace(ABC):
    """A way to make a basis and to keep it."""

    @abstractmethod
    def init(self, phi_q: Array, choose: Choose = by_pivots) -> Held:
        """Choose rows and directions at one position."""

    @abstractmethod
    def renew(self, held: Held, phi_q: Array, v: Array) -> Held:
        """Follow the motion to the next position, where the velocity is v."""

    @abstractmethod
    def at(self, held: Held, phi_q: Array) -> Reduced:
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


def renewed(held: Held, fresh: Held) -> Held:
    """Return a fresh choice of rows, unless it has fewer of them: then they depend here."""
    if len(fresh.rows) < len(held.rows):
        raise SolveError(DEPENDENT_ROWS)
    return fresh
