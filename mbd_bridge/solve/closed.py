"""Constrained acceleration as straight-line code: independent rows, a fixed order, no pivoting.

    M = Lᵀ D L                                             (`factor`: no fill in a tree)
    Y = L⁻ᵀ Φ_qᵀ,  z = L⁻ᵀ Q
    S = Yᵀ D⁻¹ Y                                           the inverse inertia of the rows
    S λ = Yᵀ D⁻¹ z - γ
    q̈ = L⁻¹ D⁻¹ (z - Y λ)                                  Lee94 (22) by its Schur complement

Coordinates whose motion is prescribed are further rows: Φ_q a row of the unit matrix, γ the wanted
acceleration; their multipliers are the forces of prescribed motions, negative.

Where links without inertia make M singular, although the closed mechanism is not, rows support it:
M + Φ_qᵀ W Φ_q with Q + Φ_qᵀ W γ has the same accelerations and multipliers for any W.

The same factors project positions and velocities onto the constraints in the sense of M
(Lee94 (26), (29)): one factorisation serves all three. S is positive definite as long as the chosen
rows are independent; with s the rows' scales, x_k = mean(S_jj / s_j²) s_k² / pivot_k and

    risk = mean(x_k + w x_k²),   w = `SQUARES_IN_RISK`

grows beyond bounds where they are not, and the caller then takes another road (`reduced`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.external import External
from mbd_bridge.equations.mass_matrix import BodyComposites, mass_matrix_by_bodies
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.equations.sections import JointSection, sections
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import Model
from mbd_bridge.model.model import once_a_model
from mbd_bridge.model.spatial import Array, Inertia, zeros
from mbd_bridge.solve.factor import (
    Factor,
    factorise,
    inward,
    mass_pattern,
    not_zero,
    outward,
    substitute,
)
from mbd_bridge.solve.tolerances import MASSLESS, SQUARES_IN_RISK

NO_ROWS = np.zeros(0)


class ClosedTerms(NamedTuple):
    """The equations of a mechanism at one state, M q̈ + Φ_qᵀ λ = Q, Φ_q q̈ = γ.

    Attributes
    ----------
    scale : (m,) squares of the rows' scales
    names : of the rows
    sections : what M and h say of selected joints
    """

    model: Model
    M: Array
    Q: Array
    phi_q: Array
    gamma: Array
    scale: Array
    names: list[str]
    sections: tuple[JointSection, ...]


class Closed(NamedTuple):
    """Accelerations (nv,), multipliers of the chosen rows and of the prescribed ones, factors,
    risk; what M and h say of selected joints.
    """

    a: Array
    lam: Array
    mass: Factor
    Y: Array
    inner: Factor | None
    risk: Any
    sections: tuple[JointSection, ...] = ()
    scale: Array = NO_ROWS

    @property
    def dv(self) -> Array:
        """What a step integrates (nv,)."""
        return self.a

    def correction(self, residual: Array) -> Array:
        """Return the smallest velocity step, in the sense of M, that takes `residual` off the
        rows.
        """
        if self.inner is None:
            return np.zeros(len(self.Y))
        return -inward(self.mass, self.Y @ substitute(self.inner, residual))


def by_multipliers(terms: ClosedTerms) -> Closed:
    """Return the acceleration by the multipliers of the rows: the Schur complement of M."""
    model, M, Q, phi_q, gamma, scale, names, parts = terms
    pattern, count = mass_pattern(model), len(gamma)
    if count and needs_support(model):
        M, Q = _supported(model, M, Q, phi_q, gamma, scale)
        pattern = not_zero(M)
    mass = factorise(M, pattern, model.velocity_names)
    z = outward(mass, Q)
    if not count:
        none = np.zeros((model.nv, 0))
        return Closed(inward(mass, z), np.zeros(0), mass, none, None, 0.0, parts)
    Y = zeros((model.nv, count), phi_q, M)
    for k in range(count):
        Y[:, k] = outward(mass, phi_q[k])
    S, right = _schur(mass, Y, z)
    inner = factorise(S, not_zero(S), names)
    lam = substitute(inner, right - gamma)
    risk = near_dependence(np.diagonal(S), inner.reciprocals, scale)
    return Closed(inward(mass, z - Y @ lam), lam, mass, Y, inner, risk, parts, scale)


class NearbyFactors(NamedTuple):
    """Factors of a state, by which accelerations near it are found: Lee94 (30).

    Attributes
    ----------
    near : the state's
    guess : (nv + r,) accelerations and multipliers
    reach : s², by which an acceleration moves the machine
    times : corrections
    """

    near: Closed
    guess: Array
    reach: Any
    times: int

    def acceleration(
        self,
        model: Model,
        rows: Sequence[int],
        q: Array,
        v: Array,
        tau: Array,
        prescribed_velocities: Sequence[int] = (),
        wanted: Array | None = None,
        joints: Sequence[int] = (),
    ) -> Closed:
        """Return the acceleration as `closed_acceleration` does.

        The equations at the state are evaluated by recursion, M is not formed. Each correction
        leaves a part of what it finds that is as small as the states are near. Joints have no
        sections. The risk is what the last correction moves the machine by, squared.
        """
        near = self.near
        phi_q, gamma = rows_of(model, rows, q, v, prescribed_velocities, wanted)
        a, lam = self.guess[: model.nv], self.guess[model.nv :]
        weights = support(model, phi_q, near.scale) if needs_support(model) and len(gamma) else None
        change = np.zeros(model.nv)
        for _ in range(self.times):
            left = phi_q @ a - gamma
            loads = recursive_loads(model, q, v, a, (), None, along_with_forces=True)
            free = tau - loads.forces - phi_q.T @ lam
            if weights is not None:
                free = free - weights @ left
            z = outward(near.mass, free)
            if near.inner is not None:
                more = substitute(near.inner, near.Y.T @ (near.mass.reciprocals * z) + left)
                z, lam = z - near.Y @ more, lam + more
            change = inward(near.mass, z)
            a = a + change
        moved = ((self.reach * change / model.velocity_scale) ** 2).sum()
        return near._replace(a=a, lam=lam, risk=moved, sections=())


def closed_acceleration(
    model: Model,
    rows: Sequence[int],
    q: Array,
    v: Array,
    tau: Array,
    prescribed_velocities: Sequence[int] = (),
    wanted: Array | None = None,
    external: External | None = None,
    joints: Sequence[int] = (),
    by: Callable[[ClosedTerms], Any] = by_multipliers,
) -> Any:
    """Return the acceleration of a mechanism with loops under generalised forces: a `Closed`.

    Parameters
    ----------
    rows : of the cut joints' constraints, independent ones
    tau : (nv,) N m or N
    prescribed_velocities : velocities whose acceleration is prescribed, independent of each other
        and of `rows`
    wanted : (D,) these accelerations
    external : wrenches on links
    joints : of the tree, whose `sections` are wanted
    by : how the equations are solved, and so what is returned; see `null_space`
    """
    bias = recursive_loads(
        model, q, v, np.zeros(model.nv), joints, external, along_with_forces=True
    )
    composites = BodyComposites.of(model, q, joints)
    parts = sections(composites, joints, bias.wrench)
    phi_q, gamma = rows_of(model, rows, q, v, prescribed_velocities, wanted)
    own = list(prescribed_velocities)
    scale = np.append(model.row_scale[list(rows)], model.velocity_scale[own]) ** 2
    names = [f"row {row}" for row in rows] + [model.velocity_names[j] for j in own]
    terms = composites.mass_matrix(), tau - bias.forces, phi_q, gamma, scale, names, parts
    return by(ClosedTerms(model, *terms))


def near_dependence(diagonal: Array, reciprocals: Array, scale: Array) -> Any:
    """Return the risk that rows depend on each other, from S_jj and the pivots of S."""
    share = 1.0 / len(scale)
    mean = (diagonal / scale).sum() * share
    inverse = mean * (reciprocals * scale)
    # at a singular position rounding may make a pivot negative, and its share with it: squares tell
    return (inverse + SQUARES_IN_RISK * inverse * inverse).sum() * share


def rows_of(
    model: Model,
    rows: Sequence[int],
    q: Array,
    v: Array,
    prescribed_velocities: Sequence[int],
    wanted: Array | None,
) -> tuple[Array, Array]:
    """Return Φ_q and γ of the chosen rows of the cuts, then of the prescribed coordinates."""
    own = np.eye(model.nv)[list(prescribed_velocities)]
    rates = np.zeros(0) if wanted is None else wanted
    if not rows:
        return own, rates
    found = constraints(model, state_vectors(model, q, v))
    picked = list(rows)
    if not prescribed_velocities:
        return found.phi_q[picked], found.gamma[picked]
    return np.vstack([found.phi_q[picked], own]), np.concatenate([found.gamma[picked], rates])


@once_a_model
def needs_support(model: Model) -> bool:
    """Return whether the mass matrix of the tree is singular wherever it is."""
    if not all(_is_known(body.inertia) for body in model.bodies):
        return False  # masses are parameters: whoever gives their numbers looks at the pivots
    if all(_has_inertia(body.inertia) for body in model.bodies if body.type.nv):
        return False
    rng = np.random.default_rng(0)
    q = model.integrate(model.neutral(), rng.uniform(-1.0, 1.0, model.nv))
    s = model.velocity_scale
    M = mass_matrix_by_bodies(model, q)
    if M.dtype == object:  # lengths are parameters
        return False
    sizes = np.linalg.eigvalsh(M * np.outer(s, s))
    return bool(sizes[0] <= MASSLESS * sizes[-1])


def _is_known(own: Inertia) -> bool:
    parts = np.asarray(own.mass), own.centre, own.central
    return not any(part.dtype == object for part in parts)


def _has_inertia(own: Inertia) -> bool:
    principal = np.linalg.eigvalsh(own.central)
    return bool(own.mass > 0.0 and principal[0] > MASSLESS * principal[-1])


def _supported(
    model: Model, M: Array, Q: Array, phi_q: Array, gamma: Array, scale: Array
) -> tuple[Array, Array]:
    """Return M + Φ_qᵀ W Φ_q and Q + Φ_qᵀ W γ, with W of the size of the whole machine's inertia."""
    for row, weighted, rate in zip(phi_q, support(model, phi_q, scale).T, gamma, strict=True):
        M = M + weighted[:, None] * row[None, :]
        Q = Q + weighted * rate
    return M, Q


def support(model: Model, phi_q: Array, scale: Array) -> Array:
    """Return Φ_qᵀ W, W of the size of the machine's inertia; scale holds squares."""
    return np.asarray(phi_q.T * ((sum(model.masses) * model.size**2 or 1.0) / scale))


def _schur(mass: Factor, Y: Array, z: Array) -> tuple[Array, Array]:
    """Return S = Yᵀ D⁻¹ Y and Yᵀ D⁻¹ z."""
    count = Y.shape[1]
    S, right = zeros((count, count), Y), zeros(count, Y, z)
    for i in range(count):
        weighted = Y[:, i] * mass.reciprocals
        right[i] = weighted @ z
        for j in range(i + 1):
            S[i, j] = S[j, i] = weighted @ Y[:, j]
    return S, right
