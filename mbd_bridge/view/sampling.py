"""Textures looked up at many places: smaller copies, so that nothing flickers, and in between."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.formats.mesh import Texture
from mbd_bridge.lazy import cached_property
from mbd_bridge.spatial import Array


class Sampler:
    """A texture that is looked up."""

    def __init__(self, texture: Texture) -> None:
        self._texture = texture

    @cached_property
    def levels(self) -> list[NDArray[np.float32]]:
        """The image, and copies of it, each half as large as the one before."""
        found = [self._texture.pixels.astype(np.float32)]
        while max(found[-1].shape[:2]) > 1:
            one = found[-1]
            for axis in (0, 1):
                if one.shape[axis] > 1:
                    even, odd = (one[(slice(None),) * axis + (slice(k, None, 2),)] for k in (0, 1))
                    one = 0.5 * (even + odd)
            found.append(one)
        return found

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
