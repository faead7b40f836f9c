"""Deflections drawn larger than they are: modal coordinates times a factor, loops closed again.

What hangs on a link that bends moves with its deflection, so the whole machine is placed anew. The
joints of its loops turn as far as the exaggerated deflections need (the shortest way, in the
velocities' scale); the modal coordinates stay as they are.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.arguments import finite_numbers
from mbd_bridge.errors import StateError
from mbd_bridge.mechanism import Model
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.spatial import Array

STEPS = 30
"""Newton steps until a loop counts as one that cannot be closed."""

CLOSED = 1e-6
"""How far loops may be open, in parts of the machine's size: nothing of it is seen."""

FLAT = 1e-9
"""Singular values below this part of the largest are those of redundant rows."""

LARGEST = 1e6
"""Factor."""


def check_factor(model: Model, value: float) -> float:
    """Return the factor on deflections; refuse what is none, and any on a rigid machine."""
    factor = float(finite_numbers("exaggerate", value, (), error=StateError))
    if not 0.0 <= factor <= LARGEST:
        raise StateError(f"exaggerate: expected a factor from 0 to {LARGEST:g}, got {factor:g}")
    if factor != 1.0 and not model.flexible:
        raise StateError("exaggerate: no link of this machine bends; leave it out")
    return factor


def exaggerated(model: Model, q: Array, factor: float) -> tuple[Array, Array]:
    """Return coordinates (N, nq) with deflections times a factor, and which loops stay open (N,).

    Where the loops cannot be closed, the other coordinates are as they were.
    """
    out, stay = np.array(q), np.zeros(len(q), dtype=bool)
    if factor == 1.0 or not model.flexible:
        return out, stay
    held = np.zeros(model.nv, dtype=bool)
    for part in model.flexible:
        out[:, part.q] *= factor
        held[part.v] = True
    if not model.has_loops:
        return out, stay
    constraints, first = prepare(model, "constraints"), out.copy()
    free = np.where(held, 0.0, model.velocity_scale)
    for _ in range(STEPS):
        phi, phi_q, _ = constraints(out, np.zeros((len(q), model.nv)))
        stay = ~(np.abs(phi / model.row_scale).max(axis=1) < CLOSED)
        if not stay.any():
            return out, stay
        inverse = np.linalg.pinv(phi_q[stay] * free, rcond=FLAT)
        step = -free * np.einsum("nij,nj->ni", inverse, phi[stay])
        out[stay] = [model.integrate(a, b) for a, b in zip(out[stay], step, strict=True)]
    out[stay] = first[stay]
    return out, stay
