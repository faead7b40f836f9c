"""A motion as rows: an instant each."""

from __future__ import annotations

from functools import partial

from mbd_bridge.base.errors import StateError
from mbd_bridge.base.tabular import Rows, Series
from mbd_bridge.motion.motion import Motion
from mbd_bridge.motion.state_arrays import state_arrays
from mbd_bridge.motion.table import motion_columns


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
    states = {"q": motion.q, "v": motion.v, "a": motion.a}
    states |= {} if motion.efforts is None else {"efforts": motion.efforts}
    arrays = partial(state_arrays, motion.model, motion.time, states)
    index = Series("time", "s", motion.time)
    return Rows(repr(motion), index, found, True, motion.notes, arrays=arrays)
