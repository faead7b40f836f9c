"""The machine as it is drawn: surfaces that its bodies carry, and what could not be drawn.

Textures on surfaces: each image read once, solids wrapped, and what cannot be drawn told.

Links without a picture: rods between their joints, and their inertia as a box.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mbd_bridge.base.errors import FileError, count, some, warn
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.files.mesh import read_mesh
from mbd_bridge.files.surface import Colour, Surface, Texture
from mbd_bridge.model import Model
from mbd_bridge.model.description import Geometry
from mbd_bridge.model.spatial import (
    Array,
    Frame,
    Inertia,
    homogeneous,
    rotation_that_takes_z_to,
)
from mbd_bridge.view import solids
from mbd_bridge.view.bending import SLICES, BentLink, bent_links
from mbd_bridge.view.pieces import Piece

TOP = 0.7
"""Part of a normal along a solid's axis, from which on a face counts as its top or bottom."""

BOX = 8
"""Corners of a box."""

FLAT = 1e-9
"""Part of a solid's height over which a flat face goes, and of its size up to which a point is on
its axis."""


class Textures:
    """The textures of one machine.

    Attributes
    ----------
    missing : images that cannot be drawn, and why, one line each
    """

    def __init__(self) -> None:
        self.missing: list[str] = []
        self._read: dict[str, Texture | None] = {}

    def on(self, surface: Surface, named: str | None = None) -> Surface:
        """Return a surface with a texture that can be drawn, or with none.

        Parameters
        ----------
        named : path of the image that the file names for a surface without a look of its own
        """
        texture = surface.texture
        if texture is None and named is not None and surface.colour is None:
            texture = Texture(named)
        drawn = None if texture is None else self._drawn(texture, surface)
        if drawn is None and surface.uv is None and surface.texture is None:
            return surface
        return replace(surface, texture=drawn, uv=None if drawn is None else surface.uv)

    def _drawn(self, texture: Texture, surface: Surface) -> Texture | None:
        """Return the texture with that image, None and a remark if it cannot be drawn."""
        try:
            key = os.path.realpath(texture.path)
        except (OSError, ValueError):  # no name of a file
            key = texture.path
        if key not in self._read:
            self._read[key] = texture
            try:
                texture.pixels  # noqa: B018 (read now, to tell what is wrong)
            except FileError as error:
                self.missing.append(str(error))
                self._read[key] = None
        drawn = self._read[key]
        if drawn is not None and surface.uv is None:
            self.missing.append(f"{texture.path}: the mesh does not say where on it the image is")
            return None
        return drawn


def mean_colour(surface: Surface) -> Colour | None:
    """Return the colour of a surface where its texture cannot be drawn; None if it has none.

    It is the mean of the texture at the middles of the triangles, small and large.
    """
    if surface.texture is None or surface.uv is None:
        return None
    pixels = surface.texture.pixels
    height, width, _ = pixels.shape
    x, y = surface.uv.mean(axis=1, dtype=np.float64).T
    column, row = (np.floor(k).astype(np.int64) for k in (x * width, (1.0 - y) * height))
    mean = pixels[row % height, column % width].mean(axis=0) / 255.0
    red, green, blue = mean.round(4).tolist()
    return red, green, blue, 1.0


def wrapped(solid: Surface) -> Surface:
    """Return a box, ball, cylinder or capsule about its axis z with texture coordinates.

    Flat faces along the axes show the whole image, round ones show it once around.
    """
    points = np.asarray(solid.vertices)[solid.triangles]
    low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
    x, y, z = np.moveaxis((points - low) / np.where(high > low, high - low, 1.0), -1, 0)
    side = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    if len(solid.vertices) == BOX:
        along = np.abs(side).argmax(axis=1)
        across = np.choose(along[:, None], [y, 1.0 - x, x])
        above = np.choose(along[:, None], [z, z, y])
        front = np.take_along_axis(side, along[:, None], axis=1) > 0.0
    else:
        flat = (np.abs(side[:, 2]) > TOP)[:, None] & (np.ptp(z, axis=1) < FLAT)[:, None]
        across, above = np.where(flat, x, _around(points)), np.where(flat, y, z)
        front = ~flat | (side[:, 2:] > 0.0)
    uv = np.stack([np.where(front, across, 1.0 - across), above], axis=-1)
    return replace(solid, uv=uv.astype(np.float32))


