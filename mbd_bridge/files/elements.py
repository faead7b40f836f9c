"""``<joint>`` and ``<inertial>`` of a URDF, and what SDF has in common with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np

from mbd_bridge.base.errors import FileError
from mbd_bridge.files.document import NO_MESH, REFUSED_MESH, Document, parse_numbers, unknown
from mbd_bridge.files.input_files import MeshFinder
from mbd_bridge.files.xml_reader import Element, line_of
from mbd_bridge.model.description import Geometry, Joint, Limits, Mimic, Vector3, parallel
from mbd_bridge.model.spatial import Array, Frame, Inertia

JOINT_TYPES = (
    "revolute",
    "continuous",
    "prismatic",
    "fixed",
    "floating",
    "planar",
    "spherical",
    "universal",
    "cylindrical",
)
"""URDF's own types, pybullet's `spherical`, and two of ours."""

TYPES_WITH_AXIS = frozenset(
    {"revolute", "continuous", "prismatic", "planar", "universal", "cylindrical"}
)

ONE_FREEDOM = frozenset({"revolute", "continuous", "prismatic"})

DEFAULT_AXIS: Vector3 = (1.0, 0.0, 0.0)
"""URDF's default."""


def read_joint(document: Document, element: Element) -> Joint:
    """Return what one ``<joint>`` says; its links are checked later, all together."""
    name = document.attribute(element, "name")
    kind = document.attribute(element, "type")
    if kind not in JOINT_TYPES:
        raise document.error(element, unknown("joint type", kind, JOINT_TYPES))
    parent = document.needed_child(element, "parent", '<parent link="..."/>')
    child = document.needed_child(element, "child", '<child link="..."/>')
    axis, axis2 = _read_axes(document, element, kind)
    dynamics = document.child(element, "dynamics")
    damping = friction = 0.0
    if dynamics is not None:
        damping = document.optional_number(dynamics, "damping") or 0.0
        friction = document.optional_number(dynamics, "friction") or 0.0
    return Joint(
        name=name,
        type=kind,
        parent=document.attribute(parent, "link"),
        child=document.attribute(child, "link"),
        origin=document.origin(element),
        axis=axis,
        axis2=axis2,
        limits=_read_limits(document, element),
        mimic=_read_mimic(document, element, kind),
        damping=damping,
        friction=friction,
        line=line_of(element),
    )


def _read_axes(document: Document, joint: Element, kind: str) -> tuple[Vector3, Vector3 | None]:
    """Return the unit axes; as urdfdom does, <axis> is not looked at where the type has none."""
    if kind not in TYPES_WITH_AXIS:
        return DEFAULT_AXIS, None
    element = document.child(joint, "axis")
    axis = DEFAULT_AXIS if element is None else document.direction(element, "xyz", DEFAULT_AXIS)
    second = document.child(joint, "axis2") if kind == "universal" else None
    if second is None:
        return axis, None
    axis2 = document.direction(second, "xyz")
    if parallel(axis, axis2):
        raise document.error(
            joint,
            f"the two axes of a universal joint must differ, got {axis} and {axis2}; "
            'write <axis xyz="1 0 0"/> and <axis2 xyz="0 1 0"/>',
        )
    return axis, axis2


def _read_limits(document: Document, joint: Element) -> Limits:
    """Return the limits; lower > upper is remarked on (pybullet's files mean "free" by it)."""
    element = document.child(joint, "limit")
    if element is None:
        return Limits()
    limits = Limits(*(document.optional_number(element, x.name) for x in fields(Limits)))
    if limits.lower is not None and limits.upper is not None:
        remark_reversed(document, element, limits.lower, limits.upper)
    return limits


def remark_reversed(document: Document, element: Element, lower: float, upper: float) -> None:
    """Remark on limits that leave nothing between them."""
    if lower > upper:
        kind = "limits are reversed, read as they stand (swap lower and upper, or leave them out)"
        document.remark_at(kind, element, f"lower {lower:g} > upper {upper:g}")


def _read_mimic(document: Document, joint: Element, kind: str) -> Mimic | None:
    element = document.child(joint, "mimic")
    if element is None:
        return None
    multiplier = document.optional_number(element, "multiplier")
    offset = document.optional_number(element, "offset")
    mimic = Mimic(
        document.attribute(element, "joint"),
        1.0 if multiplier is None else multiplier,
        0.0 if offset is None else offset,
    )
    if kind == "fixed":
        document.remark_at("a fixed joint cannot mimic, its <mimic> is ignored", joint)
        return None
    if kind not in ONE_FREEDOM:
        raise document.error(
            joint,
            f"a {kind} joint cannot mimic: only {', '.join(sorted(ONE_FREEDOM))} joints can; "
            "remove the <mimic> or change the type",
        )
    return mimic


