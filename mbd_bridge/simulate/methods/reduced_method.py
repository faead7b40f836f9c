"""Motion in independent velocities: the multipliers vanish in the null space of the constraints.

    Nᵀ M N z̈ = Nᵀ (Q - M I_R γ),   q̈ = I_R γ + N z̈                       KimYoo97 (4.12), (4.8)
    [Φ_q; Dᵀ] Δq = [-Φ; 0],   that is Δq = -I_R Φ                         (5.1)

The correction holds the independent coordinates. Where the basis comes from, and when it is
renewed, is told by `solve.bases`.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.simulate.methods.equations import Equations
from mbd_bridge.simulate.methods.method import CORRECTIONS, Method, stays_open
from mbd_bridge.simulate.results.history import Correction
from mbd_bridge.solve.bases import Held, NullSpace
from mbd_bridge.solve.reduced import with_basis
from mbd_bridge.solve.tolerances import HELD_STRAYED_RISK, METHOD_CLOSED, METHOD_OPEN
from mbd_bridge.spatial import Array


class ReducedMethod(Method):
    """The methods svd, qr and projection-reference."""

    most_strayed = HELD_STRAYED_RISK

    def __init__(
        self, system: Equations, basis: NullSpace, correction: Correction = "state"
    ) -> None:
        self.system, self.basis, self.correction = system, basis, correction
        self._held: Held | None = None
        self._updates = 0

    @property
    def held(self) -> Held:
        """What the basis keeps."""
        assert self._held is not None, "init comes first"
        return self._held

    def init(self, q: Array, v: Array, t: float) -> None:
        """Make the basis."""
        self._held = self.basis.init(self.system.rows_beside(q, v, t), self.system.choose)

    def acceleration(self, q: Array, v: Array, t: float, z: Array = NO_STATES) -> Array:
        """Return q̈ by the reduced equations."""
        M, Q, phi_q, gamma = self.system.terms(q, v, t, z)
        basis = self.basis.at(self.held, phi_q)
        found = with_basis(M, Q, gamma[list(self.held.rows)], basis)
        return np.asarray(self.system.scale * found.a)

    def settle(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Correct with the independent coordinates held, then renew the basis."""
        model, scale, rows = self.system.model, self.system.scale, list(self.held.rows)
        if not rows:
            return q, v
        for _ in range(CORRECTIONS):
            phi, rate, phi_q = self.system.residual(q, v, t)
            right = self.basis.at(self.held, phi_q).right
            size, closed = self.system.left(phi, rows)
            if size < METHOD_CLOSED or self.correction != "state":
                break
            q = model.integrate(q, -scale * (right @ phi[rows]))
        if self.correction == "state" and not (closed and size < METHOD_OPEN):
            raise stays_open(phi)
        if self.correction != "none":
            v = v - scale * (right @ rate[rows])
        self._held = self.basis.renew(self.held, phi_q, v / scale)
        self._updates += 1
        return q, v

    def facts(self) -> dict[str, int]:
        """Return how often the basis was decomposed, and renewed in all."""
        decompositions = 0 if self._held is None else self._held.decompositions
        return {"decompositions": decompositions, "updates": self._updates}
