"""STL: triangles, as bytes or as text."""

from __future__ import annotations

import re

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.mesh.surface import Budget, Material, Surface

HEADER = 80
"""Bytes of no meaning at the start of a binary file; then the number of triangles (4 bytes)."""

RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
"""One triangle of a binary file."""

VERTEX = re.compile(rb"(?i)(?<!\S)vertex(?!\S)(?:\s+(\S+))?(?:\s+(\S+))?(?:\s+(\S+))?")
"""The word in a text, and the three behind it."""


def read_stl(data: bytes, file: str) -> list[Surface]:
    """Return the surface of an STL file."""
    count = int.from_bytes(data[HEADER : HEADER + 4], "little")
    body = data[HEADER + 4 :]
    if len(body) >= 4 and count * RECORD.itemsize == len(body):
        corners = np.frombuffer(body, RECORD)["corners"]
    elif data.lstrip()[:5].lower() == b"solid":
        corners = _text(data, file)
    elif count and count * RECORD.itemsize < len(body):  # some exporters add a tail
        corners = np.frombuffer(body, RECORD, count=count)["corners"]
    else:
        raise FileError(
            f"expected {count} triangles, which are {count * RECORD.itemsize} bytes; got "
            f"{len(body)} bytes: is the file whole?",
            file,
        )
    with np.errstate(invalid="ignore"):
        points = corners.reshape(-1, 3).astype(np.float64)
    return [Budget(file).surface(points, np.arange(len(points)).reshape(-1, 3), Material())]


def _text(data: bytes, file: str) -> np.ndarray:
    Budget(file).take_triangles(data.lower().count(b"vertex") // 3)
    try:
        numbers = (float(word or b"") for m in VERTEX.finditer(data) for word in m.groups())
        return np.fromiter(numbers, dtype=np.float64).reshape(-1, 3, 3)
    except ValueError:
        raise FileError(
            "expected 'vertex' and three numbers, three times for each 'facet'; export it anew",
            file,
        ) from None
