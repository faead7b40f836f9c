"""The methods of `simulate` by name.

Motion in all coordinates, with multipliers; positions and velocities projected (Lee94).

    [M Φ_qᵀ; Φ_q 0] [q̈; λ] = [Q; γ]                                        (22)
    [M Φ_qᵀ; Φ_q 0] [Δq; μ] = [0; -Φ]     nearest position in the sense of M  (26)
    [M Φ_qᵀ; Φ_q 0] [Δq̇; ν] = [0; -Φ̇]     nearest velocity                    (29)

One factorised matrix serves all three: the corrections take that of the last acceleration
(quasi-Newton), and only where they converge too slowly a new one (`solve.schur`).

Motion in independent velocities: the multipliers vanish in the null space of the constraints.

    Nᵀ M N z̈ = Nᵀ (Q - M I_R γ),   q̈ = I_R γ + N z̈                       KimYoo97 (4.12), (4.8)
    [Φ_q; Dᵀ] Δq = [-Φ; 0],   that is Δq = -I_R Φ                         (5.1)

The correction holds the independent coordinates. Where the basis comes from, and when it is
renewed, is told by `solve.bases`.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.methods.compiled_method import CompiledMethod
from mbd_bridge.simulation.methods.equations import MotionTerms, ReferenceEquations
from mbd_bridge.simulation.methods.method import CORRECTIONS, Method, stays_open
from mbd_bridge.simulation.results.history import Correction
from mbd_bridge.simulation.right_hand_side import STABILISATION
from mbd_bridge.simulation.run.problem import Problem, RunOptions
from mbd_bridge.solve.bases import BASES, Held, NullSpace
from mbd_bridge.solve.bases.base import DEPENDENT_ROWS
from mbd_bridge.solve.closed import needs_support
from mbd_bridge.solve.reduced import with_basis
from mbd_bridge.solve.schur import Schur, schur
from mbd_bridge.solve.tolerances import (
    HELD_STRAYED_RISK,
    LARGEST_INVERSE,
    METHOD_CLOSED,
    METHOD_OPEN,
)


class MultiplierMethod(Method):
    """The method multipliers."""

    def __init__(self, system: ReferenceEquations, correction: Correction = "state") -> None:
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

    def _terms(self, q: Array, v: Array, t: float, z: Array | None) -> MotionTerms:
        """Return the terms; rows support M where the tree's is singular (see `solve.closed`)."""
        M, Q, phi_q, gamma = self.system.terms(q, v, t, z)
        if not self._support:
            return MotionTerms(M, Q, phi_q, gamma)
        weight = float(np.trace(M)) / len(M) or 1.0
        return MotionTerms(
            M + weight * (phi_q.T @ phi_q), Q + weight * (phi_q.T @ gamma), phi_q, gamma
        )

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


class ReducedMethod(Method):
    """The methods svd, qr and projection-reference."""

    most_strayed = HELD_STRAYED_RISK

    def __init__(
        self, system: ReferenceEquations, basis: NullSpace, correction: Correction = "state"
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


METHODS = ("projection", *BASES, "multipliers")
"""Names of the methods."""


def make_method(problem: Problem, options: RunOptions) -> Method:
    """Return the requested method."""
    if options.method == "projection":
        pull = STABILISATION if options.integrator.startswith("scipy:") else 0.0
        return CompiledMethod(problem.trajectory, pull)
    equations = ReferenceEquations(problem.model, problem.forces, problem.motions)
    if options.method == "multipliers":
        return MultiplierMethod(equations, options.correction)
    return ReducedMethod(equations, BASES[options.method], options.correction)
