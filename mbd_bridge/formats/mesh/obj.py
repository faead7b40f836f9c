"""Wavefront OBJ: polygons, with the diffuse colours of the material files beside it."""

from __future__ import annotations

import io
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mbd_bridge.errors import FileError
from mbd_bridge.formats.mesh.surface import Budget, Colour, Surface, fans
from mbd_bridge.formats.xml_reader import read_bytes

MAX_LINE = 2**20
"""Longest line, characters: that of a face with 100,000 corners."""

MAX_LIBRARIES = 50
"""Most material files that one mesh may name."""

MAX_LIBRARY_BYTES = 2**22
"""Largest material file that is read: about 20,000 materials."""


class _Faces:
    """Polygons of one material: all their corners in a row, and how many each has."""

    def __init__(self) -> None:
        self.corners, self.counts = array("q"), array("q")


def read_obj(data: bytes, file: str) -> list[Surface]:
    """Return the surfaces of an OBJ file, one a material."""
    vertices = array("d")
    libraries: dict[str, dict[str, Colour]] = {}
    faces = {"": _Faces()}
    used, budget = faces[""], Budget(file)
    for number, line in _lines(data, file):
        word, _, rest = line.strip().partition(" ")
        try:
            if word == "v":
                x, y, z = rest.split()[:3]
                vertices.extend((float(x), float(y), float(z)))
            elif word == "f":
                face = [int(part.partition("/")[0]) for part in rest.split()]
                budget.take_triangles(max(len(face) - 2, 0))
                if 0 in face:
                    raise FileError("vertices are counted from 1, got 0", file, number)
                seen = len(vertices) // 3
                used.corners.extend([k - 1 if k > 0 else seen + k for k in face])
                used.counts.append(len(face))
            elif word == "usemtl":
                used = faces.setdefault(rest.strip(), _Faces())
            elif word == "mtllib" and rest not in libraries:
                if len(libraries) == MAX_LIBRARIES:
                    message = f"it names more than {MAX_LIBRARIES} material libraries; join them"
                    raise FileError(message, file, number)
                libraries[rest] = dict(_materials(Path(file).parent / rest.strip()))
        except (ValueError, OverflowError):
            raise FileError(
                f"expected numbers behind {word!r:.20}, got {rest!r:.60}", file, number
            ) from None
    materials = {name: colour for found in libraries.values() for name, colour in found.items()}
    points, whole = np.array(vertices).reshape(-1, 3), Budget(file)
    return [
        whole.surface(points, np.array(one.corners)[fans(one.counts)], materials.get(name))
        for name, one in faces.items()
        if one.corners
    ]


def _lines(data: bytes, file: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text by their number from 1, never all of them at once."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace")
    number = 0
    while line := text.readline(MAX_LINE):
        number += 1
        if len(line) == MAX_LINE:
            raise FileError(f"the line is longer than {MAX_LINE}; export it anew", file, number)
        yield number, line


def _materials(path: Path) -> Iterator[tuple[str, Colour]]:
    """Yield names and diffuse colours; a material file that is not there gives none."""
    try:
        text = read_bytes(path, MAX_LIBRARY_BYTES).decode("utf-8", "replace")
    except FileError:
        return
    name = ""
    for line in text.splitlines():
        word, *rest = line.split() or [""]
        if word == "newmtl":
            name = " ".join(rest)
        elif word == "Kd" and len(rest) >= 3:
            try:
                red, green, blue = (min(max(float(part), 0.0), 1.0) for part in rest[:3])
            except ValueError:
                continue
            yield name, (red, green, blue, 1.0)
