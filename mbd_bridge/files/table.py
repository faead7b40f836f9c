"""A table of numbers: columns by name, each perhaps with a unit; what files of it are refused for.

Which files hold tables, and how they are read and written, is told in `files.tables`; what the
columns mean is for others to say.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import known_name
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError, missing_file, some, warn
from mbd_bridge.base.units import PLAIN, find_unit, units_of

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
        known_name("column", name, self.names, error=self.error)
        return self.values[:, self.names.index(name)]

    def in_si(self, name: str, measures: str) -> Floats:
        """Return a column (N,) in SI units; without a unit it is in SI units already."""
        values = self.column(name)
        unit_text = self.columns[self.names.index(name)].unit
        if unit_text is None:
            return np.array(values)
        unit = find_unit(unit_text)
        if unit is None or unit.measures != measures:
            raise self.error(
                f"expected a unit of {measures}, got [{unit_text}]; available: "
                f"{', '.join(units_of(measures))}",
                column=name,
            )
        with np.errstate(over="ignore"):
            found = np.asarray(values * unit.factor)
        if np.isinf(found).any():  # gaps are nan
            row = int(np.argmax(np.isinf(found)))
            raise self.error(f"{values[row]:g} {unit_text} is too large a number", row, name)
        return found

    def error(self, message: str, row: int | None = None, column: str | None = None) -> FileError:
        """Return the error that names this file, the row (its line in a text) and the column."""
        line = None if row is None or self.lines is None else int(self.lines[row])
        row_of_file = None if row is None else self.start + row
        return place_error(message, self.source, row_of_file, column, line)


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
    row, column = np.argwhere(~np.isfinite(values))[0]
    bad = ~np.isfinite(values[row:, column])
    length = len(bad) if bad.all() else int(np.argmin(bad))
    gap = f" and {length - 1} rows more behind it" if length > 1 else ""
    line = None if lines is None else int(lines[row])
    raise place_error(
        f"expected a finite number, got {values[row, column]}{gap}; remove the row, fill the gap, "
        f"or leave such rows out (of a motion --gaps drop, gaps='drop')",
        source,
        start + int(row),
        columns[column].name,
        line,
    )


# What all files of tables have in common: columns, attributes, and rows that come in blocks.

BLOCK = 8192
"""Rows that are read at a time, at most."""

BLOCK_CELLS = 2**20
"""Cells that are read at a time, 8 MB."""


UNDETERMINED = " (undetermined)"
"""Follows the name of a column whose numbers rigid-body mechanics does not determine, so that
nobody takes it for the other kind by asking for its name."""
SHEET = ".xlsx#"
"""Stands before the name of a sheet of a workbook."""


class Block(NamedTuple):
    """Some rows of a file.

    Attributes
    ----------
    values : (rows, columns asked for), float64, C order
    lines : (rows,) the line of the text that each row stands in, or None
    size : what of the file was read for it, bytes
    """

    values: Floats
    lines: Lines | None
    size: float


ABSURD = 1e6
"""A number so many times larger than all others of its column, and than 1, is doubted: a bit of an
exponent scales by 4e9 and more. One of the lower five bits scales by less, as do real impacts."""

FEW = 8
"""Rows of a table so short that one number may be so much larger."""


WIDE = 64
"""Rows that are taken side by side where columns are few: a loop over a row of eight is slow."""


def column_range(values: Floats) -> tuple[Floats, Floats]:
    """Return the smallest and the largest number of each column of (N, n), one row or more."""
    rows, columns = values.shape
    behind = rows // WIDE * WIDE
    if not behind or not columns or not values.flags.c_contiguous:
        return values.min(axis=0), values.max(axis=0)
    wide, rest = values[:behind].reshape(-1, WIDE * columns), values[behind - 1 :]
    low = wide.min(axis=0).reshape(WIDE, columns).min(axis=0)
    high = wide.max(axis=0).reshape(WIDE, columns).max(axis=0)
    return np.minimum(low, rest.min(axis=0)), np.maximum(high, rest.max(axis=0))


class _Peaks:
    """The largest number of each column, in size, where it is, and the largest of all others."""

    def __init__(self, columns: int) -> None:
        self.first, self.second = np.zeros(columns), np.zeros(columns)
        self.place: list[tuple[int, int | None]] = [(0, None)] * columns

    def add(self, block: Block, start: int) -> None:
        """Take in the next rows, of which the first is the row `start`."""
        values, lines = block.values, block.lines
        if not len(values):
            return
        low, high = column_range(values)
        top = np.maximum(high, -low)
        for k in np.flatnonzero(top > self.second):
            sizes = np.abs(values[:, k])
            row = int(sizes.argmax())
            sizes[row] = 0.0
            *_, self.second[k], first = np.sort(
                [self.first[k], self.second[k], top[k], sizes.max()]
            )
            if first > self.first[k]:
                line = None if lines is None else int(lines[row])
                self.first[k], self.place[k] = first, (start + row, line)

    def absurd(self, rows: int) -> Sequence[int]:
        """Return the columns, of so many rows, whose largest number is doubted."""
        alone = self.first / ABSURD > np.maximum(self.second, 1.0)
        return np.flatnonzero(alone & (self.second > 0.0) & (rows >= FEW)).tolist()


class TableSource(ABC):
    """A file of columns of numbers, described; its rows are read when they are asked for.

    Attributes
    ----------
    path : of the file
    columns : names and units, no name twice
    attributes : what the file says about itself: content, convention, who made it, ...
    rows : how many there are; None where only reading tells (CSV)
    once : whether it can be read only once (a pipe)
    notes : what is unusual in how the file is written
    gaps : whether cells without a number are read as nan, where the kind of file has such
    """

    path: str
    columns: tuple[Column, ...]
    attributes: dict[str, str]
    rows: int | None
    once = False
    notes: tuple[str, ...] = ()
    gaps = False

    def __init__(
        self,
        path: str,
        columns: Sequence[Column],
        attributes: dict[str, str],
        rows: int | None,
        line: int | None = None,
    ) -> None:
        self.path, self.columns = path, tuple(columns)
        self.attributes, self.rows = attributes, rows
        if not self.columns:
            raise FileError("the file has no columns of numbers", path)
        check_width(len(self.columns), path)
        check_columns(self.columns, path, line)

    @abstractmethod
    def blocks(self, rows: int, places: Sequence[int]) -> Iterator[Block]:
        """Yield blocks of at most so many rows of the columns at some places."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def checked(self, rows: int, places: Sequence[int]) -> Iterator[Block]:
        """Yield blocks of finite numbers."""
        start, peaks = 0, _Peaks(len(places))
        for block in self.blocks(min(rows, BLOCK_CELLS // len(self.columns)), places):
            self.check(block, places, start)
            peaks.add(block, start)
            start += len(block.values)
            yield block
        if start == 0:
            raise FileError("the table has a header but no rows", self.path)
        for k in peaks.absurd(start):
            message = (
                f"a number of the size {peaks.first[k]:.3g}, where all others of its column are "
                f"within {peaks.second[k]:.3g}: the file may be damaged (one bit does this), or "
                f"the recorder; correct it, or leave the row out"
            )
            row, line = peaks.place[k]
            warn(str(place_error(message, self.path, row, self.columns[places[k]].name, line)))

    def check(self, block: Block, places: Sequence[int], start: int) -> None:
        """Refuse gaps in a block of some columns, of which the first row is the row `start`."""
        columns = [self.columns[k] for k in places]
        check_finite(block.values, columns, self.path, start, block.lines)

    def chunks(
        self, rows: int = BLOCK, columns: Sequence[str] | None = None
    ) -> Iterator[tuple[int, Floats]]:
        """Yield the number of a first row, and the rows from there on: never the whole file.

        Parameters
        ----------
        rows : as many come at a time at most; some formats give fewer
        columns : names of those wanted, in this order; None for all

        Yields
        ------
        start, values : the first row is 0; (n, columns) float64 in C order, all finite
        """
        start = 0
        for block in self.checked(rows, self.places(columns)):
            if len(block.values):
                yield start, block.values
            start += len(block.values)

    def places(self, columns: Sequence[str] | None) -> list[int]:
        """Return where the columns of some names stand."""
        if columns is None:
            return list(range(len(self.columns)))
        index = {name: k for k, name in enumerate(self.names)}
        for name in columns:
            known_name("column", name, index, error=self.error)
        return [index[name] for name in columns]

    def error(self, message: str, row: int | None = None, column: str | None = None) -> FileError:
        """Return the error that names this file, a row and a column."""
        return place_error(message, self.path, row, column)

    def __repr__(self) -> str:
        rows = "rows not counted" if self.rows is None else f"{self.rows} rows"
        return f"{type(self).__name__}({self.path!r}: {len(self.columns)} columns, {rows})"


class WholeTable(TableSource):
    """A table that somebody has read whole, as those of plugins are."""

    def __init__(self, table: ColumnTable) -> None:
        super().__init__(table.source, table.columns, dict(table.attributes), len(table.values))
        self.notes, self._values = table.notes, table.values

    def blocks(self, rows: int, places: Sequence[int]) -> Iterator[Block]:
        """Yield blocks of at most so many rows of the columns at some places."""
        for start in range(0, len(self._values), rows):
            values = self._values[start : start + rows, list(places)]
            yield Block(np.ascontiguousarray(values, dtype=np.float64), None, 0.0)


def without_sheet(path: str | os.PathLike[str]) -> str:
    """Return the path of a file: of ``book.xlsx#run 3`` that of the workbook."""
    name = os.fspath(path)
    position = name.lower().find(SHEET)
    return name if position < 0 else name[: position + len(SHEET) - 1]


def column_blocks(
    source: TableSource, rows: int, columns: Sequence[Callable[[int, int], ArrayLike]]
) -> Iterator[Block]:
    """Yield blocks of columns that lie apart: each is read by a function of a start and a count."""
    assert source.rows is not None
    share = os.stat(source.path).st_size / max(source.rows, 1)
    for start in range(0, source.rows, rows):
        count = min(rows, source.rows - start)
        values = np.empty((count, len(columns)))
        for k, read in enumerate(columns):
            values[:, k] = read(start, count)
        yield Block(values, None, share * count)


def one_length(lengths: Mapping[str, int], path: str) -> int:
    """Return the length that all columns have."""
    for name, length in lengths.items():
        first = next(iter(lengths))
        if length != lengths[first]:
            raise FileError(
                f"expected columns of one length, but {first!r} has {lengths[first]} numbers and "
                f"{name!r} {length}",
                path,
            )
    return next(iter(lengths.values()), 0)


def named_column(name: str, unit: str | None) -> Column:
    """Return a column of a file that keeps units apart; without one the name may hold it."""
    return Column(name, unit) if unit is not None else Column.from_heading(name) or Column(name)


def cannot_read(path: str, error: BaseException, what: str) -> FileError:
    """Return the error of a file that cannot be read, with the advice what to give."""
    reason = error.strerror if isinstance(error, OSError) and error.errno else None
    reason_text = reason or str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, FileNotFoundError):
        reason_text = missing_file(path)
    return FileError(f"cannot be read: {reason_text:.300}; give {what}", path)


@contextmanager
def reading(path: str, errors: tuple[type[BaseException], ...], what: str) -> Iterator[None]:
    """Say of errors raised in reading a file that it cannot be read, and what to give."""
    try:
        yield
    except FileError:
        raise
    except errors as error:
        raise cannot_read(path, error, what) from error


def no_numbers(path: str, name: str, kind: object) -> FileError:
    """Return the error of a column that holds something else than numbers."""
    advice = "leave it out, or make numbers of it"
    if any(word in str(kind) for word in ("timestamp", "datetime", "M8")):
        advice = "give seconds as numbers, e.g. (t - t[0]) / numpy.timedelta64(1, 's')"
    return FileError(f"expected numbers, got {kind}; {advice}", path, element=f"column {name!r}")
