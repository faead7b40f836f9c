"""Which of the rows that are given determine a motion.

At positions in general position, with a basis N of the velocities that the loops allow, the rows
G of what is given determine as many degrees of freedom as G N has rank. Rows are chosen class by
class, the one that is farthest from dependent first: actuated joints, then all else that is
given, then, if need be, what is held at rest. What is not chosen is compared afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.errors import ModelError, count, some
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.given import GivenRows
from mbd_bridge.solve.moves import moved
from mbd_bridge.solve.row_choice import closed_positions, row_choice
from mbd_bridge.solve.spins import spin_velocities, spins_of

ACTUATED, GIVEN, REST = range(3)
"""Classes of rows."""

INDEPENDENT = 1e-3
"""Part of a row that is its own among those chosen, in general position, from which on it counts:
what a file's digits leave of a redundant one is of the order of 1e-5."""

NAMED = 6
"""How many names a sentence gives before it counts."""


@dataclass(frozen=True, eq=False)
class RowSelection:
    """Rows that determine a motion.

    Attributes
    ----------
    chosen : indices of rows
    spins : links that spin as they will: nothing given determines it
    dof : of the machine
    """

    chosen: tuple[int, ...]
    spins: tuple[str, ...]
    dof: int


def select(model: Model, rows: GivenRows, classes: Array, rest: bool) -> RowSelection:
    """Return the rows that determine the motion.

    Parameters
    ----------
    classes : (rows,) of each: ACTUATED, GIVEN or REST
    rest : rows of the class REST may be taken

    Raises
    ------
    ModelError
        The rows leave degrees of freedom open: how many, and what to add.
    """
    positions, J = _general_positions(model)
    G = rows.jacobian(rows.place(positions, np.zeros((len(positions), model.nv)))[2])
    best, least = None, -1.0
    choice = row_choice(model)
    for q, phi_q, own in zip(positions, J, G, strict=True):
        N = choice.motions(phi_q) if model.has_loops else np.eye(model.nv)
        chosen, smallest = _pivoted(own @ N, classes, GIVEN)
        size = len(chosen) + min(smallest, 0.5)
        if size > least:
            best, least = (q, own @ N, N, chosen), size
    assert best is not None
    q, C, N, chosen = best
    dof = N.shape[1]
    spins = _spins(model, q, C[chosen], N) if len(chosen) < dof else ()
    if len(chosen) + len(spins) < dof:
        more, _ = _pivoted(C, classes, REST)
        if not rest:
            raise ModelError(_incomplete(rows, classes, C, chosen, dof))
        chosen, spins = more, ()
        if len(chosen) < dof:
            spins = _spins(model, q, C[chosen], N)
    return RowSelection(tuple(sorted(chosen)), spins, dof)


def _general_positions(model: Model) -> tuple[Array, Array]:
    """Return positions (P, nq), and the dimensionless Φ_q (P, m, nv) there."""
    if model.has_loops:
        found = closed_positions(model)
        return found.q, found.phi_q
    ways = np.random.default_rng(0).uniform(-0.9, 0.9, (3, model.nv)) * model.velocity_scale
    q = moved(model, np.tile(model.neutral(), (3, 1)), ways)
    return q, np.zeros((3, 0, model.nv))


def _pivoted(C: Array, classes: Array, last: int) -> tuple[list[int], float]:
    """Return independent rows of C (rows, dof), class by class, and the smallest pivot."""
    left, chosen, smallest = C.copy(), list[int](), 1.0
    for kind in range(last + 1):
        own = np.flatnonzero(classes == kind)
        while len(own) and len(chosen) < C.shape[1]:
            sizes = np.linalg.norm(left[own], axis=1)
            k = int(np.argmax(sizes))
            if sizes[k] < INDEPENDENT:
                break
            smallest = min(smallest, float(sizes[k]))
            chosen.append(int(own[k]))
            axis = left[own[k]] / sizes[k]
            left -= np.outer(left @ axis, axis)
    return chosen, smallest


def _spins(model: Model, q: Array, C: Array, N: Array) -> tuple[str, ...]:
    """Return the links whose spins are all that the chosen rows leave open; none if there is more.

    Parameters
    ----------
    C : (chosen, dof) the chosen rows
    """
    active = np.zeros(model.nv, dtype=bool)
    spins = spins_of(model, active)
    if not spins:
        return ()
    P = spin_velocities(spins, model, state_vectors(model, q, np.zeros(model.nv)))
    both = np.concatenate([C, P @ N])
    if np.linalg.matrix_rank(both, tol=INDEPENDENT) < N.shape[1]:
        return ()
    return tuple(spin.name for spin in spins)[: N.shape[1] - len(C)]


def _incomplete(rows: GivenRows, classes: Array, C: Array, chosen: list[int], dof: int) -> str:
    left = C.copy()
    for k in chosen:
        size = np.linalg.norm(left[k])
        left -= np.outer(left @ left[k], left[k]) / size**2
    helpful = [
        rows.names[k]
        for k in np.flatnonzero(classes == REST)
        if np.linalg.norm(left[k]) > INDEPENDENT
    ]
    names = [rows.names[k] for k in np.flatnonzero(classes != REST)]
    return (
        f"the columns given ({some(names, NAMED) or 'none'}) determine {len(chosen)} of "
        f"{count(dof, 'degree of freedom')}: add {dof - len(chosen)} more, such as "
        f"{some(helpful, NAMED)}, or hold what is missing where --near says (else at zero) with "
        f"--rest (rest=True)"
    )
