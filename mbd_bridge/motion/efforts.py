"""Measured efforts: the columns ``<velocity>.effort`` of a recording, beside its motion.

    <velocity>.effort          N m or N, along the degree of freedom, at the joint

What a machine measured while it moved (JointState's efforts, torques from a drive) says nothing
about where it was: it is kept beside the states, and loads are compared with it, never made of it.
Where it has no number, it was not measured. Efforts of joints that follow another are not read.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.units import find_unit
from mbd_bridge.files.table import Column, ColumnTable
from mbd_bridge.model import Model
from mbd_bridge.model.units import FORCE_UNIT, model_units
from mbd_bridge.motion.table import FurtherColumns

Floats = NDArray[np.float64]

EFFORT = ".effort"
"""Follows the name of a degree of freedom in the column of its measured effort."""


def effort_columns(model: Model) -> dict[str, str]:
    """Return the units of the columns of efforts, by name."""
    _, of_v = model_units(model)
    return {
        name + EFFORT: FORCE_UNIT[unit]
        for name, unit in zip(model.velocity_names, of_v, strict=True)
    }


def without_efforts(table: ColumnTable, model: Model) -> tuple[ColumnTable, Floats | None]:
    """Return a table without the columns of efforts, and these (N, nv); None if it has none.

    They are nan where nothing was measured.

    Raises
    ------
    FileError
        A column's unit is none of a force or moment, as its joint needs.
    """
    from mbd_bridge.motion.columns import in_si

    known = effort_columns(model)
    followers = {j.name + EFFORT for j in model.joints if j.follows is not None}
    kept = [k for k, name in enumerate(table.names) if name not in known and name not in followers]
    if len(kept) == len(table.names):
        return table, None
    efforts = np.full((len(table.values), model.nv), np.nan)
    for k, (name, unit) in enumerate(known.items()):
        if name in table.names:
            efforts[:, k] = in_si(table, name, unit)
    columns = tuple(table.columns[k] for k in kept)
    rest = replace(table, columns=columns, values=table.values[:, kept])
    return rest, efforts


def measures_effort(column: Column, model: Model) -> bool:
    """Return whether a column of this name has a unit of what it would measure, or none."""
    needed = effort_columns(model).get(column.name)
    if needed is None or column.unit is None:
        return needed is not None
    known = find_unit(column.unit)
    return known is not None and known.measures == needed


def saved_efforts(model: Model, efforts: Floats | None) -> FurtherColumns | None:
    """Return the columns of what was measured, to be written beside a motion; None of nothing."""
    if efforts is None:
        return None
    there = np.flatnonzero(np.isfinite(efforts).any(axis=0))
    named = list(effort_columns(model).items())
    return FurtherColumns(tuple(Column(*named[k]) for k in there), efforts[:, there], {})