# ``<inertial>``: mass, centre and moments of one link, and whether a body can have them.

ROUNDING = 1e-6
"""Relative slack of the physical checks: files print their moments with about six digits."""

NEGLIGIBLE_RADIUS = 1e-6
"""Radius of gyration below which moments are rounding noise of a CAD export, m."""


def read_inertial(document: Document, link: Element) -> Inertia | None:
    """Return a link's inertia in the link's frame, or None where the file gives none.

    The file gives the moments about the centre of mass along the axes of ``<origin rpy>``; they
    are turned here, J = R J' Rᵀ. Moments that no body can have are remarked on and kept.
    """
    element = document.child(link, "inertial")
    if element is None:
        return None
    mass_element = document.child(element, "mass")
    if mass_element is None:
        raise document.error(element, 'expected a <mass>; write <mass value="1.0"/> (kg)')
    mass = document.quantity(mass_element, "value")
    if mass < 0.0:
        raise document.error(
            mass_element, f"expected a mass of at least 0 kg, got {mass:g}; remove the sign"
        )
    moments = document.child(element, "inertia")
    if moments is None:
        raise document.error(
            element,
            "expected an <inertia>; write "
            '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/> (kg m²)',
        )
    xx, yy, zz, xy, xz, yz = (
        document.quantity(moments, name) for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    )
    central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    remark_unphysical(document, moments, mass, central)
    return inertia_at(document.origin(element), mass, central)


def inertia_at(frame: Frame, mass: float, central: Array) -> Inertia:
    """Return the inertia of a mass whose moments are given about a frame's origin, in its axes.

    It is in the frame's parent, and without the rounding difference between off-diagonal entries.
    """
    if np.array_equal(frame.rotation, np.eye(3)):
        return Inertia(mass, frame.translation, central)
    turned = Inertia(mass, np.zeros(3), central).seen_from(frame)
    return Inertia(mass, turned.centre, (turned.central + turned.central.T) / 2.0)


def remark_unphysical(document: Document, element: Element, mass: float, central: Array) -> None:
    """Remark on moments that no body can have."""
    why = unphysical(mass, central)
    if why:
        document.remark_at(UNPHYSICAL, element, why)


UNPHYSICAL = "physically impossible inertia, used unchanged"
"""A kind of remark."""


def unphysical(mass: float, central: Array) -> str:
    """Return why no body has these central moments, or an empty string.

    A body's principal moments are not negative, none exceeds the sum of the other two, and they
    vanish with the mass.
    """
    if not np.any(central):
        return ""
    if mass == 0.0:
        return "the mass is 0 but the moments are not"
    scale = float(np.max(np.abs(central)))  # so that squares neither under- nor overflow
    if scale < mass * NEGLIGIBLE_RADIUS**2:
        return ""
    a, b, c = (float(value) for value in np.linalg.eigvalsh(central / scale))
    shown = f"principal moments {a * scale:.3g}, {b * scale:.3g}, {c * scale:.3g}"
    if a < -ROUNDING:
        return f"{shown}: one is negative"
    if c - (a + b) > ROUNDING * (abs(a) + abs(b) + abs(c)):
        return f"{shown}: the largest exceeds the sum of the others"
    return ""


# ``<visual>`` and ``<collision>``: shapes for pictures and contact.

SIZES = {"sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}
"""Shapes made of single numbers, and what these are called."""

Colour = tuple[float, float, float, float]


def read_shapes(
    document: Document, link: Element, tag: str, read: Callable[[Element], Geometry]
) -> tuple[Geometry, ...]:
    """Return the shapes of a link's elements of one name; faulty ones are left out and noted.

    Parameters
    ----------
    read : returns what one element says
    """
    shapes = []
    for element in link.findall(tag):
        try:
            shapes.append(read(element))
        except FileError as error:
            where = f"line {error.line} {error.element} ({error.message})"
            document.remark("a shape is left out (the dynamics do not need it)", where)
    return tuple(shapes)


def mesh_path(document: Document, uri: str, meshes: MeshFinder) -> str | None:
    """Return where a mesh is; None, with a remark, if it is nowhere or is not read."""
    path = meshes.find(uri)
    if path is None:
        document.remark(REFUSED_MESH if meshes.refusal(uri) else NO_MESH, uri)
    return path


def read_colour(text: str, *counts: int) -> Colour | None:
    """Return a colour of so many numbers; what is none is None: it is for pictures only."""
    count = len(text.split())
    if count not in counts:
        return None
    try:
        parts = [min(max(x, 0.0), 1.0) for x in parse_numbers(text, count)]
    except ValueError:
        return None
    red, green, blue, alpha = [*parts, 1.0][:4]
    return red, green, blue, alpha
