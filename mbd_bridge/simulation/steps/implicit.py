"""One implicit step of a system, as a function to be compiled: Newton's iterations written out.

The unknowns are the accelerations q̈', the rates ż' of states of force elements and the multipliers
λ' at the end of the step (`schemes` says how the state follows from them), the equations

    ID(q', v', q̈') - τ(t', q', v', z') + Φ_qᵀ λ' = 0            Cho09 (10), no mass matrix
    ż' - rates(t', q', v', z') = 0
    Φ(q') = 0                                                   for rows of positions
    Φ_q v' = 0                                                  for rows of velocities (rolling)

Newton's matrix J = M + h γ C + h² β K of the first two is exact, from the graph, of all that acts;
as in Cho09 that of the first iteration is kept. J is close to M: it is eliminated without pivoting,
the rows by their Schur complement S = Φ_q J⁻¹ Φ_qᵀ. With the same factors the end is put onto
Φ = 0, Φ_q v = 0 and Φ_q q̈ = γ: rows of positions alone leave velocities open by h², accelerations
by h.

By a basis of the null space of the rows, N from a decomposition that is kept (`null_space`), there
is no Schur complement, and J may be singular off the rows (LeeJoo90, KimYoo97):

    Nᵀ J N Δz = -Nᵀ (R - J I_R Φ),   Δx = N Δz - I_R Φ,   Δλ = -(Φ_q V1)⁻ᵀ V1ᵀ (R + J Δx)

With all velocities that is the same step. With independent ones the scheme integrates z = V2ᵀ q
alone: the equations are those of q̇' and q̈' on the rows with the same V2ᵀ q̇', V2ᵀ q̈'.

What a step hands on beside the state, its memory, is a and q̈ (ż likewise), λ (a first guess) and
the generalised forces F of all that works, for the work δ · (F + F') / 2: of passive force elements
the energy tells (`guards.energy`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.lazy import cached_property
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.flexible import damping_forces
from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels.derive import jacobian
from mbd_bridge.kernels.expression import operate
from mbd_bridge.kernels.tracing import Conditional, Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.acts import Acting, Numbers
from mbd_bridge.simulation.steps.memory import (
    Begin,
    KeptFactors,
    KeptJacobian,
    Memory,
    good_enough,
    mobility,
)
from mbd_bridge.simulation.steps.null_space import NullSpaceMemory
from mbd_bridge.simulation.steps.runge_kutta import CORRECTIONS, normalised, slopes
from mbd_bridge.simulation.steps.schemes import ImplicitScheme
from mbd_bridge.simulation.system import System
from mbd_bridge.solve.closed import near_dependence, needs_support, support
from mbd_bridge.solve.factor import Eliminated, eliminate, not_zero, solved, solved_columns
from mbd_bridge.solve.null_space import Kept, transposed
from mbd_bridge.solve.tolerances import STEP_RISK, UNCLOSED_RISK

NONE = np.zeros(0)


SMALL_STATE = 1e-3
"""In its own unit: size of a state of a force element below which it need not converge better."""


class End(NamedTuple):
    """What follows from the accelerations at the end: δ, q', v', z', and a'."""

    delta: Array
    q: Array
    v: Array
    z: Array
    a: Array


class KeptRows(NamedTuple):
    """What is kept: Φ, Φ_q v - Φ_t, γ, Φ_q (kept, unknowns)."""

    phi: Array
    rate: Array
    gamma: Array
    phi_q: Array


class Factors(NamedTuple):
    """J, Y = J⁻¹ Φ_qᵀ, S = Φ_q Y, the diagonal of S; where M is singular W Φ_qᵀ, which J has."""

    J: Eliminated
    Y: Array
    S: Eliminated | None
    phi_q: Array
    pivots: Array
    weights: Array | None = None

    def change(self, R: Array, left: Array) -> tuple[Array, Array]:
        """Return the changes of the unknowns and of λ' that take R and what is left away."""
        if self.S is None:
            return -solved(self.J, R), NONE
        if self.weights is not None:
            R = R + self.weights @ left
        free = solved(self.J, R)
        more = solved(self.S, left - self.phi_q @ free)
        return -(free + self.Y @ more), more

    def closing(self, left: Array) -> tuple[Array, Array]:
        """Return the changes that take what is left off the rows; they leave R."""
        assert self.S is not None, "there are rows"
        more = solved(self.S, left)
        return -(self.Y @ more), more

    def onto(self, left: Array) -> Array:
        """Return the change of the unknowns that takes what little is left off the rows."""
        return self.closing(left)[0]

    def reciprocals(self) -> Array:
        """Return those of the rows' pivots."""
        return NONE if self.S is None else self.S.reciprocals


