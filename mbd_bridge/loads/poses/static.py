"""Loads at rest as a function of the pose alone: velocities are zero, and the kernel has none."""

from __future__ import annotations

import numpy as np

from mbd_bridge.loads.poses.worst import Loads
from mbd_bridge.loads.request import LoadRequest
from mbd_bridge.loads.selected import LoadSelection, select_joints, selected_loads
from mbd_bridge.loads.solver import LoadSolver
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.model_kernel import model_kernel


def static_loads(model: Model, request: LoadRequest, threads: int) -> Loads:
    """Return the loads of a request at rest as a function of poses (n, nq); see `Loads`."""
    if model.has_loops or request.forces or not isinstance(request.convention.at, str):
        return _of_solver(model, request, threads)
    _, asked = select_joints(model, request.joints, cuts=False)
    selection = LoadSelection(asked, request.convention)
    still = np.zeros(model.nv)

    def function(q: Array) -> tuple[Array, ...]:
        force, moment, actuation = selected_loads(model, selection, q, still, still, {})
        six = np.concatenate([force, moment], axis=1).reshape(-1)
        squares = [part[k] @ part[k] for k in range(len(force)) for part in (force, moment)]
        return (np.concatenate([six, actuation, np.array(squares)]),)

    what = f"static {[tuple(one) for one in asked]} {request.convention!r}"
    kernel = model_kernel(model, "static_loads", {"q": model.nq}, ("loads",), function, what)
    return lambda q: np.asarray(kernel.run(q, threads=threads)[0][0])


def _of_solver(model: Model, request: LoadRequest, threads: int) -> Loads:
    solver = LoadSolver(model, request)

    def loads(q: Array) -> Array:
        n, still = len(q), np.zeros((len(q), model.nv))
        with np.errstate(all="ignore"):  # singular poses: what is not finite does not count
            found = solver(q, still, still, threads=threads, check=False)
            six = np.where(found.unique, np.concatenate([found.force, found.moment], -1), np.nan)
            acting = np.where(found.actuation_unique, found.actuation, np.nan)
            squares = (six.reshape(n, -1, 3) ** 2).sum(axis=2)
            out = np.hstack([six.reshape(n, -1), acting, squares])
        out[~np.isfinite(out)] = np.nan
        return out

    return loads
