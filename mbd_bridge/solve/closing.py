"""Positions and rates nearest to an initial guess that satisfy the loops, of N states together.

The states may belong to N variants of a mechanism: the caller's function knows which is whose. See
`assembly` for the equations. Where Newton's steps from the guess do not arrive, held coordinates
are taken to their values from a position at which the loops close without them (`continuation`),
and after that the free coordinates start from other places, damped (`newton.descend`).

Take held coordinates to their values step by step, the loops closed at each.

From a closed position the held coordinates go on a straight way to where they are to be; the free
ones follow by the tangent and by Newton's steps. The branch of the start is kept. A step that does
not close is halved; a way that ends, at a limit position of the branch, is given up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.moves import difference, moved
from mbd_bridge.solve.tolerances import ASSEMBLED, CLOSED_ON_THE_WAY, NEAREST, NEWTON_DONE, SINGULAR

# Steps onto dimensionless constraints, many states at once, and how they are damped.
#
#     Δx = -J⁺ r                                         Newton: the smallest step that takes r
#     away
#     Δx = -(Jᵀ J + μ D)⁻¹ Jᵀ r                          Levenberg and Marquardt: never far, and
#     down
#
# Newton needs the rank of J and is exact near a solution. The damped step needs no rank; far from
# a solution and near singular positions it still leads down, to the least residual nearby.

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


class Arrival(NamedTuple):
    """Where Newton's steps have led to, r and J there, and which states (n,) have arrived."""

    q: Array
    r: Array
    J: Array
    arrived: Array


def newton(
    residuals: Residuals,
    moved: Move,
    q: Array,
    numbers: Array,
    most: int,
    *,
    steps: Callable[[Array, Array], Array] | None = None,
    done: float = 0.0,
    downwards: bool = False,
) -> Arrival:
    """Return positions after Newton's steps from q (n, nq), each state as long as it needs.

    Parameters
    ----------
    most : steps, at most
    steps : from r and J; None: the smallest that take r away
    done : a state whose step was no longer has arrived
    downwards : a state ends, without it, at a step after which |r| is not smaller
    """
    steps = (lambda r, J: Newton.of(J, SINGULAR).onto(r)) if steps is None else steps
    r, J = residuals(q, numbers)
    q, going, arrived = q.copy(), np.arange(len(q)), np.zeros(len(q), dtype=bool)
    for _ in range(most):
        step = limited(steps(r[going], J[going]))
        place = moved(q[going], step)
        r_next, J_next = residuals(place, numbers[going])
        if downwards:
            on = np.linalg.norm(r_next, axis=1) < np.linalg.norm(r[going], axis=1)
            going, step, place, r_next, J_next = (
                x[on] for x in (going, step, place, r_next, J_next)
            )
        q[going], r[going], J[going] = place, r_next, J_next
        short = largest(step) <= done
        arrived[going] = short
        going = going[~short]
        if not len(going):
            break
    return Arrival(q, r, J, arrived)


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


FIRST, LONGEST, SHORTEST = 0.1, 0.25, 1e-3
"""Parts of the way: the first step, the longest, and the one below which the way ends."""

STEPS = 200
CORRECTIONS = 6


def follow(closing: Closing, start: Array, goal: Array, numbers: Array) -> tuple[Array, Array]:
    """Return positions (n, nq), and which (n,) are at the goals' held values: others' ways ended.

    Parameters
    ----------
    start : (n, nq) closed positions
    goal : (n, nq) of which the held coordinates are taken
    numbers : (n,) of the states
    """
    q, part = start.copy(), np.zeros(len(start))
    length = np.full(len(start), FIRST)
    for _ in range(STEPS):
        going = np.flatnonzero((part < 1.0) & (length >= SHORTEST))
        if not len(going):
            break
        some, left = numbers[going], 1.0 - part[going]
        step = np.minimum(length[going], left)
        held = closing.difference(q[going], goal[going])[:, closing.held] * (step / left)[:, None]
        _, J = closing.relative(q[going], some)
        push = np.einsum("nij,nj->ni", closing.by_held(q[going], some), held)
        tangent = Newton.of(J, SINGULAR).onto(push)
        small = largest(tangent) < LONGEST_STEP
        place = closing.moved(q[going], np.where(small[:, None], tangent, 0.0), held)
        place, good = _corrected(closing, place, some)
        good &= small
        q[going[good]] = place[good]
        part[going[good]] += step[good]
        length[going] = np.where(good, np.minimum(2.0 * step, LONGEST), 0.5 * step)
    arrived = part >= 1.0
    return _exact(closing, q, goal, arrived), arrived


