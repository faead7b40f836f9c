"""A motion from a part of its coordinates: the others follow from the loops.

With the rows of the loops Φ and those of what is given r (`given`), in x without dimension:

    [Φ; r](q) = 0               by Newton's method, from the row before, on its branch
    [Φ_q; r_q] q̇ = [0; rates]
    [Φ_q; r_q] q̈ = [γ; accelerations - ṙ_q q̇]

Positions are never differentiated. Many times are solved at once, from the tangent at the last
one that is known; a step from each time to the next is then compared with the tangent, so that
what is accepted is one branch. A step that does not agree is taken in smaller parts, the given
values going straight from one time to the next.

Positions nearest to a guess at which the loops are closed and what is given is reached.

Joints that are given as a whole are held, as in `solve.assembly`; all other rows that are given
stand beside those of the loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.kernels import Kernel
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.given import GivenMotion, GivenRows, MotionEquations, RowSelection
from mbd_bridge.solve.closing import Closing, largest, newton
from mbd_bridge.solve.moves import difference, moved
from mbd_bridge.solve.row_choice import RowChoice, row_choice
from mbd_bridge.solve.tolerances import SINGULAR


@dataclass(frozen=True, eq=False)
class _Keep:
    """The loops' choice of rows, and all rows that are given."""

    choice: RowChoice
    loops: int

    @property
    def imprecise(self) -> bool:
        return self.choice.imprecise

    @property
    def slack(self) -> float:
        return self.choice.slack

    def kept(self, phi_q: Array) -> Array:
        keep = np.ones(phi_q.shape[:2], dtype=bool)
        keep[:, : self.loops] = self.choice.kept(phi_q[:, : self.loops])
        return keep

    def closed(self, phi_q: Array, left: Array, tolerance: float) -> Array:
        loops = self.choice.closed(phi_q[:, : self.loops], left[:, : self.loops], tolerance)
        return np.asarray(loops & (np.abs(left[:, self.loops :]) <= tolerance).all(axis=1))


class StartSearch:
    """Finds positions for chosen rows of what is given.

    Parameters
    ----------
    chosen : indices of the rows
    tolerance : residual at which a position is reached
    """

    def __init__(
        self,
        model: Model,
        constraints: Kernel,
        rows: GivenRows,
        chosen: list[int],
        tolerance: float,
    ) -> None:
        self.model, self.rows = model, rows
        own = {rows.columns[k]: k for k in chosen if k < len(rows.columns)}
        self._held = np.zeros(model.nv, dtype=bool)
        self._whole = [
            body
            for body in model.bodies
            if body.type.nv and not body.coupled
            if all(k in own for k in range(body.v.start, body.v.stop))
        ]
        for body in self._whole:
            self._held[body.v] = True
        self._rest = [
            k for k in chosen if k >= len(rows.columns) or not self._held[rows.columns[k]]
        ]
        self._constraints, self._tolerance = constraints, tolerance

    def position(self, near: Array, given: GivenMotion, numbers: Array) -> Array:
        """Return positions (n, nq) nearest to guesses, for the times with these numbers.

        Where none is found, those of the least residual.
        """
        model, rest = self.model, self._rest
        guess = self.held(near, given, numbers)

        def constraints(q: Array, v: Array, some: Array) -> tuple[Array, ...]:
            phi, phi_q, gamma = self._constraints(q, v)
            if not rest:
                return phi, phi_q, gamma
            x, R, J, _ = self.rows.place(q, v)
            r = self.rows.residual(q, x, R, given, numbers[some])[:, rest]
            own = self.rows.jacobian(J)[:, rest] / model.velocity_scale
            return np.hstack([phi, r]), np.concatenate([phi_q, own], axis=1), gamma

        keep = _Keep(row_choice(model), len(model.row_scale)) if model.has_loops else None
        scales = np.concatenate([model.row_scale, np.ones(len(rest))])
        closing = Closing(
            model,
            constraints,
            self._held,
            model.velocity_scale,
            keep,
            self._tolerance,
            row_scale=scales,
        )
        return closing.position(guess)[0]

    def held(self, q: Array, given: GivenMotion, numbers: Array) -> Array:
        """Return positions with the coordinates of joints that are given as a whole."""
        out = q.copy()
        for body in self._whole:
            out[:, body.q] = given.q[numbers][:, body.q]
        return out


