"""What a machine along time looks like, as a plain dictionary: the data of the page that shows it.

Arrays are base64 texts of little-endian numbers; lengths are m, times s, forces N, moments N m, in
the world's axes. The same description serves a report, a page of its own and a notebook.

Textures as they are in a page: small images, PNG or JPEG, whichever is shorter.

Surfaces with fewer triangles: corners in one cell of a grid become one.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.readable import FROM, SMALL
from mbd_bridge.files.surface import Colour, Surface, Texture
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.model.model import ModelLink
from mbd_bridge.model.quaternions import near_signs, quaternions_of
from mbd_bridge.model.spatial import Array
from mbd_bridge.view import arrows
from mbd_bridge.view.arrows import THICKNESS, connectors, ends_of
from mbd_bridge.view.bending import BentLink
from mbd_bridge.view.camera import direction
from mbd_bridge.view.draw_loads import LONGEST, Overlays, Take
from mbd_bridge.view.marks import AXES, CENTRE, centre_of_mass
from mbd_bridge.view.record import favourable
from mbd_bridge.view.scales import (
    Scale,
    ShownLoad,
    check_factor,
    exaggerated,
    shown_loads,
    visible_factor,
)
from mbd_bridge.view.scene import Part
from mbd_bridge.view.source import Source

EDGE, SMALLEST = 1024, 16
"""Width and height of an image in a page, pixels: at most, and what many of them are left with."""

PIXELS = 2**21
"""Most pixels of all images of a page, two of full size: some 600 kB of photographs."""

QUALITY = 85
"""Of a JPEG, as Pillow counts."""


def embedded(textures: Sequence[Texture]) -> list[str]:
    """Return images as base64 texts of PNG or JPEG files, smaller where they are many."""
    edge = EDGE
    while edge > SMALLEST and sum(_pixels(texture, edge) for texture in textures) > PIXELS:
        edge //= 2
    return [base64.b64encode(_file(texture, edge)).decode("ascii") for texture in textures]


def _pixels(texture: Texture, edge: int) -> int:
    height, width, _ = texture.pixels.shape
    return int(min(height, edge) * min(width, edge))


def _file(texture: Texture, edge: int) -> bytes:
    from PIL import Image

    image = Image.fromarray(texture.pixels)
    size = min(image.width, edge), min(image.height, edge)
    image = image.resize(size, Image.Resampling.BOX)
    encoded = []
    for kind, options in (("PNG", {"optimize": True}), ("JPEG", {"quality": QUALITY})):
        out = io.BytesIO()
        image.save(out, kind, **options)
        encoded.append(out.getvalue())
    return min(encoded, key=len)


FINEST, COARSEST = 512, 4
"""Cells along the longest edge of a surface, from the finest grid to the coarsest."""

FASTEST = 3.0
"""How much faster than on the average a texture may change over a surface."""

SLIVER = 1e-9
"""Square of a triangle's area, in parts of its edges' squares: those with less count as so much."""


def simplified(surface: Surface, most: int) -> Surface:
    """Return a surface of at most so many triangles, or as few as the coarsest grid leaves."""
    cells, simpler = FINEST, surface
    while len(simpler.triangles) > most and cells >= COARSEST:
        simpler, cells = clustered(surface, cells), cells * 3 // 4
    return simpler


def clustered(surface: Surface, cells: int) -> Surface:
    """Return a surface whose corners are the means of those in each cell.

    Parameters
    ----------
    cells : along the longest edge of the surface's box
    """
    points = np.asarray(surface.vertices, dtype=np.float64)
    low, span = points.min(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    cell = np.floor((points - low) * (cells / span)).astype(np.int64)
    _, cell_of, counts = np.unique(_numbered(cell), return_inverse=True, return_counts=True)
    means = np.zeros((len(counts), 3))
    np.add.at(means, cell_of, points)
    triangles = cell_of[np.asarray(surface.triangles)]
    a, b, c = triangles.T
    left = surface.some((a != b) & (b != c) & (c != a))
    vertices, uv, corners = means / counts[:, None], left.uv, cell_of[left.triangles]
    if uv is not None:
        uv = _carried_on(uv, points[left.triangles], vertices[corners]).astype(np.float32)
    # each begins with its lowest corner, seen from the same side
    order = (corners.argmin(axis=1)[:, None] + np.arange(3)) % 3
    corners = np.take_along_axis(corners, order, axis=1)
    uv = None if uv is None else np.take_along_axis(uv, order[..., None], axis=1)
    _, single = np.unique(_numbered(corners), return_index=True)
    return replace(surface, vertices=vertices, triangles=corners, uv=uv).some(single)


def _numbered(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each row (K, 3) of indices, in the order of the rows.

    To compare numbers is ten times as fast as to compare rows.
    """
    width = int(rows.max(initial=0)) + 1
    _, pairs = np.unique(rows[:, 0] * width + rows[:, 1], return_inverse=True)
    return np.asarray(pairs * width + rows[:, 2])


