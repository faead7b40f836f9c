"""Quaternions in states: of unit length, or not at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

OFF = 1e-3
"""How far from 1 the length of a quaternion may be: files and integrators round."""

EXACT = 1e-12
"""Nearer to 1 than this nothing is changed."""


def quaternion_ends(model: Model) -> list[int]:
    """Return where in q each quaternion ends; it has the four numbers before."""
    return [body.q.stop for body in model.bodies if body.type.nq > body.type.nv]


def unit_quaternions(model: Model, q: ArrayLike) -> ArrayLike:
    """Return q with its quaternions of unit length; the same array if they are, or if it has none.

    Raises
    ------
    StateError
        A quaternion is far from unit length: no rotation is meant by it.
    """
    places = quaternion_ends(model)
    if not places:
        return q
    array = as_floats("q", q)
    if array.shape[-1:] != (model.nq,):
        return q  # the kernel says what is wrong with it
    out = array
    for stop in places:
        part = array[..., stop - 4 : stop]
        with np.errstate(over="ignore", invalid="ignore"):
            length = np.sqrt((part * part).sum(axis=-1, keepdims=True))
            worst = np.abs(length - 1.0).max(initial=0.0)
        if worst <= EXACT or not np.isfinite(part).all():  # nan is found with the results
            continue
        if worst > OFF:
            row = int(np.abs(length - 1.0).reshape(-1).argmax())
            raise StateError(
                f"state {row}: the quaternion q[{stop - 4}:{stop}] "
                f"({', '.join(model.coordinate_names[stop - 4 : stop])}) has the length "
                f"{float(length.reshape(-1)[row]):.6g}; expected a unit quaternion (x, y, z, w)"
            )
        if out is array:
            out = array.copy()
        out[..., stop - 4 : stop] = part / length
    return out


def are_rotations(model: Model, q: Array) -> Array:
    """Return at which positions (N, nq) all quaternions are near to unit length."""
    sound = np.ones(len(q), dtype=bool)
    for stop in quaternion_ends(model):
        with np.errstate(over="ignore"):
            length = np.linalg.norm(q[:, stop - 4 : stop], axis=1)
        sound &= np.abs(length - 1.0) <= OFF
    return sound