ITERATIONS = 12
FIRST, MOST = 8, 4096
"""Times that are solved together at first, and at most."""

STRAIGHT, NEAR = 0.5, 2e-3
"""A step from time to time agrees with its tangent if it is off by no more than this part of it, or
this far: rad, or parts of the mechanism's size. Another branch is farther away, or at a singular
position."""

HALVINGS = 10
"""How often a step between two times is halved."""

LAST_STEP = 1e-8
"""rad, or sizes: after a Newton step of this length its square is left, which is rounding."""

NOTHING = 1e-12
"""Relative size of coefficients that are rounding errors of structural zeros."""

TINY = 1e-300
"""Keeps nothing from being divided by nothing."""


@dataclass(frozen=True, eq=False)
class Completed:
    """A motion completed at N times.

    Attributes
    ----------
    q, v, a : (N, nq), (N, nv), (N, nv); nan where not reached
    residual : (N,) of loops and of what is given, relative to the mechanism's size (rad)
    conditioning : (N,) smallest over largest singular value of the equations: 0 where what is given
        does not determine the motion (a singular position)
    reached : (N,) whether the position exists
    jumps : times (indices) at which the motion had to leave its branch: no continuous way leads
        there from the time before
    crossings : times (indices) at or before which a position was singular, so that it was passed or
        another branch may have been taken in it: which way the motion goes on there is not
        determined by what is given
    compared : by name, how far what is given and not needed is from the completed motion, at most
    """

    q: Array
    v: Array
    a: Array
    residual: Array
    conditioning: Array
    reached: Array
    jumps: tuple[int, ...]
    crossings: tuple[int, ...]
    compared: dict[str, float]

    def without_first(self) -> Completed:
        """Return the times after the first one."""
        return Completed(
            self.q[1:],
            self.v[1:],
            self.a[1:],
            self.residual[1:],
            self.conditioning[1:],
            self.reached[1:],
            tuple(k - 1 for k in self.jumps),
            tuple(k - 1 for k in self.crossings),
            self.compared,
        )


