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

from mbd_bridge.model import JointType
from mbd_bridge.motion.quaternions import in_child, near_signs, vector_part

Floats = NDArray[np.float64]

DEGREE = 5
FEWEST = 4
"""Rows that a spline (of degree 3) needs."""


def degree(rows: int) -> int:
    """Return the degree of the spline through so many points."""
    return DEGREE if rows > DEGREE else 3


def derivatives(time: Floats, values: Floats, orders: tuple[int, ...]) -> tuple[Floats, ...]:
    """Return derivatives of the columns of `values` (N, n) at the times (N,)."""
    from scipy.interpolate import make_interp_spline

    spline = make_interp_spline(time - time[0], values, k=degree(len(time)))
    return tuple(np.asarray(spline.derivative(order)(time - time[0])) for order in orders)


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
    return 2.0 * vector_part(s, first), 2.0 * vector_part(s, second)
