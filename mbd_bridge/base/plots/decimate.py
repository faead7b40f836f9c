"""Fewer points that look the same: of each piece the least and the largest value are kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Floats

MOST = 8000
"""Points of a line: more than a picture has columns of dots, four for each."""


def envelope(*values: Floats, most: int = MOST) -> NDArray[np.intp]:
    """Return the indices, in order, of the points that are worth drawing.

    The rows are cut into pieces; of each piece the rows with the least and the largest of every
    one of the values stay, and the first and last row of all. So peaks are where they were.

    Parameters
    ----------
    values : (N,) each
    most : rows that are kept at most (up to a few)
    """
    rows = len(values[0])
    if rows <= most:
        return np.arange(rows)
    pieces = max(1, most // (2 * len(values)))
    width = -(-rows // pieces)
    whole = rows // width * width
    kept = [np.array([0, rows - 1])]
    starts = np.arange(0, whole, width)
    for column in values:
        numbers = np.asarray(column, dtype=np.float64)
        cut = numbers[:whole].reshape(-1, width)
        kept += [starts + np.argmin(cut, axis=1), starts + np.argmax(cut, axis=1)]
        if whole < rows:
            rest = numbers[whole:]
            kept.append(whole + np.array([np.argmin(rest), np.argmax(rest)]))
    return np.unique(np.concatenate(kept))


def spread(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the flags spread by one point, so that what is drawn of them joins the others."""
    out = flags.copy()
    out[1:] |= flags[:-1]
    out[:-1] |= flags[1:]
    return out
