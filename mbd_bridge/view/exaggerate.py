"""Deflections drawn larger than they are: modal coordinates times a factor, loops closed again.

What hangs on a link that bends moves with its deflection, so the whole machine is placed anew. The
joints of its loops turn as far as the exaggerated deflections need (the shortest way, in the
velocities' scale); the modal coordinates stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.dynamics import prepare
from mbd_bridge.view.bending import BentLink
from mbd_bridge.view.load_scale import round_number

STEPS = 30
"""Newton steps until a loop counts as one that cannot be closed."""

CLOSED = 1e-6
"""How far loops may be open, in parts of the machine's size: nothing of it is seen."""

FLAT = 1e-9
"""Singular values below this part of the largest are those of redundant rows."""

LARGEST = 1e6
"""Factor."""

VISIBLE = 0.1
"""Deflection, in parts of what the machine spans, that is well seen."""


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


def visible_factor(model: Model, bent: Sequence[BentLink], q: Array, span: float) -> float:
    """Return a round factor at which the largest deflection is well seen, and loops are closed.

    1 where nothing bends, or deflections are seen as they are.

    Parameters
    ----------
    q : (N, nq)
    span : of the machine, m
    """
    moves = (np.einsum("kin,sn->ski", link.displacement, q[:, link.q]) for link in bent)
    largest = max((float(np.linalg.norm(move, axis=2).max()) for move in moves), default=0.0)
    if not largest > VISIBLE * span / LARGEST:
        return 1.0
    factor = round_number(VISIBLE * span / largest) if largest < VISIBLE * span else 1.0
    while factor > 1.0 and exaggerated(model, q, factor)[1].any():
        factor = round_number(0.5 * factor)
    return max(factor, 1.0)
