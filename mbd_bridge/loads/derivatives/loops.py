"""How the state of a machine with loops changes: what is held moves, the loops carry the rest.

Chosen coordinates are independent. Their q, v, a and the machine's numbers p change as given; what
depends on them (D) follows, since Φ(q, p) = 0 and its first and second derivatives stay zero. So do
the multipliers, since the rows of passive velocities (P) stay in balance:

    Φ_q,D dq_D = -(Φ_q dq_I + Φ_p dp)
    Φ_q,D dv_D = -(Φ_q dv_I + ∂(Φ_q v)/∂(q, p) · (dq, dp))
    Φ_q,D da_D = -(Φ_q da_I + ∂(Φ_q a - γ)/∂(q, v, p) · (dq, dv, dp))
    (Φ_qᵀ dλ)_P = -∂(M a + h + Φ_qᵀ λ - τ)_P/∂(q, v, a, p, ...) · (dq, dv, da, dp, ...)

The matrices on the left are those of the state itself and are not differentiated: no derivative of
a factorisation is formed. Among redundant rows independent ones are taken (`row_choice`); a change
of p that would open the others is told (`LoopRates.open`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.errors import ModelError, unknown_name
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.kernels import is_traced, pulled_back, rates_along
from mbd_bridge.kernels.tracing import Traceable
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.solve.applied import AppliedForces
from mbd_bridge.solve.balance import unbalanced
from mbd_bridge.solve.closed_inverse import ClosedInverse, velocity_choice
from mbd_bridge.solve.factor import MinimumNorm
from mbd_bridge.solve.rank import pivoted
from mbd_bridge.solve.row_choice import closed_positions, row_choice
from mbd_bridge.solve.tolerances import SINGULAR

OPENED = 1e-6
"""How far redundant rows may open by a change of the machine, relative to the motion it makes: what
files round."""

Variant = Callable[[Array], tuple[Model, AppliedForces]]
"""Returns the model and what acts, for parameters (P,)."""


class LoopRates(NamedTuple):
    """Rates of the inputs (n, K) by name, and whether they are good.

    Attributes
    ----------
    rates : of q, v, a, lam and the others
    risk : grows without bounds near singular positions
    open : (K,) squares of how far the redundant rows open, relative to the motion
    """

    rates: dict[str, Array]
    risk: Any
    open: Array


def independent_velocities(model: Model, prescribed: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return velocities from which all others follow, farthest from a dead centre.

    Parameters
    ----------
    prescribed : velocities that are known and not among them
    """
    choice = row_choice(model, prescribed)
    J = choice.exact(closed_positions(model).phi_q[0])[list(choice.rows)]
    J[:, list(prescribed)] = 0.0
    order = pivoted(J, SINGULAR, float(np.linalg.norm(J))).order
    return tuple(sorted(set(map(int, order[len(choice.rows) :])) - set(prescribed)))


def velocities_named(model: Model, names: tuple[str, ...]) -> tuple[int, ...]:
    """Return the velocities of some joints, or of single velocities, by name."""
    found = []
    for name in names:
        if name in model.velocity_names:
            found.append(model.velocity_names.index(name))
        elif name in model.joint_index and model.joint(name).moving:
            own = model.bodies[model.joint(name).body].v
            found += range(own.start, own.stop)
        else:
            raise ModelError(f"along: {unknown_name('coordinate', name, model.velocity_names)}")
    return tuple(sorted(set(found)))


