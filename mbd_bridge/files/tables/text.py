"""CSV text is written as a header, then rows of numbers.

    # content: a comment 'key: value' before the header is an attribute
    time [s],elbow [rad],elbow.vel
    0.00,0.1,0.0
    # other comment lines may stand anywhere
    0.01,0.2,0.1

UTF-8, commas between cells, a point in numbers. What is read besides is told in `dialect`.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NoReturn, TextIO

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError, is_plain
from mbd_bridge.files.table import Block, Column, TableSource, reading
from mbd_bridge.files.tables.dialect import (
    BLANKS,
    FAILED,
    FORMULA,
    SHOWN,
    Dialect,
    Lines,
    TextLine,
    check_quotes,
    clock_seconds,
    dialect_of,
    is_comment,
    is_number,
)
from mbd_bridge.files.whole_file import whole_file

# CSV and other text as a table; see `dialect` for how it may be written. It is a stream.

GAPS = ("", "nan", "na", "n/a", "null", "none", "-", "--", *(text.lower() for text in FAILED))
"""What stands for no number in a cell."""
BLOCK_CHARACTERS = 2**24
"""Of lines that are kept at a time before they are made into numbers."""
MOST_EMPTY = 2**20
"""Rows without a number that may stand at the end, as spreadsheets write them."""
WRITER_SECONDS = 5.0
"""How long a named pipe may wait for the process that writes to it to open it."""


class TextSource(TableSource):
    """A text file, or a pipe with text in it, which is read once."""

    _rest: Iterator[TextLine] | None = None

    def __init__(self, path: str) -> None:
        with reading(path, (OSError,), "a CSV file"):
            file = _opened(path)
        with contextlib.ExitStack() as stack:
            stack.enter_context(file)
            with reading(path, (OSError,), "a CSV file"):
                mode = os.fstat(file.fileno()).st_mode
                if stat.S_ISDIR(mode):
                    raise IsADirectoryError(21, os.strerror(21))
                lines = Lines(file, path)
                self.path = path
                dialect, rows = self._begin(iter(lines))
            if not stat.S_ISREG(mode):
                self._rest, self._open = rows, stack.pop_all()
                self.once = True
        self._describe(dialect, dialect.notes)
        if lines.encoding != "utf-8":
            self.notes = (*self.notes, f"read as {lines.encoding} text")

    def _describe(self, dialect: Dialect, notes: Sequence[str]) -> None:
        """Take in how the text is written."""
        self._dialect = dialect
        attributes = dialect.attributes or {}
        super().__init__(self.path, dialect.columns, attributes, None, dialect.line)
        self.notes = tuple(notes)

    def lines(self) -> Iterator[TextLine]:
        """Yield the lines of the file."""
        with open(self.path, "rb") as file:
            yield from Lines(file, self.path)

    def blocks(self, rows: int, places: Sequence[int]) -> Iterator[Block]:
        """Yield blocks of rows; a last one without rows tells of the rest of the file."""
        with reading(self.path, (OSError,), "a CSV file"):
            if self._rest is not None:
                with self._open:
                    yield from self._blocks(self._rest, rows, places)
                return
            _, lines = self._begin(self.lines())
            yield from self._blocks(lines, rows, places)

    def _begin(self, lines: Iterator[TextLine]) -> tuple[Dialect, Iterator[TextLine]]:
        """Return how a text is written, and its lines from the first row on."""
        dialect, rows = dialect_of(lines, self.path)
        return dialect, chain(rows, lines)

    def _blocks(
        self, lines: Iterator[TextLine], rows: int, places: Sequence[int]
    ) -> Iterator[Block]:
        done = end = 0

        no_numbers = f'{self._dialect.separator}{BLANKS}\t"'

        def data() -> Iterator[TextLine]:
            nonlocal end
            empty: list[
                TextLine
            ] = []  # at the end of the file they are nothing, before they are gaps
            for line in lines:
                end = line.end
                if not line.text.strip() or is_comment(line.text):
                    continue
                if not line.text.strip(no_numbers) and len(empty) < MOST_EMPTY:
                    empty.append(line)
                    continue
                yield from empty
                empty.clear()
                yield line

        data_lines = data()
        while block := _some_lines(data_lines, rows):
            values = self._numbers(block, places)
            numbers = np.array([line.number for line in block], dtype=np.int64)
            yield Block(values, numbers, end - done)
            done = end
        yield Block(np.zeros((0, len(places))), None, end - done)

    def _numbers(self, block: Sequence[TextLine], places: Sequence[int]) -> Floats:
        """Return the numbers of some lines, (rows, places)."""
        width, every = len(self.columns), list(places) == list(range(len(self.columns)))
        dialect, values = self._dialect, None
        if dialect.clock is None and (every or self._same_width(block)):
            texts = [line.text for line in block]
            if dialect.decimal == ",":
                texts = [text.replace(",", ".") for text in texts]
            separator = None if dialect.separator == " " else dialect.separator
            with contextlib.suppress(ValueError):
                values = np.loadtxt(
                    texts,
                    delimiter=separator,
                    comments=None,
                    quotechar='"',
                    ndmin=2,
                    usecols=None if every else places,
                )
        if values is None or values.shape != (len(block), width if every else len(places)):
            return self._cell_by_cell(block, places)
        return np.asarray(values, dtype=np.float64)

    def _same_width(self, block: Sequence[TextLine]) -> bool:
        """Return whether each line has as many cells as the header, seen without parsing them."""
        separator, width = self._dialect.separator, len(self.columns)
        if separator == " " or (separator == "," and self._dialect.decimal == ","):
            return False
        return all(
            line.text.count(separator) == width - 1 and '"' not in line.text for line in block
        )

    def _cell_by_cell(self, block: Sequence[TextLine], places: Sequence[int]) -> Floats:
        """Return the numbers of lines that are not all plain numbers, or say what is none."""
        out = np.empty((len(block), len(places)))
        for row, line in enumerate(block):
            cells = self._cells(line)
            for k, column in enumerate(places):
                out[row, k] = self._value(cells[column], column, line.number)
        return out

    def _cells(self, line: TextLine) -> list[str]:
        width = len(self.columns)
        check_quotes(line, self.path)
        cells = self._dialect.cells(line.text)
        while len(cells) > width and not cells[-1].strip():
            cells.pop()
        if len(cells) != width:
            raise FileError(
                f"expected {width} cells, one a column of the header, got {len(cells)}: "
                f"{line.text[:SHOWN]!r}",
                self.path,
                line.number,
            )
        return cells

    def _value(self, cell: str, column: int, line: int) -> float:
        if column == self._dialect.clock:
            second = clock_seconds(cell)
            if second is not None:
                return second - self._dialect.began
        text = cell.strip()
        if self._dialect.decimal == ",":
            text = text.replace(",", ".") if "." not in text else text
        with contextlib.suppress(ValueError):
            if "_" not in text and text.isascii():
                return float(text)
        if self.gaps and text.lower() in GAPS:
            return float("nan")
        self._complain(cell, column, line)

    def _complain(self, cell: str, column: int, line: int) -> NoReturn:
        got = "an empty cell" if not cell.strip() else repr(cell[:SHOWN])
        advice = "write it like 0.5, -1 or 2e-3"
        if cell.strip().lower() in GAPS:
            advice += ", or leave such rows out (of a motion --gaps drop, gaps='drop')"
        elif "." in cell and "," in cell:
            advice = "write it without signs between thousands"
        elif is_number(cell):
            advice = "write all numbers with points, or all with commas and ; between cells"
        raise FileError(
            f"expected a number, got {got}; {advice}",
            self.path,
            line,
            f"column {self.columns[column].name!r}",
        )


def _opened(path: str) -> io.BufferedReader:
    """Return an open file; of a named pipe the end to read, if somebody opens the other in time.

    To open a named pipe waits for its writer. Once there is one, it may take its time to write.
    """
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        return open(path, "rb")
    ends = list[io.BufferedReader | OSError]()
    late = threading.Event()

    def open_end() -> None:
        try:
            end = open(path, "rb")  # noqa: SIM115 (it stays open until it is read)
        except OSError as error:
            ends.append(error)
            return
        if late.is_set():
            end.close()
        ends.append(end)

    waiting = threading.Thread(target=open_end, daemon=True)
    waiting.start()
    waiting.join(WRITER_SECONDS)
    if waiting.is_alive():
        late.set()
        with contextlib.suppress(OSError):  # lets the thread go on, and end
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        raise FileError(
            f"expected a process that writes to this named pipe, got none in {WRITER_SECONDS:g} s; "
            f"start it first (`program > pipe &`), use <(program), or give a CSV file",
            path,
        )
    if isinstance(ends[0], OSError):
        raise ends[0]
    return ends[0]


def _some_lines(lines: Iterator[TextLine], rows: int) -> list[TextLine]:
    """Return the next lines: so many, or fewer long ones."""
    block, left = list[TextLine](), BLOCK_CHARACTERS
    for line in islice(lines, rows):
        block.append(line)
        left -= len(line.text)
        if left < 0:
            break
    return block


@contextlib.contextmanager
def text_rows(
    target: str | TextIO,
    columns: Sequence[Column],
    attributes: Mapping[str, str],
    digits: int | None,
) -> Iterator[Callable[[Floats], object]]:
    """Give a function that writes rows to a CSV file, pipe or device, or into an open file."""
    _check_header(columns, target if isinstance(target, str) else "the stream")
    opened = whole_file(target) if isinstance(target, str) else contextlib.nullcontext(target)
    with opened as file:
        file.write(header_text(columns, attribute_lines(attributes)))
        yield lambda values: file.write(rows_text(values, digits))


def _check_header(columns: Sequence[Column], source: str) -> None:
    """Refuse names of columns that would not be read back as they are."""
    for column in columns:
        text = header_text([column]).rstrip("\n")
        bad = not is_plain(text) or text != text.strip() or text.startswith("#") or not text
        if bad or Column.from_heading(str(column)) != column:
            raise FileError(
                f"a CSV file cannot hold the name {column.name!r:.80}: line ends and control "
                f"characters, # or blanks at its ends, and [..] behind it are read as something "
                f"else; rename it, or write .parquet, .npz or .h5",
                source,
            )


def attribute_lines(attributes: Mapping[str, str]) -> list[str]:
    """Return attributes as comments, a line of a value each."""
    return [f"{key}: {line}" for key, value in attributes.items() for line in value.splitlines()]


def header_text(columns: Iterable[Column], comments: Iterable[str] = ()) -> str:
    """Return comment lines and the header line."""
    lines = [f"# {line}\n" for comment in comments for line in comment.splitlines()]
    return "".join(lines) + ",".join(cell(str(column)) for column in columns) + "\n"


def rows_text(values: Floats, digits: int | None = None) -> str:
    """Return rows (N, columns) as lines, with so many significant digits.

    Without `digits`, each number reads back as exactly the same one.
    """
    if digits is None:
        return "".join(",".join(map(repr, row)) + "\n" for row in values.tolist())
    line = ",".join([f"%.{digits}g"] * values.shape[1]) + "\n"
    return "".join(line % tuple(row) for row in values.tolist())


def no_formula(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula.

    One that begins with =, +, - or @ gets an apostrophe before it, which is taken off when it is
    read; so does one that has apostrophes there already.
    """
    return "'" + text if FORMULA.match(text) else text


def cell(text: str) -> str:
    """Return a text as a cell: in quotes if it needs them, and no formula for spreadsheets."""
    plain = no_formula(text)
    return '"' + plain.replace('"', '""') + '"' if any(c in plain for c in ',"\n\r') else plain
