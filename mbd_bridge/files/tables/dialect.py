"""How a text writes a table: what stands between cells, the decimal sign, where the names are.

    time,elbow              commas and points; or ; tab or blanks between cells, and then also
    0.0,0.1                 decimal commas

A header may stand behind other lines (a logger's), in two lines (names, then units), behind # or %
as the last comment before the numbers, or nowhere: then columns are called ``column 1``, ...
Times of day and dates in the first rows are taken as times: seconds from the first row.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.units import find_unit
from mbd_bridge.files.table import Column

# The lines of a text file, whatever wrote it: UTF-8, UTF-16, or Windows-1252.

MAX_LINE = 1_000_000
"""Longest line, bytes: a file without line ends is not a table."""

WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
FALLBACK = "cp1252"
"""What Windows calls ANSI in Western Europe: ° and µ in headers of spreadsheets and loggers."""


class TextLine(NamedTuple):
    """A line of a text: its number from 1, what it says, the bytes up to its end."""

    number: int
    text: str
    end: int


class Lines:
    """The lines of an open binary file, without line ends and blanks (not tabs) at their ends.

    Attributes
    ----------
    encoding : in which they are read so far
    """

    def __init__(self, file: io.BufferedReader, name: str) -> None:
        self._file, self._name = file, name
        self.encoding = "utf-8"

    def __iter__(self) -> Iterator[TextLine]:
        start = self._file.peek(8)[:8]
        self.encoding = WIDE.get(start[:2]) or _without_mark(start)
        each = self._narrow() if self.encoding == "utf-8" else self._wide()
        for number, (text, end) in enumerate(each, start=1):
            yield TextLine(number, text.strip("\r\n \ufeff"), end)

    def _narrow(self) -> Iterator[tuple[str, int]]:
        number = end = 0
        while raw := self._file.readline(MAX_LINE):
            number, end = number + 1, end + len(raw)
            self._check_length(len(raw), number)
            if b"\0" in raw:
                raise self._error("expected text, got a binary file; export it as CSV", number)
            yield self._text(raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw), end

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.encoding = FALLBACK
            return raw.decode(FALLBACK, errors="replace")

    def _wide(self) -> Iterator[tuple[str, int]]:
        number = end = 0
        text = io.TextIOWrapper(self._file, encoding=self.encoding, newline="\n")
        try:
            while line := text.readline(MAX_LINE):
                number, end = number + 1, end + 2 * len(line)
                self._check_length(len(line), number)
                yield line, end
        except UnicodeDecodeError:
            raise self._error("expected UTF-16 text, as it begins", number + 1) from None
        finally:
            with contextlib.suppress(ValueError):  # the file is closed already
                text.detach()

    def _check_length(self, length: int, number: int) -> None:
        if length == MAX_LINE:
            raise self._error(
                f"the line is longer than {MAX_LINE} bytes; a table has one line a row", number
            )

    def _error(self, message: str, line: int) -> FileError:
        return FileError(message, self._name, line)


def _without_mark(start: bytes) -> str:
    """Return the encoding of a text without a byte order mark; ASCII in UTF-16 has zeros."""
    if len(start) == 8 and not any(start[1::2]) and all(start[::2]):
        return "utf-16-le"
    if len(start) == 8 and not any(start[::2]) and all(start[1::2]):
        return "utf-16-be"
    return "utf-8"


FORMULA = re.compile(r"'*[=+\-@]")
"""What spreadsheets take for a formula at the start of a text, behind apostrophes or not."""


MAX_COMMENTS = 2**24
"""Characters of comments before the header."""
MOST_LINES = 300
"""Lines before the numbers that are no comments, at most."""
LOOKED_AT = 20
"""Rows of numbers that tell the decimal sign."""
SHOWN = 40
"""How much of a bad cell a message repeats."""
BLANKS = " "
SEPARATORS = (";", "\t", ",", BLANKS)
NAMES = {";": "semicolons", "\t": "tabs", ",": "commas", BLANKS: "blanks"}

OTHER_UNITS = frozenset(
    (
        *("A", "mA", "V", "mV", "W", "kW", "°C", "C", "K"),
        *("bar", "Pa", "MPa", "J", "g", "Hz", "counts", "inc", "bool"),
    )
)
"""What may stand in a second line of a header beside what `find_unit` knows."""

_NUMBER = re.compile(r"\s*[-+]?(\d+[.,]?\d*|[.,]\d+)([eEdD][-+]?\d+)?\s*")
FAILED = (
    *("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"),
    *("#NV", "#WERT!", "#BEZUG!", "#ZAHL!", "#LEER!", "#ÜBERLAUF!"),
)
"""What spreadsheets write in cells whose formulas have no value."""
_WORD = re.compile(
    rf"\s*([-+]?(nan|inf|infinity|null|na|n/a)|{'|'.join(map(re.escape, FAILED))})\s*", re.I
)
_ATTRIBUTE = re.compile(r"#\s*(?P<key>[^:]{1,40}): (?P<value>.*)")
_CLOCK = re.compile(
    r"(?P<date>\d{4}-\d\d?-\d\d?|\d\d?\.\d\d?\.\d{4}|\d\d?/\d\d?/\d{4})?[T ]?"
    r"(?P<hour>\d\d?):(?P<minute>\d\d)(:(?P<second>\d\d?([.,]\d+)?))?Z?"
)


@dataclass(frozen=True)
class Dialect:
    """How a text is written.

    Attributes
    ----------
    separator : between cells; a blank stands for blanks and tabs
    decimal : "." or ","
    columns : that the header names
    line : of the header, the number
    clock : the column that holds times of day or dates, or None; `began` is its first one, s
    attributes : what comments before the numbers say by a key
    notes : what is unusual
    """

    separator: str
    decimal: str
    columns: tuple[Column, ...]
    line: int
    clock: int | None = None
    began: float = 0.0
    attributes: dict[str, str] | None = None
    notes: tuple[str, ...] = ()

    def cells(self, text: str) -> list[str]:
        """Return the cells of a line of numbers."""
        return cells_of(text, self.separator)

    @property
    def plain(self) -> bool:
        """Whether it is what is written here: commas, points, numbers only."""
        return self.separator == "," and self.decimal == "." and self.clock is None


def cells_of(text: str, separator: str) -> list[str]:
    """Return the cells of a line."""
    if separator == BLANKS:
        return text.split()
    try:
        return next(csv.reader([text], delimiter=separator), [])
    except csv.Error:  # a cell longer than the csv module takes
        return text.split(separator)


def is_number(cell: str) -> bool:
    """Return whether a cell holds a number, with a point or a comma."""
    return bool(_NUMBER.fullmatch(cell) or _WORD.fullmatch(cell))


def is_comment(text: str) -> bool:
    """Return whether a line is a comment, and no row whose first cell holds a failed formula."""
    return text.startswith("#") and not text.upper().startswith(FAILED)


def clock_seconds(cell: str) -> float | None:
    """Return the seconds of a date or time of day (since 1970, or midnight), None if it is none."""
    clock = _CLOCK.fullmatch(cell.strip())
    if clock is None:
        return None
    second = float((clock["second"] or "0").replace(",", "."))
    total = 3600.0 * int(clock["hour"]) + 60.0 * int(clock["minute"]) + second
    if clock["date"] is None:
        return total
    parts = [int(part) for part in re.split(r"[-./]", clock["date"])]
    year, month, day = parts if len(clock["date"].split("-")) == 3 else parts[::-1]
    try:
        return total + 86400.0 * datetime(year, month, day).toordinal()
    except ValueError:
        return None


XML = ("<?xml", "<robot", "<!--", "<sdf", "<mujoco")
"""With what a file begins that is no table."""


def dialect_of(lines: Iterator[TextLine], source: str) -> tuple[Dialect, list[TextLine]]:
    """Return how a text is written, and the lines of numbers that were read to know it."""
    comments, before, rows = list[TextLine](), list[TextLine](), list[TextLine]()
    separator: str | None = None
    for line in lines:
        if line.end > MAX_COMMENTS and not rows:
            raise FileError(
                f"no header line in the first {MAX_COMMENTS} bytes; expected the names of columns "
                f"there, such as 'time,elbow'",
                source,
                line.number,
            )
        if not line.text.strip() or is_comment(line.text):
            comments += [line] if line.text.strip() and not rows else []
            continue
        check_quotes(line, source)
        if separator is None and not before and line.text.lstrip().startswith(XML):
            raise FileError(
                "this is XML, not a table; expected a header line such as 'time,elbow' (a robot's "
                "file goes before that of its motion)",
                source,
                line.number,
            )
        if separator is None:
            separator = separator_of(line.text)
            if separator is None:
                before.append(line)
                if len(before) > MOST_LINES:
                    break
                continue
        rows.append(line)
        if len(rows) == LOOKED_AT:
            break
    if not before and not rows:
        raise FileError(
            "the table is empty: expected a header line such as 'time,elbow,wrist', then rows of "
            "numbers",
            source,
        )
    return _dialect(comments, before, rows, separator, source)


def _dialect(
    comments: list[TextLine],
    before: list[TextLine],
    rows: list[TextLine],
    separator: str | None,
    source: str,
) -> tuple[Dialect, list[TextLine]]:
    if separator is None:  # no row of numbers: the first line is the header all the same
        separator = next((s for s in SEPARATORS if s in before[0].text), ",")
        before, rows = before[:1], before[1:]
    while before and any(map(_is_value, cells_of(before[-1].text, separator))) and len(before) > 1:
        rows.insert(0, before.pop())  # a bad row, not a header
    notes = list[str]()
    first = rows[0] if rows else None
    width = len(_trimmed(first.text, separator)) if first else None
    units: list[str] | None = None
    if len(before) > 1 and _are_units(*(cells_of(line.text, separator) for line in before[-2:])):
        units = cells_of(before.pop().text, separator)
    if before:
        header = before[-1]
        skipped = before[:-1]
    else:
        header = _commented(comments, separator, width) or TextLine(
            first.number if first else 1, "", 0
        )
        skipped = []
    if skipped:
        span = f"lines {skipped[0].number} to {skipped[-1].number}"
        span = span if len(skipped) > 1 else f"line {skipped[0].number}"
        notes.append(f"the names of columns stand in line {header.number}; {span} left out")
    columns = _columns(header, separator, width, units)
    if not header.text:
        notes.append("no names of columns: they are called 'column 1', 'column 2', ...")
    decimal = _decimal(rows, separator, source)
    clock, began = _clock(first, separator, columns, notes)
    if separator != "," or decimal != ".":
        signs = ", decimal commas" if decimal == "," else ""
        notes.append(f"read with {NAMES[separator]} between cells{signs}")
    attributes = _attributes(comments)
    made = Dialect(
        separator, decimal, columns, header.number, clock, began, attributes, tuple(notes)
    )
    return made, rows


def separator_of(text: str) -> str | None:
    """Return what stands between the numbers of a line; None if it is no row of numbers."""
    for separator in SEPARATORS:
        cells = _trimmed(text, separator)
        if len(cells) > 1 and _is_value(cells[0]):
            others = [cell for cell in cells if cell.strip()]
            if separator in (";", "\t") or all(map(_is_value, others[:2])):
                return separator
    return "," if is_number(text) else None


def _is_value(cell: str) -> bool:
    return is_number(cell) or clock_seconds(cell) is not None


def _trimmed(text: str, separator: str) -> list[str]:
    """Return the cells of a line without an empty last one."""
    cells = cells_of(text, separator)
    return cells[:-1] if len(cells) > 1 and not cells[-1].strip() else cells


def _are_units(names: Sequence[str], cells: Sequence[str]) -> bool:
    """Return whether a line of a header holds the units of the names in the line before.

    Brackets are taken off. In a line as long as that of the names, that of one column in two may
    be a unit that nothing here knows.
    """
    bare = [cell.strip().strip("[]()").strip() for cell in cells]
    known = [bool(text) and (text in OTHER_UNITS or find_unit(text) is not None) for text in bare]
    unknown = sum(map(bool, bare)) - sum(known)
    if unknown and (len(names) != len(cells) or not names[-1].strip()):
        return False
    return sum(known) > len(bare) // 2


def _commented(comments: Sequence[TextLine], separator: str, width: int | None) -> TextLine | None:
    """Return the last comment as a header, if it has as many cells as the rows."""
    if not comments or width is None:
        return None
    text = comments[-1].text.lstrip("#").strip()
    cells = cells_of(text, separator)
    plain = not any(map(_is_value, cells)) and all(cell.strip() for cell in cells)
    if len(cells) != width or not plain or _ATTRIBUTE.fullmatch(comments[-1].text):
        return None
    return TextLine(comments[-1].number, text, comments[-1].end)


def _columns(
    header: TextLine, separator: str, width: int | None, units: list[str] | None
) -> tuple[Column, ...]:
    """Return the columns that a header names."""
    cells = cells_of(header.text.removeprefix("%"), separator) if header.text else []
    if not cells:
        cells = [""] * (width or 1)
    elif len(cells) > 1 and not cells[-1].strip() and (width is None or width < len(cells)):
        cells = cells[:-1]
    if width is not None and len(cells) == width + 1 and cells[-1].strip().lower() == "comment":
        cells = cells[:-1]
    columns = []
    for index, cell in enumerate(cells):
        plain = cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
        column = Column.from_heading(plain) or Column(f"column {index + 1}")
        if units is not None and column.unit is None and index < len(units):
            unit = units[index].strip().strip("[]()").strip()
            column = Column(column.name, unit) if unit else column
        columns.append(column)
    return tuple(columns)


def _decimal(rows: Sequence[TextLine], separator: str, source: str) -> str:
    """Return the decimal sign of the first rows."""
    signs: dict[str, TextLine] = {}
    for line in rows:
        for cell in cells_of(line.text, separator):
            if _NUMBER.fullmatch(cell):
                signs.update({sign: line for sign in ".," if sign in cell})
    if len(signs) == 2:
        raise FileError(
            "some numbers have a decimal comma, others a point; write them all with points",
            source,
            max(line.number for line in signs.values()),
        )
    return next(iter(signs), ".")


def _clock(
    first: TextLine | None, separator: str, columns: Sequence[Column], notes: list[str]
) -> tuple[int | None, float]:
    """Return which column holds times of day or dates, and the first of these."""
    if first is None:
        return None, 0.0
    for index, cell in enumerate(cells_of(first.text, separator)[: len(columns)]):
        began = clock_seconds(cell)
        if began is not None:
            notes.append(f"{columns[index].name}: seconds from {cell.strip()} on")
            return index, began
    return None, 0.0


def _attributes(comments: Sequence[TextLine]) -> dict[str, str]:
    attributes: dict[str, list[str]] = {}
    for line in comments:
        match = _ATTRIBUTE.fullmatch(line.text)
        if match:
            attributes.setdefault(match["key"].strip(), []).append(match["value"])
    return {key: "\n".join(values) for key, values in attributes.items()}


def check_quotes(line: TextLine, source: str) -> None:
    """Refuse a line in which a quotation mark is not closed."""
    if line.text.count('"') % 2:
        message = 'a quotation mark " is not closed in its line; close it'
        raise FileError(message, source, line.number)
