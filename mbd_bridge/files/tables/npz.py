"""NumPy's ``.npz`` as a table: an array (N,) a column, so ``numpy.load(path)["elbow.fx"]``.

Beside them ``columns`` and ``units`` (texts, one a column, in order; "" without a unit) and
``attributes`` (keys and values, (K, 2) texts), which files of others need not have. The entries
are read as streams, whether they are compressed or not; what is pickled is not read at all.
"""

from __future__ import annotations

import contextlib
import math
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tokenize import TokenError
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError, count, some
from mbd_bridge.files.table import (
    Block,
    Column,
    TableSource,
    check_width,
    column_blocks,
    named_column,
    no_numbers,
    one_length,
    reading,
)

COLUMNS, UNITS, ATTRIBUTES = "columns", "units", "attributes"
RESERVED = (COLUMNS, UNITS, ATTRIBUTES)
END = ".npy"
WHAT = "a file of numpy.savez"
AT_ONCE = 64 * 1024 * 1024
"""Bytes of columns that are put together at a time when rows become columns."""
SHOWN = 8
"""Names of columns that a message shows."""
COPIED = 65_536
"""Rows that are read back at a time for it."""

MAX_TEXTS = 2**26
"""Bytes of the texts of one array, at most."""
WRITTEN_BY_NUMPY = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compressions; others ask for memory as the file says."""
UNFOLDS = 1040
"""Deflate makes no more bytes than so many of one."""

Bad = (
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,  # encrypted; RecursionError and NotImplementedError too
    OverflowError,
    TypeError,
    SyntaxError,  # of headers, which are Python's
    TokenError,
    MemoryError,  # what Python says of a header nested too deep
)
"""What zipfile and NumPy raise of files that are none, or damaged."""


class NpzSource(TableSource):
    """A file of `numpy.savez` or `numpy.savez_compressed`."""

    def __init__(self, path: str) -> None:
        with reading(path, Bad, WHAT), zipfile.ZipFile(path) as archive:
            entries = [name for name in archive.namelist() if name.endswith(END)]
            names = [name.removesuffix(END) for name in entries]
            check_width(len(set(names).difference(RESERVED)), path)
            _check_entries(archive, path)
            texts = {key: _texts(archive, key, path) for key in RESERVED if key in names}
            self._kinds = {name: _kind(archive, name, path) for name in names if name not in texts}
        length = one_length({name: rows for name, (rows, _) in self._kinds.items()}, path)
        units = dict(zip(self._kinds, self._units(texts, path), strict=True))
        columns = [named_column(name, unit or None) for name, unit in units.items()]
        pairs = texts.get(ATTRIBUTES, np.zeros((0, 2), dtype=str))
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise FileError(
                f"expected keys and values (K, 2), got an array of the shape {pairs.shape}; write "
                f"the file anew, or without this array",
                path,
                element=f"array {ATTRIBUTES!r}",
            )
        super().__init__(path, columns, dict(pairs.tolist()), length)

    def _units(self, texts: Mapping[str, NDArray[np.str_]], path: str) -> list[str]:
        """Return a unit for each column, "" for none; names that are listed must be those."""
        names = list(self._kinds)
        if COLUMNS in texts and texts[COLUMNS].tolist() != names:
            raise FileError(
                f"the columns listed are {some(texts[COLUMNS].ravel().tolist(), SHOWN)}, those "
                f"that are there are {some(names, SHOWN)}; write the file anew, or without this "
                f"array",
                path,
                element=f"array {COLUMNS!r}",
            )
        units = texts.get(UNITS, np.full(len(names), ""))
        if units.shape != (len(names),):
            raise FileError(
                f"expected a unit for each of its {count(len(names), 'column')} "
                f"({some(names, SHOWN)}), got an array of the shape {units.shape}; write the file "
                f"anew, or without this array",
                path,
                element=f"array {UNITS!r}",
            )
        return [str(unit) for unit in units]

    def blocks(self, rows: int, places: Sequence[int]) -> Iterator[Block]:
        """Yield rows, read from all columns side by side."""
        names = [list(self._kinds)[k] for k in places]
        with reading(self.path, Bad, WHAT), contextlib.ExitStack() as stack:
            archive = stack.enter_context(zipfile.ZipFile(self.path))
            columns = []
            for name in names:
                file = stack.enter_context(archive.open(name + END))
                _heading(file)
                columns.append(partial(_numbers, file, self._kinds[name][1]))
            yield from column_blocks(self, rows, columns)


@contextlib.contextmanager
def npz_rows(
    path: Path, columns: Sequence[Column], attributes: Mapping[str, str]
) -> Iterator[Callable[[Floats], object]]:
    """Give a function that takes rows; at the end they are written, column by column."""
    for column in columns:
        if column.name in RESERVED:
            raise FileError(
                f"the array {column.name!r} of a table in .npz holds what is known of all "
                f"columns; give this one another name, or choose another format",
                str(path),
            )
    rows = 0
    with tempfile.TemporaryFile(dir=path.parent, prefix=f"{path.name}.") as raw:

        def append(values: Floats) -> None:
            nonlocal rows
            raw.write(np.ascontiguousarray(values).tobytes())
            rows += len(values)

        yield append
        raw.flush()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            pairs = np.array(list(attributes.items()), dtype=str).reshape(-1, 2)
            _write(archive, COLUMNS, np.array([column.name for column in columns]))
            _write(archive, UNITS, np.array([column.unit or "" for column in columns]))
            _write(archive, ATTRIBUTES, pairs)
            _transpose(raw, rows, columns, archive)


def _transpose(
    raw: IO[bytes], rows: int, columns: Sequence[Column], archive: zipfile.ZipFile
) -> None:
    """Write the columns of numbers that lie in a file row by row."""
    width = len(columns)
    group = max(1, AT_ONCE // (8 * max(rows, 1)))
    for first in range(0, width, group):
        part = slice(first, min(first + group, width))
        together = np.empty((part.stop - part.start, rows))
        raw.seek(0)
        for start in range(0, rows, COPIED):
            count = min(COPIED, rows - start)
            block = np.frombuffer(raw.read(8 * width * count)).reshape(count, width)
            together[:, start : start + count] = block[:, part].T
        for column, values in zip(columns[part], together, strict=True):
            _write(archive, column.name, values)


def _write(archive: zipfile.ZipFile, name: str, values: NDArray[np.generic]) -> None:
    with archive.open(name + END, "w", force_zip64=True) as file:
        npy.write_array(file, values, allow_pickle=False)


def _heading(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    """Return shape and type of an array, and leave the file at its first number."""
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, kind = read(file)
    return shape, kind


def _kind(archive: zipfile.ZipFile, name: str, path: str) -> tuple[int, np.dtype[np.generic]]:
    """Return length and type of a column."""
    refuse = partial(FileError, file=path, element=f"array {name!r}")
    with archive.open(name + END) as file:
        shape, kind = _heading(file)
        start = file.tell()
    if len(shape) != 1:
        raise refuse(
            f"expected a column of numbers (N,), got an array of the shape {shape}; save each of "
            f"its columns under its own name"
        )
    if kind.kind not in "fiu":
        raise no_numbers(path, name, kind)
    size = archive.getinfo(name + END).file_size - start
    if not 0 <= shape[0] * kind.itemsize <= size:
        raise refuse(
            f"it says that it has {shape[0]} numbers, but holds {size} bytes; write the file anew"
        )
    return shape[0], kind


def _numbers(
    file: IO[bytes], kind: np.dtype[np.generic], start: int, count: int
) -> NDArray[np.generic]:
    """Return the next numbers of a column: it is read as a stream."""
    return np.frombuffer(file.read(count * kind.itemsize), dtype=kind, count=count)


def _check_entries(archive: zipfile.ZipFile, path: str) -> None:
    """Refuse entries that are there twice, or that numpy.savez does not write."""
    seen, starts = set[str](), set[int]()
    for entry in archive.infolist():
        refuse = partial(FileError, file=path, element=entry.filename)
        if entry.header_offset in starts:
            raise refuse("it begins where another does; write the file anew")
        starts.add(entry.header_offset)
        if entry.filename in seen:
            raise refuse("it stands twice in the file; write it anew")
        if entry.compress_type not in WRITTEN_BY_NUMPY:
            raise refuse(
                "expected it stored or deflated, as numpy.savez and savez_compressed do, got the "
                f"compression {entry.compress_type}; write the file anew"
            )
        if entry.file_size > UNFOLDS * (entry.compress_size + 1):
            raise refuse(
                f"{entry.compress_size} bytes cannot hold {entry.file_size}; write the file anew"
            )
        seen.add(entry.filename)


def _texts(archive: zipfile.ZipFile, name: str, path: str) -> NDArray[np.str_]:
    with archive.open(name + END) as file:
        shape, kind = _heading(file)
        size = math.prod(shape) * kind.itemsize
        if kind.kind not in "US" or not 0 <= size <= MAX_TEXTS:
            raise FileError(
                f"expected texts, at most {MAX_TEXTS} bytes, got {kind} of the shape {shape}; "
                f"write the file anew, or without this array",
                path,
                element=f"array {name!r}",
            )
        return np.frombuffer(file.read(size), dtype=kind).reshape(shape).astype(str)