def _corrected(closing: Closing, q: Array, numbers: Array) -> tuple[Array, Array]:
    """Return positions after Newton's steps, and which of them are closed and near."""
    found = newton(closing.relative, closing.moved, q, numbers, CORRECTIONS)
    way = largest(closing.difference(q, found.q))
    return found.q, (largest(found.r) < CLOSED_ON_THE_WAY) & (way < LONGEST_STEP)


def _exact(closing: Closing, q: Array, goal: Array, arrived: Array) -> Array:
    """Return positions with the goals' own numbers where a joint is held as a whole."""
    q = q.copy()
    for body in closing.model.bodies:
        if not body.coupled and body.type.nv and closing.held[body.v].all():
            q[arrived, body.q] = goal[arrived, body.q]
    return q


ITERATIONS = 300
STAGNANT = 30
"""Iterations without a residual that is smaller by a tenth, after which Newton gives up."""

HALVINGS = 12
FAR = 1e-3
"""Residual up to which a step may leave the constraints further than it found them."""
POLISHINGS = 6

STARTS = ((6, 0.6), (10, np.pi), (32, np.pi))
"""Other starts of the free coordinates, wave by wave: how many, and how far from the guess, rad or
sizes of the mechanism. The first wave that closes ends the search."""

LOST = 4.0 * np.pi
"""Way from the guess, rad or sizes of the mechanism, beyond which an open position is no answer."""

TINY = 1e-300
"""Keeps nothing from being divided by nothing."""

WORK = 2_000_000
"""Entries of Jacobians that are held at a time."""

Constraints = Callable[[Array, Array, Array], tuple[Array, ...]]
"""Φ (n, m), Φ_q (n, m, nv) and γ (n, m) at q, v (n, ...) of the states with the numbers (n,)."""


class Keep(Protocol):
    """Which rows count in the end (see `row_choice.RowChoice`)."""

    @property
    def imprecise(self) -> bool:
        """Whether redundant rows are off by more than rounding."""

    @property
    def slack(self) -> float:
        """How much redundant rows may be off at a state, relative to the largest row."""

    def kept(self, phi_q: Array) -> Array:
        """Return which rows of Φ_q (N, m, nv) count (N, m); all where that cannot be told."""

    def closed(self, phi_q: Array, left: Array, tolerance: float) -> Array:
        """Return where the rows of Φ_q (N, m, nv) are closed (N,) if so much of them is left."""


