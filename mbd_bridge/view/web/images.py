"""Textures as they are in a page: small images, PNG or JPEG, whichever is shorter."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

from mbd_bridge.formats.mesh import Texture

EDGE, SMALLEST = 1024, 16
"""Width and height of an image in a page, pixels: at most, and what many of them are left with."""

PIXELS = 2**21
"""Most pixels of all images of a page, two of full size: some 600 kB of photographs."""

QUALITY = 85
"""Of a JPEG, as Pillow counts."""


def embedded(textures: Sequence[Texture]) -> list[str]:
    """Return images as base64 texts of PNG or JPEG files, smaller where they are many."""
    edge = EDGE
    while edge > SMALLEST and sum(_pixels(one, edge) for one in textures) > PIXELS:
        edge //= 2
    return [base64.b64encode(_file(one, edge)).decode("ascii") for one in textures]


def _pixels(texture: Texture, edge: int) -> int:
    height, width, _ = texture.pixels.shape
    return int(min(height, edge) * min(width, edge))


def _file(texture: Texture, edge: int) -> bytes:
    from PIL import Image

    image = Image.fromarray(texture.pixels)
    size = min(image.width, edge), min(image.height, edge)
    image = image.resize(size, Image.Resampling.BOX)
    found = []
    for kind, options in (("PNG", {"optimize": True}), ("JPEG", {"quality": QUALITY})):
        out = io.BytesIO()
        image.save(out, kind, **options)
        found.append(out.getvalue())
    return min(found, key=len)
