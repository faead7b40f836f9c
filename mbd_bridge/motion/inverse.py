"""Inverse kinematics: positions of the joints that put a frame where it is to be, within limits.

With the rows r of the frame (`given`), and of the loops where there are some,

    minimise (q - q*)ᵀ W (q - q*) / 2   subject to   r(q) = 0,   lower <= q <= upper

q* is the reference, so that what a redundant machine has left is decided by the target alone. A
position that cannot be reached is the one of least residual. First damped steps lead down from the
position before (`newton.descend`), then from the reference and from other places within the limits;
columns of joints at a limit that push outwards do not count. Then Newton's steps, with the part of
q* - q that the frame does not notice, lead to the nearest position.

Rates satisfy J q̇ = twist and J q̈ = change - J̇ q̇ exactly; what J leaves open follows the positions
along the path.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mbd_bridge.kernels import Kernel
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.given import GivenMotion, GivenRows, MotionEquations
from mbd_bridge.solve.closing import Newton, descend, largest, limited, newton
from mbd_bridge.solve.moves import difference, moved
from mbd_bridge.solve.tolerances import NEAREST, SINGULAR

STARTS = ((8, 1.0), (32, np.pi))
"""Other starts, wave by wave: how many beside the reference, and how far from it, rad or sizes of
the mechanism. The first wave that reaches the target ends the search; after a row that cannot be
reached, the next one is looked for from there and from the reference only."""

FIRST, MOST = 16, 4096
"""Rows of a path that are solved together at first, and at most."""

FOLLOWS, NEAR = 5.0, 0.05
"""From row to row a path is followed if joints move no farther than so many times the smallest way
that the frame needs, and so far beyond: rad, or parts of the mechanism's size."""

NEAREST_STEPS = 60
AT_LIMIT = 1e-9
"""rad or m: as near to a limit a joint is at it."""


POLISHINGS = 4
"""Newton's steps after the damped ones."""

FEWEST = 6
"""Rows of a stretch whose positions tell what a redundant machine does beside its frame."""


@dataclass(frozen=True, eq=False)
class InversePath:
    """Positions of a machine whose frame follows a path of N rows.

    Attributes
    ----------
    q, v, a : (N, nq), (N, nv), (N, nv)
    position_residual, orientation_residual : (N,) m and rad that are left
    reached : (N,) whether what is left is no more than the tolerance
    conditioning : (N,) smallest over largest singular value of the frame's Jacobian: 0 where it
        cannot move along some direction
    at_limits : (N, nv) which joints are at a limit of theirs
    jumps : rows at which no continuous motion leads on from the row before
    """

    q: Array
    v: Array
    a: Array
    position_residual: Array
    orientation_residual: Array
    reached: Array
    conditioning: Array
    at_limits: Array
    jumps: tuple[int, ...]


