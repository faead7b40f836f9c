"""pinocchio's algorithms as works to be timed, each with its best settings.

Batches are columns of Fortran-ordered arrays in pinocchio's own order, which it reads fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin

from mbd_bridge.engines.pinocchio.twin import Twin
from mbd_bridge.model.spatial import Array

Work = Callable[[], Any]


def rnea_in_parallel(twin: Twin, *arrays: Array) -> Work:
    """Return the work of ``rneaInParallel`` with one thread on q, v, a; tau (nv, N) is written."""
    if twin.model.nv == 1:
        return _each(pin.rnea, twin, *arrays)
    return partial(pin.rneaInParallel, 1, pin.ModelPool(twin.model, 1), *arrays)


def aba_in_parallel(twin: Twin, *arrays: Array) -> Work:
    """Return the work of ``abaInParallel`` with one thread on q, v, tau; a (nv, N) is written."""
    if twin.model.nv == 1:
        return _each(pin.aba, twin, *arrays)
    return partial(pin.abaInParallel, 1, pin.ModelPool(twin.model, 1), *arrays)


def _each(function: Any, twin: Twin, q: Array, v: Array, third: Array, out: Array) -> Work:
    """Return the work of one call a state.

    pinocchio's parallel functions read a (1, N) array as a vector and write past its end (4.1.0).
    """
    model, data = twin.model, twin.data

    def work() -> None:
        for k in range(v.shape[1]):
            out[:, k] = function(model, data, q[:, k], v[:, k], third[:, k])

    return work


def crba_each(twin: Twin, states: Sequence[Array]) -> Work:
    """Return the work of one ``crba`` call a state."""
    model, data = twin.model, twin.data

    def work() -> None:
        for q in states:
            pin.crba(model, data, q)

    return work


def mass_matrix(twin: Twin, q: Array) -> Array:
    """Return pinocchio's M at one state, both halves."""
    upper = np.triu(pin.crba(twin.model, twin.data, q))
    return np.asarray(upper + np.triu(upper, 1).T)


def rnea_once(twin: Twin) -> Callable[[Array, Array, Array], Any]:
    """Return ``rnea`` for one state."""
    return partial(pin.rnea, twin.model, twin.data)


def rnea_and_load(twin: Twin, joint: str) -> Callable[[Array, Array, Array], Any]:
    """Return ``rnea`` for one state, followed by reading the load of one joint."""
    model, data = twin.model, twin.data
    index = next((p.joint for p in twin.places if p.name == joint), 1)

    def call(q: Array, v: Array, a: Array) -> tuple[Any, Any]:
        tau = pin.rnea(model, data, q, v, a)
        return tau, data.f[index].vector

    return call
