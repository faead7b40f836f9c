"""Positions nearest to a guess at which the loops are closed and what is given is reached.

Joints that are given as a whole are held, as in `solve.assembly`; all other rows that are given
stand beside those of the loops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.kernels import Kernel
from mbd_bridge.kinematics.given import GivenMotion, GivenRows
from mbd_bridge.mechanism import Model
from mbd_bridge.solve.closing import Closing
from mbd_bridge.solve.row_choice import RowChoice, row_choice
from mbd_bridge.spatial import Array


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


class Start:
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
