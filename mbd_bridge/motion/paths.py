"""Paths of frames as callers give them, and the positions of the machine along them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.frames import Frames, find_frame
from mbd_bridge.motion.given import FrameRows, GivenMotion, GivenRows
from mbd_bridge.motion.inverse import InverseKinematics, InversePath
from mbd_bridge.motion.limits import limits_of
from mbd_bridge.solve.assembly import InitialGuess, check_tolerance, initial_position, weighted
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.solve.moves import matrices_of

UNIT = 1e-3
"""How far from 1 the length of a quaternion, or RᵀR from the identity, may be: texts round."""


def pose_targets(
    model: Model,
    frame: str,
    position: ArrayLike | None,
    orientation: ArrayLike | None,
    frames: Frames,
) -> tuple[FrameRows, GivenMotion]:
    """Return the rows of a frame that is to be somewhere, and where, at rest."""
    x = None if position is None else finite_numbers("position", position)
    R = None if orientation is None else _rotations(orientation)
    if x is None and R is None:
        raise StateError("expected a position, an orientation or both, got neither")
    if x is not None:
        if x.ndim not in (1, 2) or x.shape[-1] != 3:
            raise StateError(f"position: expected (3,) or (N, 3) m, got the shape {x.shape}")
        x = np.atleast_2d(x)
    counts = {len(one) for one in (x, R) if one is not None}
    N = max(counts)
    if not counts <= {1, N}:
        raise StateError(f"expected as many positions as orientations, got {sorted(counts)}")
    rows = ((0, 1, 2) if x is not None else ()) + ((3, 4, 5) if R is not None else ())
    place, turn = np.zeros((N, 1, 3)), np.tile(np.eye(3), (N, 1, 1, 1))
    if x is not None:
        place[:, 0] = x
    if R is not None:
        turn[:, 0] = R
    still, rest = np.zeros((N, model.nv)), np.zeros((N, 1, 6))
    neutral, time = np.tile(model.neutral(), (N, 1)), np.arange(N, dtype=float)
    given = GivenMotion(time, neutral, still, still, place, turn, rest, rest)
    return FrameRows(find_frame(model, frame, frames), rows), given


def inverse_path(
    model: Model,
    frame: FrameRows,
    given: GivenMotion,
    *,
    near: InitialGuess,
    limits: bool,
    weights: Mapping[str, float] | None,
    tolerance: float,
    check: bool,
) -> InversePath:
    """Return the positions of a machine whose frame follows a path.

    For the parameters see `Mechanism.inverse_kinematics`.
    """
    if not model.nv:
        raise StateError(f"{model.name} has no joints that move")
    if model.velocity_rows.any():
        raise StateError(
            f"{model.name} has rolling wheels, which do not tell positions; simulate its motion"
        )
    bounds = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    search = InverseKinematics(
        model,
        prepare(model, "constraints"),
        GivenRows(model, (), (frame,)),
        initial_position(model, near),
        weighted(model, weights),
        limits_of(model) if limits else bounds,
        check_tolerance(tolerance),
    )
    with np.errstate(over="ignore", invalid="ignore"):  # targets beyond all reach are told below
        found = search.run(given, stop=check)
    if check and not found.reached.all():
        row = int(np.argmin(found.reached))
        stuck = np.flatnonzero(found.at_limits[row])
        held = ", ".join(model.velocity_names[k] for k in stuck)
        limit = f" with {held} at a limit" if held else ""
        raise SolveError(
            f"row {row} cannot be reached: the nearest position found leaves "
            f"{found.position_residual[row]:.3g} m and {found.orientation_residual[row]:.3g} rad"
            f"{limit}. Try another near=, limits=False, or check=False, which returns that position"
        )
    return found


def _rotations(orientation: ArrayLike) -> Array:
    """Return rotation matrices (N, 3, 3) of quaternions or matrices."""
    given = finite_numbers("orientation", orientation)
    if given.shape[-2:] == (3, 3) and given.ndim in (2, 3):
        R = given.reshape(-1, 3, 3)
        off = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max(initial=0.0)
        if off > UNIT or (np.linalg.det(R) < 0.0).any():
            raise StateError("orientation: expected rotation matrices, RᵀR = 1 and det R = 1")
        return R
    if given.ndim in (1, 2) and given.shape[-1] == 4:
        quaternions = given.reshape(-1, 4)
        lengths = np.linalg.norm(quaternions, axis=1)
        if np.abs(lengths - 1.0).max(initial=0.0) > UNIT:
            raise StateError("orientation: expected unit quaternions x, y, z, w")
        return matrices_of(quaternions / lengths[:, None])
    raise StateError(
        f"orientation: expected quaternions (4,) or (N, 4), or matrices (3, 3) or (N, 3, 3), got "
        f"the shape {given.shape}"
    )
