"""One picture: the machine before its ground, its shadow, arrows and numbers.

The machine is drawn twice as large as asked for and made smaller, so that edges are smooth. The
shadow is our own: the machine as the light sees it, laid on the ground.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.extras import needed
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.files.surface import Colour, Shaded, Texture
from mbd_bridge.model.spatial import Array, quaternion_matrix
from mbd_bridge.view.camera import Area, Camera, arranged
from mbd_bridge.view.draw_loads import Label, Moment, Take
from mbd_bridge.view.pieces import AWAY, CanvasStage, Piece

if TYPE_CHECKING:
    from PIL.Image import Image


# Pictures by rays: what a camera sees of triangles, computed on the processor.
#
# Embree (through embreex) finds the first triangle on each ray; light, shade and textures are
# computed here. No display, graphics card or library of the system is needed.
#
# Textures looked up at many places: smaller copies, so that nothing flickers, and in between.


class Sampler:
    """A texture that is looked up."""

    def __init__(self, texture: Texture) -> None:
        self._texture = texture

    @cached_property
    def levels(self) -> list[NDArray[np.float32]]:
        """The image, and copies of it, each half as large as the one before."""
        levels = [self._texture.pixels.astype(np.float32)]
        while max(levels[-1].shape[:2]) > 1:
            level = levels[-1]
            for axis in (0, 1):
                if level.shape[axis] > 1:
                    even, odd = (
                        level[(slice(None),) * axis + (slice(k, None, 2),)] for k in (0, 1)
                    )
                    level = 0.5 * (even + odd)
            levels.append(level)
        return levels

    def at(self, uv: Array, spread: Array) -> Array:
        """Return the colours (P, 3), 0 to 255, at texture coordinates (P, 2).

        Parameters
        ----------
        spread : (P,) how much of the texture, in parts of its edges, one pixel shows
        """
        largest = max(self.levels[0].shape[:2])
        sizes = np.log2(np.maximum(spread * largest, 1.0)).round().astype(np.int64)
        level = np.minimum(sizes, len(self.levels) - 1)
        out = np.empty((len(uv), 3), dtype=np.float32)
        for k in np.unique(level):
            chosen = level == k
            out[chosen] = _between(self.levels[k], uv[chosen])
        return out


def _between(image: NDArray[np.float32], uv: Array) -> Array:
    """Return what an image that is repeated shows, between its pixels on the straight way."""
    height, width = image.shape[:2]
    x, y = uv[:, 0] * width - 0.5, (1.0 - uv[:, 1]) * height - 0.5
    left, above = np.floor(x), np.floor(y)
    right_part, below_part = (x - left)[:, None], (y - above)[:, None]
    i, j = left.astype(np.int64), above.astype(np.int64)
    i, i_next, j, j_next = i % width, (i + 1) % width, j % height, (j + 1) % height
    upper = image[j, i] + right_part * (image[j, i_next] - image[j, i])
    lower = image[j_next, i] + right_part * (image[j_next, i_next] - image[j_next, i])
    return np.asarray(upper + below_part * (lower - upper))


AMBIENT, DIFFUSE = 0.55, 0.5
"""Brightness of what turns away from the light, and what the light adds to what faces it."""

NOTHING = -1
"""What the mask says where nothing is seen."""

BENT = float(np.cos(np.deg2rad(25.0)))
"""Cosine between the normals of neighbouring pixels, below which there is an edge."""

SMALLEST = 1e-12
"""Length of a normal, below which it has no direction."""

GRAZING = 0.2
"""Cosine between a ray and a normal, below which a pixel shows no more of a texture."""


class RayPicture(NamedTuple):
    """A picture: (height, width, 3) colours, and (height, width) which body is seen there."""

    colours: NDArray[np.uint8]
    bodies: NDArray[np.int64]


class RayCanvas:
    """A scene that is looked at along rays."""

    def __init__(self) -> None:
        for package in ("embreex", "PIL"):
            needed(
                package,
                f"pictures and films need {package} (embreex has wheels for x86-64 and Apple's "
                "processors), a page for the browser nothing (robot.web_view(...).save("
                "'page.html'), mbd view --web)",
                "mbd_bridge[view]",
            )
        self._shapes: list[Shaded] = []
        self._samplers: dict[Texture, Sampler] = {}
        self._bodies: list[tuple[int, Colour]] = []
        self._poses: list[tuple[Array, Array] | None] = []
        self._scene: _Scene | None = None

    def shape(self, piece: Shaded) -> int:
        """Return the number of a shape."""
        self._shapes.append(piece)
        if piece.texture is not None and piece.texture not in self._samplers:
            self._samplers[piece.texture] = Sampler(piece.texture)
        return len(self._shapes) - 1

    def body(self, shape: int, colour: Colour) -> int:
        """Return the number of a body that looks like a shape, in a colour."""
        self._bodies.append((shape, colour))
        self._poses.append(None)
        return len(self._bodies) - 1

    def place(self, body: int, position: Array, quaternion: Array) -> None:
        """Put a body somewhere: (3,) m, and (4,) x, y, z, w."""
        self._scene = None
        hidden = tuple(position) == AWAY
        turn = quaternion_matrix(quaternion)
        self._poses[body] = None if hidden else (turn, np.array(position))

    def image(
        self, view: Array, projection: Array, size: tuple[int, int], light: Array, finer: int = 1
    ) -> RayPicture:
        """Return what a camera sees.

        Parameters
        ----------
        view, projection : (4, 4), as OpenGL's, acting on columns
        size : width and height, pixels
        light : (3,) towards the light, in the world's axes
        finer : the picture is so many times as large; pixels between which nothing changes are
            looked at once
        """
        if self._scene is None:
            self._scene = self._placed()
        rays = _Rays(view, projection)
        towards = (np.asarray(light) / np.linalg.norm(light)).astype(np.float32)
        width, height = size
        pixel = 2.0 / (projection[1, 1] * height)
        colours, bodies, normals = self._scene.seen(*rays.through(*_grid(size, 1)), towards, pixel)
        if finer > 1:
            at_edge = _edges(bodies.reshape(height, width), normals.reshape(height, width, 3))
            shape = height, width, finer, finer
            x, y = (
                np.broadcast_to(each, (height * finer, width * finer))
                for each in _grid(size, finer)
            )
            inside = [
                each.reshape(height, finer, width, finer).swapaxes(1, 2)[at_edge].ravel()
                for each in (x, y)
            ]
            finer_seen = self._scene.seen(*rays.through(*inside), towards, pixel / finer)
            colours = np.broadcast_to(colours.reshape(height, width, 1, 1, 3), (*shape, 3)).copy()
            bodies = np.broadcast_to(bodies.reshape(height, width, 1, 1), shape).copy()
            colours[at_edge] = finer_seen[0].reshape(-1, finer, finer, 3)
            bodies[at_edge] = finer_seen[1].reshape(-1, finer, finer)
            colours, bodies = colours.swapaxes(1, 2), bodies.swapaxes(1, 2)
        tall, wide = height * finer, width * finer
        return RayPicture(colours.reshape(tall, wide, 3), bodies.reshape(tall, wide))

    def _placed(self) -> _Scene:
        """Return all triangles where the bodies are."""
        corners, normals, colours, bodies = [], [], [], []
        skins, count = list[_Skin](), 0
        for number, (pose, (shape, colour)) in enumerate(
            zip(self._poses, self._bodies, strict=True)
        ):
            if pose is None:
                continue
            turn, position = pose
            form = self._shapes[shape]
            corners.append((form.vertices @ turn.T + position)[form.triangles])
            normals.append((form.normals @ turn.T)[form.triangles])
            bodies.append(np.full(len(form.triangles), number))
            if form.uv is not None and form.texture is not None:
                skins.append(_Skin(number, count, form.uv, self._samplers[form.texture]))
            count += len(form.triangles)
            colours.append(np.broadcast_to(colour[:3], (len(form.triangles), 3)))
        if not bodies:
            none = np.zeros((0, 3, 3))
            return _Scene(none, none, np.zeros((0, 3)), np.zeros(0, dtype=np.int64), [])
        joined = [np.concatenate(parts) for parts in (corners, normals, colours, bodies)]
        return _Scene(joined[0], joined[1], joined[2], joined[3].astype(np.int64), skins)


class _Skin(NamedTuple):
    """The texture of a body: its first triangle, texture coordinates of corners, and the image."""

    body: int
    first: int
    uv: NDArray[np.float32]
    sampler: Sampler


class _Scene:
    """Triangles in the world, in single precision about a point among them.

    Parameters
    ----------
    corners, normals : (T, 3, 3) m and unit vectors, at each corner of each triangle
    colours, bodies : (T, 3) and (T,) of each triangle
    """

    def __init__(
        self,
        corners: Array,
        normals: Array,
        colours: Array,
        bodies: NDArray[np.int64],
        skins: list[_Skin],
    ) -> None:
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene

        self._normals, self._colours, self._bodies = normals.astype(np.float32), colours, bodies
        self._corners, self._skins = corners, skins
        self._origin = corners.reshape(-1, 3).mean(axis=0) if len(corners) else np.zeros(3)
        self._embree: Any = EmbreeScene()
        if len(corners):
            TriangleMesh(self._embree, (corners - self._origin).astype(np.float32))

    def seen(
        self, eye: Array, ways: Array, light: Array, pixel: float
    ) -> tuple[Array, Array, Array]:
        """Return colours (P, 3), bodies (P,) and normals (P, 3) seen from a point along ways.

        Parameters
        ----------
        pixel : edge of a pixel, m, at a depth of 1 m
        """
        colours = np.zeros((len(ways), 3), dtype=np.uint8)
        normals = np.zeros((len(ways), 3), dtype=np.float32)
        bodies = np.full(len(ways), NOTHING)
        if not len(self._bodies) or not len(ways):
            return colours, bodies, normals
        starts = np.broadcast_to((eye - self._origin).astype(np.float32), ways.shape).copy()
        hits = self._embree.run(starts, ways, output=True)
        (hit,) = np.nonzero(hits["geomID"] != NOTHING)
        triangle, u, v = hits["primID"][hit], hits["u"][hit, None], hits["v"][hit, None]
        first, second, third = np.moveaxis(self._normals[triangle], 1, 0)
        normal = (1.0 - u - v) * first + u * second + v * third
        normal /= np.maximum(np.sqrt(np.einsum("pi,pi->p", normal, normal)), SMALLEST)[:, None]
        face = hits["Ng"][hit]
        behind = np.einsum("pi,pi->p", face, ways[hit]) * np.einsum("pi,pi->p", face, normal) > 0.0
        normal[behind] *= -1.0  # both sides of a surface are seen
        shade = AMBIENT + DIFFUSE * np.maximum(normal @ light, 0.0)
        ink, body = self._colours[triangle], self._bodies[triangle]
        if self._skins:
            cosine = np.einsum("pi,pi->p", ways[hit], normal) / np.linalg.norm(ways[hit], axis=1)
            breadth = pixel * hits["tfar"][hit] / np.sqrt(np.maximum(np.abs(cosine), GRAZING))
            for skin in self._skins:
                (on_skin,) = np.nonzero(body == skin.body)
                if len(on_skin):
                    ink[on_skin] = self._texels(
                        skin, triangle[on_skin], u[on_skin], v[on_skin], breadth[on_skin]
                    )
        lit = 255.0 * np.minimum(ink * shade[:, None], 1.0)
        colours[hit], bodies[hit], normals[hit] = lit, body, normal
        return colours, bodies, normals

    def _texels(
        self, skin: _Skin, triangle: NDArray[np.int64], u: Array, v: Array, breadth: Array
    ) -> Array:
        """Return the colours (P, 3) of a texture where triangles are hit.

        Parameters
        ----------
        u, v : (P, 1) parts of a triangle's edges
        breadth : (P,) m that one pixel shows there
        """
        first, second, third = np.moveaxis(skin.uv[triangle - skin.first], 1, 0)
        across, above = second - first, third - first
        a, b, c = np.moveaxis(self._corners[triangle], 1, 0)
        area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
        shown = np.abs(across[:, 0] * above[:, 1] - across[:, 1] * above[:, 0])
        # no more than the triangle has of it: what is beyond may belong to another part
        spread = np.sqrt(shown) * np.minimum(breadth / np.sqrt(np.maximum(area, SMALLEST**2)), 1.0)
        return skin.sampler.at(first + u * across + v * above, spread) / 255.0


class _Rays:
    """The rays of a camera.

    Parameters
    ----------
    view, projection : (4, 4), as OpenGL's
    """

    def __init__(self, view: Array, projection: Array) -> None:
        right, up, back = view[:3, :3]
        self.eye = -view[:3, :3].T @ view[:3, 3]
        self._right, self._up = right / projection[0, 0], up / projection[1, 1]
        self._back = back

    def through(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Return the eye, and the ways (P, 3) through places from -1 to 1 in the picture."""
        across = np.multiply.outer(x, self._right).astype(np.float32)
        above = np.multiply.outer(y, self._up).astype(np.float32) - self._back.astype(np.float32)
        return self.eye, (across + above).reshape(-1, 3)


