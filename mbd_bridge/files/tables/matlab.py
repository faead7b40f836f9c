"""MATLAB files (.mat, versions 5, 7 and 7.3) as a table: vectors of one length, and matrices.

A vector is a column; the columns of a matrix ``q`` are ``q1``, ``q2``, ... Fields of structures are
called by their own names where these are not twice in the file, else ``data.time``. The length is
that of the vector of times, or the most usual one; other variables are left out, and said.

Numeric arrays and structures of MATLAB files of versions 5 and 7, element by element.

A file is a header of 128 bytes and elements: type and size (8 bytes; 4 where the data are short),
data, filled up to 8 bytes. An element of version 7 is compressed (zlib). A matrix holds elements
itself: flags (its class), dimensions, name, numbers. Everything is bounded by what the file holds:
SciPy's reader crashes on damaged files.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError, some
from mbd_bridge.files.table import Block, Column, TableSource, reading

HEADER = 128
MATRIX, COMPRESSED = 14, 15
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8"}
NUMBERS |= {13: "u8"}
"""Types of numbers, as NumPy writes them."""
STRUCTURE = 2
CLASSES = range(6, 16)
"""Classes of arrays of numbers: double, single, integers."""
DEEPEST = 8
"""Structures in structures, at most."""
MAX_BYTES = 2**30
"""Of all elements when they are unpacked."""
MAX_NUMBERS = 100_000_000
"""Of all arrays: 0.8 GB; numbers of one byte in the file have eight here."""


def mat5_arrays(data: bytes) -> dict[str, Floats]:
    """Return the real arrays of at most two dimensions, fields of structures as ``data.time``.

    Raises
    ------
    ValueError
        The data are no such file, or damaged.
    """
    if len(data) < HEADER or data[126:128] not in (b"IM", b"MI"):
        raise ValueError("it does not begin as a MATLAB file of version 5 or 7 does")
    order = "<" if data[126:128] == b"IM" else ">"
    arrays: dict[str, Floats] = {}
    total = sum(
        _unpacked_size(content, order)
        for kind, content in _elements(data, HEADER, order)
        if kind == COMPRESSED
    )
    if total > MAX_BYTES:
        raise ValueError(f"it unpacks to {total} bytes, more than {MAX_BYTES}")
    for kind, content in _elements(data, HEADER, order):
        if kind == COMPRESSED:
            size = _unpacked_size(content, order)
            unpacked = zlib.decompressobj().decompress(content, max(size, 1))
            for inner, matrix in _elements(unpacked, 0, order):
                if inner == MATRIX:
                    _collect(matrix, order, "", arrays, 0)
        elif kind == MATRIX:
            _collect(content, order, "", arrays, 0)
    return arrays


def _unpacked_size(content: bytes, order: str) -> int:
    """Return how many bytes a compressed element says that it has, with what says so."""
    head = zlib.decompressobj().decompress(content, 8)
    if len(head) < 8:
        return 0
    kind, size = struct.unpack(f"{order}II", head)
    return 8 if kind >> 16 else 8 + int(size)


def _elements(data: bytes, start: int, order: str) -> Iterator[tuple[int, bytes]]:
    """Yield types and contents of elements, one behind another."""
    while start + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, start)
        if kind >> 16:  # a short one: its size and type in four bytes, its data in four
            kind, size, begin = kind & 0xFFFF, kind >> 16, start + 4
            end = start + 8
        else:
            begin = start + 8
            end = begin + size if kind == COMPRESSED else begin + size + -size % 8
        if size > len(data) - begin:
            raise ValueError("an element is longer than the file")
        yield kind, data[begin : begin + size]
        start = end


def _collect(
    content: bytes, order: str, prefix: str, arrays: dict[str, Floats], depth: int
) -> None:
    """Take in a matrix, or the fields of a structure."""
    parts = list(_elements(content, 0, order))
    if len(parts) < 3 or len(parts[0][1]) < 4:
        return
    (flags,) = struct.unpack_from(f"{order}I", parts[0][1])
    kind, imaginary = flags & 0xFF, bool(flags & 0x0800)
    shape = np.frombuffer(_whole(parts[1][1], 4), f"{order}i4").tolist()
    matrix_name = parts[2][1].decode("latin-1").rstrip("\0")
    name = ".".join(part for part in (prefix, matrix_name) if part)
    if kind == STRUCTURE and math.prod(shape) == 1 and depth < DEEPEST and len(parts) >= 5:
        (width,) = struct.unpack_from(f"{order}i", parts[3][1].ljust(4, b"\0"))
        texts = parts[4][1]
        if not 0 < width <= 64:
            raise ValueError("names of fields have no length")
        names = [texts[k : k + width] for k in range(0, len(texts), width)]
        for field, (inner, matrix) in zip(names, parts[5:], strict=False):
            if inner == MATRIX:
                told = field.split(b"\0")[0].decode("latin-1")
                _collect(matrix, order, ".".join(p for p in (name, told) if p), arrays, depth + 1)
    elif kind in CLASSES and len(shape) == 2 and not imaginary and len(parts) > 3:
        number, raw = parts[3]
        code = NUMBERS.get(number)
        if code is None:
            raise ValueError(f"{name}: numbers of an unknown type {number}")
        values = np.frombuffer(_whole(raw, int(code[1])), order + code)
        if min(shape) < 0 or math.prod(shape) != len(values):
            raise ValueError(f"{name}: {len(values)} numbers for {shape[0]} x {shape[1]}")
        if len(values) + sum(array.size for array in arrays.values()) > MAX_NUMBERS:
            raise ValueError(f"its arrays have more than {MAX_NUMBERS} numbers")
        arrays[name] = values.reshape(shape, order="F").astype(np.float64)


def _whole(raw: bytes, size: int) -> bytes:
    if len(raw) % size:
        raise ValueError("numbers end in the middle of one")
    return raw


WHAT = "a MATLAB file (save -v7 or -v7.3)"
HDF5 = b"MATLAB 7.3"
"""What files of version 7.3 begin with: they are HDF5."""
TIMES = ("time", "t", "timestamp", "tout", "zeit")
"""Names of the vector that says how many rows there are."""
LARGEST = 2**31
"""Bytes of a file that is read whole."""


class MatlabSource(TableSource):
    """The vectors and matrices of a MATLAB file."""

    def __init__(self, path: str) -> None:
        with reading(path, (OSError,), WHAT), open(path, "rb") as file:
            hdf5 = file.read(len(HDF5)) == HDF5
            size = file.seek(0, 2)
        if size > LARGEST:
            raise FileError("the file is larger than 2 GB; save it in parts, or as HDF5", path)
        arrays = _of_hdf5(path) if hdf5 else _of_mat5(path)
        columns, self._values, left_out = _columns(arrays, path)
        self._size = size
        super().__init__(path, columns, {}, len(self._values))
        if left_out:
            self.notes = (f"variables left out, of another length: {some(left_out, 8)}",)

    def blocks(self, rows: int, places: Sequence[int]) -> Iterator[Block]:
        """Yield rows."""
        share = self._size / max(len(self._values), 1)
        for start in range(0, len(self._values), rows):
            part = np.ascontiguousarray(self._values[start : start + rows, list(places)])
            yield Block(part, None, share * len(part))


def _of_mat5(path: str) -> dict[str, Floats]:
    """Return the numeric variables of a file of version 5 or 7."""
    bad = (OSError, ValueError, zlib.error, struct.error, OverflowError)
    with reading(path, bad, WHAT), open(path, "rb") as file:
        arrays = mat5_arrays(file.read())
    return {name: np.asarray(np.squeeze(array)) for name, array in arrays.items()}


def _of_hdf5(path: str) -> dict[str, Floats]:
    """Return the numeric datasets of a file of version 7.3, whose matrices lie the other way."""
    from mbd_bridge.files.tables.hdf5 import Bad as BadHdf5, arrays

    with reading(path, BadHdf5, WHAT):
        datasets = dict(arrays(path))
    return {
        name.replace("/", "."): np.asarray(np.squeeze(array.T))
        for name, array in datasets.items()
        if not name.startswith("#")
    }


def _columns(arrays: dict[str, Floats], path: str) -> tuple[list[Column], Floats, list[str]]:
    """Return the columns that variables make, their numbers, and what is left out."""
    last = Counter(name.rpartition(".")[2] for name in arrays)
    named = {
        name.rpartition(".")[2] if last[name.rpartition(".")[2]] == 1 else name: array
        for name, array in arrays.items()
    }
    rows = _rows(named)
    if rows is None:
        raise FileError(
            "no vectors of numbers; save time and coordinates as vectors of one length", path
        )
    columns, values, left_out = list[Column](), list[Floats](), list[str]()
    for name, array in named.items():
        matrix = array.reshape(-1, 1) if array.ndim < 2 else array
        if len(matrix) != rows and matrix.shape[1] == rows:
            matrix = matrix.T
        if len(matrix) != rows:
            left_out.append(name)
            continue
        width = matrix.shape[1]
        for k in range(width):
            heading = name if width == 1 else f"{name}{k + 1}"
            columns.append(Column.from_heading(heading) or Column(heading))
        values.append(matrix)
    return columns, np.hstack(values), left_out


def _rows(named: dict[str, Floats]) -> int | None:
    """Return the length of the columns."""
    for name, array in named.items():
        if name.rpartition(".")[2].lower() in TIMES and array.ndim < 2:
            return max(array.size, 1)
    lengths = Counter(array.size for array in named.values() if array.ndim == 1)
    if lengths:
        return max(lengths, key=lambda n: (lengths[n], n))
    shapes = [array.shape for array in named.values() if array.ndim == 2]
    return max(shapes[0]) if shapes else (1 if named else None)
