"""Independent coordinates of a state: what is displaced freely, and what follows.

With J the constraints' rows and those of positions among them J_p (wheels have rows that constrain
velocities only), displacements δ and changes δv of the velocity that stay on the constraints are

    δ = T_p ξ,   J_p T_p = 0          δv = T_v η + S ξ,   J T_v = 0,   J S = -∂Φ̇/∂q T_p

ξ and η being those of chosen velocities' places: T_p, T_v are unit matrices there, S is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mbd_bridge.errors import StateError, count
from mbd_bridge.linear.terms import Values
from mbd_bridge.mechanism import Model
from mbd_bridge.solve.tolerances import SINGULAR
from mbd_bridge.spatial import Array

RELUCTANT = 1e-6
"""Weight of the columns of requested coordinates where dependent ones are looked for."""


class Part(NamedTuple):
    """Independent places, dependent ones, and T: what follows from the independent ones (nv, n)."""

    free: tuple[int, ...]
    dependent: tuple[int, ...]
    T: Array

    def following(self, J: Array, right: Array) -> Array:
        """Return x (nv, n), zero at the independent places, for which J x = right."""
        out = np.zeros((J.shape[1], right.shape[1]))
        if self.dependent:
            out[list(self.dependent)] = np.linalg.solve(J[:, list(self.dependent)], right)
        return out


class Independent(NamedTuple):
    """Independent coordinates of positions and of velocities, and S (nv, positions)."""

    positions: Part
    velocities: Part
    S: Array


def independent(
    model: Model,
    at: Values,
    positions: Array,
    of_positions: Sequence[int] = (),
    of_velocities: Sequence[int] = (),
) -> Independent:
    """Return independent coordinates at a state.

    Parameters
    ----------
    positions : (m,) which rows constrain positions
    of_positions, of_velocities : places that are to be among the independent ones; those of the one
        are preferred for the other
    """
    J = at.rate_by.v
    preferred = {*of_positions, *of_velocities}
    p = _part(model, J[positions], of_positions, preferred, "positions")
    v = _part(model, J, of_velocities, preferred, "velocities")
    return Independent(p, v, v.following(J, -at.rate_by.q @ p.T))


def _part(model: Model, J: Array, requested: Sequence[int], preferred: set[int], what: str) -> Part:
    from scipy.linalg import qr  # here, so that importing the package does not load SciPy

    rows, nv = J.shape
    if not rows:
        return Part(tuple(range(nv)), (), np.eye(nv))
    weights = np.where(np.isin(np.arange(nv), list(preferred)), RELUCTANT, 1.0)
    scaled = J * model.velocity_scale
    scaled = scaled / np.linalg.norm(scaled, axis=1)[:, None]
    order = qr(scaled * weights, pivoting=True)[2]
    dependent = tuple(sorted(int(k) for k in order[:rows]))
    taken = [model.velocity_names[k] for k in dependent if k in requested]
    least = np.linalg.svd(scaled[:, list(dependent)], compute_uv=False)[-1]
    if taken or least < SINGULAR:
        named = ", ".join(taken) or "the constraints"
        raise StateError(
            f"coordinates: {named} cannot be chosen: the constraints leave "
            f"{count(nv - rows, 'degree of freedom')} of {what}, and these depend on each other"
        )
    free = tuple(k for k in range(nv) if k not in dependent)
    T = np.zeros((nv, len(free)))
    T[list(free)] = np.eye(len(free))
    part = Part(free, dependent, T)
    return part._replace(T=T + part.following(J, -J @ T))
