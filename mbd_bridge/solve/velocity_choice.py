"""Which passive velocities determine the multipliers: chosen in one place, without memory.

A motion that is given leaves the multipliers to the rows of the passive velocities, those without
an actuator. In general position so many of them are independent as the multipliers that they
determine; these are chosen where they are farthest from dependent over the closed positions by
which `row_choice` goes too. Like its choice, this one depends on the model alone.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.mechanism import Model
from mbd_bridge.solve.rank import pivoted
from mbd_bridge.solve.row_choice import closed_positions, row_choice
from mbd_bridge.solve.tolerances import ROUNDED, SINGULAR
from mbd_bridge.spatial import Array


def velocity_choice(model: Model, active: Array) -> tuple[int, ...]:
    """Return independent passive velocities, as many as in general position.

    Parameters
    ----------
    active : (nv,) which velocities are actuated
    """
    choice, passive = row_choice(model), np.flatnonzero(~active)
    matrices = [choice.exact(J).T for J in closed_positions(model).phi_q]
    found: dict[tuple[int, ...], int] = {}
    for A in matrices:
        one = pivoted(A[passive].T, SINGULAR, float(np.linalg.norm(A)))
        chosen = tuple(sorted(int(k) for k in passive[one.order[: one.rank]]))
        found[chosen] = one.rank
    rank = max(found.values())
    sets = [chosen for chosen, own in found.items() if own == rank]
    return max(sets, key=lambda chosen: _floor(matrices, chosen))


def _floor(matrices: list[Array], chosen: tuple[int, ...]) -> float:
    """Return the geometric mean of the smallest singular value of some rows of matrices."""
    if not chosen:
        return 1.0
    least = [np.linalg.svd(A[list(chosen)], compute_uv=False)[-1] for A in matrices]
    return float(np.exp(np.mean(np.log(np.maximum(least, ROUNDED)))))
