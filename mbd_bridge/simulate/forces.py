"""Generalised forces that are given: none, constant, or a formula of time and state."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.errors import StateError, unknown_name
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.step import Torque
from mbd_bridge.spatial import Array

Drive = Mapping[str, float] | ArrayLike | Torque | None
"""Constant forces by velocity name, a vector (nv,), a traceable function of (t, q, v), or none."""


def given_forces(model: Model, torque: Drive) -> Torque | None:
    """Return forces as a function of t, q and v, checked."""
    if torque is None or callable(torque):
        return torque
    constant = np.zeros(model.nv)
    if isinstance(torque, Mapping):
        for name, value in torque.items():
            if name not in model.velocity_names:
                raise StateError(unknown_name("velocity", name, model.velocity_names))
            constant[model.velocity_names.index(name)] = value
    else:
        constant = np.array(torque, dtype=np.float64)
        if constant.shape != (model.nv,):
            raise StateError(f"torque: expected ({model.nv},), got {constant.shape}")
    return lambda t, q, v: constant


def forces_along(model: Model, forces: Torque | None, time: Array, q: Array, v: Array) -> Array:
    """Return the forces (K, nv) at every state of a motion."""
    if forces is None:
        return np.zeros_like(v)
    rows = [
        np.asarray(forces(t, *state), dtype=np.float64)
        for t, *state in zip(time, q, v, strict=True)
    ]
    return np.array(rows).reshape(len(time), model.nv)
