"""Which rows of the constraints a motion keeps: independent ones, wherever it starts.

In a singular position fewer rows are independent than beside it. A motion that starts there keeps
the rows that are independent a little further on; otherwise a loop would come open unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.given.motions import PrescribedMotions
from mbd_bridge.solve import prepare
from mbd_bridge.solve.rank import TOLERANCE, pivoted
from mbd_bridge.spatial import Array

BESIDE = 1e-2
"""How far, rad or parts of the mechanism's size, is looked beside the start."""

WEAK = 1e-3
"""Singular values below this, relative to the largest, do not help to close the loops there: those
of rows that are redundant on the way only (Bricard) are of the order of `BESIDE` squared."""

CLOSED = 1e-11
"""Residual of a position beside the start, relative to the mechanism's size."""

CORRECTIONS = 12

DIRECTIONS = 3
"""Ways out of a start at rest that are tried."""


def independent_rows(
    model: Model,
    q: Array,
    motions: PrescribedMotions | None = None,
    v: Array | None = None,
    loops: Loops | None = None,
) -> tuple[int, ...]:
    """Return rows of the constraints that are independent at q, or beside it where it is singular.

    Driven coordinates are taken out of Φ_q: rows must be independent of them, too.

    Parameters
    ----------
    v : velocity (nv,) with which the motion goes on: it tells the branch that is followed
    loops : prepared already, or those of a variant of the model
    """
    if not model.has_loops:
        return ()
    driven = () if motions is None else motions.v
    loops = Loops(model) if loops is None else loops
    own = best = loops.rows(q, driven)
    for place in loops.beside(q, v):
        found = loops.rows(place, driven)
        best = found if len(found) > len(best) else best
        if len(best) > len(own):
            break
    return best


class Loops:
    """Φ and Φ_q of a mechanism's loops, without dimension.

    Attributes
    ----------
    values : the kernel (q, v) -> Φ, Φ_q and γ with their dimensions, of one state or many
    """

    def __init__(
        self, model: Model, constraints: Callable[[Array, Array], tuple[Array, ...]] | None = None
    ) -> None:
        self.model = model
        self.values = constraints or prepare(model, "constraints")
        self._still = np.zeros(model.nv)

    def at(self, q: Array) -> tuple[Array, Array]:
        """Return Φ (m,) and Φ_q (m, nv)."""
        phi, phi_q, _ = self.values(q, self._still)
        rows = self.model.row_scale
        return phi / rows, phi_q / rows[:, None] * self.model.velocity_scale

    def rows(self, q: Array, driven: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Return rows of Φ_q, less the driven columns, that are independent at q."""
        return independent(self.at(q)[1], driven)

    def beside(self, q: Array, v: Array | None = None) -> Iterator[Array]:
        """Yield closed positions a little way from q: along v, then where the loops let it go.

        Where many branches meet, none of these may be found; then positions beside q that are not
        closed tell the rank. (A machine that moves although it is overconstrained does close.)
        """
        _, J = self.at(q)
        scale = self.model.velocity_scale
        _, s, Vt = np.linalg.svd(np.linalg.qr(J, mode="r"))
        free = Vt[int(np.sum(s > TOLERANCE * s.max(initial=0.0))) :].T
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

    def closed(self, q: Array) -> Array | None:
        """Return the position put onto the loops by Newton's method, None if it stays open."""
        scale = self.model.velocity_scale
        for _ in range(CORRECTIONS):
            phi, J = self.at(q)
            if np.abs(phi).max(initial=0.0) < CLOSED:
                return q
            q = self.model.integrate(q, -scale * (np.linalg.pinv(J, rcond=WEAK) @ phi))
        return None


def independent_among(phi_q: Array, driven: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """Return rows of a dimensionless Φ_q that are independent, of the driven coordinates too.

    The second result says whether driving these takes nothing from the rank of Φ_q.
    """
    rows = independent(phi_q, driven)
    return rows, not driven or len(independent(phi_q)) == len(rows)


def independent(scaled: Array, driven: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return rows of a dimensionless Φ_q, less the driven columns, that are independent."""
    largest = float(np.linalg.norm(scaled, axis=1).max(initial=0.0))
    found = pivoted(np.delete(scaled, list(driven), axis=1).T, TOLERANCE, largest)
    return tuple(sorted(int(row) for row in found.order[: found.rank]))
