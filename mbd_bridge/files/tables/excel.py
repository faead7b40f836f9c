"""Excel workbooks (.xlsx) as a table: the cells of one sheet, read as a text of them would be.

``book.xlsx`` is its first sheet with rows of numbers, ``book.xlsx#run 3`` the sheet of that name.
Formulas have the values that the program saved with them. Other lines before the names of columns,
units in a second line and dates are read as in a text (`dialect`).
"""

from __future__ import annotations

import datetime
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from xml.etree.ElementTree import ParseError

from mbd_bridge.base.arguments import known_name
from mbd_bridge.base.errors import FileError, some
from mbd_bridge.base.extras import needed
from mbd_bridge.files.table import reading, without_sheet
from mbd_bridge.files.tables.dialect import TextLine, separator_of
from mbd_bridge.files.tables.text import TextSource

WHAT = "an Excel workbook (.xlsx)"
MAX_BYTES = 2**30
"""Of a workbook when it is unpacked: a small file may claim to be any size."""
MOST_TEXTS = 2**26
"""Bytes of all texts of a workbook, which lie in one part of it."""
MOST_AT_ONCE = 2**24
"""Bytes of a row, and of each part that is no sheet: ten times as much as Excel writes."""
PIECE, MARGIN = 2**20, 64
"""Bytes that are looked at at a time, and of those before them."""
ROW = re.compile(rb"<(\w{1,20}:)?row\b")
BEGINS = b"\xef\xbb\xbf<?"
"""What a part begins with, at most: a mark of UTF-8 and the declaration."""
MOST_ROWS = 1_048_576
"""Rows that a sheet has at most, as Excel has it."""
LOOKED_AT = 400
"""Rows of a sheet in which numbers must begin."""

Bad = (
    OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, RuntimeError,
    struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What openpyxl raises of files that are none, or damaged."""


class ExcelSource(TextSource):
    """A sheet of a workbook."""

    def __init__(self, name: str) -> None:
        self._file = without_sheet(name)
        asked = None if name == self._file else name[len(self._file) + 1 :]
        _check_sizes(self._file)
        self._sheet, others = _sheet(self._file, asked)
        self.path = name
        dialect, _ = self._begin(self._rows(self._sheet))
        self._describe(dialect, [note for note in dialect.notes if "between cells" not in note])
        if others and asked is None:
            self.notes = (
                *self.notes,
                f"sheet {self._sheet!r} is read; others are {some(others, 8)} "
                f"({self._file}#{others[0]})",
            )

    def lines(self) -> Iterator[TextLine]:
        """Yield the rows of the sheet as lines."""
        return self._rows(self._sheet)

    def _rows(self, sheet: str) -> Iterator[TextLine]:
        return _lines(self._file, sheet)


def _check_sizes(path: str) -> None:
    """Refuse a workbook of which openpyxl would take more into memory than a table needs."""
    _openpyxl(path)
    with reading(path, Bad, WHAT), zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        what = f"the workbook is larger than {MAX_BYTES} bytes when it is unpacked"
        if sum(part.file_size for part in parts) <= MAX_BYTES:
            what = next(filter(None, (_too_large(archive, part) for part in parts)), "")
    if what:
        raise FileError(f"{what}; save the sheet as CSV", path)


def _too_large(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> str:
    """Return what is wrong with a large part of a workbook, "" if it is a sheet, or its texts.

    Rows are looked for as bytes, so what could hide where they end is refused.
    """
    if part.file_size <= MOST_AT_ONCE:
        return ""
    name = part.filename[-60:]
    if "sharedstrings" in name.lower():
        return (
            "" if part.file_size <= MOST_TEXTS else f"its texts have more than {MOST_TEXTS} bytes"
        )
    with archive.open(part) as sheet:
        end, start, row = b"", 0, 0  # the end of the last piece; where this one starts, and a row
        while piece := sheet.read(PIECE):
            data = end + piece
            if b"<!" in data or b"<?" in data[0 if start else len(BEGINS) :]:
                return f"{name} has comments or entities, which Excel does not write"
            for match in ROW.finditer(data):
                row = start + match.start()
            if start + len(data) - row > MOST_AT_ONCE:
                return f"a row of {name} has more than {MOST_AT_ONCE} bytes"
            end = data[-MARGIN:]
            start += len(data) - len(end)
    return ""


def _openpyxl(path: str) -> Any:
    return needed("openpyxl", f"{path}: Excel files need openpyxl", "mbd_bridge[excel]")


def _open(path: str) -> Any:
    with reading(path, (*Bad, ParseError, SyntaxError), WHAT):
        return _openpyxl(path).load_workbook(path, read_only=True, data_only=True, keep_links=False)


def _sheet(path: str, asked: str | None) -> tuple[str, list[str]]:
    """Return the sheet that is read, and the names of the others with numbers."""
    with closing(_open(path)) as book:
        names = [sheet.title for sheet in book.worksheets]
    if asked is not None:
        known_name("sheet", asked, names, error=lambda text: FileError(text, path))
        return asked, []
    with_numbers = [name for name in names if _has_numbers(path, name)]
    if not with_numbers:
        raise FileError("no sheet has rows of numbers", path)
    return with_numbers[0], with_numbers[1:]


def _has_numbers(path: str, sheet: str) -> bool:
    for line in _lines(path, sheet):
        if separator_of(line.text) is not None:
            return True
        if line.number > LOOKED_AT:
            break
    return False


def _lines(path: str, sheet: str) -> Iterator[TextLine]:
    """Yield the rows of a sheet, cells with tabs between them."""
    with closing(_open(path)) as book, reading(path, (*Bad, ParseError, SyntaxError), WHAT):
        rows = book[sheet].iter_rows(values_only=True, max_row=MOST_ROWS)
        for number, row in enumerate(rows, start=1):
            cells = list(map(_text, row))
            while cells and not cells[-1]:
                cells.pop()
            yield TextLine(number, "\t".join(cells), number)


def _text(cell: object) -> str:
    """Return a cell as the text of a table holds it."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, int | float):
        return repr(cell)
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return repr(cell.total_seconds())
    return " ".join(str(cell).replace('"', "'").split())
