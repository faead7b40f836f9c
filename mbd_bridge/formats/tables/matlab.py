"""MATLAB files (.mat, versions 5, 7 and 7.3) as a table: vectors of one length, and matrices.

A vector is a column; the columns of a matrix ``q`` are ``q1``, ``q2``, ... Fields of structures are
called by their own names where these are not twice in the file, else ``data.time``. The length is
that of the vector of times, or the most usual one; other variables are left out, and said.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from mbd_bridge.errors import FileError, some
from mbd_bridge.formats.table import Column, Floats
from mbd_bridge.formats.tables.mat5 import mat5_arrays
from mbd_bridge.formats.tables.source import Block, TableSource, cannot_read

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
        try:
            with open(path, "rb") as file:
                hdf5 = file.read(len(HDF5)) == HDF5
                size = file.seek(0, 2)
        except OSError as error:
            raise cannot_read(path, error, WHAT) from error
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
    try:
        with open(path, "rb") as file:
            found = mat5_arrays(file.read())
    except (OSError, ValueError, zlib.error, struct.error, OverflowError) as error:
        raise cannot_read(path, error, WHAT) from error
    return {name: np.asarray(np.squeeze(array)) for name, array in found.items()}


def _of_hdf5(path: str) -> dict[str, Floats]:
    """Return the numeric datasets of a file of version 7.3, whose matrices lie the other way."""
    from mbd_bridge.formats.tables.hdf5 import Bad as BadHdf5
    from mbd_bridge.formats.tables.hdf5 import arrays

    try:
        found = dict(arrays(path))
    except BadHdf5 as error:
        raise cannot_read(path, error, WHAT) from error
    return {
        name.replace("/", "."): np.asarray(np.squeeze(array.T))
        for name, array in found.items()
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
