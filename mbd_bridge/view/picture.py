"""One picture: the machine before its ground, its shadow, arrows and numbers.

The machine is drawn twice as large as asked for and made smaller, so that edges are smooth. The
shadow is our own: the machine as the light sees it, laid on the ground.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.files.mesh import Colour
from mbd_bridge.model.spatial import Array
from mbd_bridge.view.camera import Camera
from mbd_bridge.view.labels import Area, arranged
from mbd_bridge.view.pieces import CanvasStage, Piece
from mbd_bridge.view.rays import RayCanvas, RayPicture
from mbd_bridge.view.take import Label, Moment, Take

if TYPE_CHECKING:
    from PIL.Image import Image


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
        floor, own, _, over = self._show(shown)
        seen = self._see(self.camera, self.size, FINER)
        colours = seen.colours
        nothing = seen.bodies < 0
        colours[nothing] = _sky(size[1])[np.nonzero(nothing)[0]]
        if floor:
            shade, there = self._shadow(own, size), np.isin(seen.bodies, floor)
            colours[there] = (colours[there] * shade[there][:, None]).astype(np.uint8)
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

    def _shadow(self, own: list[int], size: tuple[int, int]) -> Array:
        """Return how much light each pixel would have, (height, width), if it showed the ground."""
        from PIL import Image, ImageFilter

        low, high = self.take.reach.min(axis=0), self.take.reach.max(axis=0)
        radius = 0.55 * self.take.span
        middle, away = 0.5 * (low + high), LAMP * radius * LIGHT / np.linalg.norm(LIGHT)
        field = 2.0 * np.rad2deg(np.arctan(1.0 / LAMP))
        lamp = Camera(middle + away, middle, field, 0.5 * LAMP * radius, 2.0 * LAMP * radius)
        square = (SHADOW_PIXELS, SHADOW_PIXELS)
        found = np.isin(self._see(lamp, square).bodies, own)
        found[[0, -1]] = found[:, [0, -1]] = False  # beyond the edge there is no shadow
        image = Image.fromarray((255 * found).astype(np.uint8))
        image = image.filter(ImageFilter.GaussianBlur(0.006 * SHADOW_PIXELS))
        level = float(self._floor[0].pose[2, 3])
        to_lamp = lamp.lens(square) @ self.camera.level(level, size)
        across = (to_lamp / to_lamp[2, 2]).ravel()[:8].tolist()
        there = image.transform(
            size, Image.Transform.PERSPECTIVE, across, Image.Resampling.BILINEAR
        )
        return 1.0 - DARKNESS / 255.0 * np.asarray(there, dtype=np.float32)


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
    for place, label in zip(arranged(corners, widths, height, area), labels, strict=True):
        pen.write(place, label.text, label.colour)
