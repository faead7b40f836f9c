"""Paths of a frame in time: from tables and arrays, with the rates of the frame."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers, flag
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import ModelError, SolveError, StateError, some
from mbd_bridge.base.options import with_options
from mbd_bridge.files.table import Column, ColumnTable
from mbd_bridge.model import Model
from mbd_bridge.model.quaternions import matrices_of, quaternions_of
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion.columns import ORIGIN, QUATERNION, GivenColumns
from mbd_bridge.motion.frames import Frames, find_frame
from mbd_bridge.motion.given import FrameRows, GivenMotion, GivenRows
from mbd_bridge.motion.inverse import InverseKinematics, InversePath
from mbd_bridge.motion.motion import UNIT, Motion, motion_from_table
from mbd_bridge.motion.options import InverseKinematicsOptions
from mbd_bridge.motion.partial import frame_rows, given_motion
from mbd_bridge.motion.table import without_efforts
from mbd_bridge.solve.assembly import check_tolerance, initial_position, weighted
from mbd_bridge.solve.dynamics import prepare

# Limits of coordinates, as the file has them.


def limits_of(model: Model) -> tuple[Array, Array]:
    """Return lower and upper limits (nv,) of the file, of <mimic> joints too; infinite where none.

    A limit of a joint that follows another is one of its leader.
    """
    lower, upper = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    limits = {joint.name: joint.limits for joint in model.description.joints}
    for joint in model.joints:
        own = limits.get(joint.name)
        body = model.bodies[joint.body]
        if own is None or not joint.moving or joint.type.nv != 1:
            continue
        ends = [
            (bound - body.offset) / body.ratio
            for bound in (own.lower, own.upper)
            if bound is not None and body.ratio
        ]
        given = (own.lower is not None, own.upper is not None)
        if body.ratio < 0.0:
            ends, given = ends[::-1], given[::-1]
        place = body.v.start
        if given[0]:
            lower[place] = max(lower[place], ends[0])
        if given[1]:
            upper[place] = min(upper[place], ends[-1])
    return lower, upper


# Paths of frames as callers give them, and the positions of the machine along them.


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


def inverse_kinematics(
    model: Model,
    frame: str,
    position: ArrayLike | None,
    orientation: ArrayLike | None,
    time: ArrayLike | None,
    options: InverseKinematicsOptions,
) -> InversePath:
    """Return positions of the joints of a machine; see `Mechanism.inverse_kinematics`."""
    rows, targets = pose_targets(model, frame, position, orientation, options["frames"])
    if time is not None:
        targets = moving_targets(model, rows, targets, time)
    return inverse_path(model, rows, targets, options)


def inverse_path(
    model: Model, frame: FrameRows, given: GivenMotion, options: InverseKinematicsOptions
) -> InversePath:
    """Return the positions of a machine whose frame follows a path."""
    limits, check = flag("limits", options["limits"]), flag("check", options["check"])
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
        initial_position(model, options["near"]),
        weighted(model, options["weights"]),
        limits_of(model) if limits else bounds,
        check_tolerance(options["tolerance"]),
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


CLOSE = 1e-3
"""Conditioning from which on down a path is said to be nearly singular."""


@with_options
def motion_along_path(
    table: ColumnTable, model: Model, **options: Unpack[InverseKinematicsOptions]
) -> tuple[Motion, InversePath]:
    """Return the motion of a machine of which a table has the pose of a frame.

    Rows that cannot be reached are those of least residual.

    Parameters
    ----------
    table : time, and <frame>.x, ... as in `given_columns`, of one frame
    **options : of the search
    """
    table, _ = without_efforts(table, model)
    columns = GivenColumns(model, table, options["frames"])
    rows = frame_rows(model, columns, options["frames"])
    if columns.joints or len(rows) != 1:
        raise ModelError(
            f"expected the pose of one frame (tool.x, ... tool.qw), got {len(rows)} frames and "
            f"{len(columns.joints)} joints; columns that determine a machine with loops are "
            f"completed by robot.complete (mbd complete-motion)"
        )
    recorded = motion_from_table(columns.of(table), columns.stand_in)
    given = given_motion(model, columns, rows, model.neutral(), recorded)
    path = inverse_path(model, rows[0], given, {**options, "check": False})
    notes = (*recorded.notes, *columns.notes, *path_notes(model, rows[0], path, recorded.time))
    own = Assumption("completed", f"positions of joints from the path of {rows[0].frame.name}")
    names = model.coordinate_names, model.velocity_names
    assumed = (*recorded.assumed, own)
    return Motion(recorded.time, path.q, path.v, path.a, *names, notes, model, assumed), path


def moving_targets(
    model: Model, rows: FrameRows, given: GivenMotion, time: ArrayLike
) -> GivenMotion:
    """Return targets (N,) with the rates that they have in time, derived as those of a motion."""
    times = finite_numbers("time", time)
    if times.shape != (len(given.time),):
        raise StateError(f"time: expected ({len(given.time)},) s, got the shape {times.shape}")
    name, parts = "target", {"time": times}
    for row in (row for row in rows.rows if row < 3):
        parts[f"{name}.{ORIGIN[row]}"] = given.position[:, 0, row]
    if rows.rows[-1] > 2:
        quaternions = quaternions_of(given.rotation[:, 0])
        parts |= {f"{name}.{QUATERNION[k]}": quaternions[:, k] for k in range(4)}
    table = ColumnTable(tuple(map(Column, parts)), np.column_stack([*parts.values()]), None, "path")
    columns = GivenColumns(model, table, {name: model.links[0].name})
    motion = motion_from_table(columns.of(table), columns.stand_in)
    return given_motion(
        model,
        columns,
        (replace(rows, frame=replace(rows.frame, name=name)),),
        model.neutral(),
        motion,
    )


def path_notes(model: Model, rows: FrameRows, path: InversePath, time: ArrayLike) -> list[str]:
    """Return sentences about a path: what is left, where it jumps, limits, singular positions."""
    times = np.asarray(time)
    reached = int(path.reached.sum())
    notes = [
        f"{reached} of {len(path.q)} rows of {rows.frame.name} reached; at most "
        f"{path.position_residual.max():.1e} m and {path.orientation_residual.max():.1e} rad left"
    ]
    for text, some_rows in (
        ("no continuous motion leads on, another branch begins", path.jumps),
        ("not reached", np.flatnonzero(~path.reached).tolist()),
        ("nearly singular", np.flatnonzero(path.conditioning < CLOSE).tolist()),
    ):
        if some_rows:
            notes.append(f"at {some([f'{times[k]:g}' for k in some_rows])} s: {text}")
    held = [model.velocity_names[k] for k in np.flatnonzero(path.at_limits.any(axis=0))]
    if held:
        notes.append(f"at a limit along the path: {some(held)}")
    return notes
