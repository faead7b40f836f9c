"""Which rows of the constraints are independent: chosen in one place, without memory.

In exact numbers some rows of a loop say what others say already (three of five of a planar pin).
In a file they do so but for its rounding: an axis of 1.5708 leaves a singular value of 4e-6 where
there should be none. Near a singular position a row that does say something new has a small
singular value too. At one position the two cannot be told apart; over the neighbourhood they can:
the first stays small wherever the machine goes, the second grows with the distance.

So the rank r is that of the machine in *general position*: the largest number of singular values
beyond `Model.rank_tolerance` at some closed positions about the one nearest to zero. r rows are
chosen there, those that are farthest from dependent at all of these positions. The rest is
redundant; how much it is off is kept, to be said. A state goes by the model's own rows wherever
these span the others; where they do not (another branch, or a bad choice just there), its own
Jacobian tells.

The choice depends on the model alone, not on what was asked before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mbd_bridge.base.lazy import cached_property
from mbd_bridge.model import Model
from mbd_bridge.model.model import once_a_model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.closing import Closing
from mbd_bridge.solve.dynamics import constraint_values
from mbd_bridge.solve.rank import pivoted
from mbd_bridge.solve.tolerances import (
    CONSISTENT,
    OPEN_LOAD,
    OPEN_ROWS,
    ROUNDED,
    SINGULAR,
    VARIES,
    WELL_APART,
)

WAYS = 6
"""Closed positions that are looked at beside the first."""

FAR = 0.9
"""How far away the last of them is looked for, rad or sizes of the mechanism."""

STARTS = 8
"""Guesses in general position, where the zero position does not lead to a closed one."""

MOST_SETS = 8
"""Choices of rows that are kept, the best first."""


AFTER_POSITIONS = 1e-3
"""Weight of rows that constrain velocities only where rows are chosen: a position that is not among
the rows that are kept would drift, unseen by the velocities."""


@dataclass(frozen=True, eq=False)
class RowChoice:
    """Independent rows of a model's dimensionless Φ_q in general position.

    Attributes
    ----------
    rank : how many rows are independent, of the prescribed velocities too
    sets : choices of so many rows, the one that is farthest from dependent first
    off : (m,) by how much the direction of each row differs from what the first choice makes of it,
        at most; rounding where the model's numbers are exact
    open : largest residual of the loops at the positions seen
    weakest : smallest singular value of the rows chosen, relative to the largest, at the best of
        these positions
    pattern : (m, nv) where Φ_q is not zero at some of them
    tolerance : `Model.rank_tolerance`
    prescribed_velocities : velocities that are prescribed, whose columns do not count
    velocity_rows : (m,) which rows constrain velocities only: where these say what rows of
        positions say too, the latter are chosen
    """

    rank: int
    sets: tuple[tuple[int, ...], ...]
    off: Array
    open: float
    weakest: float
    pattern: Array
    tolerance: float
    prescribed_velocities: tuple[int, ...]
    velocity_rows: Array

    @property
    def rows(self) -> tuple[int, ...]:
        """The first choice."""
        return self.sets[0]

    @cached_property
    def imprecise(self) -> bool:
        """Whether redundant rows are off by more than rounding."""
        return float(self.off.max(initial=0.0)) > ROUNDED or self.open > ROUNDED

    @cached_property
    def slack(self) -> float:
        """How much redundant rows may be off at a state, relative to the largest row.

        A row that is open by so much has its direction off by about as much somewhere else.
        """
        return max(SINGULAR, VARIES * float(self.off.max(initial=0.0)), self.leeway)

    @cached_property
    def leeway(self) -> float:
        """How far redundant rows may stay open: rounding where the model's numbers are exact."""
        off = VARIES * max(self.open, float(self.off.max(initial=0.0)))
        return min(off, OPEN_ROWS * self.tolerance)

    @property
    def consistent(self) -> float:
        """How far redundant rows of given states may be off: lost digits, imprecise numbers."""
        return max(CONSISTENT, self.leeway)

    def spanned(
        self,
        phi_q: Array,
        rows: tuple[int, ...],
        apart: float = WELL_APART,
        slack: float | None = None,
    ) -> Array:
        """Return where rows of Φ_q (N, m, nv) are well independent and contain the others.

        A row's own part is what is left of it when those before it are taken out.

        Parameters
        ----------
        apart : least part of each row that is its own
        slack : how much the others may be off, relative to the largest row; None: as it is found
        """
        J = np.array(phi_q)
        J[:, :, list(self.prescribed_velocities)] = 0.0
        largest = np.abs(J).max(axis=(1, 2), initial=0.0)
        if len(rows) > J.shape[2]:
            return np.zeros(len(J), dtype=bool)
        some = J[:, list(rows)]
        Q, R = np.linalg.qr(np.swapaxes(some, 1, 2))
        own = np.abs(np.diagonal(R, axis1=1, axis2=2))
        before = np.linalg.norm(phi_q[:, list(rows)], axis=2)
        good = (own > apart * before).all(axis=1)
        rest = np.abs(J - (J @ Q) @ np.swapaxes(Q, 1, 2)).max(axis=(1, 2), initial=0.0)
        return np.asarray(good & (rest <= (self.slack if slack is None else slack) * largest))

    @property
    def noticed(self) -> float:
        """Part of an open multiplier from which on a load is said to depend on it."""
        return max(OPEN_LOAD, self.slack)

    def exact(self, phi_q: Array) -> Array:
        """Return Φ_q (m, nv) of one state without what its redundant rows are off.

        Each row is projected onto the space of the rows that tell the motion there.
        """
        if not self.imprecise:
            return phi_q
        Q, _ = np.linalg.qr(phi_q[list(self.at(phi_q))].T)
        return np.asarray(phi_q @ Q @ Q.T)

    def fitting(self, phi_q: Array) -> tuple[int, ...] | None:
        """Return the first choice that is well independent in Φ_q (m, nv), None if none is."""
        return next((rows for rows in self.sets if self.spanned(phi_q[None], rows)[0]), None)

    def kept(self, phi_q: Array) -> Array:
        """Return which rows of Φ_q (N, m, nv) tell the motion (N, m); all where no choice does."""
        keep = np.ones(phi_q.shape[:2], dtype=bool)
        left = np.arange(len(phi_q))
        for rows in self.sets:
            if not len(left):
                break
            fit = self._fits(phi_q[left], rows)
            some = np.zeros(phi_q.shape[1], dtype=bool)
            some[list(rows)] = True
            keep[left[fit]] = some
            left = left[~fit]
        return keep

    def closed(self, phi_q: Array, left: Array, tolerance: float = CONSISTENT) -> Array:
        """Return where the rows of Φ_q (N, m, nv) are closed (N,) if so much of them is left.

        Rows that tell the motion are held to the tolerance; redundant ones stay as open as the
        machine's imprecise numbers leave them. Which are redundant is open to choice: a motion
        goes on with the choice that it began with.

        Parameters
        ----------
        left : (N, m) of Φ or of a derivative, relative to what the tolerance is relative to
        """
        least, size = max(tolerance, self.leeway), np.abs(left)
        closed = np.asarray((size <= tolerance).all(axis=1))
        doubtful = (size <= least).all(axis=1)
        for rows in self.sets if self.imprecise else ():
            open_states = doubtful & ~closed & (size[:, list(rows)] <= tolerance).all(axis=1)
            some = np.flatnonzero(open_states)
            closed[some] = self._fits(phi_q[some], rows)
        return closed

    @property
    def precise(self) -> bool:
        """Whether all rows of given states are held to the same."""
        return self.leeway <= CONSISTENT

    def weights(self, rows: tuple[int, ...]) -> Array:
        """Return factors (m,) of what is left of all rows: below `CONSISTENT` then, it is closed.

        For whole batches, where these rows tell the motion; elsewhere `closed` has the word.
        """
        if len(rows) < self.rank:
            return np.ones(len(self.off))
        found = np.full(len(self.off), CONSISTENT / self.consistent)
        found[list(rows)] = 1.0
        return found

    def local(self, phi_q: Array) -> tuple[int, ...]:
        """Return rows of Φ_q (m, nv) that are independent just there."""
        return self._pivots(phi_q, self.count(phi_q))

    def at(self, phi_q: Array) -> tuple[int, ...]:
        """Return rows that tell the motion of a state: the model's own where they can.

        They may be nearly dependent: then the position is nearly singular.
        """
        for rows in self.sets:
            if self._fits(phi_q[None], rows)[0]:
                return rows
        s = self._sizes(phi_q)
        here, at_all = int(np.sum(s > self.tolerance)), int(np.sum(s > ROUNDED))
        return self._pivots(phi_q, max(here, min(self.rank, at_all)))

    def count(self, phi_q: Array) -> int:
        """Return how many singular values of Φ_q, less prescribed columns, exceed a tolerance."""
        return int(np.sum(self._sizes(phi_q) > self.tolerance))

    def motions(self, phi_q: Array) -> Array:
        """Return a basis (nv, n) of dimensionless velocities that the rows of a state allow."""
        rows = self.at(phi_q)
        _, s, Vt = np.linalg.svd(phi_q[list(rows)])
        return np.asarray(Vt[int(np.sum(s > SINGULAR * s.max(initial=0.0))) :].T)

    def _fits(self, phi_q: Array, rows: tuple[int, ...]) -> Array:
        """Return where rows of Φ_q (N, m, nv) tell the motion (N,), nearly dependent or not."""
        return self.spanned(phi_q, rows, SINGULAR, max(self.slack, CONSISTENT))

    def _sizes(self, phi_q: Array) -> Array:
        """Return the singular values of Φ_q, less prescribed columns, relative to the largest."""
        s = np.linalg.svd(phi_q, compute_uv=False)
        largest = s.max(initial=0.0) or 1.0
        if self.prescribed_velocities:
            s = np.linalg.svd(
                np.delete(phi_q, list(self.prescribed_velocities), axis=1), compute_uv=False
            )
        return np.asarray(s / largest)

    def _pivots(self, phi_q: Array, count: int) -> tuple[int, ...]:
        own = np.delete(phi_q, list(self.prescribed_velocities), axis=1)
        own = own * np.where(self.velocity_rows, AFTER_POSITIONS, 1.0)[:, None]
        found = pivoted(own.T)
        return tuple(sorted(int(row) for row in found.order[:count]))