def _grid(size: tuple[int, int], finer: int) -> tuple[Array, Array]:
    """Return where pixels are: x (1, W) from left to right and y (H, 1) from top to bottom."""
    wide, tall = size[0] * finer, size[1] * finer
    x = (2.0 * np.arange(wide)[None, :] + 1.0) / wide - 1.0
    return x, 1.0 - (2.0 * np.arange(tall)[:, None] + 1.0) / tall


def _edges(bodies: Array, normals: Array) -> NDArray[np.bool_]:
    """Return the pixels (H, W) at which, or beside which, bodies or normals change."""
    edges = np.zeros(bodies.shape, dtype=bool)
    for axis in (0, 1):
        here, before = ((slice(None),) * axis + (part,) for part in (slice(1, None), slice(-1)))
        bent = np.einsum("hwi,hwi->hw", normals[here], normals[before]) < BENT
        change = (bodies[here] != bodies[before]) | (bent & (bodies[here] != NOTHING))
        edges[here] |= change
        edges[before] |= change
    wider = edges.copy()
    wider[1:] |= edges[:-1]
    wider[:-1] |= edges[1:]
    wider[:, 1:] |= edges[:, :-1]
    wider[:, :-1] |= edges[:, 1:]
    return wider


Pixels = NDArray[np.uint8]


