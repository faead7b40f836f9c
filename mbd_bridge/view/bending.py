"""Links that bend, as they are drawn: slices, each of which moves with its cross section.

A canvas can move bodies, but not deform them. So the surfaces of a flexible link are cut into
slices (of a modal basis: into the parts around its nodes): bodies of their own behind
those of the model. A slice moves as a station there would (`joint_table.Deflection`).

Surfaces cut across an axis into slices, so that rigid pieces can show how they bend.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.files.surface import Surface
from mbd_bridge.model import Model
from mbd_bridge.model.flexible import Beam, ModalBasis, SectionTable
from mbd_bridge.model.flexible.integrals import station_shape
from mbd_bridge.model.flexible_links import modes_of, root_of
from mbd_bridge.model.spatial import Array, homogeneous
from mbd_bridge.view import solids

OVERLAP = 1.06
"""How much longer than cut slices are drawn, so that no gap opens between turned neighbours."""


def sliced(surface: Surface, direction: Array, places: Array) -> list[tuple[int, Surface]]:
    """Return the slices of a surface with their numbers; those without triangles are left out.

    Slice k lies between places k and k + 1; the first and the last one keep what is beyond.

    Parameters
    ----------
    direction : (3,) unit vector
    places : (K + 1,) m along it, increasing
    """
    corners, whole, out = np.asarray(surface.vertices, dtype=np.float64), surface.triangles, []
    if surface.uv is not None:  # texture coordinates are cut as places are: more columns
        corners = np.column_stack([corners[whole].reshape(-1, 3), surface.uv.reshape(-1, 2)])
        whole, direction = np.arange(len(corners)).reshape(-1, 3), np.append(direction, (0.0, 0.0))
    along = (corners @ direction)[whole]
    edges = np.array([-np.inf, *places[1:-1], np.inf])
    for k, (low, high) in enumerate(pairwise(edges.tolist())):
        # always from the whole surface: a piece that is cut again and again has ever more corners
        points = corners
        triangles = whole[(along.min(axis=1) < high) & (along.max(axis=1) > low)]
        for edge, sign in ((low, 1.0), (high, -1.0)):
            if np.isfinite(edge) and len(triangles):
                points, triangles = _split(points, triangles, points @ direction - edge)
                middles = (points @ direction - edge)[triangles].mean(axis=1)
                triangles = triangles[sign * middles > 0.0]
        if not len(triangles):
            continue
        used, renumbered = np.unique(triangles, return_inverse=True)
        cut, middle = points[used], 0.5 * (places[k] + places[k + 1])
        inside = np.clip(cut @ direction, places[k], places[k + 1])
        cut = cut + ((OVERLAP - 1.0) * (inside - middle))[:, None] * direction
        renumbered = renumbered.reshape(-1, 3)
        uv = None if surface.uv is None else cut[:, 3:].astype(np.float32)[renumbered]
        out.append((k, replace(surface, vertices=cut[:, :3], triangles=renumbered, uv=uv)))
    return out


def _split(
    points: Array, triangles: NDArray[np.int64], side: Array
) -> tuple[Array, NDArray[np.int64]]:
    """Return points and triangles with those that cross a plane divided there.

    Parameters
    ----------
    side : (V,) distances from the plane
    """
    above = (side > 0.0)[triangles]
    number = above.sum(axis=1)
    cross = (number == 1) | (number == 2)
    if not cross.any():
        return points, triangles
    alone = np.where(number[cross] == 1, above[cross].argmax(axis=1), above[cross].argmin(axis=1))
    turned = (alone[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(triangles[cross], turned, axis=1).T

    def between(first: NDArray[np.int64], second: NDArray[np.int64]) -> Array:
        part = side[first] / (side[first] - side[second])
        crossing = points[first] + part[:, None] * (points[second] - points[first])
        return np.asarray(crossing)

    count, new = len(points), len(a)
    p, r = count + np.arange(new), count + new + np.arange(new)
    points = np.concatenate([points, between(a, b), between(a, c)])
    pieces = [np.column_stack(corners) for corners in ((a, p, r), (p, b, c), (p, c, r))]
    return points, np.concatenate([triangles[~cross], *pieces])


SLICES = 32
"""Of a beam: even bent into an arc of 90 degrees, neighbours are turned by 3 degrees only."""

FEW_SLICES = 12
"""The same in a window, which is told of each of them anew for each picture."""

SLIMMEST = 1.0 / 500.0
"""Half the thickness of a beam that is drawn, at least, in parts of its length."""

ROUND = 1e-6
"""Relative difference between J and Iy + Iz up to which a section is drawn as round."""

NODE = 1.0 / 80.0
"""Radius of the balls that show the nodes of a modal basis, in parts of its extent."""

MOST_NODES = 400
"""Balls of a modal basis: of more nodes every second, third, ... is drawn."""


@dataclass(frozen=True, eq=False)
class BentLink:
    """A flexible link and what its modes do at its slices.

    Attributes
    ----------
    link, body, q : index of the link, of its body, places of its modal coordinates
    frame : (4, 4) of the link in its body
    source : beam or modal basis
    places : (K + 1,) m along the beam: where it is cut; none of a modal basis
    points : (K, 3) m, in the link: centres of the slices, not deformed
    displacement, rotation : (K, 3, n) by unit modal coordinate, in the link's axes
    shortening : (K, n, n, 3), zero without stiffening
    """

    link: int
    body: int
    q: slice
    frame: Array
    source: Beam | ModalBasis
    places: Array
    points: Array
    displacement: Array
    rotation: Array
    shortening: Array

    def poses(self, bodies: Array, q: Array) -> Array:
        """Return what takes points of the undeformed link to the world, (N, K, 4, 4).

        Parameters
        ----------
        bodies : (N, B, 4, 4)
        q : (N, nq)
        """
        eta = q[:, self.q]
        theta = np.einsum("kin,sn->ski", self.rotation, eta)
        moved = np.einsum("kin,sn->ski", self.displacement, eta)
        moved += 0.5 * np.einsum("kmni,sm,sn->ski", self.shortening, eta, eta)
        tilde = np.zeros((*theta.shape, 3))
        x, y, z = np.moveaxis(theta, -1, 0)
        tilde[..., 0, 1], tilde[..., 0, 2], tilde[..., 1, 2] = -z, y, -x
        tilde[..., 1, 0], tilde[..., 2, 0], tilde[..., 2, 1] = z, -y, x
        d = 1.0 / (1.0 + 0.25 * np.einsum("ski,ski->sk", theta, theta))
        turn = np.eye(3) + d[..., None, None] * (tilde + 0.5 * tilde @ tilde)
        out = np.zeros((*theta.shape[:2], 4, 4))
        out[..., :3, :3], out[..., 3, 3] = turn, 1.0
        out[..., :3, 3] = self.points + moved - np.einsum("skij,kj->ski", turn, self.points)
        return np.asarray((bodies[:, self.body] @ self.frame)[:, None] @ out)

    def parts(self, surface: Surface) -> Iterator[tuple[int, Surface]]:
        """Yield the slices of a surface in the link's frame, each with its number."""
        if isinstance(self.source, Beam):
            along, start = self.source.frame().rotation[:, 0], np.asarray(self.source.start)
            yield from sliced(surface, along, float(start @ along) + self.places)
            return
        middles = surface.vertices[surface.triangles].mean(axis=1)
        away = np.linalg.norm(middles[:, None] - self.points[None], axis=2)
        for k in np.unique(nearest := away.argmin(axis=1)):
            yield int(k), surface.some(nearest == k)

    def own_surface(self) -> Iterator[tuple[int, Surface]]:
        """Yield the beam itself in slices, or a ball for each node."""
        if isinstance(self.source, Beam):
            yield from self.parts(beam_surface(self.source, self.places))
            return
        ball = solids.sphere(NODE * self.source.length)
        for k in range(0, len(self.points), 1 + (len(self.points) - 1) // MOST_NODES):
            yield k, ball.moved(homogeneous(self.points[k]))


def bent_links(model: Model, slices: int = SLICES) -> tuple[BentLink, ...]:
    """Return the flexible links of a model, beams in so many slices."""
    described = {item.link: item for item in model.description.flexible}
    out = []
    for part in model.flexible:
        link = model.links[part.link]
        flexible, frame = described[link.name], link.frame.matrix()
        source, root = flexible.beam, root_of(model.description, flexible)
        edges = np.zeros(0)
        if isinstance(source, ModalBasis):
            moved, turned = (np.moveaxis(item, 0, 2) for item in source.tangent_at(root))
            n = moved.shape[2]
            shapes = [source.nodes, moved, turned, np.zeros((len(moved), n, n, 3))]
        else:
            edges = np.linspace(0.0, source.length, slices + 1)
            places = (0.5 * (edges[1:] + edges[:-1])).tolist()
            modes = modes_of(model.description, flexible)
            shapes_of = [
                station_shape(source, modes, root, x, stiffening=flexible.stiffening)
                for x in places
            ]
            points = np.array([source.point(x) for x in places])
            each = (
                np.array([getattr(item, name) for item in shapes_of])
                for name in shapes_of[0]._fields
            )
            shapes = [points, *each]
        out.append(BentLink(part.link, part.body, part.q, frame, source, edges, *shapes))
    return tuple(out)


def beam_surface(beam: Beam, x: Array) -> Surface:
    """Return the beam with its sections, in the link's frame: round ones round, others as boxes.

    Where the outermost fibres are not known, they are those of a rectangle with these moments.

    Parameters
    ----------
    x : (K,) m along the beam, where there are points
    """
    if isinstance(beam.section, SectionTable):
        known, sections = np.asarray(beam.section.x), beam.section.sections
    else:
        known, sections = np.zeros(1), (beam.section,)
    round_ones = all(abs(s.J / (s.Iy + s.Iz) - 1.0) < ROUND for s in sections)
    turn = np.linspace(0.0, 2.0 * np.pi, solids.ROUND + 1)
    if not round_ones:
        turn = np.deg2rad([45.0, 135.0, 225.0, 315.0, 405.0])
    size = 1.0 if round_ones else np.sqrt(2.0)
    y = [np.sqrt(3.0 * s.Iz / s.A) if s.half_y is None else s.half_y for s in sections]
    z = [np.sqrt(3.0 * s.Iy / s.A) if s.half_z is None else s.half_z for s in sections]
    least = SLIMMEST * beam.length
    half_y, half_z = (np.maximum(np.interp(x, known, half), least) for half in (y, z))
    rows = [
        np.column_stack([np.full_like(turn, at), a * size * np.cos(turn), b * size * np.sin(turn)])
        for at, a, b in zip(x, half_y, half_z, strict=True)
    ]
    ends = [np.tile([at, 0.0, 0.0], (len(turn), 1)) for at in (0.0, beam.length)]
    return solids.net(np.array([ends[0], *rows, ends[1]])[::-1]).moved(beam.frame().matrix())
