"""Whether accelerations keep the loops closed, as the way of the loops tells and no γ.

A step takes Φ_q a = γ from the equations: a wrong γ gives an acceleration that satisfies them, and
leads off the loops; corrections bring it back, so that nothing stays open. Along the motion

    Φ̈ = d/dt (Φ_q v) = ([Φ_q v](τ) - [Φ_q v](-τ)) / 2τ,   q(τ) = q + v τ + a τ²/2,   v(τ) = v + a τ

must vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.solve.tolerances import OPENING

REACH = 1e-4
"""rad, or parts of the mechanism's size, over which the difference is taken: it is good to 1e-8."""

STILL = 1e-4
"""rad/s, or sizes a second: what moves and accelerates less is at rest."""


Constraints = Callable[[Array, Array], tuple[Array, ...]]
"""Φ, Φ_q, γ at q (N, nq) and v (N, nv)."""


def opening(
    model: Model, constraints: Constraints, rows: Sequence[int], q: Array, v: Array, a: Array
) -> str | None:
    """Return what is to be said of an acceleration that opens loops; None if it does not.

    Parameters
    ----------
    rows : that the motion keeps; redundant ones may be imprecise
    """
    part = float(openings(model, constraints, rows, q[None], v[None], a[None])[0])
    return None if part <= OPENING else leads_off(part)


def openings(
    model: Model, constraints: Constraints, rows: Sequence[int], q: Array, v: Array, a: Array
) -> Array:
    """Return Φ̈ by its largest terms (N,) in motions q (N, nq), v and a (N, nv); 0 where these are
    not finite.
    """
    picked, finite = list(rows), np.isfinite(v + a).all(axis=1)
    found = np.zeros(len(q))
    if not picked or not finite.any():
        return found
    q, v, a = q[finite], v[finite], a[finite]
    scale, heights = model.velocity_scale, model.row_scale[picked]
    fast, change = (np.abs(x / scale).max(axis=1, initial=0.0) for x in (v, a))
    rate = np.maximum(np.maximum(fast, np.sqrt(change)), STILL)
    tau = (REACH / rate)[:, None]
    ways = [tau * v + 0.5 * tau * tau * a, -tau * v + 0.5 * tau * tau * a]
    there = [model.integrate(*each) for way in ways for each in zip(q, way, strict=True)]
    rates = np.concatenate([v + tau * a, v - tau * a])
    phi_q = constraints(np.array(there), rates)[1][:, picked] / heights[:, None]
    ahead, behind = (phi_q @ rates[:, :, None])[:, :, 0].reshape(2, len(q), -1)
    largest = np.abs(phi_q * scale).reshape(2, len(q), -1).max(axis=(0, 2))
    found[finite] = np.abs(ahead - behind).max(axis=1) / (2.0 * REACH * rate * largest)
    return found


def leads_off(part: float) -> str:
    """Say that accelerations lead off the loops, by so much of their terms."""
    return (
        f"accelerations lead off the loops, by {part:.2g} of their terms where arithmetic leaves "
        f"1e-8: a fault of this library or of machine code. Please report it"
    )