class Picture(np.ndarray[Any, np.dtype[np.uint8]]):
    """A picture (height, width, 3) that a notebook shows."""

    def _repr_png_(self) -> bytes | None:
        """Return the picture in a file; None of what is no picture any more, such as a row."""
        from PIL import Image

        if self.ndim != 3 or self.shape[2] != 3 or not self.size:
            return None
        out = io.BytesIO()
        Image.fromarray(np.asarray(self)).save(out, format="PNG")
        return out.getvalue()


FINER = 2
"""How much larger than asked for a picture is drawn, each way."""

LIGHT = np.array([0.35, -0.55, 1.0])
"""Towards the light."""

SHADOW_PIXELS = 512
"""Edge of the picture that the light sees."""

LAMP = 30.0
"""How far the light is, relative to half of what the machine spans."""

DARKNESS = 0.30
"""How much light a shadow takes."""

GHOST = 0.38
"""How much of an arrow is seen through the machine."""

SKY = np.array([[222.0, 232.0, 243.0], [250.0, 251.0, 252.0]])
"""Colours of the background at the top and at the bottom."""


class Painter:
    """Paints the moments of a take from one camera.

    Parameters
    ----------
    size : width and height of the pictures, pixels
    """

    def __init__(self, take: Take, camera: Camera, size: tuple[int, int]) -> None:
        self.take, self.camera, self.size = take, camera, size
        self._floor = take.floor()
        self._canvas = RayCanvas()
        self._stage = CanvasStage(self._canvas)

    def paint(self, moment: Moment) -> Pixels:
        """Return the picture (height, width, 3) of a moment of the take."""
        from PIL import Image

        take, size = self.take, (self.size[0] * FINER, self.size[1] * FINER)
        shown = [self._floor, moment.machine, moment.pins, moment.over]
        floor, machine, _, over = self._show(shown)
        seen = self._see(self.camera, self.size, FINER)
        colours = seen.colours
        nothing = seen.bodies < 0
        colours[nothing] = _sky(size[1])[np.nonzero(nothing)[0]]
        if floor:
            shade, on_floor = self._shadow(machine, size), np.isin(seen.bodies, floor)
            colours[on_floor] = (colours[on_floor] * shade[on_floor][:, None]).astype(np.uint8)
        if over:
            self._show([moment.over])
            alone = self._see(self.camera, self.size, FINER)
            hidden = (alone.bodies >= 0) & ~np.isin(seen.bodies, over)
            mixed = GHOST * alone.colours[hidden] + (1.0 - GHOST) * colours[hidden]
            colours[hidden] = mixed.astype(np.uint8)
        image = Image.fromarray(colours).resize(self.size, Image.Resampling.BOX)
        _write_legend(image, self.camera.pixels(take.seen, self.size), take.legend())
        _write_labels(image, self.camera, moment.labels)
        return np.asarray(image)

    def _show(self, groups: Sequence[Sequence[Piece]]) -> list[list[int]]:
        """Show groups of pieces; return the bodies of each group."""
        bodies = iter(self._stage.show([piece for group in groups for piece in group]))
        return [[body for _ in group for body in next(bodies)] for group in groups]

    def _see(self, camera: Camera, size: tuple[int, int], finer: int = 1) -> RayPicture:
        return self._canvas.image(camera.view(), camera.projection(size), size, LIGHT, finer)

    def _shadow(self, bodies: list[int], size: tuple[int, int]) -> Array:
        """Return how much light each pixel would have, (height, width), if it showed the ground."""
        from PIL import Image, ImageFilter

        low, high = self.take.reach.min(axis=0), self.take.reach.max(axis=0)
        radius = 0.55 * self.take.span
        middle, away = 0.5 * (low + high), LAMP * radius * LIGHT / np.linalg.norm(LIGHT)
        field = 2.0 * np.rad2deg(np.arctan(1.0 / LAMP))
        lamp = Camera(middle + away, middle, field, 0.5 * LAMP * radius, 2.0 * LAMP * radius)
        square = (SHADOW_PIXELS, SHADOW_PIXELS)
        dark = np.isin(self._see(lamp, square).bodies, bodies)
        dark[[0, -1]] = dark[:, [0, -1]] = False  # beyond the edge there is no shadow
        image = Image.fromarray((255 * dark).astype(np.uint8))
        image = image.filter(ImageFilter.GaussianBlur(0.006 * SHADOW_PIXELS))
        level = float(self._floor[0].pose[2, 3])
        to_lamp = lamp.lens(square) @ self.camera.level(level, size)
        across = (to_lamp / to_lamp[2, 2]).ravel()[:8].tolist()
        on_ground = image.transform(
            size, Image.Transform.PERSPECTIVE, across, Image.Resampling.BILINEAR
        )
        return 1.0 - DARKNESS / 255.0 * np.asarray(on_ground, dtype=np.float32)


