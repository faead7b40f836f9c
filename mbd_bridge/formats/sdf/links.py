"""``<link>`` of SDF: inertia and shapes."""

from __future__ import annotations

import numpy as np

from mbd_bridge.errors import FileError
from mbd_bridge.formats.description import Geometry, Link, Vector3
from mbd_bridge.formats.document import NO_MESH, REFUSED_MESH, Document, parse_numbers
from mbd_bridge.formats.inertial import unphysical
from mbd_bridge.formats.left_out import LeftOut
from mbd_bridge.formats.meshes import MeshFinder
from mbd_bridge.formats.sdf.scopes import Scope
from mbd_bridge.formats.sdf.values import flag, number, numbers, pose_of, text
from mbd_bridge.formats.xml_reader import Element, line_of
from mbd_bridge.spatial import Inertia

DEFAULT_MASS, DEFAULT_MOMENT = 1.0, 1.0
"""kg and kg m² of a link for which the file says nothing: SDF's own."""

NO_INERTIAL = "links without <inertial> have SDF's 1 kg and 1 kg m²"
"""A kind of remark."""

SIZES = {"sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}
"""Shapes made of single numbers."""

ENTRIES = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def read_link(scope: Scope, element: Element, left_out: LeftOut) -> Link:
    """Return what a link says."""
    document, meshes = scope.document, scope.source.meshes
    name = scope.prefix + document.attribute(element, "name")
    if element.find("sensor") is not None:
        left_out.add("sensors", name)
    if not flag(document, element, "gravity", default=True):
        left_out.add("links without gravity, which have it here", name)
    if flag(document, element, "kinematic"):
        left_out.add("links that forces do not move (<kinematic>)", name)
    decay = document.child(element, "velocity_decay")
    if decay is not None and any(
        number(document, decay, tag, 0.0) for tag in ("linear", "angular")
    ):
        left_out.add("drag of links (<velocity_decay>)", name)
    return Link(
        name,
        _inertia(document, element, left_out, name),
        _shapes(document, element, "visual", meshes),
        _shapes(document, element, "collision", meshes),
        line_of(element),
    )


def _inertia(document: Document, link: Element, left_out: LeftOut, name: str) -> Inertia:
    element = document.child(link, "inertial")
    if element is None:
        document.remark_at(NO_INERTIAL, link)
        return Inertia(DEFAULT_MASS, np.zeros(3), DEFAULT_MOMENT * np.eye(3))
    if (element.get("auto") or "false").lower() in ("1", "true"):
        raise document.error(
            element, "an inertia from shapes (auto) is not computed; write <mass> and <inertia>"
        )
    if element.find("fluid_added_mass") is not None:
        left_out.add("added mass of fluids", name)
    mass = number(document, element, "mass", DEFAULT_MASS)
    if mass < 0.0:
        raise document.error(element, f"expected a mass of at least 0 kg, got {mass:g}")
    moments = document.child(element, "inertia")
    values = dict.fromkeys(ENTRIES, 0.0) | dict.fromkeys(ENTRIES[:3], DEFAULT_MOMENT)
    if moments is not None:
        values = {tag: number(document, moments, tag, values[tag]) for tag in ENTRIES}
    xx, yy, zz, xy, xz, yz = values.values()
    central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    why = unphysical(mass, central)
    if why:
        document.remark_at("physically impossible inertia, used unchanged", element, why)
    frame, relative = pose_of(document, element)
    if relative:
        raise document.error(element, "the pose of an inertia is in its link; remove relative_to")
    if np.array_equal(frame.rotation, np.eye(3)):
        return Inertia(mass, frame.translation, central)
    seen = Inertia(mass, np.zeros(3), central).seen_from(frame)
    return Inertia(mass, seen.centre, (seen.central + seen.central.T) / 2.0)


def _shapes(
    document: Document, link: Element, tag: str, meshes: MeshFinder
) -> tuple[Geometry, ...]:
    shapes = []
    for element in link.findall(tag):
        try:
            shapes.append(_shape(document, element, meshes))
        except FileError as error:
            place = f"line {error.line} {error.element} ({error.message})"
            document.remark("a shape is left out (the dynamics do not need it)", place)
    return tuple(shapes)


def _shape(document: Document, element: Element, meshes: MeshFinder) -> Geometry:
    geometry = document.child(element, "geometry")
    shape = None if geometry is None else next(iter(geometry), None)
    if shape is None:
        raise document.error(element, "expected a <geometry> with a shape in it")
    origin, relative = pose_of(document, element)
    if relative and relative != (element.getparent() or element).get("name"):
        raise document.error(element, f"its pose is relative to {relative!r:.80}, not to its link")
    kind, colour = str(shape.tag), _colour(element)
    if kind == "mesh":
        uri = text(document, shape, "uri")
        path = meshes.find(uri)
        if path is None:
            document.remark(REFUSED_MESH if meshes.refusal(uri) else NO_MESH, uri)
        return Geometry(kind, origin, (), uri, path, _vector(document, shape, "scale"), colour)
    if kind == "box":
        return Geometry(kind, origin, _vector(document, shape, "size"), colour=colour)
    sizes = tuple(number(document, shape, size, 0.0) for size in SIZES.get(kind, ()))
    return Geometry(kind, origin, sizes, colour=colour)


def _vector(document: Document, element: Element, tag: str) -> Vector3:
    child = document.child(element, tag)
    if child is None:
        return 1.0, 1.0, 1.0
    x, y, z = numbers(document, child, 3)
    return x, y, z


def _colour(element: Element) -> tuple[float, float, float, float] | None:
    """Return a shape's diffuse colour; what is no colour is none: it is for pictures only."""
    diffuse = element.findtext("material/diffuse")
    if diffuse is None:
        return None
    parts = diffuse.split()
    try:
        colour = [min(max(x, 0.0), 1.0) for x in parse_numbers(diffuse, len(parts))]
    except ValueError:
        return None
    if len(colour) not in (3, 4):
        return None
    return colour[0], colour[1], colour[2], (*colour, 1.0)[3]
