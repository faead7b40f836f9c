"""What is between two points: a spring as a zig-zag, other force elements and the rods of distance
joints as straight rods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.files.mesh import Colour
from mbd_bridge.forces import Bushing, ForceElement, HydropneumaticUnit, PointSpring
from mbd_bridge.forces.points import PointElement, link_or_ground
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.view import solids
from mbd_bridge.view.arrows import along, telescope
from mbd_bridge.view.pieces import Piece

SPRING: Colour = (0.93, 0.66, 0.10, 1.0)
OTHER: Colour = (0.45, 0.36, 0.60, 1.0)
ROD: Colour = (0.50, 0.52, 0.56, 1.0)

TURNS = 5
"""Zig-zags of a spring."""

STRAIGHT = 0.15
"""Part of its length that a spring is straight at each end."""

THICKNESS, WIDTH = 0.006, 0.03
"""Radius of rods and half width of zig-zags, relative to the longest way in the picture."""

SHORTEST = 2.0**-10
"""The shortest rod, relative to that way."""


class Connector(NamedTuple):
    """What is drawn between two points.

    Attributes
    ----------
    name : of the force element or of the distance joint
    colour : of all of it
    coil : a zig-zag, else a straight rod
    ends : body (None: the ground) and point (3,) m in it, twice
    """

    name: str
    colour: Colour
    coil: bool
    ends: tuple[tuple[int | None, Array], ...]


def connectors(model: Model, forces: Iterable[ForceElement]) -> list[Connector]:
    """Return the elements that act between two points, and the rods of distance joints."""
    found = []
    for element in forces:
        if isinstance(element, PointElement | Bushing):
            coil = isinstance(element, PointSpring | HydropneumaticUnit)
            pairs = zip(element.links, element.points, strict=True)
            ends = tuple(_end(model, link, point) for link, point in pairs)
            found.append(Connector(element.name, SPRING if coil else OTHER, coil, ends))
    for cut in model.cuts:
        if cut.type == "distance":
            ends = ((cut.predecessor, cut.a.translation), (cut.successor, cut.b.translation))
            found.append(Connector(cut.name, ROD, False, ends))
    return found


def _end(model: Model, link: str, point: ArrayLike) -> tuple[int | None, Array]:
    number, place = link_or_ground(model, link), np.asarray(point, dtype=np.float64)
    if number is None:
        return None, place
    own = model.links[number]
    return own.body, own.frame.translation + own.frame.rotation @ place


def ends_of(found: Iterable[Connector], bodies: Array) -> Iterator[Array]:
    """Yield where the ends are, (2, 3) m in the world.

    Parameters
    ----------
    bodies : (B, 4, 4) poses
    """
    for one in found:
        yield np.array(
            [
                point if body is None else bodies[body][:3, :3] @ point + bodies[body][:3, 3]
                for body, point in one.ends
            ]
        )


def springs(
    model: Model, forces: tuple[ForceElement, ...], bodies: Array, span: float
) -> list[Piece]:
    """Return the pieces of all connectors, `span` m the size of the picture."""
    pieces: list[Piece] = []
    found = connectors(model, forces)
    for one, (first, second) in zip(found, ends_of(found, bodies), strict=True):
        way = second - first
        length = float(np.linalg.norm(way))
        if not SHORTEST * span < length < np.inf:
            continue
        straight = np.array([[0.0, 0, 0], [0, 0, length]])
        corners = _zigzag(length, WIDTH * span) if one.coil else straight
        points = first + corners @ along(way / length).T
        for start, end in pairwise(points):
            pieces += _rod(start, end, one.colour, span)
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
