"""A surface of triangles: what is left of any shape before it is drawn."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.extras import needed
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.xml_reader import read_bytes
from mbd_bridge.model.spatial import Array

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage


# The image that a mesh or a material names: read when it is drawn, made small, kept.

MAX_BYTES = 64 * 2**20
"""Largest image file that is read, bytes."""

MOST_PIXELS = 2**25
"""Pixels of an image that is read: 8192 x 4096. About 0.2 GB while it is made smaller."""

LARGEST = 1024
"""Width and height of a texture, pixels: more are not told apart in a picture of a machine."""

LONGEST_NAME = 4096
"""Characters of a name: what is longer is no name of a file."""

FORMATS = ("PNG", "JPEG", "BMP", "TGA", "GIF", "TIFF", "WEBP")
"""As Pillow names them."""

FAULTS = (
    OSError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, EOFError,
    AttributeError, RuntimeError, AssertionError, MemoryError, struct.error, zlib.error, Warning,
)  # fmt: skip
"""What Pillow's decoders raise on broken files."""


class Texture:
    """An image on a surface; `pixels` reads it, once.

    Parameters
    ----------
    path : of the image
    naming : the file that names it, None where the user does
    """

    def __init__(self, path: str, naming: str | None = None) -> None:
        self.path, self._naming = path, naming

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        """The image, (height, width, 3), the first row above; both edges are powers of two.

        It is made smaller to at most 1024 pixels each way. What is transparent is white.

        Raises
        ------
        FileError
            There is no such image, it cannot be read, or it is too large.
        """
        Image = needed("PIL.Image", "textures of meshes need pillow", "mbd_bridge[view]")
        if len(self.path) > LONGEST_NAME or "\0" in self.path:
            raise FileError("this is no name of an image", f"{self.path!r:.80}")
        if self._naming is not None:
            file_beside(self.path, self._naming)
        data = read_bytes(self.path, MAX_BYTES)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # of bombs, and of what is broken
                image = Image.open(io.BytesIO(data), formats=FORMATS)
                width, height = image.size
                if width * height <= MOST_PIXELS:
                    image.draft("RGB", (LARGEST, LARGEST))
                    return _prepared(image)
        except (*FAULTS, Image.DecompressionBombError) as error:
            known = ", ".join(FORMATS)
            raise FileError(
                f"the image cannot be read ({error!s:.100}); expected one of {known}", self.path
            ) from error
        raise FileError(
            f"the image has {width} x {height} pixels, more than {MOST_PIXELS}; make it smaller",
            self.path,
        )


def _prepared(image: PillowImage) -> NDArray[np.uint8]:
    """Return an image as it is drawn."""
    from PIL import Image

    width, height = (min(LARGEST, 2 ** round(np.log2(edge))) for edge in image.size)
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    image = image.convert("RGB")
    return np.asarray(image.resize((width, height), Image.Resampling.BOX))


Colour = tuple[float, float, float, float]
"""Red, green, blue and opacity, from 0 to 1."""

Indices = NDArray[np.int64]

FARTHEST = 1e4
"""Texture coordinates, repetitions: further out, and single precision tells no pixels apart."""


class Material(NamedTuple):
    """What a file says of how a surface looks."""

    colour: Colour | None = None
    texture: Texture | None = None


MOST_TRIANGLES = 3_000_000
"""Triangles of one file: more, and it is no robot's part. About 0.2 GB."""

