"""The Runge-Kutta step as it reads, with singular values: for positions at which rows depend."""

from __future__ import annotations

import numpy as np

from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.step import Torque
from mbd_bridge.solve import ConstrainedDynamics, prepare
from mbd_bridge.solve.rank import decompose
from mbd_bridge.spatial import Array


class ReferenceStep:
    """One step of a mechanism, any rank (see `step` for the compiled one)."""

    def __init__(self, model: Model, torque: Torque | None) -> None:
        self.model, self._torque = model, torque
        self._dynamics: ConstrainedDynamics | None = None

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
        return self._onto(q, v)

    def _acceleration(self, q: Array, v: Array, t: float) -> Array:
        if self._dynamics is None:
            self._dynamics = ConstrainedDynamics(self.model)
        tau = np.zeros(self.model.nv) if self._torque is None else self._torque(t, q, v)
        return self._dynamics.forward(q, v, np.asarray(tau, dtype=np.float64))[0]

    def _onto(self, q: Array, v: Array) -> tuple[Array, Array]:
        constraints = prepare(self.model, "constraints")
        for _ in range(3):
            phi, phi_q, _ = constraints(q, v)
            inverse = decompose(self.model, phi_q).inverse
            q = self.model.integrate(q, -inverse @ phi)
        _, phi_q, _ = constraints(q, v)
        return q, v - decompose(self.model, phi_q).inverse @ (phi_q @ v)
