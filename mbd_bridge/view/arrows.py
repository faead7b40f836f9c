"""Arrows and arcs of any size, made of few surfaces that are only moved.

A rod of any length L from s to 2s is two rods of the length s that slide along each other:
one ends where L begins, one where it ends. With rods of s, 2s, 4s, ... every length is there; the
same holds for arcs and their angles. What rigid mechanics does not determine is dashed and grey.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.files.surface import Colour, Surface
from mbd_bridge.forces import Bushing, ForceElement, HydropneumaticUnit, PointSpring, Track
from mbd_bridge.forces.points import PointElement, link_or_ground
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, axis_angle_matrix, homogeneous
from mbd_bridge.view import solids
from mbd_bridge.view.pieces import Piece

FORCE: Colour = (0.86, 0.18, 0.13, 1.0)
MOMENT: Colour = (0.13, 0.35, 0.85, 1.0)
ACTUATION: Colour = (0.10, 0.60, 0.26, 1.0)
EXTERNAL: Colour = (0.60, 0.16, 0.68, 1.0)
UNDETERMINED: Colour = (0.62, 0.62, 0.62, 1.0)
"""Of what is not determined."""

SHORTEST = 2.0**-5
"""The shortest rod, relative to the longest arrow: what is shorter is not drawn."""

DASHES = 14
"""Dashes of the longest dashed arrow; as many gaps lie between them."""

FULL = np.deg2rad(300.0)
"""Angle of the largest arc, rad."""

Heads = Literal[1, 2]
"""A force has one head, a moment two."""


class Arrows:
    """Arrows and arcs of one machine's size.

    Parameters
    ----------
    longest : length of the longest arrow, m
    """

    def __init__(self, longest: float) -> None:
        self.longest = longest
        self.thickness = 0.028 * longest
        self.head = 0.2 * longest
        self.radius = 0.28 * longest

    def arrow(self, start: Array, vector: Array, colour: Colour, heads: Heads = 1) -> list[Piece]:
        """Return the pieces of an arrow from a point (3,) along a vector (3,), both in m."""
        return list(self._arrow(start, vector, colour, heads, dashed=False))

    def dashed(self, start: Array, vector: Array, heads: Heads = 1) -> list[Piece]:
        """Return the pieces of an arrow that is not determined."""
        return list(self._arrow(start, vector, UNDETERMINED, heads, dashed=True))

    def _arrow(
        self, start: Array, vector: Array, colour: Colour, heads: Heads, *, dashed: bool
    ) -> Iterator[Piece]:
        length = float(np.linalg.norm(vector))
        if not SHORTEST * self.longest <= length < np.inf:
            return
        axes = homogeneous(start, along(vector / length))
        # A short arrow has a small head: halves of the full one, at most half of the length.
        size = 2.0 ** min(0.0, np.floor(np.log2(length / (2.0 * self.head))))
        head = self.head * size
        tips = [length - 0.55 * head * k for k in range(heads)]
        for tip in tips:
            yield Piece(solids.cone(0.36 * head, head), colour, axes @ _up(tip))
        end = tips[-1] - 0.5 * head
        thickness = self.thickness * max(size, 0.5)
        rods = telescope(end, SHORTEST * self.longest / 4.0)
        pieces: Iterable[tuple[Surface, float]] = (
            (solids.rod(thickness, size), place) for size, place in rods
        )
        if dashed:
            pieces = self._dashes(end, thickness)
        for surface, height in pieces:
            yield Piece(surface, colour, axes @ _up(height))

    def _dashes(self, length: float, thickness: float) -> Iterator[tuple[Surface, float]]:
        dash = self.longest / (2 * DASHES)
        surface = solids.rod(thickness, dash)
        for k in range(int(length / (2.0 * dash) + 0.5)):
            yield surface, 2.0 * k * dash

    def arc_tip(self, centre: Array, axis: Array, share: float) -> Array | None:
        """Return where an arc's head is, (3,) m; None of one that is not drawn (`actuation`)."""
        angle = FULL * min(abs(share), 1.0)
        if not angle >= FULL * SHORTEST:
            return None
        across = along(axis if share > 0.0 else -axis)[:, :2]
        return np.asarray(centre + self.radius * across @ [np.cos(angle), np.sin(angle)])

    def actuation(self, centre: Array, axis: Array, share: float) -> list[Piece]:
        """Return the pieces of an arc about an axis with a head where it turns to.

        Parameters
        ----------
        centre, axis : (3,) m, and unit vector
        share : from -1 to 1 of the largest arc; negative ones turn against the axis
        """
        angle = FULL * min(abs(share), 1.0)
        shortest = FULL * SHORTEST
        if not angle >= shortest:
            return []
        axes = homogeneous(centre, along(axis if share > 0.0 else -axis))
        thickness = 0.8 * self.thickness
        pieces = [
            Piece(solids.arc(self.radius, thickness, size), ACTUATION, axes @ _turn(start))
            for size, start in telescope(angle, shortest)
        ]
        head = 0.6 * self.head
        tip = _turn(angle)
        tip[:3, :3] = tip[:3, :3] @ np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
        tip = tip @ homogeneous([self.radius, 0.0, 0.75 * head])
        return [*pieces, Piece(solids.cone(0.36 * head, head), ACTUATION, axes @ tip)]


