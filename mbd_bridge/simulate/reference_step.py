"""The Runge-Kutta step as it reads, with singular values: for positions at which rows depend."""

from __future__ import annotations

import numpy as np

from mbd_bridge.errors import SolveError
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.accelerations import Accelerations
from mbd_bridge.simulate.motions import PrescribedMotions
from mbd_bridge.simulate.step import Torque
from mbd_bridge.solve import prepare
from mbd_bridge.solve.rank import TOLERANCE
from mbd_bridge.spatial import Array

LEFT = 1e-6
"""What a step may leave open, relative to the mechanism's size (rad for angles)."""


class ReferenceStep:
    """One step of a mechanism, any rank (see `step` for the compiled one)."""

    def __init__(
        self, model: Model, torque: Torque | None, motions: PrescribedMotions | None = None
    ) -> None:
        self.model, self.motions, self._torque = model, motions, torque
        self._dynamics: Accelerations | None = None

    def __call__(self, q: Array, v: Array, t: float, h: float) -> tuple[Array, Array]:
        """Return q and v after a step of h seconds."""
        model = self.model
        a1 = self._acceleration(q, v, t)
        v2 = v + 0.5 * h * a1
        a2 = self._acceleration(model.integrate(q, 0.5 * h * v), v2, t + 0.5 * h)
        v3 = v + 0.5 * h * a2
        a3 = self._acceleration(model.integrate(q, 0.5 * h * v2), v3, t + 0.5 * h)
        v4 = v + h * a3
        a4 = self._acceleration(model.integrate(q, h * v3), v4, t + h)
        q = model.integrate(q, h / 6 * (v + 2 * (v2 + v3) + v4))
        v = v + h / 6 * (a1 + 2 * (a2 + a3) + a4)
        return self._onto(q, v, t + h)

    def _acceleration(self, q: Array, v: Array, t: float) -> Array:
        if self._dynamics is None:
            self._dynamics = Accelerations(self.model, self.motions)
        tau = np.zeros(self.model.nv) if self._torque is None else self._torque(t, q, v)
        given = np.asarray(tau, dtype=np.float64)
        a = self._dynamics(q[None], v[None], given[None], np.array([t])).a
        return np.asarray(a[0])

    def _onto(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        for _ in range(3):
            phi, _, inverse = self._open(q, v, t)
            q = self.model.integrate(q, -inverse @ phi)
        phi, rate, inverse = self._open(q, v, t)
        if np.max(np.abs(phi), initial=0.0) > LEFT:
            raise SolveError(
                f"loops or drives stay open by {np.abs(phi).max():.3g} of the mechanism's size: it "
                f"cannot go where it is driven, or the step is too long"
            )
        return q, v - inverse @ rate

    def _open(self, q: Array, v: Array, t: float) -> tuple[Array, Array, Array]:
        """Return Φ and Φ̇, dimensionless, and the pseudo-inverse of Φ_q for such rows."""
        model, motions = self.model, self.motions
        phi, phi_q, scale = np.zeros(0), np.zeros((0, model.nv)), model.row_scale
        if model.has_loops:
            phi, phi_q, _ = prepare(model, "constraints")(q, v)
        rate = phi_q @ v
        if motions is not None:
            f, f1, _ = motions.at(t)
            phi = np.concatenate([phi, q[list(motions.q)] - f])
            rate = np.concatenate([rate, v[list(motions.v)] - f1])
            phi_q = np.vstack([phi_q, np.eye(model.nv)[list(motions.v)]])
            scale = np.concatenate([scale, motions.scale])
        columns = model.velocity_scale
        inverse = np.linalg.pinv(phi_q / scale[:, None] * columns, rcond=TOLERANCE)
        return phi / scale, rate / scale, columns[:, None] * inverse
