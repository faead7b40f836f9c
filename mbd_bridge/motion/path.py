"""Paths of a frame in time: from tables and arrays, with the rates of the frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import ModelError, StateError, some
from mbd_bridge.files.table import Column, ColumnTable
from mbd_bridge.model import Model
from mbd_bridge.motion.efforts import without_efforts
from mbd_bridge.motion.frames import Frames
from mbd_bridge.motion.given import FrameRows, GivenMotion
from mbd_bridge.motion.given_columns import ORIGIN, QUATERNION, GivenColumns
from mbd_bridge.motion.given_motion import frame_rows, given_motion
from mbd_bridge.motion.inverse import InversePath
from mbd_bridge.motion.motion import Motion, motion_from_table
from mbd_bridge.motion.paths import inverse_path
from mbd_bridge.motion.warnings import NAMED
from mbd_bridge.solve.assembly import InitialGuess
from mbd_bridge.solve.moves import quaternion_of

CLOSE = 1e-3
"""Conditioning from which on down a path is said to be nearly singular."""


def motion_along_path(
    table: ColumnTable,
    model: Model,
    *,
    near: InitialGuess = None,
    frames: Frames = None,
    limits: bool = True,
    tolerance: float,
) -> tuple[Motion, InversePath]:
    """Return the motion of a machine of which a table has the pose of a frame.

    Rows that cannot be reached are those of least residual.

    Parameters
    ----------
    table : time, and <frame>.x, ... as in `given_columns`, of one frame
    near, frames, limits, tolerance : see `Mechanism.inverse_kinematics`
    """
    table, _ = without_efforts(table, model)
    columns = GivenColumns(model, table, frames)
    rows = frame_rows(model, columns, frames)
    if columns.joints or len(rows) != 1:
        raise ModelError(
            f"expected the pose of one frame (tool.x, ... tool.qw), got {len(rows)} frames and "
            f"{len(columns.joints)} joints; columns that determine a machine with loops are "
            f"completed by robot.complete (mbd complete)"
        )
    recorded = motion_from_table(columns.of(table), columns.stand_in)
    given = given_motion(model, columns, rows, model.neutral(), recorded)
    path = inverse_path(
        model,
        rows[0],
        given,
        near=near,
        limits=limits,
        weights=None,
        tolerance=tolerance,
        check=False,
    )
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
        quaternions = quaternion_of(given.rotation[:, 0])
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
            notes.append(f"at {some([f'{times[k]:g}' for k in some_rows], NAMED)} s: {text}")
    held = [model.velocity_names[k] for k in np.flatnonzero(path.at_limits.any(axis=0))]
    if held:
        notes.append(f"at a limit along the path: {some(held, NAMED)}")
    return notes
