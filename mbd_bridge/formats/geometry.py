"""``<visual>`` and ``<collision>``: shapes for pictures; faulty ones are left out and noted."""

from __future__ import annotations

from dataclasses import replace

from mbd_bridge.errors import FileError
from mbd_bridge.formats.description import Geometry, Vector3
from mbd_bridge.formats.document import NO_MESH, REFUSED_MESH, Document, parse_numbers
from mbd_bridge.formats.meshes import MeshFinder
from mbd_bridge.formats.xml_reader import Element

SIZES = {
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
}
"""Shapes made of single numbers, and the attributes that hold them."""

UNIT_SCALE: Vector3 = (1.0, 1.0, 1.0)


def read_shapes(
    document: Document, link: Element, tag: str, meshes: MeshFinder
) -> tuple[Geometry, ...]:
    """Return the shapes of one link's ``<visual>`` or ``<collision>`` elements."""
    shapes = []
    for element in link.findall(tag):
        try:
            shape = _read_shape(document, element, meshes)
            material = _material(element)
            if material is not None:
                texture = _texture(document, material, meshes)
                shape = replace(shape, colour=_colour(material), texture=texture)
            shapes.append(shape)
        except FileError as error:
            place = f"line {error.line} {error.element} ({error.message})"
            document.remark("a shape is left out (the dynamics do not need it)", place)
    return tuple(shapes)


def _read_shape(document: Document, element: Element, meshes: MeshFinder) -> Geometry:
    geometry = document.child(element, "geometry")
    if geometry is None:
        raise document.error(element, "expected a <geometry>")
    shape = next((kid for kid in geometry if kid.tag != "material"), None)
    if shape is None:
        raise document.error(geometry, "expected a shape, such as <box>, <sphere> or <mesh>")
    kind = str(shape.tag)
    origin = document.origin(element)
    if kind == "mesh":
        uri = document.attribute(shape, "filename")
        path = meshes.find(uri)
        if path is None:
            document.remark(REFUSED_MESH if meshes.refusal(uri) else NO_MESH, uri)
        return Geometry("mesh", origin, (), uri, path, _scale(document, shape))
    if kind == "box":
        return Geometry(kind, origin, document.vector(shape, "size"))
    if kind in SIZES:
        return Geometry(kind, origin, tuple(document.number(shape, n) for n in SIZES[kind]))
    return Geometry(kind, origin, (), shape.get("filename"))


def _scale(document: Document, mesh: Element) -> Vector3:
    """Return a mesh's scale: three numbers, or one for all directions."""
    text = mesh.get("scale")
    if text is None:
        return UNIT_SCALE
    if len(text.split()) == 1:
        scale = document.number(mesh, "scale")
        return scale, scale, scale
    return document.vector(mesh, "scale")


def _material(element: Element) -> Element | None:
    """Return a shape's material: its own, or the one that it names in the file."""
    own = element.find("material")
    if own is None or own.find("color") is not None or own.find("texture[@filename]") is not None:
        return own
    named = (m for m in element.getroottree().getroot().iterfind("material"))
    return next((m for m in named if m.get("name") == own.get("name")), None)


def _colour(material: Element) -> tuple[float, float, float, float] | None:
    """Return a material's colour; what is no colour is none: it is for pictures only."""
    own = material.find("color")
    if own is None:
        return None
    try:
        red, green, blue, alpha = (
            min(max(x, 0.0), 1.0) for x in parse_numbers(own.get("rgba") or "", 4)
        )
    except ValueError:
        return None
    return red, green, blue, alpha


def _texture(document: Document, material: Element, meshes: MeshFinder) -> str | None:
    """Return the path of a material's image; its name if it is nowhere."""
    texture = material.find("texture")
    uri = None if texture is None else texture.get("filename")
    if not uri:
        return None
    path = meshes.find(uri)
    if path is None and meshes.refusal(uri):
        document.remark(REFUSED_MESH, uri)
        return None
    return path or uri