class Closing:
    """The way onto the constraints, for one choice of held velocities and of weights.

    Parameters
    ----------
    constraints : of the states
    held : (nv,) which velocities stay as they are given
    scale : (nv,) how far each moves for a unit of cost
    keep : the rows that count in the end; None: all that say something beyond the rank tolerance
    tolerance : residual at which a loop is closed
    row_scale : (m,) of the rows; None: the loops'. Rows behind the loops' constrain positions too
    """

    def __init__(
        self,
        model: Model,
        constraints: Constraints,
        held: Array,
        scale: Array,
        keep: Keep | None = None,
        tolerance: float = ASSEMBLED,
        *,
        row_scale: Array | None = None,
    ) -> None:
        self.model, self.constraints, self.tolerance = model, constraints, tolerance
        self.held, self.free, self.scale = held, ~held, scale
        self.rows = model.row_scale if row_scale is None else row_scale
        self._positions = np.ones((len(self.rows), 1))
        self._positions[: len(model.row_scale)][model.velocity_rows] = 0.0
        self._keep = keep
        self._rank = model.rank_tolerance
        if keep is not None:
            self._rank = max(self._rank, keep.slack) if keep.imprecise else SINGULAR

    def position(self, guess: Array) -> tuple[Array, int]:
        """Return the positions (N, nq) nearest to the guesses, and the iterations of the longest.

        Where no closed position is found, the one of least residual.
        """
        q, iterations = self._nearest(guess, guess, np.arange(len(guess)))
        unclosed = np.flatnonzero(~self.closed(q, np.arange(len(q))))
        size = max(1, WORK // max(1, 50 * len(self.rows) * self.model.nv))
        for start in range(0, len(unclosed), size):
            some = unclosed[start : start + size]
            q[some] = self._searched(q[some], guess[some], some)
        return self._unwound(q, guess), iterations

    def closed(self, q: Array, numbers: Array) -> Array:
        """Return at which positions (n,) the loops are closed."""
        return np.asarray(self._gap(q, numbers) == 0.0)

    def _gap(self, q: Array, numbers: Array) -> Array:
        """Return 0 where the loops are closed, else the norm of what is left (n,)."""
        phi, phi_q = self._residuals(q, numbers)
        r = phi / self.rows
        return np.where(self.satisfied(phi_q, r), 0.0, np.linalg.norm(r, axis=1))

    def satisfied(self, phi_q: Array, left: Array, tolerance: float = 0.0) -> Array:
        """Return where all rows (n, m) are closed (n,), to this tolerance if it is the larger."""
        tolerance = max(tolerance, self.tolerance)
        if self._keep is None:
            return np.asarray((np.abs(left) <= tolerance).all(axis=1))
        scaled = phi_q * (self.model.velocity_scale / self.rows[:, None])
        return self._keep.closed(scaled, left, tolerance)

    def rates(self, phi_q: Array, guess: Array, gamma: Array | float = 0.0) -> Array:
        """Return the rates (N, nv) nearest to the guesses for which Φ_q rates = γ (N, m)."""
        step = np.zeros_like(guess)
        missing = gamma - np.einsum("nij,nj->ni", phi_q, guess)
        decomposed, keep = self._last(phi_q, self._dimensionless(phi_q))
        step[:, self.free] = decomposed.onto(-missing * keep / self.rows)
        return np.asarray(guess + step * self.scale)

    def openings(self, phi_q: Array, v: Array) -> Array:
        """Return what velocities (N, nv) do to the rows (N, m), relative to the largest term."""
        J = phi_q / self.rows[:, None]
        terms = np.einsum("nij,nj->ni", np.abs(J), np.abs(v)).max(axis=1, initial=0.0)
        return np.asarray(np.einsum("nij,nj->ni", J, v) / np.maximum(terms, TINY)[:, None])

    def _searched(self, best: Array, guess: Array, numbers: Array) -> Array:
        """Return closed positions found on other ways, else those of least residual."""
        best, least = best.copy(), self._gap(best, numbers)
        least = np.where(largest(self._away(guess, best)) < LOST, least, np.inf)
        if self.held.any():
            loose = np.zeros_like(self.held)
            all_free = self.model, self.constraints, loose, self.scale
            start = Closing(*all_free, self._keep, self.tolerance)
            places, _ = start._nearest(guess, guess, numbers)
            sound = np.flatnonzero(start.closed(places, numbers))
            if len(sound):
                found, arrived = follow(self, places[sound], guess[sound], numbers[sound])
                self._improve(best, least, found[arrived], guess, numbers, sound[arrived])
        rng = np.random.default_rng(0)
        for count, spread in ((1, 0.0), *STARTS):
            rest = np.flatnonzero(~(least == 0.0))
            if not len(rest):
                break
            turns = rng.uniform(-spread, spread, (count, self.model.nv))
            self._starts(best, least, turns, guess, numbers, rest)
        return best

    def _starts(
        self, best: Array, least: Array, turns: Array, guess: Array, numbers: Array, rest: Array
    ) -> None:
        """Descend from the guesses turned by (S, nv); keep what closes, nearest to the guess."""
        whose = np.repeat(rest, len(turns))
        steps = np.tile(
            (turns * self.model.velocity_scale / self.scale)[:, self.free], (len(rest), 1)
        )
        place = descend(self.relative, self.moved, self.moved(guess[whose], steps), numbers[whose])
        place = self._unwound(self._polished(place, numbers[whose]), guess[whose], numbers[whose])
        gap = self._gap(place, numbers[whose])
        cost = np.linalg.norm(self._away(guess[whose], place), axis=1)
        # closed ones by their distance, after them the others by their gap
        rank = np.where(gap == 0.0, -1.0 / (1.0 + cost), gap)
        order = np.lexsort((rank, whose))
        first = order[np.unique(whose[order], return_index=True)[1]]
        self._improve(best, least, place[first], guess, numbers, rest)

    def _improve(
        self, best: Array, least: Array, place: Array, guess: Array, numbers: Array, some: Array
    ) -> None:
        """Take places (S, nq) of some states, moved to the nearest, if they are better."""
        gap = self._gap(place, numbers[some])
        better = gap < least[some]
        best[some[better]], least[some[better]] = place[better], gap[better]
        on = np.flatnonzero(better & (gap == 0.0))
        near, _ = self._nearest(place[on], guess[some[on]], numbers[some[on]])
        closed = self.closed(near, numbers[some[on]])
        best[some[on[closed]]] = near[closed]

    def _nearest(self, start: Array, guess: Array, numbers: Array) -> tuple[Array, int]:
        """Return positions nearest to the guesses by Newton's steps from a start."""
        q, going = start.copy(), np.arange(len(guess))
        phi, phi_q = self._residuals(q, numbers)
        least, since = np.full(len(q), np.inf), np.zeros(len(q), dtype=int)
        iteration = 0
        while len(going) and iteration < ITERATIONS:
            iteration += 1
            error = largest(phi / self.rows)
            closer = error < 0.9 * least[going]
            least[going] = np.where(closer, error, least[going])
            since[going] = np.where(closer | (error < FAR), 0, since[going] + 1)
            newton = Newton.of(self._of_positions(phi_q), self._rank)
            back = self._away(q[going], guess[going])
            close = newton.onto(phi / self.rows)
            step = close + newton.along(back)
            # far from the constraints first come closer, then look for the nearest place
            far = largest(step) > LONGEST_STEP
            step[far] = limited(np.where((error < FAR)[:, None], step, close))[far]
            before = np.maximum(error, FAR)
            q[going], phi, phi_q, step = self._shortened(q[going], numbers[going], step, before)
            on = ~(largest(step) < NEAREST) & (since[going] < STAGNANT)
            going, phi, phi_q = going[on], phi[on], phi_q[on]
        return self._polished(q, numbers), iteration

    def _shortened(
        self, q: Array, numbers: Array, step: Array, before: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return positions after steps, halved as long as they lead away; Φ and Φ_q there."""
        found = self.moved(q, step)
        phi, phi_q = self._residuals(found, numbers)
        for _ in range(HALVINGS - 1):
            worse = ~(largest(phi / self.rows) <= before)
            bad = np.flatnonzero(worse & ~(largest(step) < NEAREST))
            if not len(bad):
                break
            step[bad] *= 0.5
            found[bad] = self.moved(q[bad], step[bad])
            phi[bad], phi_q[bad] = self._residuals(found[bad], numbers[bad])
        return found, phi, phi_q, step

    def _polished(self, q: Array, numbers: Array) -> Array:
        """Newton steps onto the constraints alone, down to rounding."""
        best, least = q.copy(), np.full(len(q), np.inf)
        going = np.arange(len(q))
        for _ in range(POLISHINGS):
            phi, phi_q = self._residuals(q, numbers[going])
            newton, keep = self._last(phi_q, self._of_positions(phi_q))
            phi = phi * keep
            error = largest(phi / self.rows)
            better = error < least[going]
            going, q, phi = going[better], q[better], phi[better]
            if not len(going):
                break
            best[going], least[going] = q, error[better]
            newton = Newton(*(part[better] for part in newton))
            q = self.moved(q, limited(newton.onto(phi / self.rows)))
        return best

    def _last(self, phi_q: Array, J: Array) -> tuple[Newton, Array]:
        """Return the decomposition of the rows of J that count in the end, and which they are
        (N, m).
        """
        keep = np.ones(phi_q.shape[:2], dtype=bool)
        if self._keep is None or not self._keep.imprecise:
            return Newton.of(J, self._rank), keep
        scaled = phi_q * (self.model.velocity_scale / self.rows[:, None])
        keep = self._keep.kept(scaled)
        sure = ~keep.all(axis=1)  # which rows are the redundant ones
        found = Newton.of(J * keep[:, :, None], SINGULAR)
        if not sure.all():
            rest = Newton.of(J[~sure], self._rank)
            for part, other in zip(found, rest, strict=True):
                part[~sure] = other
        return found, keep

    def _unwound(self, q: Array, guess: Array, numbers: Array | None = None) -> Array:
        """Return positions with whole turns taken off free angles, where the loops allow it."""
        numbers = np.arange(len(q)) if numbers is None else numbers
        turns = np.zeros((len(q), self.model.nv))
        angles = self.free & (self.model.velocity_scale == 1.0)
        away = np.zeros_like(turns)
        away[:, self.free] = self._away(guess, q)
        turns[:, angles] = np.round(away[:, angles] * self.scale[angles] / (2.0 * np.pi))
        wound = np.flatnonzero(turns.any(axis=1))
        if len(wound):
            wound = wound[self.closed(q[wound], numbers[wound])]
        if not len(wound):
            return q
        steps = -2.0 * np.pi * turns[wound] / self.scale
        back, _ = self._nearest(
            self.moved(q[wound], steps[:, self.free]), guess[wound], numbers[wound]
        )
        same = self.closed(back, numbers[wound])
        out = q.copy()
        out[wound[same]] = back[same]
        return out

    def relative(self, q: Array, numbers: Array) -> tuple[Array, Array]:
        """Return r (n, m) and J (n, m, free), dimensionless."""
        phi, phi_q = self._residuals(q, numbers)
        return phi / self.rows, self._of_positions(phi_q)

    def by_held(self, q: Array, numbers: Array) -> Array:
        """Return the dimensionless Jacobian (n, m, held) of the held velocities."""
        phi_q = self._residuals(q, numbers)[1]
        whole = phi_q * self._positions / self.rows[:, None] * self.scale
        return np.asarray(whole[:, :, self.held])

    def moved(self, q: Array, step: Array, held: Array | None = None) -> Array:
        """Return positions after dimensionless steps of the free and of the held velocities."""
        full = np.zeros((len(q), self.model.nv))
        full[:, self.free] = step
        if held is not None:
            full[:, self.held] = held
        return moved(self.model, q, full * self.scale)

    def difference(self, start: Array, end: Array) -> Array:
        """Return the dimensionless step (n, nv) from start to end."""
        return difference(self.model, start, end) / self.scale

    def _away(self, start: Array, end: Array) -> Array:
        return self.difference(start, end)[:, self.free]

    def _residuals(self, q: Array, numbers: Array) -> tuple[Array, Array]:
        phi, phi_q, _ = self.constraints(q, np.zeros((len(q), self.model.nv)), numbers)
        return phi, phi_q

    def _of_positions(self, phi_q: Array) -> Array:
        """Return the dimensionless Jacobian without rows that constrain velocities only."""
        return self._dimensionless(phi_q) * self._positions

    def _dimensionless(self, phi_q: Array) -> Array:
        return np.asarray((phi_q / self.rows[:, None] * self.scale)[:, :, self.free])
