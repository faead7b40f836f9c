"""Numbers as a caller gives them: checked before they become part of a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.errors import ModelError
from mbd_bridge.spatial import Array


def given_numbers(what: str, value: ArrayLike, *shapes: tuple[int, ...]) -> Array:
    """Return `value` as an array of finite floats of one of the shapes.

    Raises
    ------
    ModelError
        It is something else; `what` says where.
    """
    expected = " or ".join("one number" if shape == () else str(shape) for shape in shapes)
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise ModelError(f"{what}: expected {expected}, got {value!r:.60}: {problem}") from None
    if array.shape not in shapes:
        raise ModelError(f"{what}: expected {expected}, got the shape {array.shape}")
    if not np.isfinite(array).all():
        raise ModelError(f"{what}: expected finite numbers, got {value!r:.60}")
    return array
