"""Residuals and Jacobian of a mechanism's loops without dimension, and closed positions nearby."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.dynamics import prepare_constraints
from mbd_bridge.solve.row_choice import RowChoice, row_choice
from mbd_bridge.solve.tolerances import CLOSED_BESIDE, WEAK_BESIDE

BESIDE = 1e-2
"""How far, rad or parts of the mechanism's size, is looked beside a position."""

CORRECTIONS = 12

DIRECTIONS = 3
"""Ways out of a position at rest that are tried."""


class LoopChecker:
    """Φ and Φ_q of a mechanism's loops, without dimension.

    Attributes
    ----------
    values : (q, v) -> Φ, Φ_q and γ with their dimensions, of one state or many
    """

    def __init__(self, model: Model) -> None:
        self.model, self.values = model, prepare_constraints(model)
        self._still = np.zeros(model.nv)

    def at(self, q: Array) -> tuple[Array, Array]:
        """Return Φ (m,) and Φ_q (m, nv)."""
        phi, phi_q, _ = self.values(q, self._still)
        return phi / self.model.row_scale, self.model.scaled_jacobian(phi_q)

    def choice(self, prescribed_velocities: tuple[int, ...] = ()) -> RowChoice:
        """Return the choice of rows in general position, of the model itself."""
        return row_choice(self.model, prescribed_velocities)

    def rows(self, q: Array, prescribed_velocities: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Return rows of Φ_q, less the prescribed columns, that are independent at q."""
        return self.choice(prescribed_velocities).at(self.at(q)[1])

    def beside(self, q: Array, v: Array | None = None) -> Iterator[Array]:
        """Yield closed positions a little way from q: along v, then where the loops let it go.

        Where many branches meet, none of these may be found; then positions beside q that are not
        closed tell the rank. (A machine that moves although it is overconstrained does close.)
        """
        _, J = self.at(q)
        scale = self.model.velocity_scale
        free = self.choice().motions(J)
        ways = list(np.random.default_rng(0).normal(size=(DIRECTIONS, free.shape[1])) @ free.T)
        if v is not None and np.any(v):
            ways.insert(0, v / scale)
        sizes = [np.linalg.norm(way) for way in ways]
        places = [
            self.model.integrate(q, BESIDE / size * scale * way)
            for way, size in zip(ways, sizes, strict=True)
            if size > 0.0
        ]
        found = False
        for place in map(self.closed, places):
            if place is not None:
                found = True
                yield place
        if not found:
            yield from places

    def correction(self, q: Array, weakest: float) -> tuple[Array, Array]:
        """Return the smallest step (nv,), without dimension, towards the loops, and Φ at q.

        Newton's next position is integrate(q, -scale * step). Singular values of Φ_q below
        `weakest`, relative to the largest, do not count.
        """
        phi, J = self.at(q)
        return np.linalg.pinv(J, rcond=weakest) @ phi, phi

    def closed(self, q: Array) -> Array | None:
        """Return the position put onto the loops by Newton's method, None if it stays open.

        Redundant rows stay as open as the machine's imprecise numbers leave them.
        """
        scale, allowed = self.model.velocity_scale, max(CLOSED_BESIDE, self.choice().leeway)
        for _ in range(CORRECTIONS):
            step, phi = self.correction(q, WEAK_BESIDE)
            if (
                np.abs(step).max(initial=0.0) < CLOSED_BESIDE
                and np.abs(phi).max(initial=0.0) < allowed
            ):
                return q
            q = self.model.integrate(q, -scale * step)
        return None