class InverseKinematics:
    """Puts a frame of one machine where it is to be.

    Parameters
    ----------
    constraints : the kernel of Φ, Φ_q and γ
    rows : of the frame
    reference : (nq,) q*
    scale : (nv,) W^(-1/2), how far each velocity moves for a unit of cost
    lower, upper : (nv,) limits of coordinates that are a velocity's own; infinite where none
    tolerance : residual, rad or sizes of the mechanism, at which a position is reached
    """

    def __init__(
        self,
        model: Model,
        constraints: Kernel,
        rows: GivenRows,
        reference: Array,
        scale: Array,
        limits: tuple[Array, Array],
        tolerance: float,
    ) -> None:
        self.model, self.rows, self.reference, self.tolerance = model, rows, reference, tolerance
        self._equations, self._scale = MotionEquations(model, constraints, rows), scale
        self._places = _own_coordinates(model)
        self._lower, self._upper = limits

    def run(self, given: GivenMotion, *, stop: bool = False) -> InversePath:
        """Return positions and rates along a path.

        Parameters
        ----------
        stop : the first row that cannot be reached is the last one
        """
        q = np.zeros((len(given.time), self.model.nq))
        jumps: list[int] = []
        done, size, lost = 0, FIRST, False
        while done < len(q):
            numbers = np.arange(done, min(done + size, len(q)))
            before = q[done - 1 : done] if done else self.reference[None]
            count = 0
            if done and not lost:
                place = self._down(np.repeat(before, len(numbers), axis=0), given, numbers)
                reached = self._gap(place, given, numbers) <= self.tolerance
                place[reached] = self._nearest(place[reached], given, numbers[reached])
                good = reached & self._follows(np.concatenate([before, place]), given, numbers)
                count = len(good) if good.all() else int(np.argmin(good))
                q[done : done + count] = place[:count]
            if not count:
                numbers, count = numbers[:1], 1
                q[numbers] = self._searched(before, given, numbers, () if lost else STARTS)
                lost = bool(self._gap(q[numbers], given, numbers)[0] > self.tolerance)
                both = np.concatenate([before, q[numbers]])
                if done and not self._follows(both, given, numbers)[0]:
                    jumps.append(done)
                if lost and stop:
                    q = q[: done + 1]
            done += count
            size = min(2 * size, MOST) if count == len(numbers) else max(FIRST, count)
        return self._whole(q, given.part(slice(0, len(q))), jumps)

    def _residual(self, q: Array, given: GivenMotion, numbers: Array) -> tuple[Array, Array]:
        """Return r (n, m) and J (n, m, nv), without dimension and weighted."""
        r, A = self._equations.at(q, given, numbers)
        return r, A * (self._scale / self.model.velocity_scale)

    def _gap(self, q: Array, given: GivenMotion, numbers: Array) -> Array:
        return np.asarray(np.linalg.norm(self._residual(q, given, numbers)[0], axis=1))

    def _searched(
        self,
        start: Array,
        given: GivenMotion,
        number: Array,
        waves: tuple[tuple[int, float], ...],
    ) -> Array:
        """Return the position (1, nq) at one row, from a start and if need be from other places.

        That nearest to the start, or if none has the target, the one of least residual.
        """
        for count, spread in ((0, 0.0), *waves):
            ways = np.random.default_rng(count).uniform(-spread, spread, (count, self.model.nv))
            ways = np.vstack([np.zeros(self.model.nv), ways]) * self.model.velocity_scale
            places = moved(self.model, np.repeat(self.reference[None], len(ways), axis=0), ways)
            places = np.concatenate([start, self._clamped(places)])
            numbers = np.repeat(number, len(places))
            found = self._down(places, given, numbers)
            gap = self._gap(found, given, numbers)
            far = largest(difference(self.model, np.repeat(start, len(found), axis=0), found))
            best = int(np.argmin(np.where(gap <= self.tolerance, -1.0 / (1.0 + far), gap)))
            if gap[best] <= self.tolerance:
                return self._nearest(found[best : best + 1], given, number)
        return found[best : best + 1]

    def _down(self, q: Array, given: GivenMotion, numbers: Array) -> Array:
        def residuals(q: Array, some: Array) -> tuple[Array, Array]:
            r, J = self._residual(q, given, some)
            gradient = np.einsum("nij,ni->nj", J, r)
            low, high = self._at_limits(q)
            return r, J * ~((low & (gradient > 0.0)) | (high & (gradient < 0.0)))[:, None]

        place = descend(residuals, self._step, self._clamped(q), numbers)
        # its damping leaves a residual
        return newton(residuals, self._step, place, numbers, POLISHINGS, downwards=True).q

    def _nearest(self, q: Array, given: GivenMotion, numbers: Array) -> Array:
        """Return positions moved towards the reference as far as targets and limits allow."""
        best, place = q.copy(), q.copy()
        going = np.arange(len(q))
        for _ in range(NEAREST_STEPS):
            if not len(going):
                break
            r, J = self._residual(place, given, numbers[going])
            back = difference(self.model, place, np.repeat(self.reference[None], len(place), 0))
            back /= self._scale
            free = np.ones(J.shape[::2], dtype=bool)
            low, high = self._at_limits(place)
            step = np.zeros_like(back)
            for _ in range(3):  # joints that are pushed beyond a limit stay there
                newton = Newton.of(J * free[:, None], SINGULAR)
                step = newton.onto(r) + newton.along(back * free)
                outwards = free & ((low & (step < 0.0)) | (high & (step > 0.0)))
                if not outwards.any():
                    break
                free &= ~outwards
            step *= free
            place = self._step(place, limited(step))
            on = largest(step) > NEAREST
            left = np.linalg.norm(self._residual(place, given, numbers[going])[0], axis=1)
            good = left <= self.tolerance
            best[going[good]] = place[good]
            going, place = going[on], place[on]
        return self._down(best, given, numbers)

    def _step(self, q: Array, step: Array) -> Array:
        return self._clamped(moved(self.model, q, step * self._scale))

    def _clamped(self, q: Array) -> Array:
        own, out = self._places >= 0, q.copy()
        places = self._places[own]
        out[:, places] = np.clip(q[:, places], self._lower[own], self._upper[own])
        return out

    def _at_limits(self, q: Array) -> tuple[Array, Array]:
        own = self._places >= 0
        low = np.zeros((len(q), self.model.nv), dtype=bool)
        high = low.copy()
        values = q[:, self._places[own]]
        low[:, own] = values <= self._lower[own] + AT_LIMIT
        high[:, own] = values >= self._upper[own] - AT_LIMIT
        return low, high

    def _follows(self, q: Array, given: GivenMotion, numbers: Array) -> Array:
        """Return which rows (n,) follow the one before; q (n + 1, nq) has that of the first too."""
        _, J = self._residual(q[:-1], given, numbers - 1)
        b = self._equations.steps(given, numbers - 1, numbers)
        least = largest(Newton.of(J, SINGULAR).onto(-b) * self._scale / self.model.velocity_scale)
        way = largest(difference(self.model, q[:-1], q[1:]) / self.model.velocity_scale)
        return np.asarray(way <= FOLLOWS * least + NEAR)

    def _whole(self, q: Array, given: GivenMotion, jumps: list[int]) -> InversePath:
        model, loops = self.model, len(self._equations.loops)
        r, J = self._residual(q, given, np.arange(len(q)))
        newton = Newton.of(J, SINGULAR)
        along = path_rates(model, given.time, q, jumps)
        v = self._rates(newton, J, self._equations.rates(given), along[0])
        a = self._rates(newton, J, self._equations.changes(q, v, given), along[1])
        own = r[:, loops:] * self.rows.scale
        lengths = np.array([row < 3 for one in self.rows.frames for row in one.rows])
        s = np.linalg.svd(J, compute_uv=False)
        low, high = self._at_limits(q)
        return InversePath(
            q,
            v,
            a,
            np.linalg.norm(own[:, lengths], axis=1),
            np.linalg.norm(own[:, ~lengths], axis=1),
            np.linalg.norm(r, axis=1) <= self.tolerance,
            s[:, -1] / s[:, 0],
            low | high,
            tuple(jumps),
        )

    def _rates(self, newton: Newton, J: Array, b: Array, along: Array) -> Array:
        """Return the rates (N, nv) nearest to those along the path with J x = b."""
        near = along / self._scale
        return np.asarray((near + newton.onto(np.einsum("nij,nj->ni", J, near) - b)) * self._scale)


def path_rates(model: Model, time: Array, q: Array, jumps: list[int]) -> tuple[Array, Array]:
    """Return rates and accelerations (N, nv) of positions along a path, by second differences.

    Zero where a stretch between jumps has too few rows.
    """
    v, a = np.zeros((2, len(q), model.nv))
    ends = [0, *jumps, len(q)]
    for start, end in pairwise(ends):
        if end - start < FEWEST:
            continue
        part = q[start:end]
        way = np.cumsum(difference(model, part[:-1], part[1:]), axis=0)
        way = np.vstack([np.zeros(model.nv), way])
        v[start:end] = np.gradient(way, time[start:end], axis=0, edge_order=2)
        a[start:end] = np.gradient(v[start:end], time[start:end], axis=0, edge_order=2)
    return v, a


def _own_coordinates(model: Model) -> Array:
    """Return which coordinate each velocity (nv,) is the rate of; -1 for those of rotations."""
    places = np.full(model.nv, -1)
    for body in model.bodies:
        if not body.coupled and body.type.nv and body.type.nq == body.type.nv:
            places[body.v] = range(*body.q.indices(model.nq))
    return places
