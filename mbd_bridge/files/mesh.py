"""Meshes, read for pictures: STL, Wavefront OBJ and COLLADA files to triangles with colours and
textures.

They are parsed here, not by trimesh 5.2 with pycollada, which gives the same triangles of 40 of the
robots' meshes in twice the time. Of the files in ``tests/formats/test_hostile_meshes.py`` it reads
a line with ten million corners (0.8 GB) and a face with the vertex 0 as if they were sound, takes a
COLLADA file whose numbers are wrong for an empty one without a word, and raises exceptions of
NumPy's without line for indices beyond all vertices: budgets around it would have to parse first.
"""

from __future__ import annotations

import io
import math
import re
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.surface import (
    Budget,
    Colour,
    Indices,
    Material,
    Surface,
    Texture,
    at_corners,
    fans,
)
from mbd_bridge.files.usd_stage import read_stage_mesh
from mbd_bridge.files.xml_reader import Element, decode, parse, read_bytes
from mbd_bridge.model.spatial import Array, homogeneous, skew

# COLLADA: triangles and polygons of all nodes of its scene, with diffuse colours and textures.
#
# COLLADA: the file of the image that an effect names, through its sampler and surface.

STEPS = 4
"""From a texture through its sampler and its surface to the image: more, and it is a circle."""


def image_of(effect: Element, by_id: Mapping[str | None, Element]) -> str | None:
    """Return the name of an effect's diffuse image, relative to the file; None if it has none."""
    texture = effect.find(".//diffuse/texture")
    if texture is None:
        return None
    parameters = {
        parameter_element.get("sid"): parameter_element
        for parameter_element in effect.iter("newparam")
    }
    name = texture.get("texture")
    for _ in range(STEPS):
        parameter = parameters.get(name)
        if parameter is None:
            break
        instance = parameter.find(".//instance_image")  # of COLLADA 1.5
        if instance is not None:
            name = (instance.get("url") or "").removeprefix("#")
            break
        path = parameter.findtext("sampler2D/source") or parameter.findtext("surface/init_from")
        name = (path or "").strip()
    image = by_id.get(name)
    if image is None or image.tag != "image":
        return None
    path = image.findtext("init_from/ref") or image.findtext("init_from")
    return _file_name((path or "").strip())


def _file_name(uri: str) -> str | None:
    """Return the path that an image's address means."""
    if uri.startswith("file:"):
        return unquote(urlsplit(uri).path) or None
    return unquote(uri).replace("\\", "/") or None


DEEPEST = 50
"""Nodes inside nodes: deeper, and a file refers to itself."""

MOST_NODES = 20_000
"""Nodes that a scene is made of, each counted as often as it is instanced."""

MOST_ELEMENTS = 2_000_000
"""Elements (those with an end count twice) of a file: about 0.3 GB as a tree."""

MOST_INPUTS = 64
"""Rows of indices (positions, normals, ...) that a part may have."""

CHARACTERS = 2**20
"""Of a row of numbers, made into numbers at a time."""

BLANK = re.compile(r"\s")

_FACES = ("triangles", "polylist", "polygons", "trifans")
"""Elements that hold faces."""


def read_dae(data: bytes, file: str) -> list[Surface]:
    """Return the surfaces of a COLLADA file, one for each material of each instance."""
    text = decode(data, file)
    root, _ = parse(text, file, len(text), max_elements=MOST_ELEMENTS, long_texts=True)
    try:
        return _Collada(root, file).surfaces()
    except (ArithmeticError, LookupError, ValueError) as error:
        raise FileError(
            f"cannot be understood as COLLADA ({error!s:.200}); export it anew", file
        ) from error


