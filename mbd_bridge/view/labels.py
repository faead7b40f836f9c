"""Where texts stand in a picture: within it, none on another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

APART = 1.1
"""From one row of text to the next, relative to the height of a row."""


class Area(NamedTuple):
    """A rectangle, pixels from the left and from the top."""

    left: float
    top: float
    right: float
    bottom: float


def arranged(
    corners: Sequence[tuple[float, float]], widths: Sequence[float], height: float, area: Area
) -> list[tuple[float, float]]:
    """Return upper left corners of texts, pixels: moved into the area, and below earlier ones.

    Parameters
    ----------
    corners : where they would stand
    widths, height : of the texts, pixels
    """
    taken: list[tuple[float, float, float]] = []
    for (x, y), width in zip(corners, widths, strict=True):
        left = float(np.clip(x, area.left, max(area.right - width, area.left)))
        top = float(np.clip(y, area.top, max(area.bottom - height, area.top)))
        for _ in taken:  # each of those that are there can be met once
            for start, end, line in taken:
                if left < end and start < left + width and abs(top - line) < height:
                    top = line + APART * height
        taken.append((left, left + width, top))
    return [(left, top) for left, _, top in taken]
