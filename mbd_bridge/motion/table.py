"""Motions as the columns and rows of a table, with units, and the names of all columns in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import NamedTuple, TextIO

import numpy as np

from mbd_bridge.base.arguments import name_list
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.table import Arrays, Series, of_units
from mbd_bridge.base.units import find_unit
from mbd_bridge.files.table import UNDETERMINED, ColumnTable
from mbd_bridge.files.tables import Column, TableWriter
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import FORCE_UNIT, RATE, model_units

FORCES = ("fx", "fy", "fz")
MOMENTS = ("mx", "my", "mz")
COMPONENTS = (*FORCES, *MOMENTS)
REACTION = "reaction"
ACTUATION = "actuation"
SPINS = "spins"
BAND_SUFFIX = ".band"
"""Follows the name of a load's column: how exactly its numbers are known."""

TIME = Column("time", "s")
CONTENT, MADE_BY, LOAD, NOTES = "content", "made by", "load", "notes"
"""What files say about themselves, by these keys."""
FRAMES = (
    "quaternions x, y, z, w from the child's axes to the parent's; velocities and accelerations of "
    "free and ball joints in the child's axes"
)


class FurtherColumns(NamedTuple):
    """Further columns of a motion's table: joint loads at the same times.

    Attributes
    ----------
    columns : names and units
    rows : (N, columns)
    attributes : what a reader of the columns must know
    """

    columns: tuple[Column, ...]
    rows: Floats
    attributes: dict[str, str]


def motion_columns(model: Model) -> tuple[Column, ...]:
    """Return the columns of a motion: time, coordinates, velocities, accelerations."""
    none = (np.empty((0, width)) for width in (model.nq, model.nv, model.nv))
    return TIME, *(Column(x.name, x.plain_unit) for x in motion_series(model, *none))


def motion_series(model: Model, *states: Floats) -> list[Series]:
    """Return the columns of states: q (N, nq), and v and a (N, nv) if they are given."""
    of_q, of_v = model_units(model)
    names = model.coordinate_names, model.velocity_names, model.velocity_names
    found = []
    for k, values in enumerate(states):
        each = zip(names[k], (of_q, of_v, of_v)[k], values.T, strict=True)
        found += [
            Series(name + (".vel", ".acc")[k - 1] * (k > 0), unit + RATE[k], column)
            for name, unit, column in each
        ]
    return found


def save_motion(
    path: str | PathLike[str] | TextIO,
    model: Model,
    parts: Sequence[Floats],
    *,
    beside: FurtherColumns | None = None,
    digits: int | None = None,
    notes: Sequence[str] = (),
    gaps: bool | None = None,
) -> None:
    """Write a motion, and what is known at the same times.

    Parameters
    ----------
    parts : time (N,), q, v and a (N, ...)
    gaps : take nan too; see `TableWriter`
    """
    columns, said = motion_columns(model), attributes(f"motion of {model.name}", notes)
    said["frames"] = FRAMES
    rows = np.column_stack(parts)
    if beside is not None:
        columns += beside.columns
        said |= beside.attributes
        rows = np.hstack([rows, beside.rows])
    with TableWriter(path, columns, said, digits=digits, gaps=gaps) as out:
        out.append(rows)


def attributes(content: str, notes: Sequence[str] = ()) -> dict[str, str]:
    """Return what every file says about itself."""
    from mbd_bridge import __version__

    notes = name_list("notes", notes, "facts, as texts")
    if not all(note.isascii() or note.encode(errors="replace").decode() == note for note in notes):
        raise StateError(f"notes: expected texts that can be written, got {notes!r:.60}")
    said = {CONTENT: content, MADE_BY: f"mbd_bridge {__version__}"}
    return said | ({NOTES: "\n".join(notes)} if notes else {})


def band_of(name: str) -> str:
    """Return the name of the column that says how exactly a load's column is known."""
    bare = name.removesuffix(UNDETERMINED)
    return bare + BAND_SUFFIX + name.removeprefix(bare)


def is_load(name: str, model: Model) -> bool:
    """Return whether a column of this name holds part of the load of a joint."""
    bare = name.removesuffix(UNDETERMINED).removesuffix(BAND_SUFFIX)
    for joint in (*model.joint_index, *(cut.name for cut in model.cuts)):
        rest = bare.removeprefix(f"{joint}.")
        if rest != bare and (
            rest.removeprefix(f"{REACTION}.") in COMPONENTS or rest.split(".")[0] == ACTUATION
        ):
            return True
    return False


# Measured efforts: the columns ``<velocity>.effort`` of a recording, beside its motion.
#
#     <velocity>.effort          N m or N, along the degree of freedom, at the joint
#
# What a machine measured while it moved (JointState's efforts, torques from a drive) says nothing
# about where it was: it is kept beside the states, and loads are compared with it, never made of
# it. Where it has no number, it was not measured. Efforts of joints that follow another are not
# read.

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
    known = effort_columns(model)
    followers = {j.name + EFFORT for j in model.joints if j.follows is not None}
    kept = [k for k, name in enumerate(table.names) if name not in known and name not in followers]
    if len(kept) == len(table.names):
        return table, None
    efforts = np.full((len(table.values), model.nv), np.nan)
    for k, (name, unit) in enumerate(known.items()):
        if name in table.names:
            efforts[:, k] = table.in_si(name, unit)
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


# States along time as arrays with named dimensions, coordinates and units.


def state_arrays(
    model: Model,
    time: Array,
    states: Mapping[str, Array],
    own: Mapping[str, str] | None = None,
) -> Arrays:
    """Return states over time, or over trajectories and time.

    Parameters
    ----------
    states : some of q (..., nq), v, a, efforts (..., nv), and z (..., nz)
    own : names and units of the states z of force elements
    """
    own, (of_q, of_v) = own or {}, model_units(model)
    q, v, z = "coordinate", "velocity", "state"
    names = {q: model.coordinate_names, v: model.velocity_names, z: tuple(own)}
    known = {
        "q": (q, of_q),
        "v": (v, [unit + RATE[1] for unit in of_v]),
        "a": (v, [unit + RATE[2] for unit in of_v]),
        "efforts": (v, [FORCE_UNIT[unit] for unit in of_v]),
        "z": (z, list(own.values())),
    }
    variables, coordinates = [], [Series("time", "s", time, ("time",))]
    for name, values in states.items():
        dim, units = known[name]
        if not names[dim]:
            continue
        before = ("time",) if values.ndim == 2 else ("trajectory", "time")
        variable, unit = of_units(name, values, (*before, dim), units)
        variables.append(variable)
        coordinates += [Series(dim, "", names[dim], (dim,)), unit]
        if values.ndim == 3:
            coordinates.append(Series(before[0], "", np.arange(len(values)), before[:1]))
    return Arrays(variables, coordinates)