class Completion:
    """Completes motions of one machine of which the same is given.

    Parameters
    ----------
    constraints : the kernel of Φ, Φ_q and γ
    rows, selection : what is given, and the rows of it that determine the motion
    compared : (rows,) which rows are compared with the motion where they are not needed
    tolerance : residual at which a position is reached
    """

    def __init__(
        self,
        model: Model,
        constraints: Kernel,
        rows: GivenRows,
        selection: RowSelection,
        compared: Array,
        tolerance: float,
    ) -> None:
        self.model, self.rows, self.tolerance = model, rows, tolerance
        self._constraints, self._choice = constraints, row_choice(model)
        self._chosen = list(selection.chosen)
        self._compared, self._first = compared, 0
        self._equations = MotionEquations(model, constraints, rows, self._chosen)
        self._start = StartSearch(model, constraints, rows, self._chosen, tolerance)

    def run(
        self,
        given: GivenMotion,
        near: Array,
        *,
        known: bool = False,
        check: bool = True,
        first: int = 0,
    ) -> Completed:
        """Return the motion at all times of what is given.

        Parameters
        ----------
        near : (nq,) the first position is the nearest to it
        known : it is the first position
        check : raise at the first time that cannot be reached
        first : number of the first time, for messages
        """
        self._first = first
        N = len(given.time)
        q = np.full((N, self.model.nq), np.nan)
        reached, jumps = np.ones(N, dtype=bool), list[int]()
        last, done, size = -1, 0, FIRST
        while done < N:
            if last < 0:
                q[done] = near if known else self._nearest(near, given, done)
                reached[done] = known or self._reaches(q[done], given, done, check)
                last = done if reached[done] else -1
                done += 1
                continue
            numbers = np.arange(done, min(done + size, N))
            place, good = self._block(q[last], last, given, numbers)
            count = len(good) if good.all() else int(np.argmin(good))
            q[done : done + count] = place[:count]
            last, done = (done + count - 1, done + count) if count else (last, done)
            if count == len(numbers):
                size = min(2 * size, MOST)
                continue
            size = max(FIRST, count)
            found = self._in_parts(q[last], given, last, done)
            if found is None:
                jumps.append(done)
                found = self._nearest(q[last], given, done)
            q[done] = found
            reached[done] = self._reaches(found, given, done, check)
            last, done = (done if reached[done] else last), done + 1
        return self._whole(q, given, reached, [k for k in jumps if reached[k]])

    def _nearest(self, near: Array, given: GivenMotion, number: int) -> Array:
        found: Array = self._start.position(near[None], given, np.array([number]))[0]
        return found

    def _block(
        self, q: Array, last: int, given: GivenMotion, numbers: Array
    ) -> tuple[Array, Array]:
        """Return positions (n, nq) at some times, and which of them follow each other.

        Parameters
        ----------
        q, last : (nq,) the position at a time before them
        """
        start = np.full(len(numbers), last)
        _, A = self._equations.at(q[None], given, start[:1])
        ways = self._along(np.repeat(A, len(numbers), axis=0), given, start, numbers)
        place = self._moved(np.repeat(q[None], len(numbers), axis=0), ways)
        place, r, later = self._newton(place, given, numbers)
        before = np.concatenate([q[None], place[:-1]])
        matrices = np.concatenate([A, later[:-1]])
        tangent = self._along(matrices, given, np.append(last, numbers[:-1]), numbers)
        way = difference(self.model, before, place) / self.model.velocity_scale
        good = largest(r) <= self.tolerance
        off = np.nan_to_num(largest(way - tangent), nan=np.inf)
        return place, good & (off <= np.maximum(NEAR, STRAIGHT * largest(tangent)))

    def _newton(self, q: Array, given: GivenMotion, numbers: Array) -> tuple[Array, Array, Array]:
        """Return positions after Newton's steps, and r and A of the equations there."""
        found = newton(
            lambda q, some: self._equations.at(q, given, some),
            self._moved,
            q,
            numbers,
            ITERATIONS,
            steps=lambda r, A: -np.nan_to_num(solved(A, r)),
            done=LAST_STEP,
        )
        return self._start.held(found.q, given, numbers), found.r, found.J

    def _along(self, A: Array, given: GivenMotion, start: Array, end: Array) -> Array:
        """Return the dimensionless steps (n, nv) that the tangents give from times to times."""
        return np.nan_to_num(solved(A, self._equations.steps(given, start, end)))

    def _moved(self, q: Array, step: Array) -> Array:
        return moved(self.model, q, step * self.model.velocity_scale)

    def _in_parts(self, q: Array, given: GivenMotion, last: int, number: int) -> Array | None:
        """Return the position at a time, reached in parts of the step; None if it is not."""
        part, length = 0.0, 0.5
        while part < 1.0:
            length = min(length, 1.0 - part)
            two = given.between(last, number, (part, part + length), self.model)
            place, good = self._block(q, 0, two, np.array([1]))
            if good[0]:
                q, part, length = place[0], part + length, 2.0 * length
            else:
                length *= 0.5
                if length < 0.5**HALVINGS:
                    return None
        return q

    def _reaches(self, q: Array, given: GivenMotion, number: int, check: bool) -> bool:
        """Return whether a position is what is given; raise if it is not and is checked."""
        numbers = np.array([number])
        r, _ = self._equations.at(q[None], given, numbers)
        left = max(float(largest(r)[0]), float(self._loop_residual(q[None])[0]))
        if left <= self.tolerance:
            return True
        if check:
            raise SolveError(
                f"row {self._first + number} (t = {given.time[number]:g} s): no position of the "
                f"machine has what is given there; {left:.3g} is left (rad, or of the "
                f"machine's size {self.model.size:.3g} m). Check units and signs of the columns, "
                f"or start from another configuration with near= (--near)"
            )
        return False

    def _loop_residual(self, q: Array) -> Array:
        """Return what the loops leave open (n,), less what imprecise redundant rows may."""
        if not self.model.has_loops:
            return np.zeros(len(q))
        phi, phi_q, _ = self._constraints(q, np.zeros((len(q), self.model.nv)))
        left = phi / self.model.row_scale
        closed = self._choice.closed(self.model.scaled_jacobian(phi_q), left, self.tolerance)
        return np.where(closed, largest(left[:, self._equations.loops]), largest(left))

    def rates(self, q: Array, given: GivenMotion) -> tuple[Array, Array, Array]:
        """Return A (N, k, nv), velocities and accelerations (N, nv) at positions (N, nq)."""
        equations, scale = self._equations, self.model.velocity_scale
        _, A = equations.at(q, given, np.arange(len(q)))
        v = solved(A, equations.rates(given)) * scale
        return A, v, solved(A, equations.changes(q, v, given)) * scale

    def _whole(self, q: Array, given: GivenMotion, reached: Array, jumps: list[int]) -> Completed:
        """Return the motion with rates, residuals and conditioning."""
        model, N = self.model, len(q)
        place = np.where(reached[:, None], q, model.neutral())
        numbers = np.arange(N)
        A, v, a = self.rates(place, given)
        x, R, _, _ = self.rows.place(place, v)
        whole = self.rows.residual(place, x, R, given, numbers)
        residual = np.maximum(largest(whole[:, self._chosen]), self._loop_residual(place))
        others = [k for k in range(len(self.rows)) if k not in self._chosen]
        compared = {
            self.rows.names[k]: float(
                np.abs(whole[reached, k]).max(initial=0.0) * self.rows.scale[k]
            )
            for k in others
            if self._compared[k]
        }
        s = np.linalg.svd(A, compute_uv=False)
        conditioning = s.min(axis=1, initial=np.inf) / np.maximum(s.max(axis=1, initial=0.0), TINY)
        crossings = {*_crossings(A, reached, given.time)}
        crossings |= {*np.flatnonzero(reached & (conditioning < SINGULAR)).tolist()}
        nothing = np.where(reached, 1.0, np.nan)[:, None]
        return Completed(
            q * nothing,
            v * nothing,
            a * nothing,
            residual * nothing[:, 0],
            conditioning * nothing[:, 0],
            reached,
            tuple(jumps),
            tuple(sorted(crossings)),
            compared,
        )


