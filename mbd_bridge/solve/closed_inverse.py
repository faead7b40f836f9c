"""Inverse dynamics of a mechanism with loops: actuators and multipliers of motions that are given.

All states go through one kernel in which the passive velocities that are solved for are chosen
beforehand (`velocity_choice`, `minimum_norm`), so that a state has the same digits alone and among
others, first and last. States at which these are near to depending on each other go by singular
values. Rows that are redundant but for rounded numbers are taken for what the others make of them
(`row_choice`), as forward dynamics does.

Which passive velocities determine the multipliers: chosen in one place, without memory.

A motion that is given leaves the multipliers to the rows of the passive velocities, those without
an actuator. In general position so many of them are independent as the multipliers that they
determine; these are chosen where they are farthest from dependent over the closed positions by
which `row_choice` goes too. Like its choice, this one depends on the model alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import flag
from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import Kernel
from mbd_bridge.kernels.layout import check_inputs
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.actuation import actuated_velocities, explain_actuators
from mbd_bridge.solve.applied import Applied, AppliedForces, check_stateless
from mbd_bridge.solve.balance import unbalanced
from mbd_bridge.solve.check_states import explain
from mbd_bridge.solve.factor import LARGEST, MinimumNorm, operations, projected
from mbd_bridge.solve.loop_terms import (
    ACCELERATION,
    CONDITION,
    NOTICED_OPEN,
    OPEN_DRIVES,
    UNBALANCED,
    LoopTerms,
    judged,
    loop_terms,
    prepare_terms,
    probes,
    refuse_open,
)
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.rank import pivoted
from mbd_bridge.solve.row_choice import closed_positions, row_choice
from mbd_bridge.solve.spins import Spin, spin_velocities, spins_of, spun
from mbd_bridge.solve.tolerances import (
    CONSISTENT,
    NOTICED,
    OPEN_LOAD,
    REFINED_RISK,
    ROUNDED,
    SINGULAR,
)


def velocity_choice(model: Model, active: Array) -> tuple[int, ...]:
    """Return independent passive velocities, as many as in general position.

    Parameters
    ----------
    active : (nv,) which velocities are actuated
    """
    choice, passive = row_choice(model), np.flatnonzero(~active)
    matrices = [choice.exact(J).T for J in closed_positions(model).phi_q]
    found: dict[tuple[int, ...], int] = {}
    for A in matrices:
        one = pivoted(A[passive].T, SINGULAR, float(np.linalg.norm(A)))
        chosen = tuple(sorted(int(k) for k in passive[one.order[: one.rank]]))
        found[chosen] = one.rank
    rank = max(found.values())
    sets = [chosen for chosen, own in found.items() if own == rank]
    return max(sets, key=lambda chosen: _floor(matrices, chosen))


def _floor(matrices: list[Array], chosen: tuple[int, ...]) -> float:
    """Return the geometric mean of the smallest singular value of some rows of matrices."""
    if not chosen:
        return 1.0
    least = [np.linalg.svd(A[list(chosen)], compute_uv=False)[-1] for A in matrices]
    return float(np.exp(np.mean(np.log(np.maximum(least, ROUNDED)))))


NOTHING = AppliedForces()


def closes(facts: Array) -> Array:
    """Return whether states (N,) with facts (N, ...) satisfy the loops."""
    return np.asarray((facts[:, : ACCELERATION + 1] <= CONSISTENT**2).all(axis=1))


BLOCK = 2_000_000
"""Numbers that are held at a time: 16 MB."""


class InverseSolution(NamedTuple):
    """What makes a motion.

    Attributes
    ----------
    tau : (..., nv) generalised forces of the actuators, N m or N; zero where nothing actuates
    lam : (..., m) multipliers of the cuts' rows
    open : (..., PROBES, m) multipliers in general position among those that the equations leave
        open; zero, to rounding, where they leave none
    a : (..., nv) accelerations that these make: those given (not copied), but for spins of links
        about themselves that no loop and no actuator determines (`spins`); these were solved for
    closed : (...,) whether the state satisfies the loops, which is known without `check`, too
    """

    tau: Array
    lam: Array
    open: Array
    a: Array
    closed: Array


class ClosedInverse:
    """Actuators and multipliers of one mechanism with loops, prepared once.

    Parameters
    ----------
    model : with at least one cut
    actuated : actuated joints
    applied : what acts beside the actuators: external wrenches (a further argument), and force
        elements (then time, s, if they depend on it)
    """

    def __init__(
        self, model: Model, actuated: Iterable[str], applied: AppliedForces = NOTHING
    ) -> None:
        self.model = model
        self.active = actuated_velocities(model, actuated)
        self._rows = len(model.row_scale)
        self._probes = probes(self._rows)
        check_stateless(model, applied.forces)
        self._inputs = {"q": model.nq, "v": model.nv, "a": model.nv, **applied.inputs}
        self._applied = applied
        self._choice = row_choice(model)
        self._weights = self._choice.weights(self._choice.rows)
        self.spins = spins_of(model, self.active)

    def __call__(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        *applied: ArrayLike,
        threads: int = 1,
        check: bool = True,
        minimum_norm: bool = False,
    ) -> InverseSolution:
        """Return the actuators of motions that satisfy the loops, at one state or at N states.

        Parameters
        ----------
        q, v, a, applied : (n,) or (N, n)
        check : raise if a state does not satisfy the loops, or if the actuators cannot make the
            motion or are more than it determines; False returns what comes nearest, smallest
        minimum_norm : more actuators than the motion determines are allowed

        Raises
        ------
        StateError, SolveError
            What `check` found: which state, which loop, which actuators, what to try.
        """
        check, minimum_norm = flag("check", check), flag("minimum_norm", minimum_norm)
        arrays, number = check_inputs((q, v, a, *applied), self._inputs)
        count, nv, rows = 1 if number is None else number, self.model.nv, self._rows
        opens = len(self._probes) * rows
        found = [np.empty((count, size)) for size in (nv, rows, opens)]
        if self.spins:
            found.append(np.empty((count, nv)))
        size, closed = max(1, BLOCK // (8 * rows + 2 * nv)), np.empty(count, dtype=bool)
        for start in range(0, max(count, 1), size):
            part = [x[start : start + size] if x.ndim == 2 else x for x in arrays]
            into = [x[start : start + size] for x in found]
            facts = self._solve(part, into, number is None, threads)
            closed[start : start + size] = closes(facts)
            if check:
                self._check(start, arrays, into[0], facts, minimum_norm)
        tau, lam, opened, *solved = found
        rates = solved[0] if solved else np.broadcast_to(arrays[2], (count, nv))
        vectors = opened.reshape(count, len(self._probes), rows)
        actuators = InverseSolution(tau, lam, vectors, rates, closed)
        return InverseSolution(*(x[0] for x in actuators)) if number is None else actuators

    def _solve(self, arrays: list[Array], into: list[Array], single: bool, threads: int) -> Array:
        """Fill tau (N, nv), lam (N, m), open (N, PROBES m), with spins a (N, nv); return facts."""
        if self._whole is None:
            return self._by_singular_values(arrays, into, np.arange(len(into[0])))
        out = [x[0] for x in into] if single else into
        facts = self._whole(*arrays, out=[*out, None], threads=threads)[-1]
        facts = facts[None] if single else facts
        slack = max(NOTICED, self._choice.slack)
        with np.errstate(invalid="ignore"):
            good = (facts[:, CONDITION] < REFINED_RISK) & (facts[:, NOTICED_OPEN] < slack**2)
        bad = np.flatnonzero(~good)
        if len(bad):
            facts[bad] = self._by_singular_values(arrays, into, bad)
        return facts

    def _by_singular_values(self, arrays: list[Array], into: list[Array], states: Array) -> Array:
        """Fill some of the states that `_solve` fills, one by one; return their facts."""
        all_facts, scale = [], self.model.row_scale
        for k in states:
            a, terms = self._state(int(k), arrays)
            finite = bool(np.isfinite(terms.A).all() and np.isfinite(terms.b).all())
            A = self._choice.exact(terms.A.T).T if finite else terms.A
            lam, opened = self._minimum_norm(A, terms.b) if finite else self._nothing
            unsure = np.array([REFINED_RISK])  # which rows tell the motion
            tau, facts = judged(terms, A, self.active, lam, opened, unsure, self._weights)
            flat = (opened / scale).reshape(-1)
            solved = tau / self.model.velocity_scale, lam / scale, flat, a
            for whole, one in zip(into, solved, strict=False):  # the last only with spins
                whole[k] = one
            all_facts.append(facts)
        width = CONDITION + 1 + int(self.active.sum())
        return np.array(all_facts).reshape(len(states), width)

    @property
    def _nothing(self) -> tuple[Array, Array]:
        return np.full(self._rows, np.nan), np.zeros(self._probes.shape)

    def _minimum_norm(self, A: Array, b: Array) -> tuple[Array, Array]:
        """Return λ (m,) and what is open of the probes (PROBES, m), dimensionless."""
        own = A[~self.active]
        if not len(own):
            return np.zeros(self._rows), self._probes
        U, s, Vt = np.linalg.svd(own, full_matrices=False)
        keep = s > SINGULAR * np.linalg.norm(A)
        U, s, Vt = U[:, keep], s[keep], Vt[keep]
        lam = Vt.T @ ((U.T @ b[~self.active]) / s)
        return lam, self._probes - (self._probes @ Vt.T) @ Vt

    @cached_property
    def _terms(self) -> Callable[..., tuple[Array, ...]]:
        return prepare_terms(self.model, self._applied)

    @cached_property
    def _whole(self) -> Kernel | None:
        """The kernel, if it is worth compiling."""
        rows = velocity_choice(self.model, self.active)
        if operations(self._choice.pattern.T[list(rows)].astype(np.float64)) > LARGEST:
            return None
        active = np.flatnonzero(self.active).tolist()
        exact = self._choice.rows if self._choice.imprecise else ()
        outputs = ("tau", "lam", "open", *(("rates",) if self.spins else ()), "facts")
        columns = [spin.columns for spin in self.spins]
        what = active, rows, exact, columns, self._applied
        whole = self.function_of(self.model, self._applied)

        def function(*arguments: Array) -> tuple[Array, ...]:
            tau, lam, opened, a, facts = whole(*arguments)
            return (tau, lam, opened, a, facts) if self.spins else (tau, lam, opened, facts)

        return model_kernel(self.model, "closed_inverse", self._inputs, outputs, function, what)

    def function_of(self, model: Model, acts: AppliedForces) -> Traceable:
        """Return the traceable function of torques, multipliers, open multipliers, accelerations
        and facts, of a variant of the model, which goes by the choices of the model.
        """
        rows, scale = velocity_choice(self.model, self.active), 1.0 / self.model.row_scale

        def function(q: Array, v: Array, a: Array, *rest: Array) -> tuple[Array, ...]:
            applied = acts.at(model, q, v, *rest)
            a, spin_risk = self._spun(model, q, v, a, applied)
            terms = loop_terms(model, q, v, a, *applied[:2])
            A, risk = self.exact(terms.A)
            some = MinimumNorm(A[list(rows)])
            lam = some.solution(terms.b[list(rows)])
            opened = np.array([some.unnoticed(probe) for probe in self._probes])
            risks = np.array([some.risk + risk + spin_risk])
            tau, facts = judged(terms, A, self.active, lam, opened, risks, self._weights)
            flat = np.concatenate([probe * scale for probe in opened])
            solved = tau * (1.0 / self.model.velocity_scale), lam * scale, flat
            return *solved, a, facts

        return function

    def refuse(self, facts: Array, minimum_norm: bool) -> None:
        """Raise for the first state of a variant whose facts (N, ...) are not what they should be.

        Raises
        ------
        StateError, SolveError
            Which state, and what to try.
        """
        slack, least = max(NOTICED, self._choice.slack) ** 2, self._choice.consistent**2
        shared = (facts[:, OPEN_DRIVES:] > OPEN_LOAD**2).any(axis=1) & (not minimum_norm)
        sure = (facts[:, CONDITION] < REFINED_RISK) & (facts[:, NOTICED_OPEN] < slack)
        found = {
            "does not close the loops of the machine with these values: assemble the machine that "
            "has them": ~closes(facts),
            "is too near a singular position: leave it out": ~sure,
            "is a motion that the actuators given cannot make, or do not determine: change "
            "actuated=": (facts[:, UNBALANCED] > least) | shared,
        }
        for message, states in found.items():
            if states.any():
                kind = StateError if "loops" in message else SolveError
                raise kind(f"state {int(np.argmax(states))} {message}")

    def _spun(
        self, model: Model, q: Array, v: Array, a: Array, applied: Applied
    ) -> tuple[Array, Any]:
        """Return the accelerations with those of free spins, and the risk of these; traceable."""
        if not self.spins:
            return a, 0.0
        b = -(unbalanced(model, q, v, a, *applied[:2]) * model.velocity_scale)
        return spun(self.spins_in(model), model, state_vectors(model, q, v), a, b)

    def spins_in(self, model: Model) -> tuple[Spin, ...]:
        """Return the free spins that have inertia, of a variant of the model."""
        heavy = tuple(spin for spin in self.spins if spin.inertia)
        return heavy if model is self.model else tuple(spin.of_variant(model) for spin in heavy)

    def exact(self, A: Array) -> tuple[Array, Any]:
        """Return A (nv, m) of symbols without what redundant rows are off, and the risk of that."""
        if not self._choice.imprecise:
            return A, 0.0
        phi_q, risk = projected(A.T, self._choice.rows)
        return phi_q.T, risk

    def _check(
        self, start: int, arrays: list[Array], tau: Array, facts: Array, minimum_norm: bool
    ) -> None:
        """Raise for the first of some states that is not what it should be."""
        if not (np.isfinite(tau).all() and np.isfinite(facts).all()):
            explain(self.model, dict(zip(self._inputs, arrays, strict=True)), tau, facts)
        sure = closes(facts)
        sure &= (facts[:, CONDITION] < REFINED_RISK) | self._choice.precise

        def terms(some: Array) -> LoopTerms:
            each = zip(*(self._state(int(k), arrays)[1] for k in some), strict=True)
            return LoopTerms(*map(np.array, each))

        doubtful = start + np.flatnonzero(~sure)
        refuse_open(self.model, self._choice, doubtful, terms, ACCELERATION)
        missing = np.flatnonzero(facts[:, UNBALANCED] > self._choice.consistent**2)
        if len(missing):
            k = start + int(missing[0])
            raise SolveError(
                f"state {k}: the actuators given cannot make this motion: "
                f"{self._explained(k, arrays)}"
            )
        shared = np.flatnonzero((facts[:, OPEN_DRIVES:] > OPEN_LOAD**2).any(axis=1))
        if len(shared) and not minimum_norm:
            k = start + int(shared[0])
            raise SolveError(
                f"state {k}: the motion does not determine the actuators given: "
                f"{self._explained(k, arrays)}. Or take the loads that are smallest for the loop "
                f"joints, with flags at all that is not determined: minimum_norm=True"
            )

    def _state(self, k: int, arrays: list[Array]) -> tuple[Array, LoopTerms]:
        """Return the accelerations of one state, with those of free spins, and its equations."""
        q, v, a, *rest = (x[k] if x.ndim == 2 else x for x in arrays)
        if self.spins:
            with np.errstate(all="ignore"):
                applied = self._applied.at(self.model, q, v, *rest)
                a, _ = self._spun(self.model, q, v, a, applied)
        return a, LoopTerms(*self._terms(q, v, a, *rest))

    def _explained(self, k: int, arrays: list[Array]) -> str:
        phi_q = self._state(k, arrays)[1].A.T
        q, v = (x[k] if x.ndim == 2 else x for x in arrays[:2])
        own = spin_velocities(self.spins, self.model, state_vectors(self.model, q, v))
        rows = np.concatenate([phi_q[list(self._choice.at(phi_q))], own])
        return explain_actuators(self.model, rows, self.active)