class _Collada:
    """One document: its elements by id, its unit."""

    def __init__(self, root: Element, file: str) -> None:
        self.root, self.file = root, file
        self.nodes, self.budget = 0, Budget(file)
        self.read: dict[Element, Array] = {}
        for element in root.iter(etree.Element):
            element.tag = etree.QName(element).localname
        self.by_id = {e.get("id"): e for e in root.iter() if e.get("id") is not None}
        unit = root.find("asset/unit")
        self.unit = float(unit.get("meter", "1")) if unit is not None else 1.0
        if not 0.0 < self.unit < math.inf:
            raise ValueError(f"its unit has meter={self.unit}")

    def surfaces(self) -> list[Surface]:
        """Return the surfaces of the scene in m; of all geometries where there is no scene."""
        scale = np.diag([self.unit, self.unit, self.unit, 1.0])
        used = self.root.find("scene/instance_visual_scene")
        scene = self._target(used) if used is not None else None
        if scene is None:
            scene = self.root.find("library_visual_scenes/visual_scene")
        if scene is not None:
            return [s for node in scene.findall("node") for s in self._node(node, scale, 0)]
        bare = self.root.findall("library_geometries/geometry")
        return [s.moved(scale) for geometry in bare for s in self._geometry(geometry, {})]

    def _target(self, element: Element, attribute: str = "url") -> Element | None:
        return self.by_id.get((element.get(attribute) or "").removeprefix("#"))

    def _source(self, element: Element) -> Element:
        """Return what an element takes its numbers from."""
        source = self._target(element, "source")
        if source is None:
            raise LookupError(
                f"<{element.tag}> has the source {element.get('source')!r}, which no element "
                f"has as its id"
            )
        return source

    def _node(self, node: Element, above: Array, depth: int) -> Iterator[Surface]:
        if depth > DEEPEST:
            raise FileError(f"nodes inside nodes, deeper than {DEEPEST}; export it anew", self.file)
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise FileError(
                f"its scene has more than {MOST_NODES} nodes, instances of instances counted; "
                f"export it anew, with each part once",
                self.file,
            )
        matrix = above
        for child in node.iterchildren("*"):
            if child.tag in _TRANSFORMS:
                count, transform = _TRANSFORMS[child.tag]
                matrix = matrix @ transform(_few(child, count))
        for child in node.iterchildren("*"):
            if child.tag == "node":
                yield from self._node(child, matrix, depth + 1)
                continue
            target = self._target(child) if child.tag.startswith("instance_") else None
            if target is None:
                continue
            if child.tag == "instance_node":
                yield from self._node(target, matrix, depth + 1)
            elif child.tag == "instance_geometry":
                for surface in self._geometry(target, self._materials(child)):
                    yield surface.moved(matrix)

    def _materials(self, instance: Element) -> dict[str, Material]:
        """Return the materials that an instance binds, by the symbol that its triangles use."""
        materials = {}
        for bound in instance.iter("instance_material"):
            material = self._target(bound, "target")
            if material is not None:
                materials[bound.get("symbol", "")] = self._material(material)
        return materials

    def _material(self, material: Element) -> Material:
        instance = material.find("instance_effect")
        effect = None if instance is None else self._target(instance)
        if effect is None:
            return Material()
        image, colour = image_of(effect, self.by_id), effect.find(".//diffuse/color")
        texture = Texture(str(Path(self.file).parent / image), self.file) if image else None
        if colour is None:
            return Material(None, texture)
        red, green, blue, *_ = np.clip(_few(colour, 3, 4), 0.0, 1.0).tolist()
        return Material((red, green, blue, 1.0), texture)

    def _geometry(self, geometry: Element, materials: dict[str, Material]) -> Iterator[Surface]:
        for mesh in geometry.findall("mesh"):
            for part in mesh:
                if part.tag in _FACES:
                    symbol = part.get("material", "")
                    material = materials.get(symbol, Material())
                    if material == Material() and symbol in self.by_id:
                        material = self._material(self.by_id[symbol])
                    points, corners, uv = self._part(part, material.texture is not None)
                    yield self.budget.surface(points, corners, material, uv)

    def _part(
        self, part: Element, textured: bool
    ) -> tuple[Array, Indices, NDArray[np.float32] | None]:
        """Return vertices, triangles and texture coordinates of a part, such as <triangles>."""
        inputs = part.findall("input")
        offsets = [int(item.get("offset", "0")) for item in inputs]
        if not 0 <= min(offsets, default=0) <= max(offsets, default=0) < MOST_INPUTS:
            raise ValueError(f"<{part.tag}> has inputs with the offsets {offsets[:MOST_INPUTS]}")
        stride = 1 + max(offsets)
        vertex = _child(part, "input[@semantic='VERTEX']")
        vertices = self._source(vertex)
        points = self._rows(_child(vertices, "input[@semantic='POSITION']"), 3)
        rows = [self._integers(p) for p in part.findall("p")]
        numbers = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        corners = numbers[int(vertex.get("offset", "0")) :: stride]
        pick = fans(self._counts(part, rows, stride, len(corners)))
        places = part.find("input[@semantic='TEXCOORD']") if textured else None
        index = corners if places is None else numbers[int(places.get("offset", "0")) :: stride]
        if textured and places is None:
            places = vertices.find("input[@semantic='TEXCOORD']")
        if places is None:
            return points, corners[pick], None
        return points, corners[pick], at_corners(self._rows(places, 2), index[pick])

    def _rows(self, element: Element, width: int) -> Array:
        """Return the rows of numbers of the source that an input names, their first `width`."""
        source = self._source(element)
        accessor = source.find("technique_common/accessor")
        step = int(accessor.get("stride", str(width))) if accessor is not None else width
        if step < width:
            semantic = element.get("semantic")
            raise ValueError(f"{semantic} has the stride {step}, expected {width}")
        return self._floats(_child(source, "float_array")).reshape(-1, step)[:, :width]

    def _counts(self, part: Element, rows: list[Indices], stride: int, corners: int) -> Indices:
        """Return how many corners each polygon of a part has: no more than there are."""
        if part.tag == "triangles":
            return np.full(sum(map(len, rows)) // (3 * stride), 3)
        if part.tag != "polylist":
            return np.array([len(row) // stride for row in rows], dtype=np.int64)
        element = part.find("vcount")
        if element is None:
            return np.zeros(0, dtype=np.int64)
        counts = self._integers(element)
        if counts.size and not (0 <= counts.min() <= counts.max() <= corners >= counts.sum()):
            raise ValueError(f"a vcount of {counts.max()}, with {corners} corners in all")
        return counts

    def _floats(self, element: Element) -> Array:
        """Return the numbers of an array; the same one is read once."""
        if element not in self.read:
            self.read[element] = _numbers(element, np.dtype(np.float64), self.budget)
        else:
            self.budget.take_numbers(len(self.read[element]))
        return self.read[element]

    def _integers(self, element: Element) -> Indices:
        return _numbers(element, np.dtype(np.int64), self.budget)


def _child(element: Element, path: str) -> Element:
    child = element.find(path)
    if child is None:
        raise LookupError(f"<{element.tag}> has no <{path}>")
    return child


def _numbers(element: Element, kind: np.dtype[Any], budget: Budget) -> NDArray[Any]:
    """Return the numbers in an element's text: its words are never all there at once."""
    text, start, parts = element.text or "", 0, [np.zeros(0, dtype=kind)]
    while start < len(text):
        blank = BLANK.search(text, start + CHARACTERS)
        end = blank.start() if blank else len(text)
        if end - start > 2 * CHARACTERS:
            raise ValueError(f"a word in <{element.tag}> that is no number")
        parts.append(np.array(text[start:end].split(), dtype=kind))
        budget.take_numbers(len(parts[-1]))
        start = end
    return np.concatenate(parts)


def _few(element: Element, *counts: int) -> Array:
    """Return the finite numbers in an element that holds a few."""
    words = (element.text or "").split(maxsplit=counts[-1])
    numbers = np.array(words[: counts[-1]], dtype=np.float64)
    if len(words) not in counts or not np.isfinite(numbers).all():
        raise ValueError(f"<{element.tag}> has {len(words)} numbers, expected {counts[0]} finite")
    return numbers


def _rotate(numbers: Array) -> Array:
    """Return the turn by an angle (degrees) about an axis (Rodrigues)."""
    length = np.linalg.norm(numbers[:3])
    if not length > 0.0:
        return np.eye(4)
    tilde, angle = skew(numbers[:3] / length), np.deg2rad(numbers[3])
    turn = np.eye(3) + (np.sin(angle) * tilde + (1.0 - np.cos(angle)) * tilde @ tilde)
    return homogeneous(np.zeros(3), turn)


_TRANSFORMS: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "matrix": (16, lambda numbers: numbers.reshape(4, 4)),
    "translate": (3, homogeneous),
    "rotate": (4, _rotate),
    "scale": (3, lambda numbers: np.diag([*numbers, 1.0])),
}
"""Elements that move a node, and how many numbers they have; they act in the order of the file, the
last one first on points."""


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
    """Return the surfaces of a mesh file, one a colour; of a mesh in a stage, ``a.usda[/b/mesh]``.

    Lengths are m: COLLADA's own unit is obeyed, as in RViz; its up axis is not, as in RViz.

    Raises
    ------
    FileError
        The file cannot be read, has an ending we do not know, or has no triangle.
    """
    ending = Path(path).suffix.lower()
    if path.endswith("]"):
        read = read_stage_mesh(path)
    elif ending in READERS:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            read = READERS[ending](read_bytes(path, MAX_BYTES), path)
    else:
        known = ", ".join(READERS)
        raise FileError(f"no mesh reader for {ending!r} files; convert it to one of {known}", path)
    surfaces = tuple(surface for surface in read if len(surface.triangles))
    if not surfaces:
        raise FileError("there is no triangle in it; export the mesh anew", path)
    if not all(np.isfinite(surface.vertices).all() for surface in surfaces):
        raise FileError("a vertex is not finite where its nodes put it; export it anew", path)
    return surfaces
