"""Numbers, names and poses that stand as texts of elements."""

from __future__ import annotations

import math

import numpy as np

from mbd_bridge.files.document import (
    Document,
    bounded,
    parse_number,
    parse_numbers,
    pose,
    quote,
    unit_vector as unit,
)
from mbd_bridge.files.xml_reader import Element
from mbd_bridge.model.description import Vector3
from mbd_bridge.model.spatial import Frame, quaternion_matrix

FLAGS = {"1": True, "true": True, "0": False, "false": False}
"""What SDF writes for yes and no."""

SHORTEST = 1e-6
"""Of a quaternion's length: below it, it is no rotation."""


def text(document: Document, element: Element, tag: str, default: str | None = None) -> str:
    """Return the text of a child; without a default it must be there and not be blank."""
    child = document.child(element, tag)
    found = "" if child is None else (child.text or "").strip()
    if found:
        return found
    if default is None or (child is not None and not len(child)):
        what = "is missing" if child is None else "is empty"
        raise document.error(element, f"<{tag}> {what}; write it")
    return default


def number(document: Document, element: Element, tag: str, default: float) -> float:
    """Return the finite number that a child holds."""
    child = document.child(element, tag)
    if child is None:
        return default
    try:
        return bounded(parse_number((child.text or "").strip()))
    except ValueError as error:
        raise document.error(child, str(error)) from None


def flag(document: Document, element: Element, tag: str, *, default: bool = False) -> bool:
    """Return whether a child says yes; the default where there is none."""
    child = document.child(element, tag)
    if child is None:
        return default
    said = (child.text or "").strip().lower()
    if said not in FLAGS:
        raise document.error(child, f"expected 1, 0, true or false, got {quote(said)}")
    return FLAGS[said]


def numbers(document: Document, element: Element, count: int) -> tuple[float, ...]:
    """Return the numbers that an element holds."""
    try:
        return parse_numbers(element.text or "", count)
    except ValueError as error:
        raise document.error(element, str(error)) from None


def direction(document: Document, element: Element, default: Vector3) -> Vector3:
    """Return the unit vector in a child ``<xyz>``."""
    child = document.child(element, "xyz")
    if child is None:
        return default
    x, y, z = numbers(document, child, 3)
    try:
        return unit((x, y, z))
    except ValueError as error:
        raise document.error(child, str(error)) from None


def pose_of(document: Document, element: Element) -> tuple[Frame, str]:
    """Return the frame in an element's ``<pose>``, and what it is relative to ("" by default)."""
    child = document.child(element, "pose")
    if child is None:
        return Frame.identity(), ""
    relative = child.get("relative_to") or child.get("frame") or ""
    if not (child.text or "").strip():
        return Frame.identity(), relative
    form = child.get("rotation_format") or "euler_rpy"
    if form == "quat_xyzw":
        return _by_quaternion(document, child), relative
    if form != "euler_rpy":
        raise document.error(child, f"rotation_format is euler_rpy or quat_xyzw, got {quote(form)}")
    x, y, z, *rpy = numbers(document, child, 6)
    if FLAGS.get((child.get("degrees") or "false").lower(), False):
        rpy = [math.radians(angle) for angle in rpy]
    try:
        return pose((x, y, z), (rpy[0], rpy[1], rpy[2])), relative
    except ValueError as error:
        raise document.error(child, str(error)) from None


def _by_quaternion(document: Document, child: Element) -> Frame:
    x, y, z, *quaternion = numbers(document, child, 7)
    turn = np.array(quaternion)
    largest = np.abs(turn).max()
    if largest < SHORTEST:
        raise document.error(child, "the quaternion is zero, which is no rotation; write 0 0 0 1")
    turn = turn / largest
    try:
        translation = np.array([bounded(value) for value in (x, y, z)])
    except ValueError as error:
        raise document.error(child, str(error)) from None
    return Frame(quaternion_matrix(turn / np.linalg.norm(turn)), translation)
