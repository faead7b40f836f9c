"""Small vectors whose scalars are floats or symbols."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""An array of floats, or an object array whose entries are floats and symbolic scalars."""


def result_type(*arrays: Array) -> np.dtype[Any]:
    """Return ``object`` if any array is symbolic, ``float64`` otherwise."""
    symbolic = any(np.asarray(a).dtype == object for a in arrays)
    return np.dtype(object) if symbolic else np.dtype(np.float64)


def constant(value: Any, shape: tuple[int, ...]) -> Array:
    """Return a read-only copy as an array of floats; symbols stay symbols."""
    array = np.array(value)
    if array.dtype != object:
        array = array.astype(np.float64)
    array = array.reshape(shape)
    array.flags.writeable = False
    return array


def is_zero(value: Any) -> bool:
    """Return whether all entries are known to be 0: a symbol never is."""
    entries = np.asarray(value)
    if entries.dtype != object:
        return not np.any(entries)
    return all(isinstance(x, float | int) and x == 0.0 for x in entries.flat)


def zeros(shape: int | tuple[int, ...], *like: Array) -> Array:
    """Return zeros that can hold whatever the arrays `like` hold: floats or symbols."""
    out = np.empty(shape, dtype=result_type(*like))
    out[...] = 0.0
    return out


def cross(a: Array, b: Array) -> Array:
    """Return the cross product a × b of two 3-vectors."""
    out = np.empty(3, dtype=result_type(a, b))
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]
    return out


def skew(a: Array) -> Array:
    """Return ã, the matrix with ã b = a × b."""
    out = zeros((3, 3), a)
    out[0, 1], out[0, 2] = -a[2], a[1]
    out[1, 0], out[1, 2] = a[2], -a[0]
    out[2, 0], out[2, 1] = -a[1], a[0]
    return out
