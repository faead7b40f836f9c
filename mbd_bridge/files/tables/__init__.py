"""Files that hold tables of numbers: CSV, Parquet, NumPy's npz and HDF5, told by their suffix.

`read_table` reads one whole, `open_table` describes it and gives its rows in blocks, `TableWriter`
writes one block by block. Each kind holds names, units and attributes where its usual reader
(pandas, pyarrow, NumPy, h5py) finds them.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import file_path, flag
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError, StateError, whole_number
from mbd_bridge.base.extensions import extensions
from mbd_bridge.files.bags import is_bag
from mbd_bridge.files.input_files import regular_file
from mbd_bridge.files.table import (
    BLOCK,
    SHEET,
    Column,
    ColumnTable,
    TableSource,
    WholeTable,
    check_columns,
    place_error,
    without_sheet,
)
from mbd_bridge.files.tables.text import TextSource, text_rows
from mbd_bridge.files.whole_file import ESCAPED, check_place, note_input, whole_path

__all__ = [
    "Column",
    "ColumnTable",
    "TableSource",
    "TableWriter",
    "check_output",
    "open_table",
    "read_source",
    "read_table",
    "without_sheet",
]

MOST_DIGITS = 17
"""Significant digits: all that a number has."""
MAX_CELLS = 100_000_000
"""Largest table that is read whole: 0.8 GB of numbers, 27 minutes of 60 columns at 1 kHz."""
WRITTEN = 1_000_000
"""Cells that are collected before they are written, 8 MB."""


class Kind(NamedTuple):
    """A kind of files: its module, imported when it is used, and the names of what is in it.

    Attributes
    ----------
    source, rows : who reads, and who writes, where this kind is written
    packages : returns what both need, or says what is missing
    """

    module: str
    source: str
    rows: str = ""
    packages: str = ""

    def load(self, name: str) -> Any:
        """Return what has a name in the module."""
        return getattr(importlib.import_module(f"{__name__}.{self.module}"), name)


KINDS = {
    ".parquet": Kind("parquet", "ParquetSource", "parquet_rows", "packages"),
    ".npz": Kind("npz", "NpzSource", "npz_rows"),
    ".h5": Kind("hdf5", "Hdf5Source", "hdf5_rows", "package"),
    ".hdf5": Kind("hdf5", "Hdf5Source", "hdf5_rows", "package"),
    ".xlsx": Kind("excel", "ExcelSource"),
    ".xlsm": Kind("excel", "ExcelSource"),
    ".mat": Kind("matlab", "MatlabSource"),
    ".mcap": Kind("bag", "BagSource", "bag_rows", "packages"),
    ".db3": Kind("bag", "BagSource"),
    ".bag": Kind("bag", "BagSource"),
}
"""By suffix."""
WRITABLE = {suffix: kind for suffix, kind in KINDS.items() if kind.rows}
"""Those that are written, too."""
TEXT = (".csv", ".txt", ".dat", "")
"""Suffixes of files that are written as CSV text."""


def open_table(path: str | os.PathLike[str]) -> TableSource:
    """Return what a file holds: `columns` with units, `attributes`, `rows`, and `chunks` of them.

    Raises
    ------
    FileError
        There is no such file, or it does not hold columns of numbers.
    MissingPackageError
        The package that reads this kind of file is not installed.
    """
    name = file_path("path", path)
    suffix = Path(name).suffix.lower()
    if os.path.isdir(name) and is_bag(name):
        note_input(name)
        whole: TableSource = KINDS[".mcap"].load("BagSource")(name)
        return whole
    if suffix not in KINDS and SHEET not in name.lower():
        note_input(name)
        if (plugin := _plugin(suffix)) is not None:
            return WholeTable(plugin.read(regular_file(name)))
        return TextSource(name)
    regular_file(without_sheet(name))
    kind = KINDS.get(suffix, KINDS[".xlsx"])
    source: TableSource = kind.load(kind.source)(name)
    return source


def read_table(
    path: str | os.PathLike[str],
    *,
    max_cells: int = MAX_CELLS,
    progress: Callable[[float], None] | None = None,
) -> ColumnTable:
    """Return the table in a file, whole.

    Parameters
    ----------
    path : of the file
    max_cells : largest number of cells that is read
    progress : is called with the number of bytes read since the last call

    Raises
    ------
    FileError
        There is no such file, or it is not a table of finite numbers; file, line (of a text) or
        row, and column are named.
    """
    return read_source(open_table(path), max_cells=max_cells, progress=progress)


def read_source(
    source: TableSource,
    *,
    max_cells: int = MAX_CELLS,
    progress: Callable[[float], None] | None = None,
) -> ColumnTable:
    """Return the table of a source, whole; see `read_table`."""
    values, lines, total = [], [], 0
    too_many = FileError(
        f"the table has more than {max_cells} cells; split it in time, or leave out the columns "
        f"that are not needed",
        source.path,
    )
    places = range(len(source.columns))
    if (source.rows or 0) * len(places) > max_cells:
        raise too_many
    for block in source.checked(BLOCK, places):
        total += block.values.size
        if total > max_cells:
            raise too_many
        values.append(block.values)
        if block.lines is not None:
            lines.append(block.lines)
        if progress is not None:
            progress(block.size)
    return ColumnTable(
        source.columns,
        np.concatenate(values),
        np.concatenate(lines) if lines else None,
        source.path,
        source.attributes,
        notes=source.notes,
    )


def check_output(path: str | os.PathLike[str]) -> None:
    """Refuse a table that cannot be written, before work is done: its kind, package or place.

    Raises
    ------
    FileError, MissingPackageError
    """
    _check_kind(path)
    check_place(path)


def _significant(digits: int | None) -> int | None:
    """Return how many digits are written: 17 are all that a number has."""
    if digits is None:
        return None
    number = whole_number("digits", digits)
    if number > MOST_DIGITS:
        raise StateError(f"digits: expected 1 to {MOST_DIGITS}, got {number!r:.60}")
    return number


def _check_kind(path: str | os.PathLike[str]) -> None:
    suffix = Path(path).suffix.lower()
    if suffix not in (*WRITABLE, *TEXT) and not hasattr(_plugin(suffix), "write"):
        others = (f".{name}" for name in extensions("tables"))
        raise FileError(
            f"no kind of table has the suffix {suffix!r}; available: "
            f"{', '.join(('.csv', *WRITABLE, *others))}",
            os.fspath(path),
        )
    if suffix in WRITABLE and (packages := WRITABLE[suffix].packages):
        WRITABLE[suffix].load(packages)(os.fspath(path))


def _plugin(suffix: str) -> Any:
    """Return what reads and perhaps writes tables with a suffix of no kind of ours, or None."""
    if suffix in (*KINDS, *TEXT):
        return None
    plugin = extensions("tables").get(suffix.removeprefix("."))
    return None if plugin is None else plugin.load()


class TableWriter:
    """A file of columns that takes rows block by block, and its name when all are written.

    Until the ``with`` block ends, what was there before stays; it also stays if anything fails.

    Parameters
    ----------
    path : .csv (also .txt, .dat, pipes and devices), .parquet, .npz, .h5 or .hdf5; or an open text
        file, into which CSV is written
    columns : names and units
    attributes : what the file is to say about itself: texts by key
    digits : significant digits of numbers in a text; None for all. The other kinds hold all
    gaps : take nan and inf too. Without it they are refused: nothing here reads a file with gaps.
        False is what a caller's own option ``gaps=`` says, which the message then names

    Examples
    --------
    >>> with TableWriter("a.parquet", [Column("time", "s"), Column("fx", "N")]) as out:
    ...     out.append(rows)                                             # doctest: +SKIP
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | TextIO,
        columns: Sequence[Column],
        attributes: Mapping[str, object] | None = None,
        *,
        digits: int | None = None,
        gaps: bool | None = None,
    ) -> None:
        self._file: TextIO | None = None
        if isinstance(path, str | os.PathLike):
            self.path = file_path("path", path)
        elif hasattr(path, "write"):
            self._file, self.path = path, "the stream"
        else:
            raise StateError(f"expected a path or an open text file to write to, got {path!r:.60}")
        self.columns = tuple(columns)
        self.attributes = {
            key: str(value).encode("utf-8", ESCAPED).decode()
            for key, value in (attributes or {}).items()
        }
        check_columns(self.columns, self.path)
        self.rows = 0
        self._suffix = Path(self.path).suffix.lower()
        _check_kind(self.path)
        self._digits = _significant(digits)
        self._gaps = gaps if gaps is None else flag("gaps", gaps)
        self._waiting, self._cells = list[Floats](), 0

    def __enter__(self) -> TableWriter:
        self._stack = contextlib.ExitStack()
        self._write = self._stack.enter_context(self._sink())
        return self

    @contextlib.contextmanager
    def _sink(self) -> Iterator[Callable[[Floats], object]]:
        if self._suffix in TEXT:
            target = self.path if self._file is None else self._file
            with text_rows(target, self.columns, self.attributes, self._digits) as write:
                yield write
                self._flush(write)
            return
        if self._suffix not in WRITABLE:
            blocks = list[Floats]()
            yield blocks.append
            self._flush(blocks.append)
            empty = np.empty((0, len(self.columns)))
            with whole_path(self.path) as temporary:
                whole = np.concatenate([empty, *blocks])
                table = ColumnTable(self.columns, whole, None, self.path, self.attributes)
                _plugin(self._suffix).write(temporary, table)
            return
        kind = WRITABLE[self._suffix]
        make = kind.load(kind.rows)
        with (
            whole_path(self.path) as temporary,
            make(temporary, self.columns, self.attributes) as write,
        ):
            yield write
            self._flush(write)

    def append(self, rows: ArrayLike) -> None:
        """Write rows (n, columns)."""
        values = np.array(rows, dtype=np.float64, order="C", ndmin=2)
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise StateError(
                f"expected rows of {len(self.columns)} numbers, one a column, got an array of the "
                f"shape {np.shape(rows)}"
            )
        if not (self._gaps or np.isfinite(values).all()):
            row, column = np.argwhere(~np.isfinite(values))[0]
            option = ", or pass gaps=True for a file that other programs are to read"
            raise place_error(
                f"expected a finite number to write, got {values[row, column]}; leave the row out"
                f"{'' if self._gaps is None else option}",
                self.path,
                self.rows + int(row),
                self.columns[column].name,
            )
        self._waiting.append(values)
        self.rows += len(values)
        self._cells += values.size
        if self._cells >= WRITTEN:
            self._flush(self._write)

    def _flush(self, write: Callable[[Floats], object]) -> None:
        if self._waiting:
            write(np.concatenate(self._waiting))
            self._waiting.clear()
            self._cells = 0

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self._stack.__exit__(kind, error, trace)
