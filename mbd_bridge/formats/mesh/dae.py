"""COLLADA: triangles and polygons of all nodes of its scene, with their diffuse colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from lxml import etree

from mbd_bridge.errors import FileError
from mbd_bridge.formats.mesh.surface import Colour, Indices, Surface, checked, fans
from mbd_bridge.spatial import Array

Element = etree._Element

DEEPEST = 50
"""Nodes inside nodes: deeper, and a file refers to itself."""


def read_dae(data: bytes, file: str) -> list[Surface]:
    """Return the surfaces of a COLLADA file, one for each material of each instance."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=True,
        remove_comments=True,  # numbers go on behind one
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise FileError(f"this is no XML: {error}", file) from None
    try:
        return _Collada(root, file).surfaces()
    except (ArithmeticError, LookupError, ValueError) as error:
        raise FileError(
            f"cannot be understood as COLLADA ({error}); export it anew", file
        ) from error


class _Collada:
    """One document: its elements by id, its unit."""

    def __init__(self, root: Element, file: str) -> None:
        self.root, self.file = root, file
        for element in root.iter(etree.Element):
            element.tag = etree.QName(element).localname
        self.by_id = {e.get("id"): e for e in root.iter() if e.get("id") is not None}
        unit = root.find("asset/unit")
        self.unit = float(unit.get("meter", "1")) if unit is not None else 1.0

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
        found = self._target(element, "source")
        if found is None:
            raise LookupError(
                f"<{element.tag}> has the source {element.get('source')!r}, which no element "
                f"has as its id"
            )
        return found

    def _node(self, node: Element, above: Array, depth: int) -> Iterator[Surface]:
        if depth > DEEPEST:
            raise FileError(f"nodes inside nodes, deeper than {DEEPEST}; export it anew", self.file)
        matrix = above
        for child in node.iterchildren("*"):
            if child.tag in _TRANSFORMS:
                matrix = matrix @ _TRANSFORMS[child.tag](_floats(child))
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
                for surface in self._geometry(target, self._colours(child)):
                    yield surface.moved(matrix)

    def _colours(self, instance: Element) -> dict[str, Colour]:
        """Return the colours that an instance binds, by the symbol that its triangles use."""
        found = {}
        for bound in instance.iter("instance_material"):
            material = self._target(bound, "target")
            colour = None if material is None else self._colour(material)
            if colour is not None:
                found[bound.get("symbol", "")] = colour
        return found

    def _colour(self, material: Element) -> Colour | None:
        effect = material.find("instance_effect")
        target = None if effect is None else self._target(effect)
        colour = None if target is None else target.find(".//diffuse/color")
        if colour is None:
            return None
        red, green, blue, *_ = np.clip(_floats(colour), 0.0, 1.0).tolist()
        return red, green, blue, 1.0

    def _geometry(self, geometry: Element, colours: dict[str, Colour]) -> Iterator[Surface]:
        for mesh in geometry.findall("mesh"):
            for part in mesh:
                if part.tag in _FACES:
                    points, corners = self._part(mesh, part)
                    symbol = part.get("material", "")
                    colour = colours.get(symbol)
                    if colour is None and symbol in self.by_id:
                        colour = self._colour(self.by_id[symbol])
                    yield checked(points, corners, colour, self.file)

    def _part(self, mesh: Element, part: Element) -> tuple[Array, Indices]:
        """Return vertices and triangles of one <triangles>, <polylist> or <polygons>."""
        inputs = part.findall("input")
        stride = 1 + max(int(one.get("offset", "0")) for one in inputs)
        vertex = _child(part, "input[@semantic='VERTEX']")
        source = self._source(_child(self._source(vertex), "input[@semantic='POSITION']"))
        accessor = source.find("technique_common/accessor")
        step = int(accessor.get("stride", "3")) if accessor is not None else 3
        points = _floats(_child(source, "float_array")).reshape(-1, step)[:, :3]
        rows = [_integers(p) for p in part.findall("p")]
        offset = int(vertex.get("offset", "0"))
        corners = np.concatenate([np.zeros(0, dtype=np.int64), *rows])[offset::stride]
        return points, corners[_FACES[str(part.tag)](part, rows, stride)]


def _child(element: Element, path: str) -> Element:
    found = element.find(path)
    if found is None:
        raise LookupError(f"<{element.tag}> has no <{path}>")
    return found


def _floats(element: Element) -> Array:
    return np.array((element.text or "").split(), dtype=np.float64)


def _integers(element: Element) -> Indices:
    return np.array((element.text or "").split(), dtype=np.int64)


def _triangles(part: Element, rows: list[Indices], stride: int) -> Indices:
    return fans([3] * (sum(map(len, rows)) // (3 * stride)))


def _polylist(part: Element, rows: list[Indices], stride: int) -> Indices:
    counts = part.find("vcount")
    return fans(_integers(counts)) if counts is not None else np.zeros((0, 3), dtype=np.int64)


def _polygons(part: Element, rows: list[Indices], stride: int) -> Indices:
    return fans([len(row) // stride for row in rows])


_FACES: dict[str, Callable[[Element, list[Indices], int], Indices]] = {
    "triangles": _triangles,
    "polylist": _polylist,
    "polygons": _polygons,
    "trifans": _polygons,
}
"""Elements that hold faces, and how they fall into triangles."""


def _translate(numbers: Array) -> Array:
    out = np.eye(4)
    out[:3, 3] = numbers
    return out


def _rotate(numbers: Array) -> Array:
    """Return the turn by an angle (degrees) about an axis (Rodrigues)."""
    out = np.eye(4)
    length = np.linalg.norm(numbers[:3])
    if length > 0.0:
        x, y, z = numbers[:3] / length
        tilde = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        angle = np.deg2rad(numbers[3])
        out[:3, :3] += np.sin(angle) * tilde + (1.0 - np.cos(angle)) * tilde @ tilde
    return out


_TRANSFORMS: dict[str, Callable[[Array], Array]] = {
    "matrix": lambda numbers: numbers.reshape(4, 4),
    "translate": _translate,
    "rotate": _rotate,
    "scale": lambda numbers: np.diag([*numbers, 1.0]),
}
"""Elements that move a node; they act in the order of the file, the last one first on points."""
