"""Where the trajectories of a batch may start, and by which rows of the constraints they go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.states import StartStates
from mbd_bridge.model import Model
from mbd_bridge.model.parameters import Parameters
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.machine import agreed
from mbd_bridge.simulation.run.start import still, weightless
from mbd_bridge.simulation.system import System
from mbd_bridge.simulation.trajectory import Trajectory, prescribed
from mbd_bridge.solve.assembly_batch import assemble_batch
from mbd_bridge.solve.closed import needs_support
from mbd_bridge.solve.prepared import Prepared
from mbd_bridge.solve.row_choice import RowChoice, row_choice
from mbd_bridge.solve.tolerances import CONSISTENT

AT_ONCE = 2**22
"""Entries of constraint Jacobians looked at together, so that memory is bounded."""

GOOD, NOT_FINITE, NOT_CLOSED, MOVING_APART, OFF_COURSE = range(5)
"""What a start may be."""

Constraints = Callable[[Array, Array, Any], tuple[Array, ...]]
"""Φ, Φ_q and γ of some trajectories: their q and v, and which ones they are."""

RowSets = list[tuple[tuple[int, ...], Array]]
"""Choices of rows, each with the trajectories (numbers) that go by it; who fits none goes alone."""


def constraints_of(
    model: Model, variants: Parameters | None, prepared: Prepared
) -> Constraints | None:
    """Return Φ, Φ_q and γ of some trajectories, each with its own parameters."""
    if not model.has_loops:
        return None
    if variants is None:
        kernel = prepared.kernel("constraints")
        return lambda q, v, part: kernel(q, v)
    own, inputs = prepared.variants(variants, "constraints"), variants.inputs
    return lambda q, v, part: own(q, v, inputs[part])


def start_states(
    system: System,
    q: ArrayLike | None,
    v: ArrayLike | None,
    number: int,
    start: float,
) -> tuple[Array, Array]:
    """Return q (N, nq) and v (N, nv), given or found as `simulate` finds them."""
    model, parts = system.model, system.prescribed
    follows = prescribed(system, np.array([start]), np.arange(number))[0]
    search = bool(parts) and model.has_loops and (q is None or v is None)
    q0, v0 = np.empty((number, model.nq)), np.empty((number, model.nv))
    q0[:] = model.neutral() if q is None else q
    v0[:] = 0.0 if v is None else v
    if q is None:
        q0[:, [part.q for part in parts]] = follows[:, :, 0]
    if v is None:
        v0[:, list(system.prescribed_velocities)] = follows[:, :, 1]
    if not search:
        return q0, v0
    found = assemble_batch(
        system.prepared,
        q0,
        fixed=[part.name for part in parts],
        velocity=v0,
        parameters=system.parameters,
        check=False,
    )
    return (q0 if q is not None else found.q), (v0 if v is not None else found.v)


def on_course(system: System, q: Array, v: Array, start: float) -> Array:
    """Return which trajectories start as their prescribed motions do (N,)."""
    if not system.prescribed:
        return np.ones(len(q), dtype=bool)
    follows = prescribed(system, np.array([start]), np.arange(len(q)))[0]
    scale, f1 = system.model.velocity_scale[list(system.prescribed_velocities)], follows[:, :, 1]
    off = np.abs(q[:, [part.q for part in system.prescribed]] - follows[:, :, 0]) / scale
    rate = np.abs(v[:, list(system.prescribed_velocities)] - f1) / np.maximum(scale, np.abs(f1))
    return np.asarray((off <= CONSISTENT).all(axis=1) & (rate <= CONSISTENT).all(axis=1))


def sorted_starts(
    model: Model,
    constraints: Constraints | None,
    q: Array,
    v: Array,
    prescribed_velocities: tuple[int, ...] = (),
) -> tuple[Array, RowSets]:
    """Return what each start (N,) is, and the choices of rows for those that are good.

    Parameters
    ----------
    constraints : returns Φ, Φ_q and γ of some trajectories; none without loops
    q, v : (N, nq), (N, nv)
    prescribed_velocities : velocities that are prescribed: rows must be independent of them, too
    """
    kind = np.where(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1), GOOD, NOT_FINITE)
    if constraints is None:
        return kind, [((), np.flatnonzero(kind == GOOD))]
    rows, choice = model.row_scale, row_choice(model, prescribed_velocities)
    share = max(1, AT_ONCE // (len(rows) * model.nv))
    # prescribed motions that prescribe what the loops decide: `simulate` says so
    sets: dict[tuple[int, ...], list[int]] = {}
    if choice.rank == row_choice(model).rank:
        sets = {chosen: [] for chosen in choice.sets}
    for first in range(0, len(q), share):
        part = slice(first, first + share)
        phi, phi_q, _ = constraints(q[part], v[part], part)
        scaled = model.scaled_jacobian(phi_q)
        _judge(model, kind[part], phi, phi_q, v[part], scaled)
        _share(sets, choice, scaled, first, kind[part] == GOOD)
    return kind, [(chosen, np.array(members)) for chosen, members in sets.items() if members]


def moves_inertia(system: System, q: Array, first: int) -> bool:
    """Return whether all that moves at a start has inertia; alone a trajectory tells."""
    one = Trajectory(system, first)
    return not (needs_support(one.model) and weightless(one.model, q[first], one.motions))


def _judge(model: Model, kind: Array, phi: Array, phi_q: Array, v: Array, scaled: Array) -> None:
    """Mark starts that are not on the constraints, as `simulate` asks."""
    speed = np.einsum("nij,nj->ni", np.abs(phi_q), np.abs(v)).max(axis=1)[:, None]
    residual = np.abs(np.einsum("nij,nj->ni", phi_q, v))
    rows, choice = model.row_scale, row_choice(model)
    with np.errstate(invalid="ignore"):
        terms = np.maximum(speed, still(model, v) * rows)
        slow = choice.closed(scaled, residual / terms)
        closed = choice.closed(scaled, phi / rows)
    kind[(kind == GOOD) & ~closed] = NOT_CLOSED
    kind[(kind == GOOD) & ~slow] = MOVING_APART


def _share(
    sets: dict[tuple[int, ...], list[int]], choice: RowChoice, phi_q: Array, first: int, good: Array
) -> None:
    """Put trajectories to the first choice of rows that fits; a variant's rows may be imprecise."""
    left = np.flatnonzero(good)
    slack = max(choice.slack, choice.tolerance)
    for rows in list(sets):
        fit = choice.spanned(phi_q[left], rows, slack=slack)
        sets[rows] += (first + left[fit]).tolist()
        left = left[~fit]


def number_of(
    system: System, q: ArrayLike | None, v: ArrayLike | None, z: StartStates | None
) -> int:
    """Return the number of trajectories that all that is given agrees on."""
    numbers = system.numbers_of | system.states.numbers(z)
    for name, value, size in (("q", q, system.model.nq), ("v", v, system.model.nv)):
        if value is None:
            continue
        shape = np.shape(value)
        if shape[-1:] != (size,) or len(shape) > 2:
            raise StateError(
                f"{name}: expected ({size},) or (N, {size}) with the same N everywhere, got {shape}"
            )
        if shape[0] == 0:
            raise StateError(f"{name}: expected at least one trajectory, got none")
        numbers |= {name: shape[0]} if len(shape) == 2 else {}
    return agreed(numbers)
