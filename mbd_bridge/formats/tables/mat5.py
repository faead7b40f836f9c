"""Numeric arrays and structures of MATLAB files of versions 5 and 7, element by element.

A file is a header of 128 bytes and elements: type and size (8 bytes; 4 where the data are short),
data, filled up to 8 bytes. An element of version 7 is compressed (zlib). A matrix holds elements
itself: flags (its class), dimensions, name, numbers. Everything is bounded by what the file holds:
SciPy's reader crashes on damaged files.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator

import numpy as np

from mbd_bridge.formats.table import Floats

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
    found: dict[str, Floats] = {}
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
                    _collect(matrix, order, "", found, 0)
        elif kind == MATRIX:
            _collect(content, order, "", found, 0)
    return found


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


def _collect(content: bytes, order: str, prefix: str, found: dict[str, Floats], depth: int) -> None:
    """Take in a matrix, or the fields of a structure."""
    parts = list(_elements(content, 0, order))
    if len(parts) < 3 or len(parts[0][1]) < 4:
        return
    (flags,) = struct.unpack_from(f"{order}I", parts[0][1])
    kind, imaginary = flags & 0xFF, bool(flags & 0x0800)
    shape = np.frombuffer(_whole(parts[1][1], 4), f"{order}i4").tolist()
    own = parts[2][1].decode("latin-1").rstrip("\0")
    name = ".".join(part for part in (prefix, own) if part)
    if kind == STRUCTURE and math.prod(shape) == 1 and depth < DEEPEST and len(parts) >= 5:
        (width,) = struct.unpack_from(f"{order}i", parts[3][1].ljust(4, b"\0"))
        texts = parts[4][1]
        if not 0 < width <= 64:
            raise ValueError("names of fields have no length")
        names = [texts[k : k + width] for k in range(0, len(texts), width)]
        for field, (inner, matrix) in zip(names, parts[5:], strict=False):
            if inner == MATRIX:
                told = field.split(b"\0")[0].decode("latin-1")
                _collect(matrix, order, ".".join(p for p in (name, told) if p), found, depth + 1)
    elif kind in CLASSES and len(shape) == 2 and not imaginary and len(parts) > 3:
        number, raw = parts[3]
        code = NUMBERS.get(number)
        if code is None:
            raise ValueError(f"{name}: numbers of an unknown type {number}")
        values = np.frombuffer(_whole(raw, int(code[1])), order + code)
        if min(shape) < 0 or math.prod(shape) != len(values):
            raise ValueError(f"{name}: {len(values)} numbers for {shape[0]} x {shape[1]}")
        if len(values) + sum(array.size for array in found.values()) > MAX_NUMBERS:
            raise ValueError(f"its arrays have more than {MAX_NUMBERS} numbers")
        found[name] = values.reshape(shape, order="F").astype(np.float64)


def _whole(raw: bytes, size: int) -> bytes:
    if len(raw) % size:
        raise ValueError("numbers end in the middle of one")
    return raw
