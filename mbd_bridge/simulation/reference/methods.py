"""Ways of keeping loops closed, state by state, by the names that `simulate` knows them by.

The equations of a mechanism at one state, as numbers without dimension:

    M q̈ + Φ_qᵀ λ = Q,   Φ_q q̈ = γ,   Φ = 0,   Φ̇ = 0

with the rows of the cuts first and those of the prescribed motions behind them. Velocities are
divided by `Model.velocity_scale`, rows by their own scales (see `solve.rank`).

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

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import SolveError
from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.options import STABILISATION
from mbd_bridge.simulation.rates import Rate, Settle
from mbd_bridge.simulation.run.problem import Correction, Problem, SolutionMethod
from mbd_bridge.simulation.signals.prescribed import PrescribedMotions
from mbd_bridge.simulation.start import independent_rows
from mbd_bridge.simulation.steps.runge_kutta import Torque
from mbd_bridge.simulation.steps.schemes import NullSpace
from mbd_bridge.simulation.trajectory import Trajectory
from mbd_bridge.solve import prepare
from mbd_bridge.solve.bases import BASES, DEPENDENT_ROWS, HeldBasis, KeptBasis
from mbd_bridge.solve.closed import needs_support
from mbd_bridge.solve.loops import LoopChecker
from mbd_bridge.solve.reduced import Schur, schur, with_basis
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import (
    HELD_STRAYED_RISK,
    LARGEST_INVERSE,
    METHOD_CLOSED,
    METHOD_OPEN,
    OPEN_SQUARES,
    STAGE_RISK,
    STEP_RISK,
)


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


CORRECTIONS = 8
"""Corrections after which a step is given up."""


def stays_open(phi: Array) -> SolveError:
    """Return the error of a step whose corrections leave Φ, without dimension, open."""
    return SolveError(
        f"loops or prescribed motions stay open by {np.abs(phi).max():.3g} of the mechanism's "
        f"size after "
        f"{CORRECTIONS} corrections: it cannot go there, or the step is too long"
    )


class Method(ABC):
    """One of the roads to the motion of a constrained mechanism, state by state.

    Attributes
    ----------
    most_strayed : risk of having come off its branch below which a fixed step is taken
    """

    most_strayed = STEP_RISK

    @abstractmethod
    def init(self, q: Array, v: Array, t: float) -> None:
        """Prepare for a motion that starts here."""

    @abstractmethod
    def acceleration(self, q: Array, v: Array, t: float, z: Array = NO_STATES) -> Array:
        """Return q̈ (nv,); z are states of force elements."""

    @abstractmethod
    def settle(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return the state put onto the constraints, and renew what is kept for it.

        Raises
        ------
        SolveError
            It cannot be: the step was too long, or the mechanism cannot go there.
        """

    @abstractmethod
    def facts(self) -> dict[str, int]:
        """Return what was counted."""


class CompiledMethod(Method):
    """The method multipliers, in compiled rates; rows are chosen where the motion starts.

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
    """The methods svd, qr and projection."""

    most_strayed = HELD_STRAYED_RISK

    def __init__(
        self, system: ReferenceEquations, basis: KeptBasis, correction: Correction = "state"
    ) -> None:
        self.system, self.basis, self.correction = system, basis, correction
        self._held: HeldBasis | None = None
        self._updates = 0

    @property
    def held(self) -> HeldBasis:
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


def make_method(problem: Problem, options: SolutionMethod) -> Method:
    """Return the requested method."""
    by_multipliers = options.method == "multipliers"
    if by_multipliers and options.correction == "state" and not options.reference:
        pull = STABILISATION if options.integrator.startswith("scipy:") else 0.0
        return CompiledMethod(problem.trajectory, pull)
    equations = ReferenceEquations(problem.model, problem.forces, problem.motions)
    if by_multipliers:
        return MultiplierMethod(equations, options.correction)
    basis, scheme = BASES[options.method], options.scheme
    if isinstance(scheme, NullSpace):  # its criterion
        own = {part.name: getattr(scheme, part.name) for part in fields(basis)}
        basis = replace(basis, **own)
    return ReducedMethod(equations, basis, options.correction)