class InBasis(NamedTuple):
    """J, V1 and N with zeros and ones for states of force elements, Φ_q V1, Nᵀ J N.

    Attributes
    ----------
    held : whether V2ᵀ q stays where states are put onto the rows, and the equations are of those
    """

    J: Array
    V1: Array
    N: Array
    inner: Eliminated
    reduced: Eliminated
    pivots: Array
    held: bool

    def change(self, R: Array, left: Array) -> tuple[Array, Array]:
        """Return the changes of the unknowns and of λ' that take R and what is left away."""
        particular = self.onto(left)
        if not self.held:  # else the equations are those of a state on the rows
            R = R + self.J @ particular
        along = -(self.N @ solved(self.reduced, self.N.T @ R))
        return particular + along, -transposed(self.inner, self.V1.T @ (R + self.J @ along))

    def closing(self, left: Array) -> tuple[Array, Array]:
        """Return the changes that take what is left off the rows; they leave R, or V2ᵀ q."""
        if not self.held:
            return self.change(np.zeros(len(self.J)), left)
        return self.onto(left), np.zeros(len(left))

    def onto(self, left: Array) -> Array:
        """Return the change of the unknowns that takes what little is left off the rows."""
        return np.asarray(-(self.V1 @ solved(self.inner, left)))

    def reciprocals(self) -> Array:
        """Return those of the rows' pivots."""
        return self.inner.reciprocals


class NewtonStep(NamedTuple):
    """A step: its end, q̈' and ż', λ', its work, J, and F, its risks (3,), squares of the sizes of x
    and of two corrections, the last residual R, and the factors of Newton's matrix.
    """

    end: End
    x: Array
    lam: Array
    work: Any
    force: Array
    risks: Array
    sizes: tuple[Any, Any, Any]
    R: Array
    factors: Factors | InBasis


