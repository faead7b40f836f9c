"""Wavefront OBJ: polygons, with the diffuse colours of the material files beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mbd_bridge.errors import FileError
from mbd_bridge.formats.mesh.surface import Colour, Surface, checked, fans
from mbd_bridge.formats.xml_reader import read_bytes


def read_obj(data: bytes, file: str) -> list[Surface]:
    """Return the surfaces of an OBJ file, one a material."""
    vertices: list[float] = []
    materials: dict[str, Colour] = {}
    corners: dict[str, list[int]] = {"": []}
    counts: dict[str, list[int]] = {"": []}
    used = ""
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        word, _, rest = line.strip().partition(" ")
        try:
            if word == "v":
                x, y, z = rest.split()[:3]
                vertices += (float(x), float(y), float(z))
            elif word == "f":
                face = [int(part.partition("/")[0]) for part in rest.split()]
                seen = len(vertices) // 3
                corners[used] += [k - 1 if k > 0 else seen + k for k in face]
                counts[used].append(len(face))
            elif word == "usemtl":
                used = rest.strip()
                corners.setdefault(used, [])
                counts.setdefault(used, [])
            elif word == "mtllib":
                materials |= dict(_materials(Path(file).parent / rest.strip()))
        except ValueError:
            raise FileError(
                f"expected numbers behind {word!r}, got {rest!r}", file, number
            ) from None
    points = np.array(vertices).reshape(-1, 3)
    return [
        checked(points, np.array(corners[name], dtype=np.int64)[fans(counts[name])],
                materials.get(name), file)
        for name in corners
        if corners[name]
    ]  # fmt: skip


def _materials(path: Path) -> Iterator[tuple[str, Colour]]:
    """Yield names and diffuse colours; a material file that is not there gives none."""
    try:
        text = read_bytes(path).decode("utf-8", "replace")
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
