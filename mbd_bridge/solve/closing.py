"""Positions and rates nearest to a wish that satisfy the loops, of N states together.

The states may belong to N variants of a mechanism: the caller's function knows which is whose. See
`assembly` for the equations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from mbd_bridge.mechanism import Model
from mbd_bridge.solve.tolerances import SINGULAR
from mbd_bridge.spatial import Array

LONGEST_STEP = 0.4
"""Largest change in one iteration: rad, or this part of the mechanism's size."""
ITERATIONS = 300
SETTLED = 1e-9
"""Movement, rad, below which the nearest position is found."""
HALVINGS = 12
FAR = 1e-3
"""Residual up to which a step may leave the constraints further than it found them."""
POLISHINGS = 6

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


class Newton(NamedTuple):
    """Singular values of dimensionless Jacobians (n, m, free), those of rank only."""

    U: Array
    reciprocals: Array
    Vt: Array

    @staticmethod
    def of(J: Array, tolerance: float) -> Newton:
        """Return the decompositions; singular values below a tolerance are zero."""
        U, s, Vt = np.linalg.svd(J, full_matrices=False)
        keep = s > tolerance * s.max(axis=-1, initial=0.0, keepdims=True)
        return Newton(U, np.where(keep, 1.0 / np.where(keep, s, 1.0), 0.0), Vt)

    def onto(self, phi: Array) -> Array:
        """Return the smallest steps (n, free) that take residuals (n, m) away."""
        inside = self.reciprocals * np.einsum("nij,ni->nj", self.U, phi)
        return np.asarray(-np.einsum("nji,nj->ni", self.Vt, inside))

    def along(self, x: Array) -> Array:
        """Return the parts of steps (n, free) that the constraints do not notice."""
        inside = (self.reciprocals > 0.0) * np.einsum("nji,ni->nj", self.Vt, x)
        return np.asarray(x - np.einsum("nji,nj->ni", self.Vt, inside))


class Closing:
    """The way onto the constraints, for one choice of held velocities and of weights.

    Parameters
    ----------
    constraints : of the states
    held : (nv,) which velocities stay as they are wished
    scale : (nv,) how far each moves for a unit of cost
    keep : the rows that count in the end; None: all that say something beyond the rank tolerance
    """

    def __init__(
        self,
        model: Model,
        constraints: Constraints,
        held: Array,
        scale: Array,
        keep: Keep | None = None,
    ) -> None:
        self.model, self.constraints = model, constraints
        self.free, self.scale, self.rows = ~held, scale, model.row_scale
        self._keep = keep
        self._tolerance = model.rank_tolerance
        if keep is not None:
            self._tolerance = max(self._tolerance, keep.slack) if keep.imprecise else SINGULAR

    def position(self, wish: Array) -> tuple[Array, int]:
        """Return the positions (N, nq) nearest to the wishes, and the iterations of the longest."""
        q, going = wish.copy(), np.arange(len(wish))
        phi, phi_q = self._residuals(q, going)
        iteration = 0
        while len(going) and iteration < ITERATIONS:
            iteration += 1
            newton = Newton.of(self._dimensionless(phi_q), self._tolerance)
            back = (_difference(self.model, q[going], wish[going]) / self.scale)[:, self.free]
            close = newton.onto(phi / self.rows)
            step = close + newton.along(back)
            # far from the constraints first come closer, then look for the nearest place
            far = _largest(step) > LONGEST_STEP
            short = LONGEST_STEP / np.maximum(_largest(close), 1e-300)
            step[far] = (close * np.minimum(1.0, short)[:, None])[far]
            before = np.maximum(_largest(phi / self.rows), FAR)
            q[going], phi, phi_q, step = self._shortened(q[going], going, step, before)
            on = ~(_largest(step) < SETTLED)
            going, phi, phi_q = going[on], phi[on], phi_q[on]
        return self._polished(q), iteration

    def rates(self, phi_q: Array, lack: Array, wish: Array) -> Array:
        """Return the rates (N, nv) nearest to the wishes for which Φ_q (rates - wish) = lack."""
        step = np.zeros_like(wish)
        newton, keep = self._last(phi_q)
        step[:, self.free] = newton.onto(-lack * keep / self.rows)
        return np.asarray(wish + step * self.scale)

    def _shortened(
        self, q: Array, numbers: Array, step: Array, before: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return positions after steps, halved as long as they lead away; Φ and Φ_q there."""
        found = self._moved(q, step)
        phi, phi_q = self._residuals(found, numbers)
        for _ in range(HALVINGS - 1):
            worse = ~(_largest(phi / self.rows) <= before)
            bad = np.flatnonzero(worse & ~(_largest(step) < SETTLED))
            if not len(bad):
                break
            step[bad] *= 0.5
            found[bad] = self._moved(q[bad], step[bad])
            phi[bad], phi_q[bad] = self._residuals(found[bad], numbers[bad])
        return found, phi, phi_q, step

    def _polished(self, q: Array) -> Array:
        """Newton steps onto the constraints alone, down to rounding."""
        best, least = q.copy(), np.full(len(q), np.inf)
        going = np.arange(len(q))
        for _ in range(POLISHINGS):
            phi, phi_q = self._residuals(q, going)
            newton, keep = self._last(phi_q)
            phi = phi * keep
            error = _largest(phi / self.rows)
            better = error < least[going]
            going, q, phi = going[better], q[better], phi[better]
            if not len(going):
                break
            best[going], least[going] = q, error[better]
            newton = Newton(*(part[better] for part in newton))
            q = self._moved(q, newton.onto(phi / self.rows))
        return best

    def _last(self, phi_q: Array) -> tuple[Newton, Array]:
        """Return the decomposition of the rows that count in the end, and which they are (N, m)."""
        J, keep = self._dimensionless(phi_q), np.ones(phi_q.shape[:2], dtype=bool)
        if self._keep is None or not self._keep.imprecise:
            return Newton.of(J, self._tolerance), keep
        scaled = phi_q * (self.model.velocity_scale / self.rows[:, None])
        keep = self._keep.kept(scaled)
        sure = ~keep.all(axis=1)  # which rows are the redundant ones
        found = Newton.of(J * keep[:, :, None], SINGULAR)
        if not sure.all():
            rest = Newton.of(J[~sure], self._tolerance)
            for part, other in zip(found, rest, strict=True):
                part[~sure] = other
        return found, keep

    def _residuals(self, q: Array, numbers: Array) -> tuple[Array, Array]:
        phi, phi_q, _ = self.constraints(q, np.zeros((len(q), self.model.nv)), numbers)
        return phi, phi_q

    def _dimensionless(self, phi_q: Array) -> Array:
        return np.asarray((phi_q / self.rows[:, None] * self.scale)[:, :, self.free])

    def _moved(self, q: Array, step: Array) -> Array:
        full = np.zeros((len(q), self.model.nv))
        full[:, self.free] = step
        full *= self.scale
        if self.model.nq == self.model.nv:
            return np.asarray(q + full)
        return np.array([self.model.integrate(*both) for both in zip(q, full, strict=True)])


def _difference(model: Model, start: Array, end: Array) -> Array:
    if model.nq == model.nv:
        return np.asarray(end - start)
    return np.array([model.difference(*both) for both in zip(start, end, strict=True)])


def _largest(x: Array) -> Array:
    """Return the largest entry of each row."""
    return np.asarray(np.abs(x).max(axis=-1, initial=0.0))
