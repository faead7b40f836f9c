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
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TextIO

from mbd_bridge.base.errors import FileError, is_plain
from mbd_bridge.files.table import Column, Floats
from mbd_bridge.files.whole_file import whole_file

FORMULA = re.compile(r"'*[=+\-@]")
"""What spreadsheets take for a formula at the start of a text, behind apostrophes or not."""


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