def _carried_on(uv: Array, corners: Array, moved: Array) -> Array:
    """Return texture coordinates where the corners of triangles were moved to.

    Each triangle's map from places to the texture goes on beyond its edges; that of slivers no
    further than others do.

    Parameters
    ----------
    uv, corners, moved : (T, 3, 2), and (T, 3, 3) m before and after
    """
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across, above = uv[:, 1] - uv[:, 0], uv[:, 2] - uv[:, 0]
    shift = moved - corners
    aa, bb, ab = (np.einsum("ti,ti->t", x, y)
                  for x, y in ((first, first), (second, second), (first, second)))  # fmt: skip
    area = np.maximum(aa * bb - ab**2, SLIVER * np.maximum(aa * bb, np.finfo(float).tiny))
    by_first, by_second = (np.einsum("tci,ti->tc", shift, edge) for edge in (first, second))
    u = (bb[:, None] * by_first - ab[:, None] * by_second) / area[:, None]
    v = (aa[:, None] * by_second - ab[:, None] * by_first) / area[:, None]
    step = u[..., None] * across[:, None] + v[..., None] * above[:, None]
    shown = np.abs(across[:, 0] * above[:, 1] - across[:, 1] * above[:, 0]).sum()
    dense = np.sqrt(shown / np.sqrt(area).sum())
    most = FASTEST * dense * np.linalg.norm(shift, axis=2, keepdims=True)
    length = np.linalg.norm(step, axis=2, keepdims=True)
    return np.asarray(uv + step * np.minimum(1.0, most / np.maximum(length, np.finfo(float).tiny)))


def within(surfaces: Sequence[Surface], most: int) -> list[Surface]:
    """Return surfaces that have at most so many triangles together, the largest ones simplified.

    Parameters
    ----------
    most : triangles of all; surfaces with few of them keep theirs
    """
    sizes = sorted(len(surface.triangles) for surface in surfaces)
    left, share = most, most
    for k, size in enumerate(sizes):
        share = left // (len(sizes) - k)
        if size > share:
            break
        left -= size
    return [simplified(surface, share) for surface in surfaces]


Description = dict[str, Any]

TRIANGLES = 20_000
"""Most triangles of all surfaces: some 300 kB of the page."""

NUMBERS = 60_000
"""Most numbers of places and loads along time: some 300 kB of the page."""

MOST, FEWEST = 240, 12
"""Instants that are kept: more are not told apart in a film of some seconds, fewer jerk."""

GRID = 65_535
"""Steps of a surface's coordinates along each edge of its box."""


def describe(
    source: Source,
    overlays: Overlays | None = None,
    *,
    keep: float | None = None,
    title: str = "",
    view: tuple[float, float] | None = None,
    playing: bool = False,
    speed: float = 1.0,
) -> Description:
    """Return the description of a machine's states and loads.

    Parameters
    ----------
    overlays : what is shown beside the machine at first
    keep : s, a time that is among the instants that are kept, and shown first
    title : of the scene
    view : yaw and pitch of the camera, degrees; None: chosen for the machine
    playing, speed : whether it plays from the beginning on, and how many seconds in a second
    """
    shown = overlays or Overlays()
    source = source.records(instants(source, keep))
    factor = check_factor(source.model, shown.exaggerate)
    take = Take(source, shown._replace(exaggerate=factor))
    take.tell()
    pins = list(take.marks.joints())
    shapes = [part.surface for part in take.scene.parts]
    distinct = list({id(surface): surface for surface in shapes}.values())
    extra = {id(pin.surface): pin.surface for pin in pins if pin.surface not in distinct}.values()
    numbers = {id(surface): k for k, surface in enumerate([*distinct, *extra])}
    textures = list(dict.fromkeys(item.texture for item in distinct if item.texture is not None))
    low, high = take.reach.min(axis=0), take.reach.max(axis=0)
    return {
        "title": title or source.model.name,
        "textures": embedded(textures),
        "meshes": [_mesh(surface, textures) for surface in [*within(distinct, TRIANGLES), *extra]],
        "parts": [_part(part, numbers) for part in take.scene.parts],
        "marks": {
            "joints": [_part(pin, numbers) for pin in pins],
            "frames": [_frame(link) for link in source.model.links],
            "axes": [*take.marks.axes],
            "axis_colours": [_colour(colour) for colour in AXES],
            "ball": take.marks.ball,
            "ball_colour": _colour(CENTRE),
            "shown": {
                "joints": take.has_pins,
                "centre": shown.centre,
                "frames": [*shown.frames],
            },
        },
        "first": 0 if keep is None else int(np.abs(source.time - keep).argmin()),
        "bent": [_bent(item) for item in take.scene.bent],
        "exaggerate": factor,
        **state_of(take),
        "exaggerated": _exaggerated(take),
        "colours": {
            "force": _colour(arrows.FORCE),
            "moment": _colour(arrows.MOMENT),
            "actuation": _colour(arrows.ACTUATION),
            "undetermined": _colour(arrows.UNDETERMINED),
            "external": _colour(arrows.EXTERNAL),
        },
        "box": [*_rounded(low), *_rounded(high)],
        "up": _rounded(_up(source.model.gravity)),
        "ground": bool(take.floor()),
        "labels": shown.labels,
        "view": _rounded(direction(*(view or favourable(take)))),
        "playing": playing,
        "speed": speed,
        "readable": {"from": FROM, "small": SMALL},
    }


