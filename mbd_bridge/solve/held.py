"""Accelerations of a tree under rows J(q) v̇ + γ(q, v) = 0, and their derivatives.

    M a + h = τ + Jᵀ λ,   J a + γ = 0
    S = J M⁻¹ Jᵀ,   λ = -S⁻¹ (J M⁻¹ (τ - h) + γ),   a = M⁻¹ (τ - h + Jᵀ λ)

The rows need not be those of a loop that is closed: a foot on the ground, or a loop with correctors
in γ. Derivatives are those of this solution, with A = d(M a + h - Jᵀ λ) and E = d(J a + γ) at fixed
a and λ: dλ = S⁻¹ (J M⁻¹ A - E), da = M⁻¹ (Jᵀ dλ - A). By q they are along velocities.

Straight-line code does it all where S is regular and the factors are not too many. Otherwise it
gives A, E, M and J, and LAPACK solves: of dependent rows λ and dλ are the smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.kernels.derive import jacobian
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.solve.derivatives import inverse_derivatives
from mbd_bridge.solve.dynamics import LARGEST
from mbd_bridge.solve.factor import (
    Factor,
    elimination_operations,
    factorise,
    inverse_of,
    mass_pattern,
    not_zero,
    substitute,
)
from mbd_bridge.solve.model_kernel import model_kernel
from mbd_bridge.solve.prepared import quick

Rows = Callable[[Array, Array], tuple[Array, Array]]
"""J (m, nv) and γ (m,) of q and v, for floats and symbols."""

REGULAR = 1e-10
"""Smallest pivot of S by its largest from which on rows are independent: what is left of rows that
depend on others is rounding, 1e-13 to 1e-16."""


STRAIGHT = 30_000
"""Multiply-adds for derivatives that are still worth compiling: some ten seconds."""


class HeldMotion(NamedTuple):
    """Accelerations (nv,) and multipliers (m,)."""

    a: Array
    lam: Array


class HeldDerivatives(NamedTuple):
    """Derivatives of a (nv, nv) and of λ (m, nv) by q, v and τ."""

    a_by_q: Array
    a_by_v: Array
    a_by_tau: Array
    lam_by_q: Array
    lam_by_v: Array
    lam_by_tau: Array


class HeldBlocks(NamedTuple):
    """M a + h and J a + γ at one state, their derivatives, M, J, and M⁻¹ if it is formed here."""

    forces: Array
    mass: Array
    inverse: Array
    rows: Array
    residual: Array
    forces_by_q: Array
    forces_by_v: Array
    residual_by: Array


class HeldTree:
    """A tree whose accelerations obey rows, prepared once.

    Parameters
    ----------
    rows, count : of the constraints
    key : all that they depend on beside the model, as values (`model.address`)
    """

    def __init__(self, model: Model, rows: Rows, count: int, key: object) -> None:
        self.model, self._rows, self._count, self._key = model, rows, count, key
        self._kernels: dict[str, Callable[..., Any]] = {}
        pattern, nv = mass_pattern(model), model.nv
        first, each = elimination_operations(pattern), int(pattern.sum()) + count**2
        self._moves = first + (count + 1) * each <= LARGEST
        self._derives = first + (count + 3 * nv) * each <= STRAIGHT
        self._inverts = first + nv * each <= LARGEST

    def motion(self, q: Array, v: Array, tau: Array) -> HeldMotion:
        """Return the motion of one state or of N."""
        if self._moves:
            *found, pivots = self._kernel("held_motion", ("q", "v", "tau"), 3)(q, v, tau)
            if _regular(pivots):
                return HeldMotion(*found)
        nv = self.model.nv
        at = self._blocks(q, v, np.zeros(nv), np.zeros(self._count))
        P, G, S = _inverse(at)
        force, residual = (tau - at.forces)[..., None], at.residual[..., None]
        a, lam = P @ force - G @ residual, -_turned(G) @ force - S @ residual
        return HeldMotion(a[..., 0], lam[..., 0])

    def derivatives(self, q: Array, v: Array, tau: Array) -> tuple[HeldMotion, HeldDerivatives]:
        """Return the motion and its derivatives, of one state or of N."""
        if self._derives:
            *found, pivots = self._kernel("held_derivatives", ("q", "v", "tau"), 9)(q, v, tau)
            if _regular(pivots):
                return HeldMotion(*found[:2]), HeldDerivatives(*found[2:])
        motion, nv = self.motion(q, v, tau), self.model.nv
        at = self._blocks(q, v, *motion)
        P, G, S = _inverse(at)
        residual_by = at.residual_by[..., :nv], at.residual_by[..., nv:]
        by = zip((at.forces_by_q, at.forces_by_v), residual_by, strict=True)
        both = [(-(P @ A) - G @ E, _turned(G) @ A - S @ E) for A, E in by]
        (a_by_q, lam_by_q), (a_by_v, lam_by_v) = both
        derivatives = HeldDerivatives(a_by_q, a_by_v, P, lam_by_q, lam_by_v, -_turned(G))
        return motion, derivatives

    def _blocks(self, q: Array, v: Array, a: Array, lam: Array) -> HeldBlocks:
        return HeldBlocks(*self._kernel("held_blocks", ("q", "v", "a", "lam"), 8)(q, v, a, lam))

    def _kernel(self, name: str, arguments: tuple[str, ...], outputs: int) -> Callable[..., Any]:
        if name not in self._kernels:
            functions: dict[str, Callable[..., tuple[Array, ...]]] = {
                "held_motion": held_motion,
                "held_derivatives": held_derivatives,
                "held_blocks": partial(held_blocks, inverted=self._inverts),
            }
            function = functions[name]
            nq, nv = self.model.nq, self.model.nv
            sizes = {"q": nq, "v": nv, "tau": nv, "a": nv, "lam": self._count}
            kernel = model_kernel(
                self.model,
                name,
                {argument: sizes[argument] for argument in arguments},
                [f"output {k}" for k in range(outputs)],
                lambda *arrays: tuple(function(self.model, self._rows, *arrays)),
                self._key,
            )
            self._kernels[name] = quick(self.model, kernel)
        return self._kernels[name]


def _inverse(at: HeldBlocks) -> tuple[Array, Array, Array]:
    """Return P, G and S⁻¹ with a = P (τ - h) - G γ, λ = -Gᵀ (τ - h) - S⁻¹ γ."""
    inverse = at.inverse if at.inverse.size else np.linalg.inv(at.mass)
    X = inverse @ _turned(at.rows)
    S = at.rows @ X
    try:
        P = np.linalg.inv(S)
        known = np.abs(S).max(axis=(-2, -1)) * np.abs(P).max(axis=(-2, -1)) * REGULAR < 1.0
    except np.linalg.LinAlgError:
        known = np.False_
    if not known.all():
        P = np.linalg.pinv(S, rcond=REGULAR, hermitian=True)
    G = X @ P
    return inverse - G @ _turned(X), G, P


def _turned(matrices: Array) -> Array:
    return np.swapaxes(matrices, -1, -2)


def _regular(pivots: Array) -> bool:
    size = np.abs(pivots)
    return bool((size.min(axis=-1) > REGULAR * size.max(axis=-1)).all())


class _Factors(NamedTuple):
    """Factors of M and of S, J, and X = M⁻¹ Jᵀ (nv, m)."""

    mass: Factor
    held: Factor
    rows: Array
    response: Array

    @staticmethod
    def of(model: Model, M: Array, J: Array) -> _Factors:
        mass = factorise(M, mass_pattern(model), model.velocity_names)
        X = np.column_stack([substitute(mass, row) for row in J])
        S = J @ X
        names = [f"constraint row {k}" for k in range(len(J))]
        return _Factors(mass, factorise(S, not_zero(S), names), J, X)

    def solved(self, forces: Array, residual: Array) -> tuple[Array, Array]:
        """Return x and λ of M x - Jᵀ λ = forces, J x = residual."""
        free = substitute(self.mass, forces)
        lam = substitute(self.held, residual - self.rows @ free)
        return free + self.response @ lam, lam


def held_blocks(
    model: Model,
    rows: Rows,
    q: Array,
    v: Array,
    a: Array,
    lam: Array,
    *,
    inverted: bool = False,
) -> HeldBlocks:
    """Return the terms of the equations and their derivatives, for floats and symbols.

    Parameters
    ----------
    inverted : M⁻¹ is returned, too
    """

    def moved(d: Array, v: Array, q: Array, a: Array, lam: Array) -> tuple[Array, ...]:
        J, gamma = rows(q + coordinate_rates(model, q, d), v)
        return J @ a + gamma, J.T @ lam, J

    nv = model.nv
    inputs = {"d": nv, "v": nv, "q": model.nq, "a": nv, "lam": len(lam)}
    step = jacobian(moved, inputs, ("d", "v"))
    residual, _, J, residual_by, push_by, _ = step(np.zeros(nv), v, q, a, lam)
    inverse = inverse_derivatives(model, q, v, a)
    by_q = inverse.by_q - push_by[:, :nv]
    M = inverse.by_a
    M_inverse = np.zeros((0, 0))
    if inverted:
        M_inverse = inverse_of(factorise(M, mass_pattern(model), model.velocity_names))
    return HeldBlocks(inverse.tau, M, M_inverse, J, residual, by_q, inverse.by_v, residual_by)


def held_motion(
    model: Model, rows: Rows, q: Array, v: Array, tau: Array
) -> tuple[Array, Array, Array]:
    """Return a, λ and the pivots of S, for floats and symbols."""
    J, gamma = rows(q, v)
    still = inverse_derivatives(model, q, v, np.zeros(model.nv))
    factors = _Factors.of(model, still.by_a, J)
    return *factors.solved(tau - still.tau, -gamma), factors.held.pivots


def held_derivatives(model: Model, rows: Rows, q: Array, v: Array, tau: Array) -> tuple[Array, ...]:
    """Return what `HeldMotion` and `HeldDerivatives` list, and the pivots of S."""
    a, lam, pivots = held_motion(model, rows, q, v, tau)
    at = held_blocks(model, rows, q, v, a, lam)
    factors = _Factors.of(model, at.mass, at.rows)
    nv = model.nv
    forces = np.hstack([-at.forces_by_q, -at.forces_by_v, np.eye(nv)])
    residual = np.hstack([-at.residual_by, np.zeros((len(lam), nv))])
    a_by, lam_by = zeros((nv, 3 * nv), at.mass), zeros((len(lam), 3 * nv), at.mass)
    for k in range(3 * nv):
        a_by[:, k], lam_by[:, k] = factors.solved(forces[:, k], residual[:, k])
    return a, lam, *np.split(a_by, 3, axis=1), *np.split(lam_by, 3, axis=1), pivots