class ImplicitStep:
    """One step of a system by an implicit scheme.

    Parameters
    ----------
    rows : independent rows of the loops
    velocity_rows : those of them that are constraints on velocities alone (Φ = 0 says nothing)
    basis : what is kept of a basis of their null space; None: they have multipliers

    Attributes
    ----------
    memory : what it hands on beside the state
    """

    def __init__(
        self,
        system: System,
        rows: Sequence[int],
        scheme: ImplicitScheme,
        velocity_rows: Sequence[int] = (),
        basis: NullSpaceMemory | None = None,
    ) -> None:
        self.system, self.rows, self.scheme = system, tuple(rows), scheme
        self._basis = basis
        self._independent = basis is not None and basis.scheme.coordinates == "independent"
        model, self._number = system.model, scheme.coefficients
        self._unknown = model.nv + system.nz
        self._prescribed = list(system.prescribed_velocities)
        prescribed = [False] * len(self._prescribed)
        self._of_velocity = [row in set(velocity_rows) for row in self.rows] + prescribed
        self._by_position = np.where(self._of_velocity, 0.0, 1.0)
        self._scale = np.append(
            model.row_scale[list(self.rows)], model.velocity_scale[self._prescribed]
        )
        self._supported = bool(self.rows) and needs_support(model)
        damped = damping_forces(model, np.zeros(model.nv)) is not None
        active = len(system.forces) > len(system.passive)
        self._works = damped or active or bool(system.parts)
        lam, force = len(self._of_velocity), model.nv if self._works else 0
        one = self._number.one_acceleration
        room = len(model.row_scale) + len(self._prescribed)
        keeps = scheme.jacobian == "kept" and scheme.iterations > 1 and not room
        self._kept = KeptFactors(self._unknown if keeps else 0, model.nv)
        beside = self._kept.size if basis is None else basis.size
        self.memory = Memory(self._unknown, one, lam, force, room, beside)

    @cached_property
    def derived(self) -> Traceable:
        """(x, λ, *begin) -> `residual` and its Jacobian J by x."""
        unknown = {"x": self._unknown, "lam": self.memory.rows}

        def function(x: Array, lam: Array, *begin: Array) -> tuple[Array, ...]:
            return (self.residual(Begin(*begin), x, lam),)

        return jacobian(function, unknown | Begin.sizes(self.system, self.memory), ["x"])

    def start(self, acting: Acting, q: Array, v: Array, t: Any, z: Array) -> Array:
        """Return the memory of a motion that begins at a state: a = q̈."""
        _, found, _, dz = slopes(acting.model, self.rows, *acting.stage())(q, v, t, z)
        force = self._working(acting, t, q, v, z, found.lam) if self._works else NONE
        a = np.concatenate([found.a, dz])
        return self.memory.packed(a, a, found.lam, force)

    def __call__(self, begin: Begin) -> tuple[Array, Array, Array, Array, Any, Array]:
        """Return q', v', z', the memory, the work of the step, J, and its risks (3,).

        Risks : of being near a singular position; of Newton's iterations not having converged, or
        loops not closed; none of having strayed.
        """
        if not self._kept.size:
            q, v, z, memory, work, risks = self._results(begin, self._taken(begin))
            return q, v, z, memory, work[0], risks
        fresh = Conditional(self._with_fresh_factors, *begin)
        pattern = not_zero(self.memory.factors(fresh.result[3]))
        old = self._kept.unpacked(self.memory.factors(begin.memory), pattern)
        kept = self._taken(begin, old.J)
        bound = self._bound(begin, kept.R, old.mobility)
        good = (old.formed[0] > 0.0) & good_enough(*kept.sizes, bound, self.scheme.converged)
        good = good & (kept.risks[0] + kept.risks[1] < STEP_RISK)
        results = self._results(begin, kept, old)
        q, v, z, memory, work, risks = fresh.where(operate("not", good), results)
        return q, v, z, memory, work[0], risks

    def _with_fresh_factors(self, *begin: Array) -> tuple[Array, ...]:
        """Return the results of a step that forms J."""
        start = Begin(*begin)
        taken, formed = self._taken(start), self.memory.factors(start.memory)[:1] + 1.0
        mobile = mobility(start.acting(self.system).model, start.q)
        return self._results(start, taken, KeptJacobian(formed, _plain(taken.factors), mobile))

    def _numbers(self, begin: Begin) -> Numbers:
        return Numbers(begin.p, begin.held, begin.instant, self.memory.factors(begin.memory))

    def _results(
        self, begin: Begin, taken: NewtonStep, kept: KeptJacobian | None = None
    ) -> tuple[Array, ...]:
        """Return q', v', z', the memory, the work (1,) and the risks of a step."""
        end, work = taken.end, zeros(1, begin.q, begin.v)
        work[0] = taken.work
        factors = NONE if kept is None else self._kept.packed(kept)
        if self._basis is not None:
            assert isinstance(taken.factors, InBasis), "there is a basis"
            factors = self._basis.after(
                self._numbers(begin), end.q, end.v, begin.t[0], taken.factors
            )
        memory = self.memory.packed(end.a, taken.x, taken.lam, taken.force, factors)
        return end.q, end.v, end.z, memory, work, taken.risks

    def _taken(self, begin: Begin, J: Eliminated | None = None) -> NewtonStep:
        """Return the step with the factors of its own J, or with others."""
        x, lam, factors, corrections, R = self._solve(begin, J)
        end, x, lam, open_by = self._closed(begin, self._end(begin, x), x, lam, factors)
        work, force = self._work(begin, end, lam)
        risks = zeros(3, begin.q, begin.v)
        if len(factors.pivots):
            risks[0] = near_dependence(factors.pivots, factors.reciprocals(), self._scale**2)
        left = corrections[-1] * (STEP_RISK / self.scheme.converged**2)
        risks[1] = open_by * UNCLOSED_RISK + left
        size = self._size(begin, x)
        return NewtonStep(end, x, lam, work, force, risks, (size, *corrections), R, factors)

    def _end(self, begin: Begin, x: Array) -> End:
        """Return the end of the step for accelerations x there."""
        alpha_m, alpha_f, beta, gamma = self._number
        h, a, nv = begin.h[0], self.memory.a(begin.memory), self.system.model.nv
        after = x
        if not self._number.one_acceleration:
            before = alpha_f * self.memory.acceleration(begin.memory) - alpha_m * a
            after = (before + (1.0 - alpha_f) * x) * (1.0 / (1.0 - alpha_m))
        change = h * ((1.0 - gamma) * a + gamma * after)
        delta = h * begin.v + (h * h) * ((0.5 - beta) * a[:nv] + beta * after[:nv])
        q = moved(self.system.model, begin.q, delta)
        return End(delta, q, begin.v + change[:nv], begin.z + change[nv:], after)

    def residual(self, begin: Begin, x: Array, lam: Array) -> Array:
        """Return what accelerations and rates leave of the equations (unknowns,)."""
        return self._residual(begin, self._end(begin, x), x, lam)

    def _residual(self, begin: Begin, end: End, x: Array, lam: Array) -> Array:
        acting, t = begin.acting(self.system), begin.t[0]
        a, rates = np.split(x, [acting.model.nv])
        force = acting.residual(self.rows, t, end.q, end.v, end.z, a, lam)
        if not self.system.nz:
            return force
        return np.concatenate([force, rates - acting.rates(t, end.q, end.v, end.z)])

    def _solve(
        self, begin: Begin, J: Eliminated | None
    ) -> tuple[Array, Array, Factors | InBasis, tuple[Any, Any], Array]:
        """Return q̈', ż', λ', the factors, squares of the last two corrections, the last R."""
        x, lam = self.memory.acceleration(begin.memory), self.memory.lam(begin.memory)
        refresh, (by_position, by_velocity) = self.scheme.refresh, self._by(begin)
        by_row = [by_velocity if one else by_position for one in self._of_velocity]
        factors: Factors | InBasis | None = None
        went: tuple[Any, Any] = 0.0, 0.0
        R = NONE
        # of independent velocities J leaves out how the rows turn: that takes an iteration more
        for k in range(self.scheme.iterations + self._independent):
            end = self._end(begin, x)
            kept = self._kept_rows(begin, end)
            left = zeros(len(by_row), kept.phi, kept.rate, begin.h)
            for j, of_velocity in enumerate(self._of_velocity):
                left[j] = (kept.rate if of_velocity else kept.phi)[j] / by_row[j]
            if J is None and (factors is None or (refresh and k % refresh == 0)):
                R, formed = self.derived(x, lam, *begin)
                factors = self._factors(begin, formed, kept)
            else:
                R = self.residual(begin, x, lam)
                factors = factors if J is None else self._of_rows(J, kept)
            assert factors is not None
            if self._independent:
                R = self._residual(begin, *self._on_rows(begin, end, x, kept, factors), lam)
            change, more = factors.change(R, left)
            x, lam = x + change, lam + more
            went = went[1], self._size(begin, change)
        assert factors is not None
        return x, lam, factors, went, R

    def _on_rows(
        self, begin: Begin, end: End, x: Array, kept: KeptRows, factors: Factors | InBasis
    ) -> tuple[End, Array]:
        """Return the end and the accelerations with v' and q̈' put onto the rows."""
        nv = self.system.model.nv
        end = end._replace(v=end.v + factors.closing(kept.rate)[0][:nv])
        kept = self._kept_rows(begin, end)
        return end, x + factors.closing(kept.phi_q @ x - kept.gamma)[0]

    def _bound(self, begin: Begin, R: Array, mobile: Array) -> Any:
        """Return what may be left of the end where the equations are open by R, squared."""
        model, (by_position, by_velocity) = self.system.model, self._by(begin)
        free = by_position * mobile * R[: model.nv] / model.velocity_scale
        rates = by_velocity * R[model.nv :] / (np.abs(begin.z) + SMALL_STATE)
        return model.nv * (free**2).sum() + (rates**2).sum()

    def _size(self, begin: Begin, x: Array) -> Any:
        """Return by how much x moves the end, squared, in sizes of the machine and of states."""
        model, (by_position, by_velocity) = self.system.model, self._by(begin)
        size = ((by_position * x[: model.nv] / model.velocity_scale) ** 2).sum()
        if self.system.nz:
            states = np.abs(begin.z) + SMALL_STATE
            size = size + ((by_velocity * x[model.nv :] / states) ** 2).sum()
        return size

    def _by(self, begin: Begin) -> tuple[Any, Any]:
        """Return how much an acceleration moves positions and velocities at the end."""
        h, number = begin.h[0], self._number
        return (h * h) * (number.share * number.beta), h * (number.share * number.gamma)

    def _kept_rows(self, begin: Begin, end: End) -> KeptRows:
        """Return the rows at the end of a step."""
        acting = begin.acting(self.system)
        model, picked = acting.model, list(self.rows)
        phi, rate, gamma, phi_q = NONE, NONE, NONE, np.zeros((0, model.nv))
        if picked:
            found = constraints(model, state_vectors(model, end.q, end.v))
            phi, gamma, phi_q = found.phi[picked], found.gamma[picked], found.phi_q[picked]
            rate = phi_q @ end.v
        motions = acting.stage().motions
        if motions is not None:
            f, f1, f2 = motions.at(begin.t[0])
            phi = np.concatenate([phi, end.q[list(motions.q)] - f])
            rate = np.concatenate([rate, end.v[list(motions.v)] - f1])
            gamma = np.concatenate([gamma, f2])
            phi_q = np.vstack([phi_q, np.eye(model.nv)[list(motions.v)]])
        beside = np.zeros((len(phi_q), self.system.nz))
        return KeptRows(phi, rate, gamma, np.hstack([phi_q, beside]))

    def _closed(
        self, begin: Begin, end: End, x: Array, lam: Array, factors: Factors | InBasis
    ) -> tuple[End, Array, Array, Any]:
        """Return the end put onto the constraints, its q̈ and λ, and what was open, squared."""
        if not len(factors.pivots):
            return end, x, lam, 0.0
        model, open_by = self.system.model, 0.0
        for _ in range(CORRECTIONS):
            kept = self._kept_rows(begin, end)
            phi = self._by_position * kept.phi
            open_by = ((phi / self._scale) ** 2).sum()
            dq = factors.onto(phi)[: model.nv]
            dv = factors.closing(kept.rate)[0]
            q = normalised(model, end.q + coordinate_rates(model, end.q, dq))
            end = end._replace(q=q, v=end.v + dv[: model.nv])
        change, more = factors.closing(kept.phi_q @ x - kept.gamma)
        x = zeros(len(x), x, change) + x
        x[: model.nv] = x[: model.nv] + change[: model.nv]
        return end._replace(a=self._end(begin, x).a), x, lam + more, open_by

    def _work(self, begin: Begin, end: End, lam: Array) -> tuple[Any, Array]:
        """Return the work of the step, J, and F at its end."""
        if not self._works:
            return 0.0, NONE
        acting = begin.acting(self.system)
        force = self._working(acting, begin.t[0], end.q, end.v, end.z, lam)
        return end.delta @ (0.5 * (self.memory.force(begin.memory) + force)), force

    def _working(self, acting: Acting, t: Any, q: Array, v: Array, z: Array, lam: Array) -> Array:
        """Return the generalised forces of what works: all but passive force elements; and damping
        of flexible links.
        """
        force = zeros(acting.model.nv, q, v, lam)
        if self.system.pushed:
            force[:] = acting.forces(t, q, v, z, but=self.system.passive)
        damping = damping_forces(acting.model, v)
        if damping is not None:
            force = force + damping
        for k, place in enumerate(self._prescribed, len(self.rows)):
            force[place] = force[place] - lam[k]
        return force

    def _factors(self, begin: Begin, J: Array, kept: KeptRows) -> Factors | InBasis:
        """Return the factors of J and of the rows, or of the basis."""
        if self._basis is not None:
            return self._in_basis(self._basis.kept(self.memory.factors(begin.memory)), J, kept)
        weights = None
        if self._supported:  # where M is singular
            weights = support(self.system.model, kept.phi_q, self._scale**2)
            J = J + weights @ kept.phi_q
        return self._of_rows(eliminate(J), kept)._replace(weights=weights)

    def _of_rows(self, J: Eliminated, kept: KeptRows) -> Factors:
        if not len(kept.phi):
            return Factors(J, np.zeros((self._unknown, 0)), None, kept.phi_q, NONE)
        Y = solved_columns(J, kept.phi_q.T)
        S = kept.phi_q @ Y
        return Factors(J, Y, eliminate(S), kept.phi_q, np.diagonal(S))

    def _in_basis(self, kept: Kept, J: Array, rows: KeptRows) -> InBasis:
        nv, nz = self.system.model.nv, self.system.nz
        phi_q = rows.phi_q[:, :nv]
        B = phi_q @ kept.V1
        inner, free = eliminate(B), kept.V2.shape[1]
        V1 = np.vstack([kept.V1, np.zeros((nz, len(B)))])
        N = zeros((nv + nz, free + nz), kept.V2, phi_q)
        N[:nv, :free] = kept.V2 - kept.V1 @ solved_columns(inner, phi_q @ kept.V2)
        N[nv:, free:] = np.eye(nz)
        reduced = eliminate(N.T @ (J @ N))
        return InBasis(J, V1, N, inner, reduced, np.diagonal(B), self._independent)


def _plain(factors: Factors | InBasis) -> Eliminated:
    """Return the factors of J of steps without rows."""
    assert isinstance(factors, Factors), "there are no rows"
    return factors.J


def moved(model: Model, q: Array, delta: Array) -> Array:
    """Return q ⊕ δ: the coordinates after moving with the velocities δ for one second.

    By the rule of the midpoint, so that turning bodies are good to the second order in δ.
    """
    if model.nq == model.nv:
        return q + coordinate_rates(model, q, delta)
    middle = normalised(model, q + 0.5 * coordinate_rates(model, q, delta))
    return normalised(model, q + coordinate_rates(model, middle, delta))
