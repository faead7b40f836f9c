"""Meshes, read for pictures: STL, Wavefront OBJ and COLLADA files to triangles with colours and
textures.
"""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.collada import read_dae
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.surface import (
    Budget,
    Colour,
    Material,
    Surface,
    Texture,
    at_corners,
    fans,
)
from mbd_bridge.files.xml_reader import read_bytes

# Wavefront OBJ: polygons, with colours and textures of the material files beside it.
#
# Wavefront MTL: the materials of an OBJ file, their diffuse colours and textures.

MAX_BYTES_OF_MATERIALS = 2**22
"""Largest material file that is read: about 20,000 materials."""

OPTIONS = {"-blendu": 1, "-blendv": 1, "-boost": 1, "-bm": 1, "-cc": 1, "-clamp": 1,
           "-imfchan": 1, "-mm": 2, "-texres": 1, "-type": 1}  # fmt: skip
"""Options before the name of an image, and how many words each has."""

TURNED = ("-o", "-s", "-t")
"""Options with one to three numbers."""


def read_mtl(path: Path, naming: str) -> dict[str, Material]:
    """Return the materials of a file that another one names, by name; none if it is not there."""
    try:
        file_beside(path, naming)
        text = read_bytes(path, MAX_BYTES_OF_MATERIALS).decode("utf-8", "replace")
    except FileError:
        return {}
    materials: dict[str, Material] = {}
    name = ""
    for line in text.splitlines():
        word, *rest = line.split() or [""]
        material = materials.get(name, Material())
        if word == "newmtl":
            name = " ".join(rest)
        elif word == "Kd" and (colour := _colour(rest)) is not None:
            materials[name] = material._replace(colour=colour)
        elif word == "map_Kd" and (image := _image(line.strip()[len(word) :])):
            materials[name] = material._replace(
                texture=Texture(str(path.parent / image), str(path))
            )
    return materials


def _colour(words: list[str]) -> Colour | None:
    try:
        red, green, blue = (min(max(float(word), 0.0), 1.0) for word in words[:3])
    except ValueError:
        return None
    return red, green, blue, 1.0


def _image(text: str) -> str:
    """Return the name of an image behind its options, which are not obeyed."""
    text = text.strip()
    while text.startswith("-"):
        option, _, rest = text.partition(" ")
        words, count = rest.split(), OPTIONS.get(option)
        if option in TURNED:
            count = next((k for k, word in enumerate(words[:3]) if not _is_number(word)), 3)
        if count is None:
            break
        for _ in range(count):
            rest = rest.lstrip().partition(" ")[2]
        text = rest.strip()
    return text.replace("\\", "/")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


MAX_LINE = 2**20
"""Longest line, characters: that of a face with 100,000 corners."""

MAX_LIBRARIES = 50
"""Most material files that one mesh may name."""

NOWHERE = -1
"""The place in the texture of a corner that has none."""


class _Faces:
    """Polygons of one material: all their corners in a row, and how many each has.

    `places`, in the texture, are there from the first face on that has some.

    Parameters
    ----------
    plain : the material is known, and has no texture
    """

    def __init__(self, plain: bool = False) -> None:
        self.plain = plain
        self.corners, self.counts, self.places = array("q"), array("q"), array("q")

    def take_places(self, parts: list[str], seen: int) -> None:
        """Keep where the corners of a face are in the texture; `parts` are its words."""
        self.places.extend([NOWHERE] * (len(self.corners) - len(self.places)))
        words = [part.split("/", 2) for part in parts]
        numbers = [int(word[1]) if len(word) > 1 and word[1] else 0 for word in words]
        self.places.extend([k - 1 if k > 0 else seen + k if k else NOWHERE for k in numbers])