def _sky(height: int) -> Array:
    """Return the background's colour of each row (height, 3)."""
    down = np.linspace(0.0, 1.0, height)[:, None]
    return np.asarray((1.0 - down) * SKY[0] + down * SKY[1])


class _Pen:
    """Writes words with a white rim, so that they are read before anything."""

    def __init__(self, image: Image) -> None:
        from PIL import ImageDraw, ImageFont

        self.height = max(11, image.height // 36)
        self._draw, self._font = ImageDraw.Draw(image), ImageFont.load_default(self.height)

    def width(self, text: str) -> float:
        return float(self._draw.textlength(text, self._font))

    def write(self, place: tuple[float, float], text: str, colour: Colour) -> None:
        ink = tuple(int(200 * part) for part in colour[:3])
        halo, white = max(1, self.height // 7), (255, 255, 255)
        self._draw.text(place, text, ink, self._font, stroke_width=halo, stroke_fill=white)


def _write_legend(image: Image, seen: Array, legend: list[tuple[str, Colour]]) -> None:
    """Write the legend into the corner where least of the machine is, at any time.

    Parameters
    ----------
    seen : (K, 2) pixels between which machine and arrows are
    """
    if not legend:
        return
    pen = _Pen(image)
    row, edge = 1.35 * pen.height, 0.7 * pen.height
    wide, high = max(pen.width(text) for text, _ in legend), row * len(legend)
    left, right = edge, image.width - wide - edge
    above, below = 0.4 * pen.height, image.height - high - 0.3 * row
    corners = [(left, below), (left, above), (right, below), (right, above)]
    size = np.array([wide, high])
    x, y = min(corners, key=lambda at: np.all((seen > at) & (seen < at + size), axis=1).sum())
    for k, (text, colour) in enumerate(legend):
        pen.write((x, y + k * row), text, colour)


def _write_labels(image: Image, camera: Camera, labels: list[Label]) -> None:
    """Write numbers at arrows, none on another."""
    pen = _Pen(image)
    height = float(pen.height)
    seen = [camera.pixels(label.point, image.size) for label in labels]
    widths = [pen.width(label.text) for label in labels]
    area = Area(0.0, 0.0, image.width - 2.0, image.height - 0.3 * height)
    corners = [(x + 0.4 * height, y - 1.2 * height) for x, y in seen]
    for corner, label in zip(arranged(corners, widths, height, area), labels, strict=True):
        pen.write(corner, label.text, label.colour)