class Positions(NamedTuple):
    """Closed positions q (P, nq) in general position, dimensionless Φ (P, m), Φ_q (P, m, nv)."""

    q: Array
    phi: Array
    phi_q: Array


_CHOICES: WeakKeyDictionary[Model, dict[tuple[int, ...], RowChoice]] = WeakKeyDictionary()
"""Of models that were asked for: they are frozen, and whoever comes first finds the same."""


def row_choice(model: Model, prescribed_velocities: tuple[int, ...] = ()) -> RowChoice:
    """Return the choice of rows of a model, independent of the prescribed velocities too."""
    if not model.has_loops:
        return _nothing(model, prescribed_velocities)
    known = _CHOICES.setdefault(model, {})
    if prescribed_velocities not in known:
        known[prescribed_velocities] = _choose(
            model, prescribed_velocities, *closed_positions(model)[1:]
        )
    return known[prescribed_velocities]


def _choose(
    model: Model, prescribed_velocities: tuple[int, ...], phi: Array, phi_q: Array
) -> RowChoice:
    """Return the choice of rows, given Φ (P, m) and Φ_q (P, m, nv) at some positions."""
    pattern = (phi_q != 0.0).any(axis=0)
    none = _nothing(model, prescribed_velocities)
    rank = max(none.count(J) for J in phi_q)
    sets = dict.fromkeys(none._pivots(J, rank) for J in phi_q)
    ranked = sorted(sets, key=lambda rows: -_floor(phi_q, rows, prescribed_velocities))[:MOST_SETS]
    off = np.zeros(phi_q.shape[1])
    for J in phi_q:
        own = np.delete(J, list(prescribed_velocities), axis=1)
        some = own[list(ranked[0])]
        if not rank or np.linalg.svd(some, compute_uv=False)[-1] < WELL_APART * np.linalg.norm(J):
            continue  # a singular position: nothing can be told there
        rest = own - (own @ np.linalg.pinv(some)) @ some
        off = np.maximum(off, np.linalg.norm(rest, axis=1) / np.linalg.norm(J, axis=1).max())
    weakest = max((float(none._sizes(J)[rank - 1]) for J in phi_q), default=1.0) if rank else 1.0
    size = float(np.abs(phi).max(initial=0.0))
    left = size if size <= OPEN_ROWS * model.rank_tolerance else 0.0  # else nothing is closed
    return replace(
        none, rank=rank, sets=tuple(ranked), off=off, open=left, weakest=weakest, pattern=pattern
    )


