"""STL: triangles, as bytes or as text."""

from __future__ import annotations

import numpy as np

from mbd_bridge.errors import FileError
from mbd_bridge.formats.mesh.surface import Surface, checked

HEADER = 80
"""Bytes of no meaning at the start of a binary file; then the number of triangles (4 bytes)."""

RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
"""One triangle of a binary file."""


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
    return [checked(points, np.arange(len(points)).reshape(-1, 3), None, file)]


def _text(data: bytes, file: str) -> np.ndarray:
    words = data.split()
    places = [k for k, word in enumerate(words) if word.lower() == b"vertex"]
    try:
        numbers = [float(word) for k in places for word in words[k + 1 : k + 4]]
        return np.array(numbers, dtype=np.float64).reshape(-1, 3, 3)
    except ValueError:
        raise FileError(
            "expected 'vertex' and three numbers, three times for each 'facet'; export it anew",
            file,
        ) from None
