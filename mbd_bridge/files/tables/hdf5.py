"""HDF5 as a table: a dataset (N,) a column, its unit in the attribute ``units``.

The file's own attributes are those of the table. ``time``, where there is one, is the dimension
scale of the other columns, as netCDF has it, so that xarray and others find it.

Texts are written with a fixed length: so they stand in headers, which have check sums. Those of a
variable length, as h5py writes them, stand in heaps without any, in which a damaged size keeps HDF5
(2.0) turning for ever: `_check_heaps` looks at them before it does.

A file for libraries that do not survive a full disk, such as HDF5, which then crashes.

Where writing fails, `DiskFile` keeps the error and holds what follows in memory, so that the
library closes its file in peace; `check` then raises the error.
"""

from __future__ import annotations

import contextlib
import io
import math
import mmap
import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import FileError
from mbd_bridge.base.extras import needed
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


class DiskFile(io.RawIOBase):
    """A binary file, open to read and write, that never says that writing failed.

    Attributes
    ----------
    error : what writing failed with
    """

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDWR)
        self._place = 0
        self._size = os.fstat(self._handle).st_size
        self._unwritten: list[tuple[int, bytes]] = []
        self.error: OSError | None = None

    def check(self) -> None:
        """Raise the error with which writing failed, if it did."""
        if self.error is not None:
            raise self.error

    def write(self, data: Any) -> int:
        """Write at the place where the file is."""
        view = memoryview(data).cast("B")
        done = 0
        try:
            while self.error is None and done < len(view):
                done += os.pwrite(self._handle, view[done:], self._place + done)
        except OSError as error:
            self.error = error
        if self.error is not None:
            self._unwritten.append((self._place + done, bytes(view[done:])))
        self._place += len(view)
        self._size = max(self._size, self._place)
        return len(view)

    def readinto(self, buffer: Any) -> int:
        """Read from the place where the file is, also what could not be written."""
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._size - self._place))
        read = os.pread(self._handle, count, self._place)
        data = bytearray(read.ljust(count, b"\0"))
        for start, piece in self._unwritten:
            first, last = max(start, self._place), min(start + len(piece), self._place + count)
            if first < last:
                part = slice(first - self._place, last - self._place)
                data[part] = piece[first - start : last - start]
        view[:count] = data
        self._place += count
        return count

    def seek(self, place: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = base + place
        return self._place

    def tell(self) -> int:
        """Return the place where the file is."""
        return self._place

    def truncate(self, size: int | None = None) -> int:
        """Give the file a size."""
        self._size = self._place if size is None else size
        try:
            if self.error is None:
                os.ftruncate(self._handle, self._size)
        except OSError as error:
            self.error = error
        return self._size

    def readable(self) -> bool:
        """It is."""
        return True

    def writable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Close it."""
        if not self.closed:
            os.close(self._handle)
        super().close()


UNIT = "units"
PLACE = "column"
"""The number of the column, from 0: HDF5 sorts by name."""
TIME = "time"
CHUNK = 8192
"""Numbers of a column that lie together, at most."""
WHAT = "an HDF5 file"
CHECKED = ("v110", "v110")
"""Of HDF5 files: with these, of 2016, all that describes the numbers has check sums, too."""
UNREADABLE = "\ufffd"
"""Stands for bytes that are no UTF-8."""

MAX_BYTES = 2**30
"""Of numbers of a dataset, without a look at what the file holds of them."""

NUMBER = 8
"""Bytes of a number here, whatever it has in the file."""

KEPT_BYTES = 2**20
"""Of chunks of each dataset that HDF5 keeps while it reads; of itself 8 MB since its version 2."""

DEEPEST = 20
"""Groups inside groups, at most."""

LARGEST_CHUNK = 2**28
"""Bytes of a chunk, which is read as a whole: 33 million numbers."""

SPARSE = 10_000
"""A dataset of more numbers than fit into memory holds at least one byte for so many of theirs."""

HEAP = b"GCOL\x01\0\0\0"
"""With what a heap of texts begins: its signature and version; then its size, 8 bytes."""

HEAP_OBJECT = struct.Struct("<HHIQ")
"""What each of its objects begins with: number (0: free space, to the end), uses, 0, size."""

Bad = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError)
"""What h5py raises of files that are none, or damaged."""


class _Found(NamedTuple):
    """A dataset; those that do not say which column they are stand behind the others."""

    place: float
    name: str
    unit: str | None
    length: int


class _Attributes:
    """Reads attributes of a file; before the first one in a heap, all heaps are looked at."""

    def __init__(self, path: str) -> None:
        self._path, self._h5t, self._good = path, package(path).h5t, False

    def __call__(self, item: Any, key: str) -> Any:
        """Return an attribute of a file, a group or a dataset."""
        kind = item.attrs.get_id(key).get_type()
        inside = kind.get_class() in (self._h5t.FLOAT, self._h5t.INTEGER)
        inside |= kind.get_class() == self._h5t.STRING and not kind.is_variable_str()
        if not (inside or self._good):
            _check_heaps(self._path)
            self._good = True
        return item.attrs[key]


class Hdf5Source(TableSource):
    """An HDF5 file with one-dimensional datasets."""

    def __init__(self, path: str) -> None:
        h5py = package(path)
        with reading(path, Bad, WHAT), h5py.File(path, "r") as file:
            read = _Attributes(path)
            datasets = [
                _described(item, name, path, read) for name, item in _walk(h5py, file, path)
            ]
            attributes = {key: _text(read(file, key)) for key in file.attrs}
        datasets.sort(key=lambda dataset: dataset.place)
        _check_places(datasets, path)
        rows = one_length({dataset.name: dataset.length for dataset in datasets}, path)
        self._datasets = [dataset.name for dataset in datasets]
        columns = [named_column(dataset.name, dataset.unit) for dataset in datasets]
        super().__init__(path, columns, attributes, rows)

    def blocks(self, rows: int, places: Sequence[int]) -> Iterator[Block]:
        """Yield rows, a slice of every dataset at a time."""
        h5py = package(self.path)
        with (
            reading(self.path, Bad, WHAT),
            h5py.File(self.path, "r", rdcc_nbytes=KEPT_BYTES) as file,
        ):
            datasets = [file[self._datasets[k]] for k in places]
            reads = [lambda start, count, d=d: d[start : start + count] for d in datasets]
            yield from column_blocks(self, rows, reads)


@contextlib.contextmanager
def hdf5_rows(
    path: Path, columns: Sequence[Column], attributes: Mapping[str, str]
) -> Iterator[Callable[[Floats], object]]:
    """Give a function that appends rows to the datasets of an HDF5 file."""
    h5py = package(str(path))
    for column in columns:
        if not all(part.strip(".") for part in column.name.split("/")):
            raise FileError(
                f"{column.name!r} is no name in HDF5, where / parts groups; choose another format",
                str(path),
            )
    with DiskFile(path) as disk:
        with h5py.File(disk, "w", libver=CHECKED) as file:
            rows, datasets = 0, list[Any]()
            for key, value in attributes.items():
                _write_text(file, key, value)

            def append(values: Floats) -> None:
                nonlocal rows
                if not datasets:
                    datasets.extend(_datasets(file, columns, len(values)))
                for dataset, numbers in zip(datasets, np.ascontiguousarray(values.T), strict=True):
                    dataset.resize(rows + len(values), axis=0)
                    dataset[rows:] = numbers
                    disk.check()
                rows += len(values)

            yield append
            _scale(file, datasets or _datasets(file, columns, 1))
        disk.check()


def _datasets(file: Any, columns: Sequence[Column], rows: int) -> list[Any]:
    """Return new datasets without rows, fit for so many at a time; they carry check sums."""
    made = []
    for number, column in enumerate(columns):
        dataset = file.create_dataset(
            column.name,
            (0,),
            np.float64,
            maxshape=(None,),
            chunks=(min(CHUNK, max(rows, 1)),),
            fletcher32=True,
        )
        dataset.attrs[PLACE] = number
        if column.unit is not None:
            _write_text(dataset, UNIT, column.unit)
        made.append(dataset)
    return made


def _write_text(item: Any, key: str, text: str) -> None:
    """Write an attribute with the length that its text has, 1 byte at least."""
    data = text.encode()
    kind = package(item.file.filename).string_dtype("utf-8", max(1, len(data)))
    item.attrs.create(key, np.array(data, dtype=kind))


def _scale(file: Any, datasets: Sequence[Any]) -> None:
    """Make the time the scale of the other columns."""
    if TIME not in file:
        return
    file[TIME].make_scale(TIME)
    for dataset in datasets:
        if dataset != file[TIME]:
            dataset.dims[0].attach_scale(file[TIME])


def package(path: str) -> Any:
    """Return h5py."""
    return needed("h5py", f"{path}: HDF5 files need h5py", "mbd_bridge[files]")


def arrays(path: str) -> Iterator[tuple[str, Any]]:
    """Yield names and arrays (numbers, one or two dimensions) of all datasets, as MATLAB has it."""
    h5py = package(path)
    plain = []
    with h5py.File(path, "r") as file:
        for name, item in _walk(h5py, file, path):
            _check_numbers(item, name, path)
            inside = item.external is None and not item.is_virtual
            if inside and item.dtype.kind in "fiub" and item.ndim in (1, 2):
                plain.append((name, item))
        if sum(item.size for _, item in plain) * NUMBER > MAX_BYTES:
            raise FileError(f"its arrays have more than {MAX_BYTES} bytes; save it in parts", path)
        for name, item in plain:
            yield name, np.asarray(item[()], dtype=np.float64)


def _walk(h5py: Any, file: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield name and dataset, each once, of what is in this file; links to others are refused."""
    seen = set[int]()

    def visit(group: Any, place: str, depth: int) -> Iterator[tuple[str, Any]]:
        if depth > DEEPEST:
            raise FileError(f"groups inside groups, deeper than {DEEPEST}; flatten them", path)
        check_width(len(group), path)
        for name in group:
            link = group.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                raise FileError(
                    "it is a link into another file, and no file is read but the one that is "
                    "named; copy the data into it",
                    path,
                    element=repr(place + name),
                )
            if not isinstance(link, h5py.HardLink):
                continue  # another name of what is in here
            item = group[name]
            address = h5py.h5o.get_info(item.id).addr
            if address in seen:
                continue
            seen.add(address)
            if isinstance(item, h5py.Group):
                yield from visit(item, f"{place}{name}/", depth + 1)
            elif isinstance(item, h5py.Dataset):
                yield place + name, item

    for count, dataset in enumerate(visit(file, "", 0), start=1):
        check_width(count, path)
        yield dataset


def _check_places(found: Sequence[_Found], path: str) -> None:
    """Refuse two datasets that say that they are the same column."""
    for former, other in pairwise(found):
        if former.place == other.place < math.inf:
            raise FileError(
                f"{former.name!r} and {other.name!r} both say: column {former.place:g} (from 0); "
                f"delete the attribute {PLACE!r} of all, or write the file anew",
                path,
            )


def _described(item: Any, name: str, path: str, read: _Attributes) -> _Found:
    """Return what a dataset is."""
    refuse = partial(FileError, file=path, element=f"dataset {name!r}")
    if item.is_virtual or item.external:
        raise refuse(
            "its numbers are in other files, and no file is read but the one that is named; copy "
            "them into it"
        )
    if item.ndim != 1:
        raise refuse(
            f"expected a column of numbers (N,), got a dataset of the shape {item.shape}; save "
            f"each of its columns under its own name"
        )
    _check_numbers(item, name, path)
    if item.dtype.kind not in "fiu":
        raise no_numbers(path, name, item.dtype)
    size = item.shape[0] * item.dtype.itemsize
    if item.chunks and item.chunks[0] * item.dtype.itemsize > LARGEST_CHUNK:
        raise refuse(
            f"its chunks have {item.chunks[0]} numbers, and each is read as a whole; save it with "
            f"smaller ones, such as {CHUNK}"
        )
    if size > MAX_BYTES and size > SPARSE * item.id.get_storage_size():
        raise refuse(
            f"it says that it has {item.shape[0]} numbers, but holds "
            f"{item.id.get_storage_size()} bytes; save it anew"
        )
    units = [read(item, key) for key in (UNIT, "unit") if key in item.attrs]
    unit = _unit(units[0], name, path) if units else None
    return _Found(_place(item, name, path, read), name, unit, item.shape[0])


def _check_heaps(path: str) -> None:
    """Refuse a file with a heap in which HDF5 would not get on from object to object."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        heap = data.find(HEAP)
        while heap >= 0:
            at = heap + HEAP_OBJECT.size
            size = int.from_bytes(data[at - 8 : at], "little")
            end = min(heap + size, len(data))
            while at + HEAP_OBJECT.size <= end:
                number, _, _, size = HEAP_OBJECT.unpack_from(data, at)
                length = size if number == 0 else HEAP_OBJECT.size + size + -size % 8
                if not 0 < length <= end - at:
                    raise FileError(
                        f"the texts of its attributes are damaged: one says that it has {size} "
                        f"bytes, where {end - at} are left; take another copy, or write it anew",
                        path,
                    )
                at += length
            heap = data.find(HEAP, heap + len(HEAP))


def _check_numbers(item: Any, name: str, path: str) -> None:
    """Refuse numbers of an odd form: a damaged bit of it scales a whole column by up to 2^1024."""
    h5t = package(path).h5t
    kind = item.id.get_type()
    if kind.get_class() not in (h5t.FLOAT, h5t.INTEGER):
        return
    usual = [h5t.NATIVE_LDOUBLE]
    usual += [getattr(h5t, f"IEEE_F{n}{end}") for n in (16, 32, 64) for end in ("LE", "BE")]
    usual += [
        getattr(h5t, f"STD_{sign}{n}{end}")
        for sign in "IU"
        for n in (8, 16, 32, 64)
        for end in ("LE", "BE")
    ]
    if not any(kind.equal(usual_kind) for usual_kind in usual):
        raise FileError(
            "its numbers are of an odd form: expected IEEE floats or whole numbers of 8 to 64 "
            "bits; its header may be damaged; save it anew",
            path,
            element=f"dataset {name!r}",
        )


def _place(item: Any, name: str, path: str, read: _Attributes) -> float:
    """Return which column a dataset says that it is."""
    if PLACE not in item.attrs:
        return math.inf
    value = read(item, PLACE)
    if not isinstance(value, int | np.integer) or value < 0:
        raise FileError(
            f"expected a whole number from 0 as its attribute {PLACE!r}, got {value!r:.60}; "
            f"delete the attribute of all",
            path,
            element=f"dataset {name!r}",
        )
    return float(value)


def _unit(value: Any, name: str, path: str) -> str:
    """Return the unit of a column: one text, perhaps the only one of an array."""
    texts = np.asarray(value).ravel()
    unit = _text(texts[0]) if texts.size == 1 else ""
    damaged = UNREADABLE in unit or not unit.isprintable()
    if texts.size != 1 or not isinstance(texts[0], str | bytes) or damaged:
        raise FileError(
            f"expected one text as its unit, got {value!r:.60}; write it as one, or delete the "
            f"attribute",
            path,
            element=f"dataset {name!r}",
        )
    return unit


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