def _around(points: Array) -> Array:
    """Return how far around z corners (T, 3, 3) are, in turns; a triangle is in one piece."""
    turn = np.arctan2(points[..., 1], points[..., 0]) / (2.0 * np.pi) + 0.5
    on_axis = np.hypot(points[..., 0], points[..., 1]) < FLAT * np.abs(points).max()
    turn = np.where(on_axis, np.nan, turn)
    turn = np.where(np.nanmax(turn, axis=1, keepdims=True) - turn > 0.5, turn + 1.0, turn)
    return np.asarray(np.where(on_axis, np.nanmean(turn, axis=1, keepdims=True), turn))


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
            yield body, solids.sphere(1.3 * radius), homogeneous(points[0])
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
        for end, frame in zip(cut.links, (cut.a, cut.b), strict=True):
            if end == number:
                points.append(frame.translation)
    return points


def _rod(body: int, start: Array, end: Array, radius: float) -> Iterator[Placed]:
    way = end - start
    length = float(np.linalg.norm(way))
    if length > radius:
        pose = homogeneous(0.5 * (start + end), rotation_that_takes_z_to(way / length))
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
    pose = homogeneous(inertia.centre, axes)
    yield body, solids.box(*np.maximum(edges, 0.02 * edges.max()).tolist()), pose


PALETTE: tuple[Colour, ...] = (
    (0.36, 0.51, 0.67, 1.0),
    (0.80, 0.60, 0.32, 1.0),
    (0.48, 0.64, 0.50, 1.0),
    (0.70, 0.48, 0.46, 1.0),
    (0.55, 0.52, 0.68, 1.0),
    (0.62, 0.62, 0.58, 1.0),
)
"""Colours of bodies whose file gives none, one after the other."""

PLAIN: Colour = (0.72, 0.74, 0.77, 1.0)
"""Colour of meshes without one, and of what does not move."""

SHOWN = 3
"""How many shapes or textures that are not drawn a warning names."""


@dataclass(frozen=True, eq=False)
class Part:
    """A surface on a body.

    Attributes
    ----------
    colour : of a surface with a texture its mean, for what draws no textures
    body : index of the body that carries it; behind the model's bodies, of a slice of a link that
        bends
    pose : (4, 4) of the surface in that body
    """

    surface: Surface
    colour: Colour
    body: int
    pose: Array

    def on(self, bodies: Array) -> Piece:
        """Return it where its body is; bodies (B, 4, 4)."""
        return Piece(self.surface, self.colour, bodies[self.body] @ self.pose)


@dataclass(frozen=True, eq=False)
class Scene:
    """All parts of a machine.

    Attributes
    ----------
    bent : links that bend: their slices are bodies behind those of the model
    missing : what the file names and cannot be drawn, and why, one line each
    untextured : images of textures that cannot be drawn, and why, one line each
    """

    parts: tuple[Part, ...]
    missing: tuple[str, ...] = ()
    untextured: tuple[str, ...] = ()
    bent: tuple[BentLink, ...] = ()

    def with_slices(self, bodies: Array, q: Array) -> Array:
        """Return the model's bodies (N, B, 4, 4), and behind them slices of links that bend."""
        slices = [link.poses(bodies, q) for link in self.bent]
        return np.concatenate([bodies, *slices], axis=1) if slices else bodies

    def pieces(self, bodies: Array) -> list[Piece]:
        """Return the parts where the bodies (B, 4, 4) carry them."""
        return [part.on(bodies) for part in self.parts]

    @cached_property
    def _boxes(self) -> Array:
        """Corners (P, 8, 4) of the box around each part, in its body."""
        corners = []
        for part in self.parts:
            low, high = part.surface.vertices.min(axis=0), part.surface.vertices.max(axis=0)
            box = solids.box(1.0, 1.0, 1.0).vertices * (high - low) + 0.5 * (high + low)
            corners.append(np.column_stack([box, np.ones(8)]) @ part.pose.T)
        return np.array(corners).reshape(-1, 8, 4)

    def corners(self, bodies: Array) -> Array:
        """Return points (K, 3) between which all parts are, for bodies (N, B, 4, 4)."""
        carriers = [part.body for part in self.parts]
        points = np.einsum("npij,pkj->npki", bodies[:, carriers], self._boxes)
        return np.asarray(points[..., :3].reshape(-1, 3))