MOST_NUMBERS = 100_000_000
"""Numbers that are read of one file, 30 a triangle; those of a part used twice count twice."""


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Triangles of one colour, or of one texture.

    Attributes
    ----------
    vertices : (V, 3) m
    triangles : (T, 3) indices of vertices, counterclockwise seen from outside
    colour : None where the file gives none
    uv : (T, 3, 2) where the corners of each triangle are in the texture, in parts of its width from
        the left and of its height from below; it is repeated beyond 0 and 1. None: nowhere
    texture : None where the file gives none; it counts more than the colour
    """

    vertices: Array
    triangles: Indices
    colour: Colour | None = None
    uv: NDArray[np.float32] | None = None
    texture: Texture | None = None

    def moved(self, matrix: ArrayLike) -> Surface:
        """Return the surface after an affine map (4, 4); one that mirrors turns triangles round."""
        m = np.asarray(matrix, dtype=np.float64)
        triangles, uv = self.triangles, self.uv
        if np.linalg.det(m[:3, :3]) < 0.0:
            triangles, uv = triangles[:, ::-1], None if uv is None else uv[:, ::-1]
        vertices = self.vertices @ m[:3, :3].T + m[:3, 3]
        return replace(self, vertices=vertices, triangles=triangles, uv=uv)

    def some(self, chosen: NDArray[np.bool_] | Indices | slice) -> Surface:
        """Return some of its triangles."""
        uv = None if self.uv is None else self.uv[chosen]
        return replace(self, triangles=self.triangles[chosen], uv=uv)

    def scaled(self, scale: ArrayLike) -> Surface:
        """Return the surface stretched by three factors."""
        return self.moved(np.diag([*np.asarray(scale, dtype=np.float64), 1.0]))


class Budget:
    """What the surfaces of one file have left of its numbers and triangles.

    Parameters
    ----------
    file : for messages
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._numbers, self._triangles = MOST_NUMBERS, MOST_TRIANGLES

    def take_numbers(self, count: int) -> None:
        """Count numbers that are read: where a part is used again, again."""
        self._numbers -= count
        if self._numbers < 0:
            raise FileError(
                f"its parts take more than {MOST_NUMBERS} numbers, each counted as often as it is "
                f"used; simplify the mesh",
                self.file,
            )

    def take_triangles(self, count: int) -> None:
        """Count triangles."""
        self._triangles -= count
        if self._triangles < 0:
            raise FileError(f"more than {MOST_TRIANGLES} triangles; simplify the mesh", self.file)

    def surface(
        self,
        vertices: ArrayLike,
        triangles: ArrayLike,
        material: Material,
        uv: NDArray[np.float32] | None = None,
    ) -> Surface:
        """Return a surface whose numbers are finite and whose triangles name vertices that exist.

        Vertices that no triangle names are dropped where they are most of them. Texture coordinates
        that are not finite, or far out, are 0.

        Parameters
        ----------
        uv : (T, 3, 2) at each corner of each triangle
        """
        points = np.asarray(vertices, dtype=np.float64).reshape(-1, 3)
        corners = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
        self.take_triangles(len(corners))
        if corners.size and (corners.min() < 0 or corners.max() >= len(points)):
            wrong = corners.min() if corners.min() < 0 else corners.max()
            raise FileError(
                f"a triangle names vertex {wrong} of {len(points)}; export the mesh anew", self.file
            )
        if len(points) > corners.size:
            used = np.zeros(len(points), dtype=bool)
            used[corners] = True
            points, corners = points[used], (np.cumsum(used) - 1)[corners]
        if not np.isfinite(points).all():
            raise FileError("a vertex is not finite; export the mesh anew", self.file)
        if uv is not None:
            uv = np.where(np.abs(uv) <= FARTHEST, uv, np.float32(0.0))
        return Surface(points, corners, material.colour, uv, material.texture)


def at_corners(table: ArrayLike, corners: ArrayLike) -> NDArray[np.float32]:
    """Return the rows (T, 3, 2) of a table (K, 2) at corners (T, 3); NaN where there is no such."""
    rows = np.asarray(table, dtype=np.float32).reshape(-1, 2)
    index = np.asarray(corners, dtype=np.int64)
    exists = (index >= 0) & (index < len(rows))
    padded = np.concatenate([rows, np.full((1, 2), np.nan, dtype=np.float32)])
    return padded[np.where(exists, index, len(rows))]


def fans(counts: ArrayLike) -> Indices:
    """Return how polygons fall into triangles: (T, 3) places in the row of all their corners.

    Parameters
    ----------
    counts : corners of each polygon; those with fewer than three have no triangle
    """
    number = np.asarray(counts, dtype=np.int64)
    starts = np.cumsum(number) - number
    pieces = np.maximum(number - 2, 0)
    first = np.repeat(starts, pieces)
    within = np.arange(len(first)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.column_stack([first, first + within + 1, first + within + 2])


class Shaded(NamedTuple):
    """What a renderer draws: corners (V, 3) m, unit normals (V, 3), triangles (T, 3).

    Attributes
    ----------
    uv, texture : as of a `Surface`
    """

    vertices: Array
    normals: Array
    triangles: Indices
    uv: NDArray[np.float32] | None = None
    texture: Texture | None = None
