"""Force elements between points: a spring as a zig-zag, others as a straight rod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from mbd_bridge.forces import Bushing, ForceElement, HydropneumaticUnit, PointSpring
from mbd_bridge.forces.point_element import PointElement
from mbd_bridge.forces.points import link_or_ground
from mbd_bridge.formats.mesh import Colour
from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array
from mbd_bridge.view import solids
from mbd_bridge.view.arrows import along, telescope
from mbd_bridge.view.pieces import Piece

SPRING: Colour = (0.93, 0.66, 0.10, 1.0)
OTHER: Colour = (0.45, 0.36, 0.60, 1.0)

TURNS = 5
"""Zig-zags of a spring."""

STRAIGHT = 0.15
"""Part of its length that a spring is straight at each end."""

THICKNESS, WIDTH = 0.006, 0.03
"""Radius of rods and half width of zig-zags, relative to the longest way in the picture."""

SHORTEST = 2.0**-10
"""The shortest rod, relative to that way."""


def ends_of(model: Model, forces: Iterable[ForceElement], bodies: Array) -> Iterator[Array]:
    """Yield where the elements between points are, (2, 3) m in the world.

    Parameters
    ----------
    bodies : (B, 4, 4) poses
    """
    for element in between(forces):
        found = []
        for name, point in zip(element.links, element.points, strict=True):
            number = link_or_ground(model, name)
            place = np.asarray(point, dtype=np.float64)
            if number is not None:
                link = model.links[number]
                inside = link.frame.translation + link.frame.rotation @ place
                pose = bodies[link.body]
                place = pose[:3, :3] @ inside + pose[:3, 3]
            found.append(place)
        yield np.array(found)


def between(forces: Iterable[ForceElement]) -> list[PointElement | Bushing]:
    """Return the elements that act between two points."""
    return [one for one in forces if isinstance(one, PointElement | Bushing)]


def springs(
    model: Model, forces: tuple[ForceElement, ...], bodies: Array, span: float
) -> list[Piece]:
    """Return the pieces of all elements between points, `span` m the size of the picture."""
    pieces: list[Piece] = []
    each = zip(between(forces), ends_of(model, forces, bodies), strict=True)
    for element, (first, second) in each:
        way = second - first
        length = float(np.linalg.norm(way))
        if not SHORTEST * span < length < np.inf:
            continue
        coil = isinstance(element, PointSpring | HydropneumaticUnit)
        corners = _zigzag(length, WIDTH * span) if coil else np.array([[0.0, 0, 0], [0, 0, length]])
        points = first + corners @ along(way / length).T
        for start, end in pairwise(points):
            pieces += _rod(start, end, SPRING if coil else OTHER, span)
    return pieces


def _zigzag(length: float, width: float) -> Array:
    """Return corners (2 TURNS + 3, 3) along z from 0 to `length`, m."""
    inside = np.linspace(STRAIGHT, 1.0 - STRAIGHT, 2 * TURNS + 1)
    heights = length * np.concatenate([[0.0], inside, [1.0]])
    sides = np.zeros(len(heights))
    sides[2:-2] = width * (-1.0) ** np.arange(len(heights) - 4)
    return np.column_stack([sides, np.zeros(len(heights)), heights])


def _rod(start: Array, end: Array, colour: Colour, span: float) -> Iterator[Piece]:
    way = end - start
    length = float(np.linalg.norm(way))
    if not length > 0.0:
        return
    axes = np.eye(4)
    axes[:3, :3] = along(way / length)
    for size, place in telescope(length, SHORTEST * span):
        pose = axes.copy()
        pose[:3, 3] = start + axes[:3, 2] * place
        yield Piece(solids.rod(THICKNESS * span, size), colour, pose)
