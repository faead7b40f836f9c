"""What the columns of a table say: times that grow, numbers in the units asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.arguments import name_list
from mbd_bridge.formats.bags import CLOCK, HEADER
from mbd_bridge.formats.table import Table
from mbd_bridge.mechanism.units import UNITS

Floats = NDArray[np.float64]

CLOCK_JUMP = 1e4
"""A step of so many usual ones is no gap: another clock took over."""


def kept(ignore: Sequence[str] | str) -> Callable[[str], bool]:
    """Return what says of a column's name that none of the patterns to ignore fits it."""
    patterns = name_list("ignore", ignore, "columns")
    return lambda name: not any(fnmatchcase(name, pattern) for pattern in patterns)


def times(table: Table) -> Floats:
    """Return the times, s, which grow from row to row."""
    if "time" not in table.names:
        raise table.error(
            f"expected a column 'time' (or 't'), s; the header has: {', '.join(table.names[:20])}; "
            f"rename the one that holds the time"
        )
    time = in_si(table, "time", "s")
    steps = np.diff(time)
    advice = "sort the rows and keep one a time"
    if table.attributes.get(CLOCK) == HEADER:
        advice = 'take the times of the recording, clock="bag" (--clock bag)'
    bad = np.flatnonzero(steps <= 0.0)
    if len(bad):
        row = int(bad[0]) + 1
        what = "stands twice" if time[row] == time[row - 1] else f"comes after {time[row - 1]:g} s"
        raise table.error(
            f"expected times that grow from row to row, but {time[row]:g} s {what}; {advice}",
            row,
            "time",
        )
    if len(steps) and steps.max() > CLOCK_JUMP * np.median(steps):
        row = int(np.argmax(steps)) + 1
        raise table.error(
            f"the clock jumps by {steps[row - 1]:g} s (usual step {np.median(steps):g} s): these "
            f"are two recordings; cut the file here",
            row,
            "time",
        )
    return time


def in_si(table: Table, name: str, measures: str) -> Floats:
    """Return a column in SI units; without a unit it is in SI units already."""
    column = table.columns[table.names.index(name)]
    values = table.column(name)
    if column.unit is None:
        return np.array(values)
    unit = UNITS.get(column.unit)
    if unit is None or unit.measures != measures:
        fitting = [written for written, u in UNITS.items() if u.measures == measures and written]
        raise table.error(
            f"expected a unit of {measures}, got [{column.unit}]; available: {', '.join(fitting)}",
            column=name,
        )
    return np.asarray(values * unit.factor)
