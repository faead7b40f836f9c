"""What the columns of a table say: times that grow, numbers in the units asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arguments import check_steps
from mbd_bridge.base.errors import StateError, some, unknown_name
from mbd_bridge.base.readable import instant
from mbd_bridge.base.units import find_unit, units_of
from mbd_bridge.files.bags import CLOCK, HEADER
from mbd_bridge.files.table import ColumnTable
from mbd_bridge.model import Model
from mbd_bridge.motion.table import LOAD, is_load
from mbd_bridge.motion.warnings import NAMED

Floats = NDArray[np.float64]

FOLLOWS = 1e-3
"""How far, rad or m, the column of a ``<mimic>`` joint may be from what its leader makes it."""
CLOCK_JUMP = 1e4
"""A step of so many usual ones is no gap: another clock took over."""


def times(table: ColumnTable) -> Floats:
    """Return the times, s, which grow from row to row."""
    if "time" not in table.names and len(table.values) == 1:
        return np.zeros(1)  # a pose
    if "time" not in table.names:
        raise table.error(
            f"expected a column 'time' (or 't'), s; the header has: {', '.join(table.names[:20])}; "
            f"say which one holds the time, --rename NAME=time (rename={{'NAME': 'time'}})"
        )
    time = in_si(table, "time", "s")
    steps = np.diff(time)
    advice = "sort the rows and keep one a time"
    if table.attributes.get(CLOCK) == HEADER:
        advice = 'take the times of the recording, clock="bag" (--clock bag)'
    bad = np.flatnonzero(steps <= 0.0)
    if len(bad):
        row = int(bad[0]) + 1
        what = f"comes after {instant(time[row - 1])} s"
        if time[row] == time[row - 1]:
            what = "stands twice"
            if CLOCK not in table.attributes:
                advice = "give finer time stamps, or leave such rows out, --gaps drop (gaps='drop')"
        raise table.error(
            f"expected times that grow from row to row, but {instant(time[row])} s {what}; "
            f"{advice}",
            row,
            "time",
        )
    try:
        check_steps(time)
    except StateError as error:
        raise table.error(str(error), 1, "time") from None
    if len(steps) and steps.max() > CLOCK_JUMP * np.median(steps):
        row = int(np.argmax(steps)) + 1
        raise table.error(
            f"the clock jumps by {steps[row - 1]:g} s (usual step {np.median(steps):g} s): these "
            f"are two recordings; cut the file here",
            row,
            "time",
        )
    return time


def in_si(table: ColumnTable, name: str, measures: str) -> Floats:
    """Return a column in SI units; without a unit it is in SI units already."""
    column = table.columns[table.names.index(name)]
    values = table.column(name)
    if column.unit is None:
        return np.array(values)
    unit = find_unit(column.unit)
    if unit is None or unit.measures != measures:
        raise table.error(
            f"expected a unit of {measures}, got [{column.unit}]; available: "
            f"{', '.join(units_of(measures))}",
            column=name,
        )
    return np.asarray(values * unit.factor)


def compare_followers(table: ColumnTable, model: Model, q: Floats) -> None:
    """Complain of a coupled joint's column that contradicts its leader's, in q (N, nq)."""
    for joint in model.joints:
        if joint.follows is None or joint.name not in table.names:
            continue
        body = model.bodies[joint.body]
        leader = model.joints[joint.follows].name
        unit = "m" if joint.type.name == "prismatic" else "rad"
        own = in_si(table, joint.name, unit)
        apart = np.abs(own - (body.ratio * q[:, body.q.start] + body.offset))
        row = int(np.argmax(apart))
        if apart[row] > FOLLOWS:
            raise table.error(
                f"the joint follows {leader!r} (<mimic>): expected {body.ratio:g} * "
                f"{leader} + {body.offset:g}, which is {apart[row]:.3g} {unit} away; correct "
                f"the column, or leave it out",
                row,
                joint.name,
            )


def in_our_words(table: ColumnTable, model: Model) -> ColumnTable:
    """Return the table with ``t`` called time."""
    if "time" in table.names or "t" not in table.names or "t" in model.coordinate_names:
        return table
    columns = [replace(c, name="time") if c.name == "t" else c for c in table.columns]
    return replace(table, columns=tuple(columns))


def check_names(table: ColumnTable, model: Model) -> None:
    """Complain of columns that mean nothing."""
    known = ["time", *model.coordinate_names]
    known += [name + suffix for suffix in (".vel", ".acc") for name in model.velocity_names]
    followers = [joint.name for joint in model.joints if joint.follows is not None]
    known += [name + suffix for name in followers for suffix in ("", ".vel", ".acc")]
    unknown = [name for name in table.names if name not in known]
    if LOAD in table.attributes:  # loads that were written beside the motion
        unknown = [name for name in unknown if not is_load(name, model)]
    if not unknown:
        return
    name = unknown[0]
    joint = model.joint_index.get(name)
    if joint is not None:
        own = [n for n in model.coordinate_names if n.startswith(f"{name}.")]
        instead = f"its coordinates are {', '.join(own)}" if own else "a fixed joint has none"
        message = f"this is a joint, not a coordinate: {instead}"
    else:
        message = unknown_name("coordinate or rate", name, known)
    more = (
        f"; {len(unknown)} columns are unknown: {some(unknown, NAMED)}" if len(unknown) > 1 else ""
    )
    raise table.error(f"{message}{more}; rename or remove what is not known", column=name)
