"""No quiet nan: find the state and the coordinate that a result is not finite for.

Kernels tell whether all that they wrote is finite; only then is there anything to look for.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import SolveError, StateError
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array


def explain(model: Model, inputs: Mapping[str, ArrayLike], *results: Array) -> None:
    """Raise for results of which one is not finite.

    Raises
    ------
    StateError
        An input is not finite: which entry of which state.
    SolveError
        The inputs are finite, the results are not: which state.
    """
    arrays = {name: np.asarray(value, dtype=np.float64) for name, value in inputs.items()}
    for name, array in arrays.items():
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            *state, entry = (int(k) for k in bad[0])
            raise StateError(
                f"{_at(state)}{name}[{entry}]{_called(model, name, entry)} is "
                f"{float(array[tuple(bad[0])])}; {len(bad)} entries of {name} are not finite. "
                f"Remove these states, or pass check=False to have nan in their results"
            )
    for result in results:
        bad = np.argwhere(~np.isfinite(result))
        if len(bad):
            several = any(array.ndim > 1 for array in arrays.values())
            state = [int(bad[0][0])] if several else []
            raise SolveError(
                f"{_at(state)}the result is not finite although the state is: the mass matrix is "
                f"singular there, or numbers overflow. Pass check=False to have the results as "
                f"they are"
            )


def _at(state: list[int]) -> str:
    return f"state {state[0]}: " if state else ""


def _called(model: Model, name: str, entry: int) -> str:
    names = {"q": model.coordinate_names, "external": ()}.get(name, model.velocity_names)
    return f" ({names[entry]})" if entry < len(names) else ""


# Quaternions in states: of unit length, or not at all.

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