def _nothing(model: Model, prescribed_velocities: tuple[int, ...] = ()) -> RowChoice:
    """Return a choice of no rows, which can count and choose."""
    rows = len(model.row_scale)
    pattern = np.zeros((rows, model.nv), dtype=bool)
    return RowChoice(
        0,
        ((),),
        np.zeros(rows),
        0.0,
        1.0,
        pattern,
        model.rank_tolerance,
        prescribed_velocities,
        model.velocity_rows,
    )


def _floor(phi_q: Array, rows: tuple[int, ...], prescribed_velocities: tuple[int, ...]) -> float:
    """Return the geometric mean of the smallest singular value of rows at some positions."""
    if not rows:
        return 1.0
    some = np.delete(phi_q[:, list(rows)], list(prescribed_velocities), axis=2)
    least = np.linalg.svd(some, compute_uv=False)[:, len(rows) - 1 :].min(axis=1, initial=np.inf)
    return float(np.exp(np.mean(np.log(np.maximum(least, ROUNDED)))))


@once_a_model
def closed_positions(model: Model) -> Positions:
    """Return closed positions in general position.

    The first is the one nearest to zero (else to some guess); if none closes, it stays alone.
    """
    kernel, scale = constraint_values(model), model.velocity_scale
    enough, held = OPEN_ROWS * model.rank_tolerance, np.zeros(model.nv, bool)
    closing = Closing(model, lambda q, v, _: kernel(q, v), held, scale, tolerance=enough)

    def at(q: Array) -> tuple[Array, Array, Array]:
        phi, phi_q, _ = kernel(q, np.zeros((len(q), model.nv)))
        phi, phi_q = phi / model.row_scale, phi_q * (scale / model.row_scale[:, None])
        sound = np.isfinite(phi).all(axis=1) & np.isfinite(phi_q).all(axis=(1, 2))
        open_rows = np.abs(phi).max(axis=1, initial=0.0)
        return phi, phi_q, sound & (open_rows <= OPEN_ROWS * model.rank_tolerance)

    rng = np.random.default_rng(0)
    q, _ = closing.position(model.neutral()[None])
    phi, phi_q, closed = at(q)
    if not closed[0]:
        guesses = np.array(
            [
                model.integrate(model.neutral(), scale * rng.uniform(-FAR, FAR, model.nv))
                for _ in range(STARTS)
            ]
        )
        others, _ = closing.position(guesses)
        found = [x[at(others)[2]][:1] for x in (others, *at(others)[:2])]
        if not len(found[0]):
            return Positions(q, phi, phi_q)
        q, phi, phi_q = found
    _, _, Vt = np.linalg.svd(phi_q[0])
    free = Vt[_nothing(model).count(phi_q[0]) :]
    if not len(free):
        return Positions(q, phi, phi_q)
    ways = rng.normal(size=(WAYS, len(free))) @ free
    ways *= (FAR * np.arange(1, WAYS + 1) / WAYS / np.abs(ways).max(axis=1))[:, None]
    beside, _ = closing.position(np.array([model.integrate(q[0], scale * way) for way in ways]))
    more, more_q, closed = at(beside)
    pairs = (q, beside), (phi, more), (phi_q, more_q)
    return Positions(*(np.concatenate([first, rest[closed]]) for first, rest in pairs))
