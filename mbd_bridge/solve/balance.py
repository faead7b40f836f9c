"""The equations of motion as what is left of them, which needs no mass matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.external import External
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array


def unbalanced(
    model: Model,
    q: Array,
    v: Array,
    a: Array,
    external: External | None = None,
    along: Array | None = None,
    lam: Array | None = None,
    rows: Sequence[int] | None = None,
) -> Array:
    """Return M a + h + Φ_qᵀ λ - τ (nv,), N m or N, of floats or symbols.

    Parameters
    ----------
    external : wrenches on links
    along : (nv,) τ beside them; None for none
    lam : multipliers of the loops; None: their part is left out
    rows : of the constraints that they belong to; None: all
    """
    left = recursive_loads(model, q, v, a, external=external).forces
    left = left if along is None else left - along
    if lam is None:
        return np.asarray(left)
    phi_q = constraints(model, state_vectors(model, q, v)).phi_q
    return np.asarray(left + (phi_q if rows is None else phi_q[list(rows)]).T @ lam)