def telescope(length: float, shortest: float) -> Iterator[tuple[float, float]]:
    """Yield the sizes and places of pieces that cover 0 to `length` and nothing else.

    All sizes are powers of two times `shortest`; what is below it gives no piece.
    """
    if not length >= shortest:
        return
    size = float(shortest * 2.0 ** np.floor(np.log2(length / shortest)))
    yield size, 0.0
    if length > size:
        yield size, length - size


def along(axis: Array) -> Array:
    """Return a rotation (3, 3) whose third column is a unit vector, and that turns smoothly."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = np.cross(helper, axis)
    first = first / np.linalg.norm(first)
    return np.column_stack([first, np.cross(axis, first), axis])


def _up(height: float) -> Array:
    return homogeneous([0.0, 0.0, height])


def _turn(angle: float) -> Array:
    return homogeneous(np.zeros(3), axis_angle_matrix(np.eye(3)[2], np.cos(angle), np.sin(angle)))


# What is between two points: a spring as a zig-zag, other force elements and the rods of distance
# joints as straight rods.

SPRING: Colour = (0.93, 0.66, 0.10, 1.0)
OTHER: Colour = (0.45, 0.36, 0.60, 1.0)
BAND: Colour = (0.20, 0.20, 0.22, 1.0)
ROD: Colour = (0.50, 0.52, 0.56, 1.0)

TURNS = 5
"""Zig-zags of a spring."""

STRAIGHT = 0.15
"""Part of its length that a spring is straight at each end."""

THICKNESS, WIDTH = 0.006, 0.03
"""Radius of rods and half width of zig-zags, relative to the longest way in the picture."""

SHORTEST_SPRING = 2.0**-10
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
    connected = []
    for element in forces:
        if isinstance(element, PointElement | Bushing):
            coil = isinstance(element, PointSpring | HydropneumaticUnit)
            pairs = zip(element.links, element.points, strict=True)
            ends = tuple(_end(model, link, point) for link, point in pairs)
            connected.append(Connector(element.name, SPRING if coil else OTHER, coil, ends))
        elif isinstance(element, Track) and element.stiffness:
            places = [_end(model, *place) for place in element.band]
            connected += [Connector(element.name, BAND, False, pair) for pair in pairwise(places)]
    for cut in model.cuts:
        if cut.type == "distance":
            ends = ((cut.predecessor, cut.a.translation), (cut.successor, cut.b.translation))
            connected.append(Connector(cut.name, ROD, False, ends))
    return connected


def _end(model: Model, link: str, point: ArrayLike) -> tuple[int | None, Array]:
    number, position = link_or_ground(model, link), np.asarray(point, dtype=np.float64)
    if number is None:
        return None, position
    model_link = model.links[number]
    return model_link.body, model_link.frame.translation + model_link.frame.rotation @ position


def ends_of(connected: Iterable[Connector], bodies: Array) -> Iterator[Array]:
    """Yield where the ends are, (2, 3) m in the world.

    Parameters
    ----------
    bodies : (B, 4, 4) poses
    """
    for connector in connected:
        yield np.array(
            [
                point if body is None else bodies[body][:3, :3] @ point + bodies[body][:3, 3]
                for body, point in connector.ends
            ]
        )


def springs(
    model: Model, forces: tuple[ForceElement, ...], bodies: Array, span: float
) -> list[Piece]:
    """Return the pieces of all connectors, `span` m the size of the picture."""
    pieces: list[Piece] = []
    connected = connectors(model, forces)
    for connector, (first, second) in zip(connected, ends_of(connected, bodies), strict=True):
        way = second - first
        length = float(np.linalg.norm(way))
        if not SHORTEST_SPRING * span < length < np.inf:
            continue
        straight = np.array([[0.0, 0, 0], [0, 0, length]])
        corners = _zigzag(length, WIDTH * span) if connector.coil else straight
        points = first + corners @ along(way / length).T
        for start, end in pairwise(points):
            pieces += _rod(start, end, connector.colour, span)
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
    axes = along(way / length)
    for size, start_of_piece in telescope(length, SHORTEST_SPRING * span):
        pose = homogeneous(start + axes[:, 2] * start_of_piece, axes)
        yield Piece(solids.rod(THICKNESS * span, size), colour, pose)
