"""A motion as rows: an instant each."""

from __future__ import annotations

from mbd_bridge.errors import StateError
from mbd_bridge.motions.motion import Motion
from mbd_bridge.motions.table import motion_columns
from mbd_bridge.tabular import Rows, Series


def rows_of(motion: Motion) -> Rows:
    """Return coordinates, velocities and accelerations, columns as files have them."""
    if motion.model is None:
        raise StateError("this motion does not know its mechanism, so the units neither")
    _, *columns = motion_columns(motion.model)
    values = [*motion.q.T, *motion.v.T, *motion.a.T]
    found = tuple(
        Series(column.name, column.unit or "", one)
        for column, one in zip(columns, values, strict=True)
    )
    return Rows(repr(motion), Series("time", "s", motion.time), found, True, motion.notes)
