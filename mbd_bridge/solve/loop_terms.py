"""The equations for the multipliers of a motion that is given, and what they leave open.

Only some velocities carry an actuator; in the rows of the others the loops must do it all:

    (Φ_qᵀ λ)_passive = -(M q̈ + h)_passive,     τ_driven = (M q̈ + h + Φ_qᵀ λ)_driven

Everything is dimensionless in length (see `rank`): A = Φ_qᵀ, b = -(M q̈ + h), λ in N m. Multipliers
that the passive rows leave open (redundant rows, actuators beyond the degrees of freedom) are
chosen smallest. What is open is seen by `PROBES` vectors in general position: their parts that no
passive row notices change whatever is not determined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.errors import StateError
from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.external import External
from mbd_bridge.equations.mass_moments import MassMoments
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, Inertia, zeros
from mbd_bridge.solve.applied import AppliedForces
from mbd_bridge.solve.balance import unbalanced
from mbd_bridge.solve.model_kernel import model_kernel, shared_kernel
from mbd_bridge.solve.row_choice import RowChoice

PROBES = 3
"""Vectors in general position. One would see everything but a chance of its own tolerance; three
miss a component with that chance cubed."""

POSITION, VELOCITY, ACCELERATION, UNBALANCED, NOTICED_OPEN, CONDITION, OPEN_DRIVES = range(7)
"""Places among the facts of a state. The first three: squares of how far it is from the loops,
relative to their terms; UNBALANCED: square of what the passive rows miss, relative to all forces;
NOTICED_OPEN: square of what they notice of what should be open, relative to Φ_q; CONDITION: the
risk; from OPEN_DRIVES on, for each actuated velocity, the square of what is open of its
actuator."""


FORCELESS = 1e-6
"""Part of weights, inertia forces and pushes that their sum b is counted as at least: what falls
freely is in balance, and rounding leaves 1e-16 of them."""


TINY = 1e-300
"""Keeps nothing from being divided by nothing."""


class LoopTerms(NamedTuple):
    """A (nv, m) and b (nv,); what is left of Φ, Φ̇ and Φ̈ (3, m); squares of their terms (3,).

    And the sum of squares (1,) of b's own terms.
    """

    A: Array
    b: Array
    left: Array
    size: Array
    acting_squares: Array


def loop_terms(
    model: Model, q: Array, v: Array, a: Array, external: External, along: Array | None = None
) -> LoopTerms:
    """Return the equations of one state.

    Parameters
    ----------
    along : (nv,) generalised forces that act beside the actuators; None for none
    """
    found = constraints(model, state_vectors(model, q, v))
    forces = unbalanced(model, q, v, a, external, along)
    rows, columns = 1.0 / model.row_scale, model.velocity_scale
    J = found.phi_q * rows[:, None] * columns
    gamma, rate, change = found.gamma * rows, v / columns, a / columns
    left, size = zeros((3, len(rows)), J, gamma, rate, change), zeros(3, J, gamma, rate, change)
    left[0], left[1], left[2] = found.phi * rows, J @ rate, J @ change - gamma
    weights = (J * J).sum(axis=0)
    size[1] = weights @ (rate * rate)
    size[2] = weights @ (change * change) + (gamma * gamma).sum()
    acting_squares = _acting_squares(model, rate, change, external)
    if along is not None:
        acting_squares = acting_squares + (along * along) @ (columns * columns)
    return LoopTerms(J.T, -(forces * columns), left, size, acting_squares)


def _acting_squares(model: Model, rate: Array, change: Array, external: External) -> Array:
    """Return the sum of squares (1,) of weights, inertia forces and pushes, (N m)²."""
    inertia = sum(
        mass * model.size**2 + _spread(body.inertia)
        for mass, body in zip(model.masses, model.bodies, strict=True)
    )
    fast, weight = rate @ rate, model.gravity @ model.gravity / model.size**2
    acting_squares = zeros(1, rate, change, *external.values())
    acting_squares[0] = inertia * inertia * (change @ change + fast * fast + weight)
    for wrench in external.values():
        force, moment = wrench[:3], wrench[3:]
        acting_squares[0] += force @ force * model.size**2 + moment @ moment
    return acting_squares


def _spread(inertia: Inertia | MassMoments) -> Any:
    """Return the sum of the principal moments: about the origin if only mass moments are known."""
    if isinstance(inertia, MassMoments):
        return 2.0 * np.trace(inertia.second)
    return np.trace(inertia.central)


def prepare_terms(
    model: Model, applied: AppliedForces, shared: bool = False
) -> Callable[..., tuple[Array, ...]]:
    """Return `loop_terms` in machine code: of q, v, a, and the inputs of what acts.

    Parameters
    ----------
    shared : by all variants of one mechanism, with the scales of the mechanism itself
    """

    def function_of(own: Model) -> Callable[..., LoopTerms]:
        def function(q: Array, v: Array, a: Array, *rest: Array) -> LoopTerms:
            return loop_terms(own, q, v, a, *applied.at(own, q, v, *rest)[:2])

        return function

    inputs = {"q": model.nq, "v": model.nv, "a": model.nv, **applied.inputs}
    described = model, "loop_terms", inputs, LoopTerms._fields
    if shared:
        return shared_kernel(*described, function_of, applied)
    return model_kernel(*described, function_of(model), applied)


def probes(count: int) -> Array:
    """Return the probes (PROBES, count), of unit length."""
    vectors = np.random.default_rng(1).normal(size=(PROBES, count))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def judged(
    terms: LoopTerms,
    A: Array,
    active: Array,
    lam: Array,
    opened: Array,
    risk: Array,
    weights: Array,
) -> tuple[Array, Array]:
    """Return generalised forces of the actuators (..., nv) and the facts (..., 6 + actuated).

    For one state of floats or symbols, or for arrays of states of floats.

    Parameters
    ----------
    A : (..., nv, m) that of the terms without what redundant rows are off (`RowChoice.exact`)
    lam, opened : (..., m), (..., PROBES, m)
    risk : (..., 1)
    weights : (m,) of what is left of each row (`RowChoice.weights`)
    """
    passive = ~active
    done = (A @ lam[..., None])[..., 0] - terms.b
    shaken, noticed = (each @ np.swapaxes(opened, -1, -2) for each in (A, terms.A))
    weighted = terms.left * weights
    left = (weighted * weighted).sum(axis=-1) / (1.0 + terms.size)
    residual = (done[..., passive] * done[..., passive]).sum(axis=-1)
    forces = (terms.b * terms.b).sum(axis=-1) + FORCELESS**2 * terms.acting_squares[..., 0]
    residual = residual / (forces + TINY)
    slack = (noticed * noticed).sum(axis=-1)[..., passive].sum(axis=-1)
    slack = slack / (1.0 + (terms.A * terms.A).sum(axis=-1).sum(axis=-1))
    squares = (shaken * shaken).sum(axis=-1)
    parts = [left, _last(residual), _last(slack), risk, squares[..., active]]
    tau = zeros(done.shape, done)
    tau[..., active] = done[..., active]
    return tau, np.concatenate(parts, axis=-1)


def open_loop(model: Model, state: int, which: int, left: Array) -> StateError:
    """Return the error for a state that does not satisfy a loop.

    Parameters
    ----------
    which : POSITION, VELOCITY or ACCELERATION
    left : (m,) dimensionless, of Φ, Φ̇ or Φ̈
    """
    row = worst = int(np.argmax(np.abs(left)))
    name = ""
    for cut in model.cuts:
        if 0 <= row < len(cut.rows):
            name = cut.name
        row -= len(cut.rows)
    what = ("position", "velocity", "acceleration")[which]
    with np.errstate(over="ignore"):
        size = left[worst] * model.row_scale[worst]
    return StateError(
        f"state {state}: the {what} does not satisfy loop {name!r}: "
        f"{size:.3g} is left; start from assemble(...)"
    )


def _last(x: Array) -> Array:
    """Return numbers (...) as vectors (..., 1)."""
    return np.asarray(x).reshape(*np.shape(x), 1)


# States that do not satisfy the loops, found and named.

AT_ONCE = 256
"""Doubtful states that are looked at together: the first may be the one."""


def refuse_open(
    model: Model,
    choice: RowChoice,
    doubtful: Array,
    terms: Callable[[Array], LoopTerms],
    last: int,
) -> None:
    """Raise for the first of some states that does not satisfy the loops.

    Parameters
    ----------
    choice : of the model, nothing prescribed
    doubtful : numbers of states (N,)
    terms : returns the terms of some of them
    last : what is looked at: POSITION, VELOCITY or ACCELERATION, and those before

    Raises
    ------
    StateError
        Which state, which loop, how far it is open.
    """
    for start in range(0, len(doubtful), AT_ONCE):
        some = doubtful[start : start + AT_ONCE]
        found = terms(some)
        phi_q = np.swapaxes(found.A, -1, -2).reshape(len(some), len(model.row_scale), model.nv)
        left = found.left[..., : last + 1, :].reshape(len(some), last + 1, -1)
        size = found.size[..., : last + 1].reshape(len(some), last + 1)
        with np.errstate(invalid="ignore", over="ignore"):
            relative = left / np.sqrt(1.0 + size)[:, :, None]
        closed = [choice.closed(phi_q, relative[:, which]) for which in range(last + 1)]
        off = np.argwhere(~np.stack(closed, axis=1))
        if len(off):
            k, which = map(int, off[0])
            raise open_loop(model, int(some[k]), which, left[k, which])
