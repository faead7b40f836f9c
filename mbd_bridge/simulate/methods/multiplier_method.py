"""Motion in all coordinates, with multipliers; positions and velocities projected (Lee94).

    [M Φ_qᵀ; Φ_q 0] [q̈; λ] = [Q; γ]                                        (22)
    [M Φ_qᵀ; Φ_q 0] [Δq; μ] = [0; -Φ]     nearest position in the sense of M  (26)
    [M Φ_qᵀ; Φ_q 0] [Δq̇; ν] = [0; -Φ̇]     nearest velocity                    (29)

One factorised matrix serves all three: the corrections take that of the last acceleration
(quasi-Newton), and only where they converge too slowly a new one (`solve.schur`).
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.errors import SolveError
from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.simulate.methods.equations import Equations, Terms
from mbd_bridge.simulate.methods.method import CORRECTIONS, Method, stays_open
from mbd_bridge.simulate.results.history import Correction
from mbd_bridge.solve.bases.base import DEPENDENT_ROWS
from mbd_bridge.solve.closed import needs_support
from mbd_bridge.solve.schur import Schur, schur
from mbd_bridge.solve.tolerances import LARGEST_INVERSE, METHOD_CLOSED, METHOD_OPEN
from mbd_bridge.spatial import Array


class MultiplierMethod(Method):
    """The method multipliers."""

    def __init__(self, system: Equations, correction: Correction = "state") -> None:
        self.system, self.correction = system, correction
        self._rows: list[int] = []
        self._support = needs_support(system.model)
        self._factors: Schur | None = None
        self._factorisations = self._choices = self._corrections = 0

    def init(self, q: Array, v: Array, t: float) -> None:
        """Choose independent rows."""
        self._rows = list(self.system.choose(self.system.rows_beside(q, v, t)))
        self._choices += 1

    def acceleration(self, q: Array, v: Array, t: float, z: Array = NO_STATES) -> Array:
        """Return q̈ of (22)."""
        M, Q, phi_q, gamma = self._terms(q, v, t, z)
        a, _ = self._factorise(M, phi_q).solve(Q, gamma[self._rows])
        return np.asarray(self.system.scale * a)

    def settle(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Project position and velocity in the sense of M."""
        if not self._rows or self.correction == "none":
            return q, v
        q = self._position(q, v, t) if self.correction == "state" else q
        return q, self._velocity(q, v, t)

    def _position(self, q: Array, v: Array, t: float) -> Array:
        model, scale = self.system.model, self.system.scale
        size, before, closed = np.inf, np.inf, False
        for _ in range(CORRECTIONS):
            phi, _, _ = self.system.residual(q, v, t)
            size, closed = self.system.left(phi, self._rows)
            if size < METHOD_CLOSED:
                break
            if size > 0.1 * before:  # the old matrix no longer converges
                terms = self._terms(q, v, t, None)
                self._factorise(terms.M, terms.phi_q)
            before = size
            self._corrections += 1
            q = model.integrate(q, -scale * self._correction(phi))
        if not (closed and size < METHOD_OPEN):
            raise stays_open(phi)
        return q

    def _velocity(self, q: Array, v: Array, t: float) -> Array:
        scale = self.system.scale
        for _ in range(CORRECTIONS):
            rate = self.system.residual(q, v, t).rate
            if np.abs(rate[self._rows]).max() < METHOD_CLOSED * max(1.0, np.abs(v / scale).max()):
                break
            v = v - scale * self._correction(rate)
        return v

    def facts(self) -> dict[str, int]:
        """Return how often rows were chosen, matrices factorised, positions corrected."""
        return {
            "decompositions": self._choices,
            "factorisations": self._factorisations,
            "corrections": self._corrections,
        }

    def _terms(self, q: Array, v: Array, t: float, z: Array | None) -> Terms:
        """Return the terms; rows support M where the tree's is singular (see `solve.closed`)."""
        M, Q, phi_q, gamma = self.system.terms(q, v, t, z)
        if not self._support:
            return Terms(M, Q, phi_q, gamma)
        weight = float(np.trace(M)) / len(M) or 1.0
        return Terms(M + weight * (phi_q.T @ phi_q), Q + weight * (phi_q.T @ gamma), phi_q, gamma)

    def _choose(self, phi_q: Array) -> None:
        """Choose as many rows anew."""
        rows = list(self.system.choose(phi_q))
        if len(rows) < len(self._rows):
            raise SolveError(DEPENDENT_ROWS)
        self._rows = rows
        self._choices += 1

    def _factorise(self, M: Array, phi_q: Array) -> Schur:
        for _ in range(2):
            found = schur(M, phi_q[self._rows])
            if found is not None and found.spread * LARGEST_INVERSE > 1.0:
                self._factorisations += 1
                self._factors = found
                return found
            self._choose(phi_q)
        raise SolveError(DEPENDENT_ROWS)

    def _correction(self, residual: Array) -> Array:
        assert self._factors is not None, "an acceleration comes first"
        return self._factors.correction(residual[self._rows])
