"""``<inertial>``: mass, centre and moments of one link, and whether a body can have them."""

from __future__ import annotations

import numpy as np

from mbd_bridge.files.document import Document
from mbd_bridge.files.xml_reader import Element
from mbd_bridge.model.spatial import Array, Inertia

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
    why = unphysical(mass, central)
    if why:
        document.remark_at("physically impossible inertia, used unchanged", moments, why)
    frame = document.origin(element)
    inertia = Inertia(mass, np.zeros(3), central)
    if np.array_equal(frame.rotation, np.eye(3)):
        return Inertia(mass, frame.translation, central)
    return _symmetric(inertia.seen_from(frame))


def _symmetric(inertia: Inertia) -> Inertia:
    """Return the inertia without the rounding difference between its off-diagonal entries."""
    return Inertia(inertia.mass, inertia.centre, (inertia.central + inertia.central.T) / 2.0)


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
