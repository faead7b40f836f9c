"""Values of parameters as callers give them: one for all variants, or N of them; checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.arguments import as_floats
from mbd_bridge.errors import ModelError
from mbd_bridge.mechanism.builder import SYMMETRIC
from mbd_bridge.spatial import Array, zeros


def value_rows(name: str, value: ArrayLike, size: int) -> Array:
    """Return values as (N, size): one for all variants has N = 1."""
    rows = _numbers(name, value)
    wanted = "one number or (N,)" if size == 1 else f"({size},) or (N, {size})"
    tail = () if size == 1 else (size,)
    if rows.ndim not in (len(tail), len(tail) + 1) or rows.shape[rows.ndim - len(tail) :] != tail:
        raise ModelError(f"parameter {name!r}: expected {wanted}, got {rows.shape}")
    return rows.reshape(-1, size)


def inertias(name: str, value: ArrayLike) -> Array:
    """Return principal moments (N, 3), or the entries xx, yy, zz, xy, xz, yz of matrices (N, 6)."""
    given = _numbers(name, value)
    if given.shape == (3, 3):
        raise ModelError(
            f"parameter {name!r}: (3, 3) numbers may be one matrix or the principal moments of "
            f"three variants; give the matrix as (1, 3, 3), or three variants as (3, 3, 3)"
        )
    if given.ndim < 3:
        return value_rows(name, given, 3)
    if given.ndim > 3 or given.shape[1:] != (3, 3):
        raise ModelError(f"parameter {name!r}: expected (N, 3) or (N, 3, 3), got {given.shape}")
    apart = np.abs(given - given.transpose(0, 2, 1)).max(initial=0.0)
    if apart > SYMMETRIC * np.abs(given).max(initial=0.0):
        raise ModelError(f"parameter {name!r}: an inertia is symmetric, this is not, by {apart:g}")
    both = 0.5 * (given + given.transpose(0, 2, 1))
    return np.asarray(both[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])


def matrix(p: Array) -> Array:
    """Return the inertia (3, 3) of principal moments (3,) or of entries (6,); see `inertias`."""
    out = zeros((3, 3), p)
    for k in range(3):
        out[k, k] = p[k]
    for value, (i, j) in zip(p[3:], ((0, 1), (0, 2), (1, 2)), strict=False):
        out[i, j] = out[j, i] = value
    return out


def _numbers(name: str, value: ArrayLike) -> Array:
    array = as_floats(f"parameter {name!r}", value, ModelError)
    if not array.size or not np.isfinite(array).all():
        raise ModelError(f"parameter {name!r}: expected finite numbers, got {value!r:.60}")
    return array
