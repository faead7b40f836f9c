"""Whether accelerations keep the loops closed, as the way of the loops tells and no γ.

A step takes Φ_q a = γ from the equations: a wrong γ gives an acceleration that satisfies them, and
leads off the loops; corrections bring it back, so that nothing stays open. Along the motion

    Φ̈ = d/dt (Φ_q v) = ([Φ_q v](τ) - [Φ_q v](-τ)) / 2τ,   q(τ) = q + v τ + a τ²/2,   v(τ) = v + a τ

must vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mbd_bridge.mechanism import Model
from mbd_bridge.solve.tolerances import OPENING
from mbd_bridge.spatial import Array

REACH = 1e-4
"""rad, or parts of the mechanism's size, over which the difference is taken: it is good to 1e-8."""

STILL = 1e-4
"""rad/s, or sizes a second: what moves and accelerates less is at rest."""


def opening(
    model: Model,
    constraints: Callable[[Array, Array], tuple[Array, ...]],
    rows: Sequence[int],
    q: Array,
    v: Array,
    a: Array,
) -> str | None:
    """Return what is to be said of an acceleration that opens loops; None if it does not.

    Parameters
    ----------
    constraints : Φ, Φ_q, γ at q (N, nq) and v (N, nv)
    rows : that the motion keeps; redundant ones may be imprecise
    """
    scale, picked = model.velocity_scale, list(rows)
    if not picked or not (np.isfinite(v).all() and np.isfinite(a).all()):
        return None
    fast, change = (float(np.abs(x / scale).max(initial=0.0)) for x in (v, a))
    rate = max(fast, change**0.5, STILL)
    tau = REACH / rate
    there, rates = zip(
        *((model.integrate(q, x * v + 0.5 * x * x * a), v + x * a) for x in (tau, -tau)),
        strict=True,
    )
    phi_q = constraints(np.array(there), np.array(rates))[1][:, picked]
    ahead, behind = np.einsum("kij,kj->ki", phi_q, np.array(rates)) / model.row_scale[picked]
    size = float(np.abs(phi_q / model.row_scale[picked][:, None] * scale).max()) * rate * rate
    part = float(np.abs(ahead - behind).max()) / (2.0 * tau * size)
    if part <= OPENING:
        return None
    return (
        f"accelerations lead off the loops, by {part:.2g} of their terms where arithmetic leaves "
        f"1e-8: a fault of this library or of machine code. Please report it"
    )
