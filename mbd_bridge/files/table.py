"""A table of numbers: columns by name, each perhaps with a unit; what files of it are refused for.

Which files hold tables, and how they are read and written, is told in `formats.tables`; what the
columns mean is for others to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import FileError, some, unknown_name
from mbd_bridge.base.units import PLAIN, find_unit

Floats = NDArray[np.float64]
Lines = NDArray[np.int64]

MAX_COLUMNS = 10_000
"""Most columns of a table that is read: every load and reaction of 500 joints."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name, and its unit where the file gives one: ``elbow [deg]``."""

    name: str
    unit: str | None = None

    def __str__(self) -> str:
        return self.name if self.unit is None else f"{self.name} [{self.unit}]"

    @staticmethod
    def from_heading(heading: str) -> Column | None:
        """Return the column that a heading like ``elbow [deg]`` names, None if it names none.

        What stands in parentheses, ``elbow (deg)``, is its unit if it is one.
        """
        text = heading.strip()
        name, bracket, unit = text.rpartition("(")
        if name.strip() and unit.endswith(")") and unit[:-1] not in PLAIN and find_unit(unit[:-1]):
            return Column(name.rstrip(), unit[:-1].strip())
        name, bracket, unit = text.rpartition("[")
        if unit[:-1].isdecimal() and not name.endswith(" "):  # q[1], the first of several
            return Column(text) if text else None
        if not (bracket and unit.endswith("]") and "]" not in unit[:-1]):
            return Column(text) if text else None
        return Column(name.rstrip(), unit[:-1].strip()) if name.strip() else None


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTable:
    """Named columns of finite numbers.

    Attributes
    ----------
    columns : names and units, no name twice
    values : (N, columns)
    lines : (N,) the line of a text file that each row stands in; None for other files
    source : path of the file
    attributes : what the file says about itself, such as the convention of loads
    start : the row of the file that is the first one here
    notes : what is unusual in how the file is written
    """

    columns: tuple[Column, ...]
    values: Floats
    lines: Lines | None
    source: str
    attributes: dict[str, str] = field(default_factory=dict)
    start: int = 0
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Floats:
        """Return a column's numbers, (N,), in the unit of the file."""
        if name not in self.names:
            raise FileError(unknown_name("column", name, self.names), self.source)
        return self.values[:, self.names.index(name)]

    def error(self, message: str, row: int | None = None, column: str | None = None) -> FileError:
        """Return the error that names this file, the row (its line in a text) and the column."""
        line = None if row is None or self.lines is None else int(self.lines[row])
        place = None if row is None else self.start + row
        return place_error(message, self.source, place, column, line)


def place_error(
    message: str,
    source: str,
    row: int | None = None,
    column: str | None = None,
    line: int | None = None,
) -> FileError:
    """Return the error that names a file and in it the line, or else the row, and the column."""
    words = [] if row is None or line is not None else [f"row {row} (the first is 0)"]
    words += [] if column is None else [f"column {column!r}"]
    return FileError(message, source, line, ", ".join(words) or None)


def check_columns(columns: Sequence[Column], source: str, line: int | None = None) -> None:
    """Refuse names that stand there twice."""
    names = Counter(column.name for column in columns)
    if twice := sorted(name for name, times in names.items() if times > 1):
        raise FileError(
            f"a column's name must stand once in the header; twice or more: {some(twice, 8)}",
            source,
            line,
        )


def check_width(count: int, source: str) -> None:
    """Refuse a file with more columns than any machine has."""
    if count > MAX_COLUMNS:
        raise FileError(
            f"expected at most {MAX_COLUMNS} columns, got {count} columns; leave out those that "
            f"are not needed",
            source,
        )


def check_finite(
    values: Floats, columns: Sequence[Column], source: str, start: int, lines: Lines | None
) -> None:
    """Refuse rows, of which the first is the row `start` of the file, with gaps in them."""
    if np.all(np.isfinite(values)):
        return
    row, place = np.argwhere(~np.isfinite(values))[0]
    bad = ~np.isfinite(values[row:, place])
    length = len(bad) if bad.all() else int(np.argmin(bad))
    gap = f" and {length - 1} rows more behind it" if length > 1 else ""
    line = None if lines is None else int(lines[row])
    raise place_error(
        f"expected a finite number, got {values[row, place]}{gap}; remove the row, fill the gap, "
        f"or leave such rows out (of a motion --gaps drop, gaps='drop')",
        source,
        start + int(row),
        columns[place].name,
        line,
    )
