"""Steps onto dimensionless constraints, many states at once, and how they are damped.

    Δx = -J⁺ r                                         Newton: the smallest step that takes r away
    Δx = -(Jᵀ J + μ D)⁻¹ Jᵀ r                          Levenberg and Marquardt: never far, and down

Newton needs the rank of J and is exact near a solution. The damped step needs no rank; far from
a solution and near singular positions it still leads down, to the least residual nearby.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.tolerances import NEWTON_DONE

Residuals: TypeAlias = Callable[[Array, Array], tuple[Array, Array]]
"""r (n, m) and J (n, m, free), dimensionless, at q (n, nq) of the states with the numbers (n,)."""

Move: TypeAlias = Callable[[Array, Array], Array]
"""Positions (n, nq) after dimensionless steps (n, free)."""

LONGEST_STEP = 0.4
"""Largest change in one iteration: rad, or this part of the mechanism's size."""

DAMPED_ITERATIONS = 120
DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-12, 1e8
"""μ at the start, and between what it is kept, relative to the mean square of J's columns."""

BETTER, WORSE = 0.2, 4.0
"""Factors of μ after a step that led down and after one that was refused."""

SLOW, PATIENCE = 1e-3, 6
"""A descent that gains less than this part in so many steps together has arrived."""


class Newton(NamedTuple):
    """Singular values of dimensionless Jacobians (n, m, free), those of rank only."""

    U: Array
    reciprocals: Array
    Vt: Array

    @staticmethod
    def of(J: Array, tolerance: float) -> Newton:
        """Return the decompositions; singular values below `tolerance` of the largest are zero."""
        U, s, Vt = np.linalg.svd(J, full_matrices=False)
        keep = s > tolerance * s.max(axis=-1, initial=0.0, keepdims=True)
        return Newton(U, np.where(keep, 1.0 / np.where(keep, s, 1.0), 0.0), Vt)

    def onto(self, r: Array) -> Array:
        """Return the smallest steps (n, free) that take residuals (n, m) away."""
        inside = self.reciprocals * np.einsum("nij,ni->nj", self.U, r)
        return np.asarray(-np.einsum("nji,nj->ni", self.Vt, inside))

    def along(self, x: Array) -> Array:
        """Return the parts of steps (n, free) that the constraints do not notice."""
        inside = (self.reciprocals > 0.0) * np.einsum("nji,ni->nj", self.Vt, x)
        return np.asarray(x - np.einsum("nji,nj->ni", self.Vt, inside))


def largest(x: Array) -> Array:
    """Return the largest entry of each row."""
    return np.asarray(np.abs(x).max(axis=-1, initial=0.0))


def limited(step: Array) -> Array:
    """Return steps (n, free) of which no entry is longer than `LONGEST_STEP`."""
    longest = np.maximum(largest(step), LONGEST_STEP)
    return np.asarray(step * np.minimum(1.0, LONGEST_STEP / longest)[:, None])


def descend(residuals: Residuals, moved: Move, q: Array, numbers: Array) -> Array:
    """Return positions (n, nq) of least |r| near q, by damped steps that lead down one by one."""
    q, count = q.copy(), len(q)
    damping, slow = np.full(count, DAMPING), np.zeros(count, dtype=int)
    r, J = residuals(q, numbers)
    going = np.arange(count)
    for _ in range(DAMPED_ITERATIONS):
        size = (r * r).sum(axis=1)
        on = (size > NEWTON_DONE**2) & (slow[going] < PATIENCE) & (damping[going] < MOST_DAMPING)
        going, r, J, size = going[on], r[on], J[on], size[on]
        if not len(going) or not J.shape[2]:
            break
        step = limited(_damped(r, J, damping[going]))
        place = moved(q[going], step)
        r_next, J_next = residuals(place, numbers[going])
        size_next = (r_next * r_next).sum(axis=1)
        down = size_next < size
        damping[going] *= np.where(down, BETTER, WORSE)
        damping[going] = np.maximum(damping[going], LEAST_DAMPING)
        slow[going] = np.where(down & (size_next < (1.0 - SLOW) * size), 0, slow[going] + 1)
        slow[going[~down]] -= 1  # a refused step is the damping's matter
        q[going[down]] = place[down]
        r, J = np.where(down[:, None], r_next, r), np.where(down[:, None, None], J_next, J)
    return q


def _damped(r: Array, J: Array, damping: Array) -> Array:
    """Return -(JᵀJ + μ)⁻¹ Jᵀ r, μ relative to the mean of JᵀJ's diagonal."""
    square = np.einsum("nij,nik->njk", J, J)
    mean = np.einsum("njj->n", square) / square.shape[1]
    shift = (damping * np.maximum(mean, np.finfo(float).tiny))[:, None, None]
    right = np.einsum("nij,ni->nj", J, r)
    return np.asarray(-np.linalg.solve(square + shift * np.eye(square.shape[1]), right[..., None]))[
        ..., 0
    ]
