"""Links without a picture: rods between their joints, and their inertia as a box."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mbd_bridge.formats.mesh import Surface
from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array, Inertia, rotation_that_takes_z_to
from mbd_bridge.view import solids

THICKNESS = 0.024
"""Radius of rods, relative to the length typical of the mechanism."""

LARGEST_BOX = 2.0
"""Longest edge of an inertia's box, relative to that length: more is left out."""

Placed = tuple[int, Surface, Array]
"""A body, a surface, and its pose (4, 4) on that body."""


def skeleton(model: Model, links: Sequence[int]) -> Iterator[Placed]:
    """Yield rods from the joint before to the joints behind each link, and its inertia's box.

    Stations of links that bend have no balls: they are points of what is drawn.
    """
    stations = {joint.child for joint in model.joints if joint.is_station}
    radius = THICKNESS * _reach(model)
    for number in links:
        body = model.links[number].body
        points = _joints_on(model, number)
        for end in points[1:]:
            yield from _rod(body, points[0], end, radius)
        if number not in stations and (
            len(points) == 1 or not any(np.linalg.norm(p - points[0]) > radius for p in points[1:])
        ):
            yield body, solids.sphere(1.3 * radius), _at(points[0])
        yield from _box(body, model.links[number].inertia, LARGEST_BOX * _reach(model))


def _reach(model: Model) -> float:
    """Return a length (m) typical of the ways between joints and masses."""
    ways = [float(np.linalg.norm(b.placement.translation)) for b in model.bodies[1:]]
    ways += [float(np.linalg.norm(f.translation)) for cut in model.cuts for f in (cut.a, cut.b)]
    ways += [float(np.linalg.norm(link.frame.translation)) for link in model.links]
    ways += [float(np.linalg.norm(link.inertia.centre)) for link in model.links]
    positive = [way for way in ways if way > 0.0]
    return float(np.median(positive)) if positive else 1.0


def _joints_on(model: Model, number: int) -> list[Array]:
    """Return where joints sit on a link, m in its body: the one that carries it first."""
    link = model.links[number]
    points = [link.frame.translation]
    for joint in model.joints[1:]:
        if joint.parent == number:
            points.append((link.frame @ joint.parent_frame).translation)
    for cut in model.cuts:
        for end, own in zip(cut.links, (cut.a, cut.b), strict=True):
            if end == number:
                points.append(own.translation)
    return points


def _rod(body: int, start: Array, end: Array, radius: float) -> Iterator[Placed]:
    way = end - start
    length = float(np.linalg.norm(way))
    if length > radius:
        pose = _at(0.5 * (start + end))
        pose[:3, :3] = rotation_that_takes_z_to(way / length)
        yield body, solids.capsule(radius, length), pose


def _box(body: int, inertia: Inertia, largest: float) -> Iterator[Placed]:
    """Yield the box of even density with a link's mass and moments, where there is one."""
    if inertia.mass <= 0.0 or not np.any(inertia.central):
        return
    moments, axes = np.linalg.eigh(inertia.central)
    squares = 6.0 / inertia.mass * (moments.sum() - 2.0 * moments)
    edges = np.sqrt(np.maximum(squares, 0.0))
    if not 0.0 < edges.max() <= largest:
        return
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    pose = _at(inertia.centre)
    pose[:3, :3] = axes
    yield body, solids.box(*np.maximum(edges, 0.02 * edges.max()).tolist()), pose


def _at(position: Array) -> Array:
    out = np.eye(4)
    out[:3, 3] = position
    return out
