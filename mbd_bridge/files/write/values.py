"""Elements and numbers of the files that are written; every number keeps all its digits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict

from lxml import etree

from mbd_bridge.base.errors import ModelError
from mbd_bridge.files.document import LeftOut
from mbd_bridge.files.xml_reader import Element
from mbd_bridge.model.description import Description, Geometry, Joint, Limits, Link
from mbd_bridge.model.quaternions import quaternions_of
from mbd_bridge.model.spatial import Array, Frame

ROUND = 1e-9
"""m and rad: frames nearer to each other are the same, up to the rounding of products."""


def number(value: float) -> str:
    """Return a number with all its digits."""
    return repr(float(value) + 0.0)


def numbers(values: Iterable[float]) -> str:
    """Return numbers separated by blanks."""
    return " ".join(number(value) for value in values)


def child(parent: Element, tag: str, **attributes: str) -> Element:
    """Return a new child element."""
    return etree.SubElement(parent, tag, attributes)


def said(parent: Element, tag: str, text: str, **attributes: str) -> Element:
    """Return a new child element with a text."""
    element = child(parent, tag, **attributes)
    element.text = text
    return element


def text_of(root: Element) -> str:
    """Return the text of a file."""
    etree.indent(root)
    whole = etree.tostring(root, encoding="unicode", pretty_print=True)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{whole}'


def quaternion(rotation: Array) -> tuple[float, float, float, float]:
    """Return the unit quaternion (w, x, y, z) of a rotation, by the largest of its four numbers."""
    x, y, z, w = quaternions_of(rotation).tolist()
    return w, x, y, z


def mesh_name(shape: Geometry) -> str:
    """Return what a file calls a mesh: its address, or the path where it was found."""
    by_address = shape.path is None or "://" in (shape.uri or "")
    return (shape.uri if by_address else shape.path) or ""


def shapes_of_files(shapes: Iterable[Geometry], left_out: LeftOut) -> list[Geometry]:
    """Return the shapes that another file can say; a mesh in a stage has no file of its own."""
    found = []
    for shape in shapes:
        if (shape.path or "").endswith("]"):
            left_out.add("meshes in a USD stage, which have no file of their own", shape.uri or "")
        else:
            found.append(shape)
    return found


def moments(central: Array) -> dict[str, str]:
    """Return the six moments of an inertia by name."""
    places = {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2)}
    places |= {"ixy": (0, 1), "ixz": (0, 2), "iyz": (1, 2)}
    return {name: number(central[place]) for name, place in places.items()}


def stated_limits(limits: Limits) -> dict[str, str]:
    """Return the limits that there are, by name."""
    return {name: number(value) for name, value in asdict(limits).items() if value is not None}


def is_world(link: Link) -> bool:
    """Return whether a root link is only the ground."""
    return link.name == "world" and link.inertia is None


def weightless(link: Link) -> bool:
    """Return whether a link has neither mass nor moments of inertia."""
    return link.inertia is None or link.inertia.is_zero()


def at_zero(description: Description) -> dict[str, Frame]:
    """Return where every link is in the root link with all joints in their zero position."""
    places = {description.root.name: Frame.identity()}
    carried: dict[str, list[Joint]] = {}
    for joint in description.joints:
        carried.setdefault(joint.parent, []).append(joint)
    queue = list(places)
    for name in queue:
        for joint in carried.get(name, ()):
            places[joint.child] = places[name] @ joint.origin @ joint.child_frame.inverse()
            queue.append(joint.child)
    return places


def cannot(form: str, joint: Joint, known: Mapping[str, object] | Iterable[str]) -> ModelError:
    """Return the error of a joint of the tree that a format does not have."""
    return ModelError(
        f"{form} has no {joint.type} joint ({joint.name!r}); it has {', '.join(known)}. Write "
        f"another format"
    )
