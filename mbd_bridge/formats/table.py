"""Tables of numbers as CSV text with a header: columns by name, each perhaps with a unit.

    # comment lines may stand anywhere
    time [s],elbow [rad],elbow.vel
    0.00,0.1,0.0
    0.01,0.2,0.1

UTF-8, commas between cells, a point in numbers. The file is read as a stream, in blocks; what
the columns mean is for others to say.
"""

from __future__ import annotations

import csv
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, NoReturn

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.errors import FileError, unknown_name

Floats = NDArray[np.float64]

MAX_CELLS = 100_000_000
"""Largest table that is read: 0.8 GB of numbers, 27 minutes of 60 columns at 1 kHz."""
MAX_LINE = 1_000_000
"""Longest line, bytes: a file without line ends is not a table."""
BLOCK = 8192
"""Rows that are converted at a time."""
SHOWN = 40
"""How much of a bad cell a message repeats."""

_HEADER_CELL = re.compile(r"(?P<name>.*?)\s*(?:\[(?P<unit>[^\[\]]*)\])?\s*")


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name, and its unit where the header gives one: ``elbow [deg]``."""

    name: str
    unit: str | None = None

    def __str__(self) -> str:
        return self.name if self.unit is None else f"{self.name} [{self.unit}]"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Named columns of finite numbers.

    Attributes
    ----------
    columns : names and units, no name twice
    values : (N, columns)
    lines : (N,) the line in the file that each row stands in
    source : path of the file
    """

    columns: tuple[Column, ...]
    values: Floats
    lines: NDArray[np.int64]
    source: str

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
        """Return the error that names this file, the row's line and the column."""
        line = None if row is None else int(self.lines[row])
        return FileError(message, self.source, line, column and f"column {column!r}")


