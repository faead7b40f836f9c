"""Joint loads as the columns and rows of a table, with units and convention."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.formats.table import Column
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.units import DRIVE, velocity_units
from mbd_bridge.mechanism import Model

FORCES = ("fx", "fy", "fz")
MOMENTS = ("mx", "my", "mz")
REACTION = "reaction"


def load_columns(model: Model, loads: JointLoads) -> tuple[Column, ...]:
    """Return the columns: time; for each joint its force, moment, drives and (asked for) reaction.

    A joint with one freedom has the column ``<joint>.drive``, with more one for each, such as
    ``<joint>.drive.wx``; a fixed joint has none.
    """
    columns = [Column("time", "s")]
    for joint, place in zip(loads.joints, loads.drive_of, strict=True):
        columns += _wrench(joint)
        units = velocity_units(model.joint(joint).type)
        for name, unit in zip(loads.drive_names[place], units, strict=True):
            columns.append(Column(f"{joint}.drive{name.removeprefix(joint)}", DRIVE[unit]))
        if loads.reaction_force is not None:
            columns += _wrench(f"{joint}.{REACTION}")
    return tuple(columns)


def load_rows(time: NDArray[np.float64], loads: JointLoads) -> NDArray[np.float64]:
    """Return the rows (N, columns) under `load_columns` of loads at the times (N,), s."""
    parts = [time[:, None]]
    for k, place in enumerate(loads.drive_of):
        parts += [loads.force[:, k], loads.moment[:, k], loads.drive[:, place]]
        if loads.reaction_force is not None and loads.reaction_moment is not None:
            parts += [loads.reaction_force[:, k], loads.reaction_moment[:, k]]
    return np.hstack(parts)


def _wrench(prefix: str) -> list[Column]:
    forces = [Column(f"{prefix}.{axis}", "N") for axis in FORCES]
    return forces + [Column(f"{prefix}.{axis}", "N m") for axis in MOMENTS]
