"""COLLADA: triangles and polygons of all nodes of its scene, with diffuse colours and textures.

COLLADA: the file of the image that an effect names, through its sampler and surface.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.surface import Budget, Indices, Material, Surface, Texture, at_corners, fans
from mbd_bridge.files.xml_reader import Element, decode, parse
from mbd_bridge.model.spatial import Array, homogeneous, skew

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
