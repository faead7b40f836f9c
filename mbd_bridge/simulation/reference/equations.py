"""The equations of a mechanism at one state, as numbers without dimension.

    M q̈ + Φ_qᵀ λ = Q,   Φ_q q̈ = γ,   Φ = 0,   Φ̇ = 0

with the rows of the cuts first and those of the prescribed motions behind them. Velocities are
divided by `Model.velocity_scale`, rows by their own scales (see `solve.rank`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.signals.prescribed import PrescribedMotions
from mbd_bridge.simulation.steps.runge_kutta import Torque
from mbd_bridge.solve import prepare
from mbd_bridge.solve.loops import LoopChecker
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import METHOD_OPEN


class MotionTerms(NamedTuple):
    """M (nv, nv), Q (nv,), Φ_q (m, nv), γ (m,)."""

    M: Array
    Q: Array
    phi_q: Array
    gamma: Array


class Residual(NamedTuple):
    """Φ (m,), Φ̇ (m,), Φ_q (m, nv)."""

    phi: Array
    rate: Array
    phi_q: Array


class ReferenceEquations:
    """A mechanism with its forces and prescribed motions.

    Attributes
    ----------
    model : the mechanism
    scale : (nv,) of the velocities
    """

    def __init__(
        self, model: Model, torque: Torque | None, motions: PrescribedMotions | None
    ) -> None:
        self.model, self._torque, self._motions = model, torque, motions
        self.scale = model.velocity_scale
        self._mass = prepare(model, "mass_matrix")
        self._bias = prepare(model, "bias_forces")
        self._constraints = prepare(model, "constraints") if model.has_loops else None
        self._loops = LoopChecker(model) if model.has_loops else None
        prescribed_velocities = () if motions is None else motions.v
        self._choice = row_choice(model, prescribed_velocities) if model.has_loops else None
        self._rows = model.row_scale
        if motions is not None:
            self._own = np.eye(model.nv)[list(motions.v)]
            self._rows = np.concatenate([self._rows, motions.scale])

    def forces(self, q: Array, v: Array, t: float, z: Array | None = NO_STATES) -> Array:
        """Return the generalised forces (nv,) that are given, N m or N; None: they do not matter.

        z are states of force elements.
        """
        if self._torque is None or z is None:
            return np.zeros(self.model.nv)
        return np.asarray(self._torque(t, q, v, z), dtype=np.float64)

    def terms(self, q: Array, v: Array, t: float, z: Array | None = NO_STATES) -> MotionTerms:
        """Return what the accelerations depend on; with z None Q leaves the forces out."""
        (M,), (h,) = self._mass(q), self._bias(q, v)
        _, phi_q, gamma = self._cuts(q, v)
        if self._motions is not None:
            phi_q = np.vstack([phi_q, self._own])
            gamma = np.concatenate([gamma, self._motions.at(t)[2]])
        s = self.scale
        Q = (self.forces(q, v, t, z) - h) * s
        return MotionTerms(
            M * np.outer(s, s), Q, phi_q / self._rows[:, None] * s, gamma / self._rows
        )

    def residual(self, q: Array, v: Array, t: float) -> Residual:
        """Return how far a state is from the constraints."""
        phi, phi_q, _ = self._cuts(q, v)
        rate = phi_q @ v
        if self._motions is not None:
            f, f1, _ = self._motions.at(t)
            phi = np.concatenate([phi, q[list(self._motions.q)] - f])
            rate = np.concatenate([rate, v[list(self._motions.v)] - f1])
            phi_q = np.vstack([phi_q, self._own])
        rows = self._rows
        return Residual(phi / rows, rate / rows, phi_q / rows[:, None] * self.scale)

    def rows_beside(self, q: Array, v: Array, t: float) -> Array:
        """Return Φ_q at a position, or beside it where more of its rows are independent."""
        best = self.residual(q, v, t).phi_q
        if self._choice is None or self._loops is None:
            return best
        cuts, choice = len(self.model.row_scale), self._choice
        if choice.fitting(best[:cuts]) is not None:
            return best
        rank = len(choice.local(best[:cuts]))
        for place in self._loops.beside(q, v):
            found = self.residual(place, v, t).phi_q
            if len(choice.fitting(found[:cuts]) or choice.local(found[:cuts])) > rank:
                return found
        return best

    def left(self, phi: Array, rows: Sequence[int]) -> tuple[float, bool]:
        """Return the largest residual of the rows that are kept, and whether the others are closed.

        Redundant rows may stay as open as the machine's imprecise numbers leave them.
        """
        size = float(np.abs(phi[list(rows)]).max(initial=0.0))
        leeway = 0.0 if self._choice is None else self._choice.leeway
        return size, bool(np.abs(phi).max(initial=0.0) < max(METHOD_OPEN, leeway))

    def choose(self, phi_q: Array) -> tuple[int, ...]:
        """Return independent rows at a position: those of the model's choice where they fit."""
        cuts = len(self.model.row_scale)
        rows: tuple[int, ...] = ()
        if self._choice is not None:
            rows = self._choice.fitting(phi_q[:cuts]) or self._choice.at(phi_q[:cuts])
        return (*rows, *range(cuts, len(phi_q)))

    def _cuts(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        if self._constraints is None:
            return np.zeros(0), np.zeros((0, self.model.nv)), np.zeros(0)
        phi, phi_q, gamma = self._constraints(q, v)
        return phi, phi_q, gamma