def solved(A: Array, b: Array) -> Array:
    """Return the smallest x (n, nv) with A x = b, for A (n, k, nv) and b (n, k), k at most nv."""
    try:
        if A.shape[1] == A.shape[2]:
            return np.linalg.solve(A, b[..., None])[..., 0]
        Q, R = np.linalg.qr(np.swapaxes(A, 1, 2))
        return (Q @ np.linalg.solve(np.swapaxes(R, 1, 2), b[..., None]))[..., 0]
    except np.linalg.LinAlgError:  # some are singular
        return (np.linalg.pinv(A, rcond=SINGULAR) @ b[..., None])[..., 0]


def _crossings(A: Array, reached: Array, time: Array) -> list[int]:
    """Return the times before which the determinant of a part of the equations passes zero.

    On a branch that goes through a singular position it changes its sign; on one that turns to
    another branch there it goes to zero and turns back. Loops that do not depend on each other have
    their own parts: the whole determinant is the product, in which two changes cancel.
    """
    some = np.flatnonzero(reached)
    if A.shape[1] != A.shape[2] or len(some) < 2:
        return []
    found = np.zeros(len(some) - 1, dtype=bool)
    for rows, columns in _parts(A[some]):
        signs, logs = np.linalg.slogdet(A[np.ix_(some, rows, columns)])
        found |= signs[1:] * signs[:-1] < 0.0
        found[1:-1] |= _turns_at_zero(np.exp(logs - logs.max()), np.diff(time[some]))
    return [int(k) for k in some[1:][found]]


def _turns_at_zero(sizes: Array, steps: Array) -> Array:
    """Return of each step but the first and the last whether the sizes (n,) turn at zero in it.

    Straight on from the two before the step they are below zero behind it, and straight back from
    the two behind it before it.
    """
    slopes = np.diff(sizes) / steps
    ahead = sizes[1:-2] + slopes[:-2] * steps[1:-1]
    back = sizes[2:-1] - slopes[2:] * steps[1:-1]
    found: Array = (ahead < 0.0) & (back < 0.0)
    return found


def _parts(A: Array) -> list[tuple[Array, Array]]:
    """Return rows and columns of the diagonal blocks of A (n, k, k), put in block triangular form.

    Each equation is matched with an unknown that it has; equations that need each other's unknowns
    in a circle are one part (Dulmage and Mendelsohn 1958).
    """
    from scipy.sparse import csr_array  # it takes a while to import
    from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

    sizes = np.abs(A).max(axis=0, initial=0.0)
    coupled = sizes > NOTHING * sizes.max(initial=0.0)
    column = maximum_bipartite_matching(csr_array(coupled), perm_type="column")
    every = np.arange(len(coupled))
    if (column < 0).any():
        return [(every, every)]
    count, part = connected_components(csr_array(coupled[:, column]), connection="strong")
    return [(every[part == k], column[part == k]) for k in range(count)]
