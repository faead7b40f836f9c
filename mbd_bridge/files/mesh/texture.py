"""The image that a mesh or a material names: read when it is drawn, made small, kept."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import FileError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.files.input_files import file_beside
from mbd_bridge.files.xml_reader import read_bytes

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

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
        from PIL import Image

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
