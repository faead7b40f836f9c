"""Dynamics of a mechanism with loops, state by state.

Forward: accelerations and multipliers for given drives, by any method of `reduced`.
Inverse: drives and multipliers for a given motion. Only some coordinates carry a drive; in the rows
of the others the loops must do it all:

    (Φ_qᵀ λ)_passive = -(M q̈ + h)_passive,     τ_driven = (M q̈ + h + Φ_qᵀ λ)_driven

Multipliers that these equations leave open (redundant rows, more drives than freedoms) are chosen
smallest; `open` spans them, and every load that they reach is not determined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.errors import ModelError, SolveError, StateError, unknown_name
from mbd_bridge.mechanism import Model
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.solve.finite import explain
from mbd_bridge.solve.rank import TOLERANCE
from mbd_bridge.solve.reduced import Method, constrained_motion
from mbd_bridge.spatial import Array

CONSISTENT = 1e-6
"""How far a given state may be from the constraints, relative to the mechanism's size and to the
largest term of the equation: states from files have lost digits."""


class Drives(NamedTuple):
    """Generalised forces (nv,), zero where nothing drives; multipliers (m,); and what is open.

    ``open`` (m, r) spans the multipliers that the equations do not determine.
    """

    tau: Array
    lam: Array
    open: Array


class ConstrainedDynamics:
    """Forward and inverse dynamics of one mechanism with loops.

    Parameters
    ----------
    model : with at least one cut
    links : link indices that carry external wrenches (a further argument)
    actuated : joints with a drive, for inverse dynamics
    """

    def __init__(
        self, model: Model, links: tuple[int, ...] = (), actuated: Iterable[str] | None = None
    ) -> None:
        self.model = model
        self._mass = prepare(model, "mass_matrix")
        self._bias = prepare(model, "bias_forces", links)
        self._inverse = prepare(model, "inverse_dynamics", links)
        self._constraints = prepare(model, "constraints")
        self.driven = None if actuated is None else driven_velocities(model, actuated)

    def forward(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *external: ArrayLike,
        method: Method = "svd",
    ) -> tuple[Array, Array]:
        """Return accelerations (..., nv) and multipliers (..., m)."""
        (h,) = self._bias(q, v, *external)
        force = np.asarray(tau, dtype=np.float64) - h
        (M,) = self._mass(q)
        _, phi_q, gamma = self._constraints(q, v)
        if not all(np.all(np.isfinite(x)) for x in (M, force, phi_q, gamma)):
            explain(self.model, {"q": q, "v": v, "tau": tau}, force, M, phi_q, gamma)
        found = [
            constrained_motion(self.model, m, f, j, g, method)
            for m, f, j, g in _states((2, M), (1, force), (2, phi_q), (1, gamma))
        ]
        single = max(h.ndim, force.ndim) == 1
        if not found:
            return np.zeros((0, self.model.nv)), np.zeros((0, phi_q.shape[-2]))
        a, lam = (np.array(column) for column in zip(*found, strict=True))
        return (a[0], lam[0]) if single else (a, lam)

    def inverse(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *external: ArrayLike
    ) -> list[Drives]:
        """Return drives and multipliers of each state (a list of one for a single state)."""
        (forces,), finite = self._inverse.run(q, v, a, *external)
        (phi, phi_q, gamma), sound = self._constraints.run(q, v)
        if not (finite and sound):
            explain(self.model, {"q": q, "v": v, "a": a}, forces, phi, gamma)
        a = np.asarray(a, dtype=np.float64)
        v = np.asarray(v, dtype=np.float64)
        columns = ((1, forces), (1, phi), (2, phi_q), (1, gamma), (1, v), (1, a))
        return [self._drives(k, *row) for k, row in enumerate(_states(*columns))]

    def _drives(
        self, k: int, forces: Array, phi: Array, phi_q: Array, gamma: Array, v: Array, a: Array
    ) -> Drives:
        model = self.model
        self._check_motion(k, phi, phi_q, gamma, v, a)
        driven = self.driven_in(phi_q)
        rows, columns = model.row_scale, model.velocity_scale
        A = (phi_q / rows[:, None] * columns).T[~driven]
        b = -(forces * columns)[~driven]
        U, s, Vt = np.linalg.svd(A)
        rank = int(np.sum(s > TOLERANCE * s.max(initial=0.0)))
        lam = Vt[:rank].T @ ((U[:, :rank].T @ b) / s[:rank])
        lack = np.abs(A @ lam - b)
        if lack.max(initial=0.0) > CONSISTENT * max(
            np.abs(forces * columns).max(initial=0.0), 1e-9
        ):
            names = np.array(model.velocity_names)[~driven]
            raise SolveError(
                f"state {k}: the drives given cannot make this motion: "
                f"{names[int(lack.argmax())]!r} lacks {lack.max():.3g} N m. Name more joints in "
                f"actuated=[...]; the mechanism has "
                f"{model.nv - int(np.linalg.matrix_rank(phi_q))} freedoms"
            )
        lam = lam / rows
        tau = np.where(driven, forces + phi_q.T @ lam, 0.0)
        return Drives(tau, lam, Vt[rank:].T / rows[:, None])

    def left_open(self, q: Array) -> Array:
        """Return a basis (m, r) of the multipliers that no passive coordinate notices at q."""
        _, phi_q, _ = self._constraints(q, np.zeros(self.model.nv))
        return left_open(self.model, phi_q, self.driven_in(phi_q))

    def driven_in(self, phi_q: Array) -> Array:
        """Return which velocities (nv,) have a drive; without any say how many there must be."""
        if self.driven is None:
            freedoms = self.model.nv - int(np.linalg.matrix_rank(phi_q))
            raise ModelError(
                f"in a mechanism with loops say which joints are driven: actuated=[...]. It has "
                f"{freedoms} freedoms; its velocities: {', '.join(self.model.velocity_names)}"
            )
        return self.driven

    def _check_motion(
        self, k: int, phi: Array, phi_q: Array, gamma: Array, v: Array, a: Array
    ) -> None:
        rows = self.model.row_scale
        for what, lack, terms in (
            ("position", phi, np.ones(len(rows))),
            ("velocity", phi_q @ v, np.abs(phi_q) @ np.abs(v)),
            ("acceleration", phi_q @ a - gamma, np.abs(phi_q) @ np.abs(a) + np.abs(gamma)),
        ):
            allowed = CONSISTENT * np.maximum(terms.max(initial=0.0), rows)
            if np.any(np.abs(lack) > allowed):
                worst = int(np.argmax(np.abs(lack) / allowed))
                raise StateError(
                    f"state {k}: the {what} does not satisfy loop "
                    f"{self._loop(worst)!r}: {lack[worst]:.3g} is left; start from assemble(...)"
                )

    def _loop(self, row: int) -> str:
        for cut in self.model.cuts:
            if row < len(cut.rows):
                return cut.name
            row -= len(cut.rows)
        raise AssertionError("a row of no cut")


def left_open(model: Model, phi_q: Array, driven: Array) -> Array:
    """Return a basis (m, r) of the multipliers that no velocity but the driven ones notices."""
    rows = model.row_scale
    A = (phi_q / rows[:, None] * model.velocity_scale).T[~driven]
    _, s, Vt = np.linalg.svd(A)
    rank = int(np.sum(s > TOLERANCE * s.max(initial=0.0)))
    return np.asarray(Vt[rank:].T / rows[:, None])


def driven_velocities(model: Model, actuated: Iterable[str]) -> Array:
    """Return which velocities (nv,) belong to the joints named."""
    driven = np.zeros(model.nv, dtype=bool)
    known = {
        model.joints[body.joint].name: body
        for body in model.bodies
        if body.type.nv and not body.coupled
    }
    for name in (actuated,) if isinstance(actuated, str) else actuated:
        if name not in known:
            raise ModelError(unknown_name("joint of the tree that can be driven", name, known))
        driven[known[name].v] = True
    return driven


def _states(*arrays: tuple[int, Array]) -> Iterator[tuple[Array, ...]]:
    """Yield the arrays of each state; ``(rank, array)``, constant ones repeated."""
    count = max((len(array) for rank, array in arrays if array.ndim > rank), default=1)
    for k in range(count):
        yield tuple(array[k] if array.ndim > rank else array for rank, array in arrays)