def state_of(take: Take) -> Description:
    """Return what changes from state to state: times, bodies, springs, loads and their scale."""
    source = take.source
    bodies, count = take.bodies(source.q), len(source.model.bodies)
    loads = [] if source.loads is None else shown_loads(source.model, source.loads, bodies)
    floors = RoundOff.of(None) if source.loads is None else source.loads.round_off
    centre = centre_of_mass(take.model, bodies)
    return {
        "time": _floats(source.time),
        "bodies": {"count": count, "poses": _floats(poses(bodies[:, :count]))},
        "amplitudes": _amplitudes(take),
        "centre": None if centre is None else _floats(centre),
        "springs": _springs(source, bodies, take.span),
        "loads": [_load(load, floors) for load in loads],
        "external": _external(source, bodies),
        "scale": _scale(take.scale, take.span),
    }


def instants(source: Source, keep: float | None) -> NDArray[np.int64]:
    """Return the rows that are kept: evenly in time, with both ends and that of `keep`."""
    loads = 0 if source.loads is None else 16 * len(source.loads.joints)
    places = 3 + 7 * len(source.model.bodies) + source.model.nq
    factors = 2 if source.model.flexible else 1
    most = min(MOST, max(FEWEST, NUMBERS // (factors * (places + loads))))
    count = len(source.time)
    if count <= most:
        return np.arange(count)
    wanted = np.linspace(source.time[0], source.time[-1], most)
    rows = {int(row) for row in np.searchsorted(source.time, wanted).clip(0, count - 1)}
    if keep is not None:
        rows.add(int(np.abs(source.time - keep).argmin()))
    return np.array(sorted(rows))


def poses(bodies: Array) -> Array:
    """Return positions and unit quaternions x, y, z, w (N, B, 7) of bodies (N, B, 4, 4).

    Quaternions go on from instant to instant without a change of sign.
    """
    turns = quaternions_of(bodies[..., :3, :3])
    turns *= near_signs(turns)[..., None]
    return np.concatenate([bodies[..., :3, 3], turns], axis=-1)


def _mesh(surface: Surface, textures: Sequence[Texture]) -> Description:
    points, triangles = np.asarray(surface.vertices, dtype=np.float64), surface.triangles
    skin: Description = {}
    if surface.uv is not None and surface.texture is not None:
        corners = np.column_stack([triangles.reshape(-1, 1), surface.uv.reshape(-1, 2)])
        rows, index = np.unique(corners, axis=0, return_inverse=True)
        points, triangles = points[rows[:, 0].astype(np.int64)], index.reshape(-1, 3)
        skin = {"texture": textures.index(surface.texture), "uv": _steps(rows[:, 1:])}
    wide = len(points) > GRID
    return {
        **_steps(points),
        "triangles": _text(np.asarray(triangles).astype("<u4" if wide else "<u2")),
        "wide": wide,
        **skin,
    }


def _steps(points: Array) -> Description:
    """Return rows of numbers (V, K) as steps from the lowest."""
    low, span = points.min(axis=0), np.ptp(points, axis=0)
    steps = np.round((points - low) / np.where(span > 0.0, span, 1.0) * GRID)
    return {
        "low": [float(f"{x:.7g}") for x in low],
        "step": [float(f"{x / GRID:.7g}") for x in span],
        "points": _text(steps.astype("<u2")),
    }


def _springs(source: Source, bodies: Array, span: float) -> list[Description]:
    """Return where what is between two points is along time, (N, 2, 3) m each."""
    connected = connectors(source.model, source.forces)
    along = np.array([list(ends_of(connected, each)) for each in bodies])
    return [
        {
            "name": connector.name,
            "coil": connector.coil,
            "colour": _colour(connector.colour),
            "radius": THICKNESS * span,
            "ends": _floats(along[:, k]),
        }
        for k, connector in enumerate(connected)
    ]


def _bent(one: BentLink) -> Description:
    """Return how the slices of a link that bends move.

    Slices are bodies behind the others, in this order (see `view.bending`).
    """
    return {
        "body": one.body,
        "frame": [float(x) for x in one.frame.T.ravel()],
        "points": _floats(one.points),
        "displacement": _floats(one.displacement),
        "rotation": _floats(one.rotation),
        **({"shortening": _floats(one.shortening)} if one.shortening.any() else {}),
    }


def _amplitudes(take: Take) -> list[str]:
    """Return the modal coordinates of links that bend along time, as they are drawn."""
    q, _ = exaggerated(take.model, take.source.q, take.overlays.exaggerate)
    return [_floats(q[:, link.q]) for link in take.scene.bent]


def _exaggerated(take: Take) -> Description | None:
    """Return the same states with another factor on deflections: between both a page draws any."""
    source, factor = take.source, take.overlays.exaggerate
    other = 1.0
    if factor == 1.0:
        other = visible_factor(take.model, take.scene.bent, source.q, take.span)
    if other == factor:
        return None
    same = take.with_overlays(take.overlays._replace(exaggerate=other))
    return {"factor": other, **state_of(same)}


def _part(part: Part, place: Mapping[int, int]) -> Description:
    return {
        "mesh": place[id(part.surface)],
        "colour": _colour(part.colour),
        "body": int(part.body),
        "pose": _pose(part.pose),
    }


def _frame(link: ModelLink) -> Description:
    return {"name": link.name, "body": int(link.body), "pose": _pose(link.frame.matrix())}


def _pose(pose: Array) -> list[float]:
    rounded = (round(float(x), 9) for x in pose[:3].ravel())
    return [int(x) if x.is_integer() else x for x in rounded]


def _load(load: ShownLoad, floors: RoundOff) -> Description:
    """Return a joint's load; what is nothing but rounding is left out."""
    content: Description = {"joint": load.joint, "point": _floats(load.point)}
    for name, unit in (("force", "N"), ("moment", "N m")):
        for kind in (name, f"open_{name}"):
            vectors = getattr(load, kind)
            if np.linalg.norm(vectors, axis=1).max(initial=0.0) > floors.floor(unit):
                content[kind] = _floats(vectors)
    if load.axis is not None and load.actuation is not None:
        unit = "N m" if load.turns else "N"
        if np.abs(load.actuation).max(initial=0.0) > floors.floor(unit):
            content |= {"axis": _floats(load.axis), "actuation": _floats(load.actuation)}
            content["turns"] = load.turns
    return content


def _external(source: Source, bodies: Array) -> list[Description]:
    """Return external wrenches along time in the world, (N, 3) each, at their points."""
    content = []
    for wrench in source.applied:
        point, force, moment = wrench.in_world(source.model, bodies)
        parts = {"point": point, "force": force, "moment": moment}
        content.append({"link": wrench.link} | {name: _floats(x) for name, x in parts.items()})
    return content


def _scale(scale: Scale, span: float) -> Description:
    """Return lengths of arrows: m/N, m/(N m), and parts of the largest arc per N m."""
    longest = LONGEST * span
    return {
        "force": scale.force,
        "moment": scale.moment,
        "actuation": scale.actuation,
        "longest": longest,
        "shortest": arrows.SHORTEST * longest,
        "arc": arrows.FULL,
    }


def _up(gravity: Array) -> Array:
    """Return which way is up: against gravity, along z where there is none."""
    size = float(np.linalg.norm(gravity))
    return np.array([0.0, 0.0, 1.0]) if size == 0.0 else -np.asarray(gravity) / size


def _colour(colour: Colour) -> list[float]:
    return [round(float(x), 4) for x in colour[:3]]


def _rounded(values: Array | Sequence[float]) -> list[float]:
    return [float(f"{x:.7g}") for x in values]


def _floats(values: Array) -> str:
    return _text(np.asarray(values).astype("<f4"))


def _text(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")