class LoopMotion:
    """Rates of a machine with loops along some independent velocities.

    Parameters
    ----------
    inverse : the solver of its multipliers
    independent : velocities that are held or moved; None: all, and loops may open
    """

    def __init__(self, inverse: ClosedInverse, independent: tuple[int, ...] | None) -> None:
        self.model, self._inverse = inverse.model, inverse
        self.independent = independent
        self._dependent = [k for k in range(self.model.nv) if k not in (independent or ())]
        self._choice = row_choice(self.model)
        self._passive = list(velocity_choice(self.model, inverse.active))
        if independent is not None:
            self._check(independent)

    def _check(self, independent: tuple[int, ...]) -> None:
        model, choice, spins = self.model, self._choice, self._inverse.spins
        names = ", ".join(model.velocity_names[k] for k in independent)
        dof = model.nv - choice.rank - len(spins)
        if len(independent) != dof:
            raise ModelError(
                f"along: {names or 'nothing'}: expected as many coordinates as the mechanism has "
                f"degrees of freedom, {dof}, got {len(independent)}; name {dof} of "
                f"{', '.join(model.velocity_names)}, or along='fixed' for all of them"
            )
        J = choice.exact(closed_positions(model).phi_q[0])[list(choice.rows)][:, self._dependent]
        if pivoted(J, SINGULAR).rank < choice.rank:
            raise ModelError(
                f"along: {names}: the others do not follow from these; the mechanism's "
                f"coordinates are {', '.join(model.velocity_names)}, and along='independent' "
                f"chooses among them"
            )

    @cached_property
    def levels(self) -> tuple[tuple[list[int], list[int]], ...]:
        """Which rows are solved for which velocities: of positions, velocities, accelerations.

        A wheel that rolls constrains velocities alone: positions that follow from no others stay.
        """
        rows, rolls = list(self._choice.rows), self.model.velocity_rows
        whole = rows, self._dependent
        if not rolls.any():
            return whole, whole, whole
        held = [k for k in rows if not rolls[k]]
        J = self._choice.exact(closed_positions(self.model).phi_q[0])
        order = pivoted(J[held][:, self._dependent], SINGULAR).order[: len(held)]
        return (held, sorted(self._dependent[k] for k in order)), whole, whole

    def rates(
        self, inputs: Mapping[str, Array], seeds: Mapping[str, Array], variant: Variant
    ) -> LoopRates:
        """Return the rates of all inputs.

        Parameters
        ----------
        inputs : q, v, a, lam, external, ..., p: symbols, or floats for p
        seeds : rates of the inputs that are given (n, K); of q the velocities (nv, K)
        variant : what parameters make of the model
        """
        count = seeds["q"].shape[1]
        rates, risk, opened = dict(seeds), 0.0, np.zeros(count)
        state = self._matrices(inputs, variant)
        if self.independent is not None:
            moved, risk, opened = self._closed(inputs, seeds, variant, state)
            rates |= moved
        rates["q"] = position_rates(self.model, inputs["q"], rates["q"])
        rates["a"] = rates["a"] + self._spin_rates(inputs, rates, variant)
        given = {name: x for name, x in inputs.items() if name != "point"}
        moving = {name: x for name, x in rates.items() if name in given}
        _, (slopes,) = rates_along(self._unbalanced(variant), given, moving)
        some, row_risk = self._balance(state)
        rates["lam"] = _solved(some, slopes[self._passive]) / self.model.row_scale[:, None]
        return LoopRates(rates, risk + row_risk + some.risk, opened)

    def gradient(
        self, inputs: Mapping[str, Array], slopes: Mapping[str, Array], variant: Variant
    ) -> tuple[dict[str, Array], Any]:
        """Return a number's derivatives by what is independent, from those by all inputs.

        The same equations backwards, with the transposed matrix at each level.

        Parameters
        ----------
        slopes : by q (nq,), v, a, lam, ..., p

        Returns
        -------
        By q (nv,: along velocities), v, a, of which those that are independent count, and by the
        rest; the risk.
        """
        model, J = self.model, self._matrices(inputs, variant)
        total = dict(slopes)
        some, risk = self._balance(J)
        risk = risk + some.risk

        def pull(function: Traceable, weights: Array, names: list[str], by: list[str]) -> None:
            given = {name: inputs[name] for name in names}
            for name, x in pulled_back(function, given, [weights], by)[1].items():
                total[name] = total[name] + x

        lam = total.pop("lam")
        weights = zeros(model.nv, J, lam)
        weights[self._passive] = -some.shares(lam / model.row_scale)
        names = [name for name in inputs if name != "point"]
        others = [name for name in names if name != "lam"]
        pull(self._unbalanced(variant), weights, names, others)
        spins = self._spin_velocities(inputs, variant)
        if spins:
            turned = [P * (((P * model.velocity_scale) @ total["a"]) / -size) for P, size in spins]
            pull(self._unbalanced(variant), np.sum(turned, axis=0), names, others)
        unit = position_rates(model, inputs["q"], np.eye(model.nv))
        if self.independent is None:
            return total | {"q": unit.T @ total["q"]}, risk
        for k in (2, 1, 0):
            name, scale, (chosen, follow) = "qva"[k], model.velocity_scale, self.levels[k]
            closing = MinimumNorm(J[chosen][:, follow])
            own = unit.T @ total["q"] if name == "q" else total[name]
            shares = closing.shares(own[follow] * scale[follow])
            weights = zeros(len(J), J, shares)
            weights[chosen] = -shares / model.row_scale[chosen]
            pull(self._residual(k, variant), weights, [*"qva"[: k + 1], "p"], [*"qva"[:k], "p"])
            total[name] = own - (J[chosen].T @ shares) / scale
            if not k or self.levels[k] is not self.levels[k - 1]:
                risk = risk + closing.risk
        return total, risk

    def opened(self, inputs: Mapping[str, Array], dp: Array, variant: Variant) -> Array:
        """Return how far changes (P, K) of parameters open the loops; see `LoopRates.open`."""
        if self.independent is None:
            return np.zeros(dp.shape[1])
        held = dict.fromkeys("qva", np.zeros((self.model.nv, dp.shape[1])))
        J = self._matrices(inputs, variant)
        return self._closed(inputs, held | {"p": dp}, variant, J)[2]

    def _balance(self, J: Array) -> tuple[MinimumNorm, Any]:
        """Return the rows of Φ_qᵀ that tell the multipliers, and a risk."""
        A, risk = self._inverse.exact(J.T)
        return MinimumNorm(A[self._passive]), risk

    def _unbalanced(self, variant: Variant) -> Traceable:
        """Return what is left of M a + h + Φ_qᵀ λ - τ (nv,), dimensionless in length."""

        def function(*values: Array) -> tuple[Array, ...]:
            q, v, a, lam, *rest, p = values
            model, applied = variant(p)
            acts = applied.at(model, q, v, *rest)
            left = unbalanced(model, q, v, a, acts.external, acts.along, lam)
            return (left * self.model.velocity_scale,)

        return function

    def _residual(self, level: int, variant: Variant) -> Traceable:
        """Return Φ of q, p; Φ̇ of q, v, p; or Φ̈ of q, v, a, p."""

        def function(*values: Array) -> tuple[Array, ...]:
            *state, p = values
            q, v, a = [*state, *np.zeros((2, self.model.nv))][:3]
            model, _ = variant(p)
            found = constraints(model, state_vectors(model, q, v))
            return ((found.phi, found.phi_q @ v, found.phi_q @ a - found.gamma)[level],)

        return function

    def _matrices(self, inputs: Mapping[str, Array], variant: Variant) -> Array:
        """Return the dimensionless Φ_q (m, nv)."""
        model = self._variant(inputs["p"], variant)
        found = constraints(model, state_vectors(model, inputs["q"], inputs["v"]))
        rows = 1.0 / self.model.row_scale
        return np.asarray(found.phi_q * rows[:, None] * self.model.velocity_scale)

    def _variant(self, p: Array, variant: Variant) -> Model:
        """Return the model itself for its own numbers: it makes fewer operations."""
        return variant(p)[0] if is_traced(p) else self.model

    def _closed(
        self, inputs: Mapping[str, Array], seeds: Mapping[str, Array], variant: Variant, J: Array
    ) -> tuple[dict[str, Array], Any, Array]:
        """Return rates of q (as velocities), v and a with which loops stay closed."""
        model, risk = self.model, 0.0
        scale, rows = model.velocity_scale[:, None], 1.0 / model.row_scale[:, None]
        moving = {"p": seeds["p"]}
        moved, opened = {}, np.zeros(seeds["p"].shape[1])
        for k, name in enumerate("qva"):
            given = {x: inputs[x] for x in [*"qva"[: k + 1], "p"]}
            _, (slopes,) = rates_along(self._residual(k, variant), given, moving)
            own = zeros((model.nv, slopes.shape[1]), J, slopes)
            own[:] = seeds[name]
            left = slopes * rows + J @ (own / scale)
            chosen, follow = self.levels[k]
            some = MinimumNorm(J[chosen][:, follow])
            if not k or self.levels[k] is not self.levels[k - 1]:
                risk = risk + some.risk
            own[follow] = own[follow] + _solved(some, left[chosen]) * scale[follow]
            moved[name] = own
            idle = model.velocity_rows if k == 0 else np.zeros(len(J), dtype=bool)
            others = [row for row in range(len(J)) if row not in chosen and not idle[row]]
            if others:
                left = slopes[others] * rows[others] + J[others] @ (own / scale)
                size = 1.0 + ((own / scale) * (own / scale)).sum(axis=0)
                opened = opened + (left * left).sum(axis=0) / size
            moving[name] = position_rates(model, inputs["q"], own) if name == "q" else own
        return moved, risk, opened

    def _spin_velocities(
        self, inputs: Mapping[str, Array], variant: Variant
    ) -> list[tuple[Array, Any]]:
        """Return the velocities (nv,) of free spins, dimensionless, and their inertias."""
        if not self._inverse.spins:
            return []
        model = self._variant(inputs["p"], variant)
        state = state_vectors(model, inputs["q"], inputs["v"])
        spins = self._inverse.spins_in(model)
        return [(spin.velocities(model, state)[0], spin.inertia) for spin in spins]

    def _spin_rates(
        self, inputs: Mapping[str, Array], rates: Mapping[str, Array], variant: Variant
    ) -> Array:
        """Return the rates (nv, K) of accelerations of free spins, whose moments stay zero.

        The multipliers' own rates are left out: they do not turn what spins.
        """
        total: Array = np.zeros(rates["a"].shape)
        spins = self._spin_velocities(inputs, variant)
        if not spins:
            return total
        given = {name: x for name, x in inputs.items() if name != "point"}
        moving = {name: x for name, x in rates.items() if name in given and name != "lam"}
        _, (slopes,) = rates_along(self._unbalanced(variant), given, moving)
        for P, inertia in spins:
            turned = (P @ slopes) * (-1.0 / inertia)
            total = total + (P * self.model.velocity_scale)[:, None] * turned[None, :]
        return total


def position_rates(model: Model, q: Array, along: Array) -> Array:
    """Return the rates of q (nq, K) for velocities (nv, K), floats or symbols."""
    out = zeros((model.nq, along.shape[1]), q, along)
    for k in range(along.shape[1]):
        out[:, k] = coordinate_rates(model, q, along[:, k])
    return out


def _solved(some: MinimumNorm, left: Array) -> Array:
    """Return X (n, K) with A X = -left, smallest; columns of zeros stay zeros."""
    columns = [some.solution(-left[:, k]) for k in range(left.shape[1])]
    return np.stack(columns, axis=1) if columns else np.zeros((some.A.shape[1], 0))
