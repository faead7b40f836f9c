"""Velocities and accelerations of a motion that is known by its positions.

A spline of degree 5 goes through all points, so that the acceleration has a continuous slope and
its error shrinks with the fourth power of the step; with 4 or 5 points the degree is 3. It
interpolates: what is noise in the positions is more noise in the accelerations.

A rotation is a quaternion s(t), splined by its components (with signs that follow each other). At
the points, where |s| = 1 and s·ṡ = 0 to the spline's order, with ω in the child's axes:

    ω = 2 vec(s̄ ⊗ ṡ),   ω̇ = 2 vec(s̄ ⊗ s̈)

A free body's velocity is in its own axes: v = Rᵀ ṗ and v̇ = Rᵀ p̈ - ω × v.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Floats
from mbd_bridge.model import JointType
from mbd_bridge.model.quaternions import conjugate, in_child, near_signs, product

DEGREE = 5
BLOCK = 32
"""Equations that are solved at once."""
LONG = 16_384
"""Rows from which on SciPy's spline is used."""
FEWEST = 4
"""Rows that a spline (of degree 3) needs."""


def degree(rows: int) -> int:
    """Return the degree of the spline through so many points."""
    return DEGREE if rows > DEGREE else 3


def derivatives(
    time: Floats, values: Floats, orders: tuple[int, ...], long: bool = False
) -> tuple[Floats, ...]:
    """Return derivatives of the columns of `values` (N, n) at the times (N,).

    They are those of SciPy's `make_interp_spline`, which takes longer to import than most motions
    to read, and a quarter of the time of this for each row.

    Parameters
    ----------
    long : whether they are a part of a motion of more than `LONG` rows
    """
    time, k = time - time[0], degree(len(time))
    if long or len(time) > LONG:
        from scipy.interpolate import make_interp_spline

        spline = make_interp_spline(time, values, k=k)
        return tuple(np.asarray(spline.derivative(order)(time)) for order in orders)
    inner = time[(k + 1) // 2 : -(k + 1) // 2]  # not a knot: as many unknowns as points
    knots = np.concatenate([np.full(k + 1, time[0]), inner, np.full(k + 1, time[-1])])
    first, rows = _basis(knots, k, time)
    coefficients = _solve_banded(first, rows, values)
    found = {}
    for order in range(1, max(orders) + 1):
        spans = knots[k + 1 : -1] - knots[1 : -k - 1]
        coefficients = k * np.diff(coefficients, axis=0) / spans[:, None]
        knots, k = knots[1:-1], k - 1
        first, rows = _basis(knots, k, time)
        places = first[:, None] + np.arange(k + 1)
        found[order] = np.einsum("ij,ijn->in", rows, coefficients[places])
    return tuple(found[order] for order in orders)


def _basis(knots: Floats, k: int, time: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the first B-spline of degree k that is not zero at each time, and k + 1 values."""
    cell = np.clip(np.searchsorted(knots, time, side="right") - 1, k, len(knots) - k - 2)
    rows = np.ones((len(time), 1))
    for d in range(1, k + 1):
        places = cell[:, None] + np.arange(1, d + 1)
        right, left = knots[places], knots[places - d]
        share = rows / (right - left)
        rows = np.zeros((len(time), d + 1))
        rows[:, :-1] = share * (right - time[:, None])
        rows[:, 1:] += share * (time[:, None] - left)
    return cell - k, rows


def _solve_banded(first: NDArray[np.int64], rows: Floats, right: Floats) -> Floats:
    """Return x with Σ rows[i, j] x[first[i] + j] = right[i], by blocks of equations.

    The matrix is totally positive, so that no equations of different blocks need change places.
    """
    count, width = rows.shape
    starts = np.arange(0, max(count - BLOCK // 2, 1), BLOCK)
    ends = np.append(starts[1:], count)
    x, beyond = np.array(right), list[Floats]()
    for start, end in zip(starts, ends, strict=True):
        part = slice(start, end)
        block = np.zeros((end - start, width + end - start + width))  # before, in and behind it
        columns = first[part, None] + np.arange(width) - (start - width)
        np.put_along_axis(block, columns, rows[part], axis=1)
        before, inside, behind = np.split(block, [width, width + end - start], axis=1)
        rest = x[part]
        if start:
            rest = rest - before @ x[start - width : start]
            inside[:, :width] -= before @ beyond[-1][-width:]
        solved = np.linalg.solve(inside, np.hstack([behind, rest]))
        beyond.append(solved[:, :width])
        x[part] = solved[:, width:]
    for k in range(len(starts) - 2, -1, -1):
        end = ends[k]
        x[starts[k] : end] -= beyond[k] @ x[end : end + width]
    return x


def rates_of(
    time: Floats, joints: Sequence[tuple[JointType, Floats]]
) -> list[tuple[Floats, Floats]]:
    """Return velocities and accelerations of joints with coordinates (N, nq) each.

    One spline goes through all that are no rotations.
    """
    plain = [q for kind, q in joints if kind.nq == kind.nv]
    both = derivatives(time, np.hstack(plain), (1, 2)) if plain else ()
    found, place = [], 0
    for kind, q in joints:
        if kind.nq == kind.nv:
            first, second = (part[:, place : place + kind.nv] for part in both)
            found.append((first, second))
            place += kind.nv
        else:
            found.append(joint_rates(time, kind, q))
    return found


def joint_rates(time: Floats, kind: JointType, q: Floats) -> tuple[Floats, Floats]:
    """Return velocities and accelerations (N, nv) of a joint with the coordinates q (N, nq)."""
    if kind.nq == kind.nv:
        first, second = derivatives(time, q, (1, 2))
        return first, second
    turn, turn_rate = rotation_rates(time, q[:, -4:])
    if kind.nq == 4:
        return turn, turn_rate
    along, along_rate = derivatives(time, q[:, :3], (1, 2))
    v = in_child(q[:, 3:], along)
    v_rate = in_child(q[:, 3:], along_rate) - np.cross(turn, v)
    return np.hstack([v, turn]), np.hstack([v_rate, turn_rate])


def rotation_rates(time: Floats, quaternions: Floats) -> tuple[Floats, Floats]:
    """Return ω and ω̇ (N, 3), in the child's axes, of unit quaternions (N, 4), x, y, z, w."""
    s = quaternions * near_signs(quaternions)[:, None]
    first, second = derivatives(time, s, (1, 2))
    return 2.0 * product(conjugate(s), first)[:, :3], 2.0 * product(conjugate(s), second)[:, :3]