def scene(model: Model, slices: int = SLICES) -> Scene:
    """Return a machine's parts: the file's visuals, and a skeleton where it has none.

    A mesh's own colours count more than the file's, as in RViz.

    Parameters
    ----------
    slices : of each beam that bends
    """
    parts: list[Part] = []
    missing: list[str] = []
    bare: list[int] = []
    broken: set[int] = set()
    meshes = _Meshes()
    described = {link.name: link for link in model.description.links}
    bent = bent_links(model, slices)
    first = len(model.bodies) + np.cumsum([0, *(len(link_bent.points) for link_bent in bent)])
    bends = {link_bent.link: (link_bent, int(k)) for link_bent, k in zip(bent, first, strict=False)}
    for number, link in enumerate(model.links):
        described_link = described.get(link.name)
        shapes = () if described_link is None else described_link.visuals
        before = len(parts)
        flexible = bends.get(number)
        for shape in shapes:
            try:
                link_parts = _parts(shape, link.body, link.frame, meshes)
                parts += link_parts if flexible is None else _in_slices(link_parts, *flexible)
            except FileError as error:
                missing.append(f"{link.name}: {error}")
                broken.add(number)
        if len(parts) == before and flexible is not None:
            link_bent, k = flexible
            colour = colour_of(link.body)
            parts += [Part(s, colour, k + n, np.eye(4)) for n, s in link_bent.own_surface()]
        elif len(parts) == before:
            bare.append(number)
    # A sole or a sensor without a shape, on a body that has some, is well left out.
    drawn = {part.body for part in parts}
    bare = [k for k in bare if k in broken or model.links[k].body not in drawn]
    for body, surface, pose in skeleton(model, bare):
        parts.append(Part(surface, colour_of(body), body, pose))
    untextured = tuple(dict.fromkeys(meshes.textures.missing))
    return Scene(tuple(parts), tuple(dict.fromkeys(missing)), untextured, bent)


NOT_FOUND = "not found"
"""End of the line about a mesh that is not where the file says."""


def tell_missing(scene: Scene) -> None:
    """Warn of what is not drawn."""
    if scene.missing:
        shapes = count(len(scene.missing), "shape")
        advice = ""
        if any(line.endswith(NOT_FOUND) for line in scene.missing):
            advice = ". Name the folder of meshes with package_path=, --package-path or "
            advice += "ROS_PACKAGE_PATH"
        warn(f"{shapes} not drawn: {some(scene.missing, SHOWN, '; ')}{advice}")
    if scene.untextured:
        textures = count(len(scene.untextured), "texture")
        why = some(scene.untextured, SHOWN, "; ")
        warn(f"{textures} not drawn, plain colours instead: {why}")


def colour_of(body: int) -> Colour:
    """Return the colour of a body whose file gives none."""
    return PLAIN if body == 0 else PALETTE[(body - 1) % len(PALETTE)]


def _parts(shape: Geometry, body: int, link: Frame, meshes: _Meshes) -> Iterator[Part]:
    pose = (link @ shape.origin).matrix()
    if shape.kind == "mesh":
        for surface in meshes.surfaces(shape):
            colour = surface.colour or shape.colour or PLAIN
            yield Part(surface, mean_colour(surface) or colour, body, pose)
        return
    solid = _SOLIDS.get(shape.kind)
    if solid is None:
        known = ", ".join((*_SOLIDS, "mesh"))
        raise FileError(f"shapes of the kind <{shape.kind}> are not drawn; known: {known}")
    surface = solid(*shape.size)
    if shape.texture is not None:
        surface = meshes.textures.on(wrapped(surface), shape.texture)
    yield Part(surface, mean_colour(surface) or shape.colour or colour_of(body), body, pose)


def _in_slices(parts: Iterable[Part], bent: BentLink, first: int) -> Iterator[Part]:
    """Yield the parts of a link that bends in slices; `first` is the body of its first one."""
    to_link = np.linalg.inv(bent.frame)
    for part in parts:
        for k, surface in bent.parts(part.surface.moved(to_link @ part.pose)):
            yield Part(surface, part.colour, first + k, np.eye(4))


class _Meshes:
    """The meshes of one machine: those of one file, scale and texture are read once."""

    def __init__(self) -> None:
        self.textures = Textures()
        self._files: dict[str, tuple[Surface, ...]] = {}

    def surfaces(self, shape: Geometry) -> Iterable[Surface]:
        """Return the surfaces of a mesh."""
        if shape.path is None:
            raise FileError(f"mesh {shape.uri} {NOT_FOUND}")
        key = f"{shape.path} {shape.scale} {shape.texture}"
        if key not in self._files:
            surfaces = read_mesh(shape.path)
            same = shape.scale == (1.0, 1.0, 1.0)
            scaled = surfaces if same else (s.scaled(shape.scale) for s in surfaces)
            self._files[key] = tuple(self.textures.on(s, shape.texture) for s in scaled)
        return self._files[key]


_SOLIDS = {
    "box": solids.box,
    "sphere": solids.sphere,
    "cylinder": solids.cylinder,
    "capsule": solids.capsule,
}
"""Kinds of shapes in files, and what makes them of their numbers."""
