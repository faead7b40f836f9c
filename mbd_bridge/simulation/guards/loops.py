"""Whether loops are closed and stay so, and whether accelerations keep them closed.

Steps keep the rows that were chosen where the motion started. If others have come to matter since,
their loop is open, and what follows means nothing: the motion ends before.

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
from mbd_bridge.simulation.guards.messages import SHARE, loop_rows
from mbd_bridge.solve import prepare
from mbd_bridge.solve.loops import LoopChecker
from mbd_bridge.solve.moves import moved
from mbd_bridge.solve.row_choice import row_choice
from mbd_bridge.solve.tolerances import (
    OPEN_LOOP,
    OPENING,
)


def closure(model: Model, q: Array) -> Array:
    """Return the largest residual of the loops at states (N, nq): (N,), of the mechanism's size."""
    if not model.has_loops:
        return np.zeros(len(q))
    phi, _, _ = prepare(model, "constraints")(q, np.zeros((len(q), model.nv)))
    return np.asarray(np.abs(phi / model.row_scale).max(axis=1))


LOOKS = 50
"""Records that are looked at, if there are more."""


SLOW = 1.0
"""rad/s, or sizes a second: slip of slower machines counts as if they were so fast."""


def spread(count: int, most: int) -> Array:
    """Return at most so many of the numbers 0 to count - 1, evenly spread, the ends among them."""
    if count <= most:
        return np.arange(count)
    number = most
    return np.arange(number) * (count - 1) // max(1, number - 1)


def allowed_opening(model: Model, prescribed_velocities: tuple[int, ...] = ()) -> float:
    """Return how far loops may be open, by the mechanism's size: as imprecise rows stay."""
    if not model.has_loops:
        return 0.0
    return max(OPEN_LOOP, row_choice(model, prescribed_velocities).leeway)


def first_open(
    model: Model, loops: LoopChecker | None, time: Array, q: Array, v: Array
) -> tuple[int, str] | None:
    """Return the first record at which a loop is open, and what is to be said; None if none is."""
    if loops is None:
        return None
    kernel = loops.values
    least = allowed_opening(model)

    def residual(places: Array | slice) -> Array:
        phi, phi_q, _ = kernel(q[places], v[places])
        return rows_open(model, phi, phi_q, v[places])

    some = spread(len(time), LOOKS) if len(time) > LOOKS else slice(None)
    if residual(some).max() < least:  # nan is not
        return None
    found = residual(slice(None))
    first = int(np.argmax(~(found.max(axis=1) < least)))
    phi = found[first]
    names = [
        repr(name)
        for name, part in loop_rows(model).items()
        if phi[part].max(initial=0.0) > SHARE * phi.max()
    ]
    return first, (
        f"loop {', '.join(names)} comes open by {phi.max() * model.size:.3g} m (or "
        f"{phi.max():.3g} rad): rows that were redundant where the motion started are not any "
        f"more. Go on from run.state(), where they are chosen anew"
    )


def rows_open(model: Model, phi: Array, phi_q: Array, v: Array) -> Array:
    """Return how far the rows of N states are open (N, m), relative to the mechanism's size.

    Of rows that constrain velocities only, how far they are from kept relative to how fast the
    machine moves.
    """
    rows, open_by = model.velocity_rows, np.array(phi)
    if rows.any():
        speed = np.maximum(np.abs(v / model.velocity_scale).max(axis=1), SLOW)
        open_by[:, rows] = np.einsum("nij,nj->ni", phi_q[:, rows], v) / speed[:, None]
    return np.asarray(np.abs(open_by / model.row_scale))


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
    if not finite.all():
        q, v, a = q[finite], v[finite], a[finite]
    scale, heights = model.velocity_scale, model.row_scale[picked]
    fast, change = np.abs(np.stack([v, a]) / scale).max(axis=2, initial=0.0)
    rate = np.maximum(np.maximum(fast, np.sqrt(change)), STILL)
    tau = (REACH / rate)[:, None]
    bend = 0.5 * tau * tau * a
    there = moved(model, np.concatenate([q, q]), np.concatenate([tau * v + bend, bend - tau * v]))
    rates = np.concatenate([v + tau * a, v - tau * a])
    phi_q = constraints(there, rates)[1][:, picked] / heights[:, None]
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
