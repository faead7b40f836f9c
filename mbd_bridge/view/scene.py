"""The machine as it is drawn: surfaces that its bodies carry, and what could not be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mbd_bridge.errors import FileError, count, some, warn
from mbd_bridge.formats import Geometry
from mbd_bridge.formats.mesh import Colour, Surface, read_mesh
from mbd_bridge.lazy import cached_property
from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array, Frame
from mbd_bridge.view import solids
from mbd_bridge.view.bending import SLICES, BentLink, bent_links
from mbd_bridge.view.pieces import Piece
from mbd_bridge.view.skeleton import skeleton
from mbd_bridge.view.texturing import Textures, mean_colour, wrapped

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
        slices = [one.poses(bodies, q) for one in self.bent]
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
        found = np.einsum("npij,pkj->npki", bodies[:, carriers], self._boxes)
        return np.asarray(found[..., :3].reshape(-1, 3))


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
    first = len(model.bodies) + np.cumsum([0, *(len(one.points) for one in bent)])
    bends = {one.link: (one, int(k)) for one, k in zip(bent, first, strict=False)}
    for number, link in enumerate(model.links):
        found = described.get(link.name)
        shapes = () if found is None else found.visuals
        before = len(parts)
        flexible = bends.get(number)
        for shape in shapes:
            try:
                own = _parts(shape, link.body, link.frame, meshes)
                parts += own if flexible is None else _in_slices(own, *flexible)
            except FileError as error:
                missing.append(f"{link.name}: {error}")
                broken.add(number)
        if len(parts) == before and flexible is not None:
            one, k = flexible
            colour = colour_of(link.body)
            parts += [Part(s, colour, k + n, np.eye(4)) for n, s in one.own_surface()]
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


def tell_missing(found: Scene) -> None:
    """Warn of what is not drawn."""
    if found.missing:
        shapes = count(len(found.missing), "shape")
        advice = ""
        if any(line.endswith(NOT_FOUND) for line in found.missing):
            advice = ". Name the folder of meshes with package_path=, --package-path or "
            advice += "ROS_PACKAGE_PATH"
        warn(f"{shapes} not drawn: {some(found.missing, SHOWN, '; ')}{advice}")
    if found.untextured:
        textures = count(len(found.untextured), "texture")
        why = some(found.untextured, SHOWN, "; ")
        warn(f"{textures} not drawn, plain colours instead: {why}")


def colour_of(body: int) -> Colour:
    """Return the colour of a body whose file gives none."""
    return PLAIN if body == 0 else PALETTE[(body - 1) % len(PALETTE)]


def matrix(frame: Frame) -> Array:
    """Return a frame as a matrix (4, 4)."""
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = frame.rotation, frame.translation
    return out


def _parts(shape: Geometry, body: int, link: Frame, meshes: _Meshes) -> Iterator[Part]:
    pose = matrix(link @ shape.origin)
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
            found = read_mesh(shape.path)
            same = shape.scale == (1.0, 1.0, 1.0)
            scaled = found if same else (s.scaled(shape.scale) for s in found)
            self._files[key] = tuple(self.textures.on(s, shape.texture) for s in scaled)
        return self._files[key]


_SOLIDS = {
    "box": solids.box,
    "sphere": solids.sphere,
    "cylinder": solids.cylinder,
    "capsule": solids.capsule,
}
"""Kinds of shapes in files, and what makes them of their numbers."""
