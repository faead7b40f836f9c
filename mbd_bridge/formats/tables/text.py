"""CSV text as a table: a header, then rows of numbers.

    # content: a comment 'key: value' before the header is an attribute
    time [s],elbow [rad],elbow.vel
    0.00,0.1,0.0
    # other comment lines may stand anywhere
    0.01,0.2,0.1

UTF-8, commas between cells, a point in numbers. The file is read as a stream, in blocks.
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, NamedTuple, NoReturn, TextIO

import numpy as np

from mbd_bridge.errors import FileError, is_plain
from mbd_bridge.formats.table import Column, Floats
from mbd_bridge.formats.tables.source import Block, TableSource, cannot_read
from mbd_bridge.formats.whole_file import whole_file

MAX_LINE = 1_000_000
"""Longest line, bytes: a file without line ends is not a table."""
BLOCK_CHARACTERS = 2**24
"""Of lines that are kept at a time before they are made into numbers."""
MAX_COMMENTS = 2**24
"""Characters of comments before the header."""
SHOWN = 40
"""How much of a bad cell a message repeats."""

FORMULA = re.compile(r"'*[=+\-@]")
"""What spreadsheets take for a formula at the start of a text, behind apostrophes or not."""

_ATTRIBUTE = re.compile(r"#\s*(?P<key>[^:]{1,40}): (?P<value>.*)")


class Line(NamedTuple):
    """A line of a text: its number from 1, what it says, the bytes up to its end."""

    number: int
    text: str
    end: int


class TextSource(TableSource):
    """A CSV file, or a pipe with CSV in it, which is read once."""

    def __init__(self, path: str) -> None:
        try:
            file = open(path, "rb")  # noqa: SIM115 (a pipe stays open until it is read)
        except OSError as error:
            raise cannot_read(path, error, "a CSV file") from error
        with contextlib.ExitStack() as stack:
            stack.enter_context(file)
            lines = _lines(file, path)
            try:
                mode = os.fstat(file.fileno()).st_mode
                if stat.S_ISDIR(mode):
                    raise IsADirectoryError(21, os.strerror(21))
                header, attributes = _header(lines, path)
            except OSError as error:
                raise cannot_read(path, error, "a CSV file") from error
            columns = _columns(header.text, path, header.number)
            self._rest: Iterator[Line] | None = None
            if not stat.S_ISREG(mode):
                self._rest, self._open = lines, stack.pop_all()
                self.once = True
        super().__init__(path, columns, attributes, None, header.number)

    def blocks(self, rows: int, places: Sequence[int]) -> Iterator[Block]:
        """Yield blocks of rows; a last one without rows tells of the rest of the file."""
        try:
            if self._rest is not None:
                with self._open:
                    yield from self._blocks(self._rest, rows, places)
                return
            with open(self.path, "rb") as file:
                lines = _lines(file, self.path)
                _header(lines, self.path)
                yield from self._blocks(lines, rows, places)
        except OSError as error:
            raise cannot_read(self.path, error, "a CSV file") from error

    def _blocks(self, lines: Iterator[Line], rows: int, places: Sequence[int]) -> Iterator[Block]:
        done = end = 0

        def data() -> Iterator[Line]:
            nonlocal end
            for line in lines:
                end = line.end
                if line.text and not line.text.startswith("#"):
                    yield _whole_cells(line, self.path)

        data_lines, every = data(), list(places) == list(range(len(self.columns)))
        while block := _some_lines(data_lines, rows):
            values = _numbers(block, self.columns, self.path)
            numbers = np.array([line.number for line in block], dtype=np.int64)
            yield Block(values if every else values[:, places].copy(), numbers, end - done)
            done = end
        yield Block(np.zeros((0, len(places))), None, end - done)


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


def _lines(file: IO[bytes], name: str) -> Iterator[Line]:
    """Yield every line, without blanks at its ends."""
    number = end = 0
    while raw := file.readline(MAX_LINE):
        number, end = number + 1, end + len(raw)
        if number == 1:
            if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise FileError("expected UTF-8 text, got UTF-16; save it as CSV UTF-8", name, 1)
            raw = raw.removeprefix(b"\xef\xbb\xbf")
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
        yield Line(number, text, end)


def _some_lines(lines: Iterator[Line], rows: int) -> list[Line]:
    """Return the next lines: so many, or fewer long ones."""
    block, left = list[Line](), BLOCK_CHARACTERS
    for line in islice(lines, rows):
        block.append(line)
        left -= len(line.text)
        if left < 0:
            break
    return block


def _whole_cells(line: Line, source: str) -> Line:
    if line.text.count('"') % 2:
        message = 'a quotation mark " is not closed in its line; close it'
        raise FileError(message, source, line.number)
    return line


def _header(lines: Iterator[Line], source: str) -> tuple[Line, dict[str, str]]:
    """Return the line with the names, and what the comments before it say by a key."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.end > MAX_COMMENTS:
            raise FileError(
                f"no header line in the first {MAX_COMMENTS} bytes; expected the names of columns "
                f"there, such as 'time,elbow'",
                source,
                line.number,
            )
        said = _ATTRIBUTE.fullmatch(line.text)
        if said:
            found.setdefault(said["key"].strip(), []).append(said["value"])
        elif line.text and not line.text.startswith("#"):
            attributes = {key: "\n".join(values) for key, values in found.items()}
            return _whole_cells(line, source), attributes
    raise FileError(
        "the table is empty: expected a header line such as 'time,elbow,wrist', then rows of "
        "numbers",
        source,
    )


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
        plain = cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
        column = Column.from_heading(plain)
        if column is None:
            raise FileError(
                f"column {place} of {len(cells)} has no name; name it, or remove the comma",
                source,
                line,
            )
        columns.append(column)
    return tuple(columns)


def _numbers(block: Sequence[Line], columns: Sequence[Column], source: str) -> Floats:
    """Return the numbers of some lines, (rows, columns)."""
    try:
        texts = [line.text for line in block]
        values = np.loadtxt(texts, delimiter=",", comments=None, quotechar='"', ndmin=2)
    except ValueError:
        _complain(block, columns, source)
    if values.shape != (len(block), len(columns)):
        _complain(block, columns, source)
    return np.asarray(values, dtype=np.float64)


def _complain(block: Sequence[Line], columns: Sequence[Column], source: str) -> NoReturn:
    """Find the line and the cell that are no numbers."""
    for number, text, _ in block:
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
    raise FileError(
        "expected rows of numbers; write them like 0.5,-1,2e-3", source, block[0].number
    )


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
