"""Where the trajectories of a batch may start, and by which rows of the constraints they go."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.rows import independent_among
from mbd_bridge.solve.assembly import CLOSED
from mbd_bridge.solve.constrained import CONSISTENT
from mbd_bridge.solve.rank import TOLERANCE
from mbd_bridge.spatial import Array

MOST_ROW_SETS = 8
"""Choices of independent rows for which code is made; trajectories that fit none go alone."""

WELL_APART = 1e-3
"""Least part of a row that is its own, among rows that another start has chosen."""

AT_ONCE = 2**22
"""Entries of constraint Jacobians looked at together, so that memory is bounded."""

GOOD, NOT_FINITE, OPEN, MOVING_APART = range(4)
"""What a start may be."""

RowSets = list[tuple[tuple[int, ...], Array]]
"""Choices of rows, each with the trajectories (numbers) that go by it."""


def sorted_starts(
    model: Model,
    constraints: Callable[[Array, Array, slice], tuple[Array, ...]] | None,
    q: Array,
    v: Array,
    driven: tuple[int, ...] = (),
) -> tuple[Array, RowSets]:
    """Return what each start (N,) is, and the choices of rows for those that are good.

    Parameters
    ----------
    constraints : returns Φ, Φ_q and γ of some trajectories; none without loops
    q, v : (N, nq), (N, nv)
    driven : velocities that are prescribed: rows must be independent of them, too
    """
    kind = np.where(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1), GOOD, NOT_FINITE)
    if constraints is None:
        return kind, [((), np.flatnonzero(kind == GOOD))]
    rows = model.row_scale
    share = max(1, AT_ONCE // (len(rows) * model.nv))
    sets: dict[tuple[int, ...], list[int]] = {}
    for first in range(0, len(q), share):
        part = slice(first, first + share)
        phi, phi_q, _ = constraints(q[part], v[part], part)
        _judge(kind[part], rows, phi, phi_q, v[part])
        scaled = phi_q * (model.velocity_scale / rows[:, None])
        _choose(sets, scaled, first, kind[part] == GOOD, driven)
    return kind, [(chosen, np.array(members)) for chosen, members in sets.items()]


def _judge(kind: Array, rows: Array, phi: Array, phi_q: Array, v: Array) -> None:
    """Mark starts that are not on the constraints, as `simulate` asks."""
    speed = np.einsum("nij,nj->ni", np.abs(phi_q), np.abs(v)).max(axis=1)[:, None]
    lack = np.abs(np.einsum("nij,nj->ni", phi_q, v))
    with np.errstate(invalid="ignore"):
        slow = (lack <= CONSISTENT * np.maximum(speed, CLOSED * rows)).all(axis=1)
        closed = (np.abs(phi) <= CONSISTENT * rows).all(axis=1)
    kind[(kind == GOOD) & ~closed] = OPEN
    kind[(kind == GOOD) & ~slow] = MOVING_APART


def _choose(
    sets: dict[tuple[int, ...], list[int]],
    phi_q: Array,
    first: int,
    good: Array,
    driven: tuple[int, ...],
) -> None:
    """Put trajectories to the choices of rows that are there, or make new ones."""
    left = np.flatnonzero(good)
    for rows in list(sets):
        fit = spanned(phi_q[left], rows, driven)
        sets[rows] += (first + left[fit]).tolist()
        left = left[~fit]
    while len(left) and len(sets) < MOST_ROW_SETS:
        rows, whole = independent_among(phi_q[left[0]], driven)
        if not whole:  # the drives prescribe what the loops decide: `simulate` says so
            left = left[1:]
            continue
        fit = spanned(phi_q[left], rows, driven)
        fit[0] = True  # whose choice it is
        sets.setdefault(rows, []).extend((first + left[fit]).tolist())
        left = left[~fit]


def spanned(phi_q: Array, rows: tuple[int, ...], driven: tuple[int, ...] = ()) -> Array:
    """Return where some rows of Φ_q (N, m, nv) are well independent and contain the others.

    By Gram and Schmidt, all matrices at a time: each of the rows is taken out of those after it.
    """
    rest = np.array(phi_q)
    rest[:, :, list(driven)] = 0.0
    largest = np.abs(rest).max(axis=(1, 2), initial=0.0)
    good = np.ones(len(rest), dtype=bool)
    for row in rows:
        own = rest[:, row].copy()
        before = np.einsum("ni,ni->n", phi_q[:, row], phi_q[:, row])
        size = np.einsum("ni,ni->n", own, own)
        good &= size > WELL_APART**2 * before
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.einsum("nij,nj->ni", rest, own) / size[:, None]
        rest -= share[:, :, None] * own[:, None, :]
    with np.errstate(invalid="ignore"):
        return np.asarray(good & (np.abs(rest).max(axis=(1, 2)) <= TOLERANCE * largest))