def read_table(
    path: str | os.PathLike[str],
    *,
    max_cells: int = MAX_CELLS,
    progress: Callable[[int], None] | None = None,
) -> Table:
    """Return the table in a CSV file.

    Parameters
    ----------
    path : of the file
    max_cells : largest number of cells that is read
    progress : is called with the number of bytes read since the last call

    Raises
    ------
    FileError
        There is no such file, or it is not a table of finite numbers; file, line and column are
        named.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
                raise IsADirectoryError(21, os.strerror(21))
            return _read(_text_lines(file, name, progress), name, max_cells)
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}; give a CSV file", name) from error


def header_text(columns: Iterable[Column], comments: Iterable[str] = ()) -> str:
    """Return comment lines and the header line."""
    lines = [f"# {line}\n" for comment in comments for line in comment.splitlines()]
    return "".join(lines) + ",".join(_quoted(str(column)) for column in columns) + "\n"


def rows_text(values: Floats, digits: int | None = None) -> str:
    """Return rows (N, columns) as lines, with so many significant digits.

    Without `digits`, each number reads back as exactly the same one.
    """
    if digits is None:
        return "".join(",".join(map(repr, row)) + "\n" for row in values.tolist())
    line = ",".join([f"%.{digits}g"] * values.shape[1]) + "\n"
    return "".join(line % tuple(row) for row in values.tolist())


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(c in cell for c in ',"\n') else cell


def _text_lines(
    file: IO[bytes], name: str, progress: Callable[[int], None] | None
) -> Iterator[tuple[int, str]]:
    """Yield line number and text of every line that is neither blank nor a comment."""
    number = 0
    while raw := file.readline(MAX_LINE):
        number += 1
        if number == 1:
            if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise FileError("expected UTF-8 text, got UTF-16; save it as CSV UTF-8", name, 1)
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if progress is not None:
            progress(len(raw))
        if len(raw) == MAX_LINE:
            raise FileError(
                f"the line is longer than {MAX_LINE} bytes; a table has one line a row",
                name,
                number,
            )
        if b"\0" in raw:
            raise FileError("expected text, got a binary file; export it as CSV", name, number)
        try:
            text = raw.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            byte = raw[error.start]
            raise FileError(
                f"expected UTF-8 text, got the byte 0x{byte:02x}; save the file as CSV UTF-8",
                name,
                number,
            ) from None
        if not text or text.startswith("#"):
            continue
        if text.count('"') % 2:
            raise FileError('a quotation mark " is not closed in its line; close it', name, number)
        yield number, text


def _read(lines: Iterator[tuple[int, str]], source: str, max_cells: int) -> Table:
    first = next(lines, None)
    if first is None:
        raise FileError(
            "the table is empty: expected a header line such as 'time,elbow,wrist', then rows of "
            "numbers",
            source,
        )
    columns = _columns(first[1], source, first[0])
    blocks: list[Floats] = []
    numbers: list[NDArray[np.int64]] = []
    total = 0
    while True:
        block = [line for _, line in zip(range(BLOCK), lines, strict=False)]
        if not block:
            break
        total += len(block)
        if total * len(columns) > max_cells:
            raise FileError(
                f"the table has more than {max_cells} cells; split it in time, or leave out the "
                f"columns that are not needed",
                source,
            )
        blocks.append(_numbers(block, columns, source))
        numbers.append(np.array([number for number, _ in block], dtype=np.int64))
    if not blocks:
        raise FileError("the table has a header but no rows", source)
    return Table(columns, np.concatenate(blocks), np.concatenate(numbers), source)


def _columns(text: str, source: str, line: int) -> tuple[Column, ...]:
    """Return the columns that a header line names."""
    cells = _cells(text)
    if len(cells) == 1 and re.search(r"[;\t]", text):
        raise FileError(
            f"expected commas between columns, got {text[:SHOWN]!r}; save it as a CSV file with "
            f"commas, and points in the numbers",
            source,
            line,
        )
    if all(_is_number(cell) for cell in cells):
        raise FileError(
            f"expected a header line with the names of the columns, got numbers: "
            f"{text[:SHOWN]!r}; write the names in the first line, without #",
            source,
            line,
        )
    columns = []
    for place, cell in enumerate(cells, start=1):
        match = _HEADER_CELL.fullmatch(cell.strip())
        if match is None or not match["name"]:
            raise FileError(
                f"column {place} of {len(cells)} has no name; name it, or remove the comma",
                source,
                line,
            )
        columns.append(Column(match["name"], match["unit"] and match["unit"].strip()))
    names = [column.name for column in columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise FileError(
            f"a column's name must stand once in the header; twice or more: {', '.join(twice)}",
            source,
            line,
        )
    return tuple(columns)


def _numbers(block: Sequence[tuple[int, str]], columns: Sequence[Column], source: str) -> Floats:
    """Return the numbers of some lines, (rows, columns)."""
    try:
        texts = [text for _, text in block]
        values = np.loadtxt(texts, delimiter=",", comments=None, quotechar='"', ndmin=2)
    except ValueError:
        _complain(block, columns, source)
    if values.shape != (len(block), len(columns)):
        _complain(block, columns, source)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, place = bad[0]
        raise FileError(
            f"expected a finite number, got {values[row, place]}; remove the row, or fill the gap",
            source,
            block[row][0],
            f"column {columns[place].name!r}",
        )
    return np.asarray(values, dtype=np.float64)


def _complain(block: Sequence[tuple[int, str]], columns: Sequence[Column], source: str) -> NoReturn:
    """Find the line and the cell that are no numbers."""
    for number, text in block:
        cells = _cells(text)
        if len(cells) != len(columns):
            raise FileError(
                f"expected {len(columns)} cells, one a column of the header, got {len(cells)}: "
                f"{text[:SHOWN]!r}",
                source,
                number,
            )
        for cell, column in zip(cells, columns, strict=True):
            if not _is_number(cell):
                got = "an empty cell" if not cell.strip() else repr(cell[:SHOWN])
                raise FileError(
                    f"expected a number, got {got}; write it like 0.5, -1 or 2e-3",
                    source,
                    number,
                    f"column {column.name!r}",
                )
    raise FileError("expected rows of numbers; write them like 0.5,-1,2e-3", source, block[0][0])


def _cells(text: str) -> list[str]:
    try:
        return next(csv.reader([text]))
    except csv.Error:  # a cell longer than the csv module takes
        return text.split(",")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell and cell.isascii()
