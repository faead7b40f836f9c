"""How far the loops of a mechanism are open."""

from __future__ import annotations

import numpy as np

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve import prepare


def closure(model: Model, q: Array) -> Array:
    """Return the largest residual of the loops at states (N, nq): (N,), of the mechanism's size."""
    if not model.has_loops:
        return np.zeros(len(q))
    phi, _, _ = prepare(model, "constraints")(q, np.zeros((len(q), model.nv)))
    return np.asarray(np.abs(phi / model.row_scale).max(axis=1))
