"""Accelerations and multipliers of records so near a singular position that digits are lost there.

A position is closed to rounding, ε; at the distance σ from a singular position it is off its branch
by ε/σ, its velocity by ε/σ², and so its acceleration by ε/σ³. Along the branch both are smooth.
So they are taken from both sides, at the distances d, 2d and 3d along the branch that the velocity
tells, with f_k the mean of both sides:

    f(0) = (15 f_1 - 6 f_2 + f_3) / 10 + O(d⁶)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mbd_bridge.simulate.rows import Loops
from mbd_bridge.solve.rank import TOLERANCE
from mbd_bridge.spatial import Array

PROBE = 1e-9
"""rad, or parts of the mechanism's size: how far a record is moved to see how sensitive it is."""

LOST = 5e-8
"""Change of the accelerations with that, relative to themselves, from which on sides are taken: a
milliradian from the flat position of a four-bar."""

APART = 2e-2
"""rad, or parts of the mechanism's size: the distance d, well beyond where digits are lost."""

WEIGHTS = (1.5, -0.6, 0.1)
"""Of the means at d, 2d and 3d."""

REST = 1e-6
"""rad/s, or sizes a second: a slower motion does not tell its branch."""

MOST = 0.05
"""Share of the records that may be near a singular position; with more, the machine is
ill-conditioned everywhere, and sides are of no use."""

Solve = Callable[[Array, Array, Array], tuple[Array, Array]]
"""Accelerations and multipliers of records, given their numbers, positions and velocities."""


class NearSingular:
    """Finds such records of a motion and answers for them."""

    def __init__(self, loops: Loops) -> None:
        self._loops = loops
        model = loops.model
        self._scale = model.velocity_scale
        self._way = np.random.default_rng(0).uniform(0.5, 1.0, model.nq)  # of quaternions, too
        for body in model.bodies:
            if not body.coupled and body.type.nq == body.type.nv:
                self._way[body.q] *= self._scale[body.v]

    def mend(self, solve: Solve, q: Array, v: Array, a: Array, lam: Array) -> None:
        """Overwrite accelerations (K, nv) and multipliers (K, m) where digits are lost."""
        moving = np.linalg.norm(v / self._scale, axis=1) > REST
        weak = np.flatnonzero(self._lost(solve, q, v, a) & moving)
        if len(weak) > max(1, int(MOST * len(q))):
            return
        for k in weak:
            found = self._from_both_sides(solve, int(k), q[k], v[k])
            if found is not None:
                a[k], lam[k] = found

    def _lost(self, solve: Solve, q: Array, v: Array, a: Array) -> Array:
        other, _ = solve(np.arange(len(q)), q + PROBE * self._way, v)
        rates = np.abs(v / self._scale).max(axis=1, initial=0.0)
        size = np.abs(a / self._scale).max(axis=1, initial=0.0) + rates**2
        change = np.abs((other - a) / self._scale).max(axis=1, initial=0.0)
        return np.asarray(~(change <= LOST * size))

    def _from_both_sides(
        self, solve: Solve, k: int, q: Array, v: Array
    ) -> tuple[Array, Array] | None:
        step = APART / float(np.linalg.norm(v / self._scale))
        ways = [sign * (n + 1) * step for n in range(len(WEIGHTS)) for sign in (1.0, -1.0)]
        places = [self._along(q, v, way) for way in ways]
        if any(place is None for place in places):
            return None
        there, rates = (np.array(x) for x in zip(*places, strict=True))
        weights = 0.5 * np.repeat(WEIGHTS, 2)
        a, lam = solve(np.full(len(ways), k), there, rates)
        return weights @ a, weights @ lam

    def _along(self, q: Array, v: Array, way: float) -> tuple[Array, Array] | None:
        """Return the state that the branch reaches when v lasts for `way` seconds."""
        place = self._loops.closed(self._loops.model.integrate(q, way * v))
        if place is None:
            return None
        phi, J = self._loops.at(place)
        for _ in range(2):  # to rounding: what is left open counts a million times
            step = np.linalg.pinv(J, rcond=TOLERANCE) @ phi
            place = self._loops.model.integrate(place, -self._scale * step)
            phi, J = self._loops.at(place)
        rate = v / self._scale
        return place, self._scale * (rate - np.linalg.pinv(J, rcond=TOLERANCE) @ (J @ rate))
