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
from mbd_bridge.simulation.acts import Acting
from mbd_bridge.simulation.steps.memory import (
    Begin,
    KeptFactors,
    KeptJacobian,
    Memory,
    good_enough,
    mobility,
)
from mbd_bridge.simulation.steps.runge_kutta import CORRECTIONS, normalised, slopes
from mbd_bridge.simulation.steps.schemes import ImplicitScheme
from mbd_bridge.simulation.system import System
from mbd_bridge.solve.closed import needs_support, support
from mbd_bridge.solve.factor import Eliminated, eliminate, not_zero, solved, solved_columns
from mbd_bridge.solve.tolerances import SQUARES_IN_RISK, STEP_RISK, UNCLOSED_RISK

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
    """J, Y = J⁻¹ Φ_qᵀ, S = Φ_q Y, Φ_q, and the diagonal of S."""

    J: Eliminated
    Y: Array
    S: Eliminated | None
    phi_q: Array
    diagonal: Array


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
    J: Eliminated


class ImplicitStep:
    """One step of a system by an implicit scheme.

    Parameters
    ----------
    rows : independent rows of the loops
    velocity_rows : those of them that are constraints on velocities alone (Φ = 0 says nothing)

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
    ) -> None:
        self.system, self.rows, self.scheme = system, tuple(rows), scheme
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
        self.memory = Memory(self._unknown, one, lam, force, room, self._kept.size)

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
        return self._results(start, taken, KeptJacobian(formed, taken.J, mobile))

    def _results(
        self, begin: Begin, taken: NewtonStep, kept: KeptJacobian | None = None
    ) -> tuple[Array, ...]:
        """Return q', v', z', the memory, the work (1,) and the risks of a step."""
        end, work = taken.end, zeros(1, begin.q, begin.v)
        work[0] = taken.work
        factors = NONE if kept is None else self._kept.packed(kept)
        memory = self.memory.packed(end.a, taken.x, taken.lam, taken.force, factors)
        return end.q, end.v, end.z, memory, work, taken.risks

    def _taken(self, begin: Begin, J: Eliminated | None = None) -> NewtonStep:
        """Return the step with the factors of its own J, or with others."""
        x, lam, factors, corrections, R = self._solve(begin, J)
        end, x, lam, open_by = self._closed(begin, self._end(begin, x), x, lam, factors)
        work, force = self._work(begin, end, lam)
        risks = zeros(3, begin.q, begin.v)
        risks[0] = self._near(factors)
        left = corrections[-1] * (STEP_RISK / self.scheme.converged**2)
        risks[1] = open_by * UNCLOSED_RISK + left
        size = self._size(begin, x)
        return NewtonStep(end, x, lam, work, force, risks, (size, *corrections), R, factors.J)

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
        acting, end, t = begin.acting(self.system), self._end(begin, x), begin.t[0]
        a, rates = np.split(x, [acting.model.nv])
        force = acting.residual(self.rows, t, end.q, end.v, end.z, a, lam)
        if not self.system.nz:
            return force
        return np.concatenate([force, rates - acting.rates(t, end.q, end.v, end.z)])

    def _solve(
        self, begin: Begin, J: Eliminated | None
    ) -> tuple[Array, Array, Factors, tuple[Any, Any], Array]:
        """Return q̈', ż', λ', the factors, squares of the last two corrections, the last R."""
        x, lam = self.memory.acceleration(begin.memory), self.memory.lam(begin.memory)
        refresh, (by_position, by_velocity) = self.scheme.refresh, self._by(begin)
        by_row = [by_velocity if one else by_position for one in self._of_velocity]
        factors, went, R = None, (0.0, 0.0), NONE
        for k in range(self.scheme.iterations):
            kept = self._kept_rows(begin, self._end(begin, x))
            left = zeros(len(by_row), kept.phi, kept.rate, begin.h)
            for j, of_velocity in enumerate(self._of_velocity):
                left[j] = (kept.rate if of_velocity else kept.phi)[j] / by_row[j]
            if J is None and (factors is None or (refresh and k % refresh == 0)):
                R, formed = self.derived(x, lam, *begin)
                factors = self._factors(self._inner(formed, kept), kept)
            else:
                R = self.residual(begin, x, lam)
                factors = factors if J is None else self._factors(J, kept)
            assert factors is not None
            change, more = self._solved(factors, R, left)
            x, lam = x + change, lam + more
            if k < self.scheme.iterations:
                went = went[1], self._size(begin, change)
        assert factors is not None
        return x, lam, factors, went, R

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
        self, begin: Begin, end: End, x: Array, lam: Array, factors: Factors
    ) -> tuple[End, Array, Array, Any]:
        """Return the end put onto the constraints, its q̈ and λ, and what was open, squared."""
        if factors.S is None:
            return end, x, lam, 0.0
        model, open_by = self.system.model, 0.0
        Y = factors.Y[: model.nv]
        for _ in range(CORRECTIONS):
            kept = self._kept_rows(begin, end)
            phi = self._by_position * kept.phi
            open_by = ((phi / self._scale) ** 2).sum()
            dq = -(Y @ solved(factors.S, phi))
            dv = -(Y @ solved(factors.S, kept.rate))
            q = normalised(model, end.q + coordinate_rates(model, end.q, dq))
            end = end._replace(q=q, v=end.v + dv)
        more = solved(factors.S, kept.phi_q @ x - kept.gamma)
        x = zeros(len(x), x, Y) + x
        x[: model.nv] = x[: model.nv] - Y @ more
        return end._replace(a=self._end(begin, x).a), x, lam + more, open_by

    def _near(self, factors: Factors) -> Any:
        """Return the risk of being near a singular position, as `solve.closed` has it."""
        if factors.S is None:
            return 0.0
        count, squares = len(self._scale), self._scale**2
        mean = (factors.diagonal / squares).sum() * (1.0 / count)
        inverse = mean * (factors.S.reciprocals * squares)
        return (inverse + SQUARES_IN_RISK * inverse * inverse).sum() * (1.0 / count)

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

    def _inner(self, J: Array, kept: KeptRows) -> Eliminated:
        """Return the factors of J, with support where M is singular."""
        if self._supported:
            J = J + self._weighted(kept.phi_q) @ kept.phi_q
        return eliminate(J)

    def _factors(self, J: Eliminated, kept: KeptRows) -> Factors:
        if not len(kept.phi):
            return Factors(J, np.zeros((self._unknown, 0)), None, kept.phi_q, NONE)
        Y = solved_columns(J, kept.phi_q.T)
        S = kept.phi_q @ Y
        return Factors(J, Y, eliminate(S), kept.phi_q, np.diagonal(S))

    def _solved(self, factors: Factors, R: Array, left: Array) -> tuple[Array, Array]:
        """Return the changes of the unknowns and of λ' that take R and what is left away."""
        if factors.S is None:
            return -solved(factors.J, R), NONE
        if self._supported:
            R = R + self._weighted(factors.phi_q) @ left
        free = solved(factors.J, R)
        more = solved(factors.S, left - factors.phi_q @ free)
        return -(free + factors.Y @ more), more

    def _weighted(self, phi_q: Array) -> Array:
        return support(self.system.model, phi_q, self._scale**2)


def moved(model: Model, q: Array, delta: Array) -> Array:
    """Return q ⊕ δ: the coordinates after moving with the velocities δ for one second.

    By the rule of the midpoint, so that turning bodies are good to the second order in δ.
    """
    if model.nq == model.nv:
        return q + coordinate_rates(model, q, delta)
    middle = normalised(model, q + 0.5 * coordinate_rates(model, q, delta))
    return normalised(model, q + coordinate_rates(model, middle, delta))
