"""The lines of a text file, whatever wrote it: UTF-8, UTF-16, or Windows-1252."""

from __future__ import annotations

import codecs
import contextlib
import io
from collections.abc import Iterator
from typing import NamedTuple

from mbd_bridge.base.errors import FileError

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