def read_obj(data: bytes, file: str) -> list[Surface]:
    """Return the surfaces of an OBJ file, one a material."""
    vertices, places = array("d"), array("d")
    libraries, materials = set[str](), dict[str, Material]()
    faces = {"": _Faces()}
    used, budget = faces[""], Budget(file)
    for number, line in _lines(data, file):
        word, _, rest = line.strip().partition(" ")
        try:
            if word == "v":
                x, y, z = rest.split()[:3]
                vertices.extend((float(x), float(y), float(z)))
            elif word == "f":
                parts = rest.split()
                face = [int(part.partition("/")[0]) for part in parts]
                budget.take_triangles(max(len(face) - 2, 0))
                if 0 in face:
                    raise FileError("vertices are counted from 1, got 0", file, number)
                seen = len(vertices) // 3
                if places and not used.plain:
                    used.take_places(parts, len(places) // 2)
                used.corners.extend([k - 1 if k > 0 else seen + k for k in face])
                used.counts.append(len(face))
            elif word == "vt":
                u, v = [*rest.split(), "0"][:2]
                places.extend((float(u), float(v)))
            elif word == "usemtl":
                name = rest.strip()
                if name not in faces:
                    known = materials.get(name)
                    faces[name] = _Faces(known is not None and known.texture is None)
                used = faces[name]
            elif word == "mtllib" and rest not in libraries:
                if len(libraries) == MAX_LIBRARIES:
                    message = f"it names more than {MAX_LIBRARIES} material libraries; join them"
                    raise FileError(message, file, number)
                libraries.add(rest)
                materials |= read_mtl(Path(file).parent / rest.strip(), file)
        except (ValueError, OverflowError):
            raise FileError(
                f"expected numbers behind {word!r:.20}, got {rest!r:.60}", file, number
            ) from None
    points, whole = np.array(vertices).reshape(-1, 3), Budget(file)
    surfaces = []
    for name, one in faces.items():
        if one.corners:
            pick, material = fans(one.counts), materials.get(name, Material())
            uv = None
            if one.places:
                one.places.extend([NOWHERE] * (len(one.corners) - len(one.places)))
                index = np.array(one.places)
                uv = at_corners(places, index[pick]) if (index != NOWHERE).any() else None
            surfaces.append(whole.surface(points, np.array(one.corners)[pick], material, uv))
    return surfaces


def _lines(data: bytes, file: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text by their number from 1, never all of them at once."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace")
    number = 0
    while line := text.readline(MAX_LINE):
        number += 1
        if len(line) == MAX_LINE:
            raise FileError(f"the line is longer than {MAX_LINE}; export it anew", file, number)
        yield number, line


# STL: triangles, as bytes or as text.

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


# A mesh file by the ending of its name.

MAX_BYTES = 128 * 2**20
"""Largest mesh file that is read, bytes: four times the largest of the robots we know."""

READERS: dict[str, Callable[[bytes, str], list[Surface]]] = {
    ".stl": read_stl,
    ".obj": read_obj,
    ".dae": read_dae,
}
"""Ending -> reader of its content; the name is for messages and for files beside it."""


def read_mesh(path: str) -> tuple[Surface, ...]:
    """Return the surfaces of a mesh file, one a colour.

    Lengths are m: COLLADA's own unit is obeyed, as in RViz; its up axis is not, as in RViz.

    Raises
    ------
    FileError
        The file cannot be read, has an ending we do not know, or has no triangle.
    """
    ending = Path(path).suffix.lower()
    if ending not in READERS:
        known = ", ".join(READERS)
        raise FileError(f"no mesh reader for {ending!r} files; convert it to one of {known}", path)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
        read = READERS[ending](read_bytes(path, MAX_BYTES), path)
    surfaces = tuple(surface for surface in read if len(surface.triangles))
    if not surfaces:
        raise FileError("there is no triangle in it; export the mesh anew", path)
    if not all(np.isfinite(surface.vertices).all() for surface in surfaces):
        raise FileError("a vertex is not finite where its nodes put it; export it anew", path)
    return surfaces
