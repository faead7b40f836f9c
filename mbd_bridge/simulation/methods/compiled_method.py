"""The compiled projection, state by state, for integrators that are run from Python."""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.methods.method import Method
from mbd_bridge.simulation.rows import independent_rows
from mbd_bridge.simulation.steps.rate import Rate, Settle
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve.bases.base import DEPENDENT_ROWS
from mbd_bridge.solve.tolerances import OPEN_SQUARES, STAGE_RISK


class CompiledMethod(Method):
    """The method projection; rows are chosen where the motion starts.

    Parameters
    ----------
    pull : 1/s, with which accelerations close what is open (see `right_hand_side`)
    """

    def __init__(self, trajectory: Trajectory, pull: float = 0.0) -> None:
        self.trajectory, self._pull = trajectory, pull
        self._choices = 0
        self._rows: tuple[int, ...] | None = None

    def init(self, q: Array, v: Array, t: float) -> None:
        """Choose rows, and compile if they are others."""
        model, motions = self.trajectory.model, self.trajectory.motions
        rows = independent_rows(model, q, motions, v)
        self._choices += 1
        if rows != self._rows:
            self._rate = Rate(self.trajectory, rows, self._pull)
            self._settle = Settle(self.trajectory, rows)
        self._rows = rows
        self._bound = bool(rows) or motions is not None

    def acceleration(self, q: Array, v: Array, t: float, z: Array = NO_STATES) -> Array:
        """Return q̈ by the Schur complement of independent rows."""
        rate, risk = self._rate(t, q, v, z)
        self._trust(risk)
        model = self.trajectory.model
        return np.asarray(rate[model.nq : model.nq + model.nv])

    def settle(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Project in the sense of M."""
        if not self._bound:
            return q, v
        q, v, left, risk = self._settle(t, q, v)
        self._trust(risk)
        if not left < OPEN_SQUARES:
            raise SolveError("loops or prescribed motions stay open")
        return q, v

    def facts(self) -> dict[str, int]:
        """Return how often rows were chosen."""
        return {"decompositions": self._choices}

    def _trust(self, risk: float) -> None:
        if not risk < STAGE_RISK:
            raise SolveError(DEPENDENT_ROWS)
