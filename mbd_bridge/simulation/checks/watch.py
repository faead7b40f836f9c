"""A look back at a motion: whether all loops are closed, and whether the step was short enough.

Steps keep the rows that were chosen where the motion started. If others have come to matter since,
their loop is open, and what follows means nothing: the motion ends before.
"""

from __future__ import annotations

import numpy as np

from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import model_units
from mbd_bridge.simulation.checks.diagnosis import SHARE, SHORTER, SHORTER_IMPLICIT, loop_rows
from mbd_bridge.solve.loop_values import LoopChecker
from mbd_bridge.solve.tolerances import LEAST_STATE, OPEN_LOOP, RINGING, SLOWEST_RINGING, STEP_ERROR

LOOKS = 50
"""Records that are looked at, if there are more."""

SURELY = 0.1 * STEP_ERROR
"""A difference of coordinates, by the smallest of their scales, that is no difference of positions
as large as `STEP_ERROR`: a quaternion's is half the turn."""

SLOW = 1.0
"""rad/s, or sizes a second: slip of slower machines counts as if they were so fast."""

FAR = 2.0 * np.pi
"""rad, or sizes of the mechanism: an error whose figure says nothing more."""

GROWN = 100.0
"""Growth of a state of a force element in the second half of a motion that is looked at."""


def spread(count: int, most: int) -> Array:
    """Return at most so many of the numbers 0 to count - 1, evenly spread, the ends among them."""
    number = min(count, most)
    return np.arange(number) * (count - 1) // max(1, number - 1)


def first_open(
    model: Model, loops: LoopChecker | None, time: Array, q: Array, v: Array
) -> tuple[int, str] | None:
    """Return the first record at which a loop is open, and what is to be said; None if none is."""
    if loops is None:
        return None
    kernel = loops.values
    least = max(OPEN_LOOP, loops.choice().leeway)  # as open as imprecise rows stay

    def residual(places: Array) -> Array:
        phi, phi_q, _ = kernel(q[places], v[places])
        return openings(model, phi, phi_q, v[places])

    some = spread(len(time), LOOKS)
    if np.all(residual(some).max(axis=1) < least):
        return None
    found = residual(np.arange(len(time)))
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


def openings(model: Model, phi: Array, phi_q: Array, v: Array) -> Array:
    """Return how far the rows of N states are open (N, m), relative to the mechanism's size.

    Of rows that constrain velocities only, how far they are from kept relative to how fast the
    machine moves.
    """
    rows, open_by = model.velocity_rows, np.array(phi)
    if rows.any():
        speed = np.maximum(np.abs(v / model.velocity_scale).max(axis=1), SLOW)
        open_by[:, rows] = np.einsum("nij,nj->ni", phi_q[:, rows], v) / speed[:, None]
    return np.asarray(np.abs(open_by / model.row_scale))


def coordinate_scale(model: Model) -> Array:
    """Return the scale of each coordinate (nq,): `size` for lengths, 1 for angles and the rest."""
    scale = np.ones(model.nq)
    for body in model.bodies:
        if not body.coupled:
            plain = body.type.nv if body.type.nq == body.type.nv else body.type.nq - 4
            scale[body.q.start : body.q.start + plain] = model.velocity_scale[body.v][:plain]
    return scale


def too_long(
    model: Model, whole: Array, halves: Array, h: float, advice: str = SHORTER
) -> str | None:
    """Return what is to be said of a step that differs too much from two of half its length."""
    if np.abs(whole - halves).max(initial=0.0) <= SURELY * model.velocity_scale.min(initial=1.0):
        return None
    apart = np.abs(model.difference(whole, halves) / model.velocity_scale)
    if apart.max(initial=0.0) <= STEP_ERROR:
        return None
    worst = int(np.argmax(apart))
    unit = model_units(model)[1][worst]
    amount = f"{apart[worst] * model.velocity_scale[worst]:.2g} {unit}"
    if apart[worst] > FAR:
        amount = "more than a turn" if unit == "rad" else "more than the mechanism's size"
    return (
        f"the step of {h:.3g} s is too long for this motion: one step errs by {amount} in "
        f"{model.velocity_names[worst]!r}; {advice}"
    )


def state_errs(name: str, h: float) -> str:
    """Return what is to be said of steps by which a state of a force element goes astray."""
    return (
        f"the step of {h:.3g} s is too long for the state {name!r} of a force element, whose time "
        f"constant is shorter; {SHORTER}"
    )


def velocity_rings(name: str, h: float) -> str:
    """Return what is to be said of velocities that change their sign from step to step."""
    return (
        f"the velocity {name!r} changes its sign from step to step, as the trapezoidal rule lets "
        f"it behind a damper for which the step of {h:.3g} s is too long: start with velocities "
        f"that the damper allows, take mbd.Newmark(beta=0.5, gamma=1.0), of the first order, which "
        f"takes them away within a step, or {SHORTER_IMPLICIT}"
    )


def largest_speed(v: Array) -> Array:
    """Return the largest speed (...) of motions with scaled velocities (..., K, nv)."""
    return np.asarray(np.abs(v).max(axis=(-2, -1), initial=0.0))


def may_ring(v: Array, change: Array) -> Array:
    """Return which of many motions may end with velocities that ring: a run of its own tells.

    Parameters
    ----------
    v : (N, K, nv) velocities of the records, relative to their scales
    change : (N, nv) their change in the last step
    """
    largest = np.abs(change).max(axis=1, initial=0.0)
    return np.asarray(largest > np.maximum(RINGING * largest_speed(v), SLOWEST_RINGING))


def grown(z: Array) -> Array:
    """Return which of many motions (N, K, nz) end with states of force elements far beyond all that
    they were in its first half: a run of its own tells whether steps are too long for them.
    """
    half = z.shape[1] // 2
    before = np.abs(z[:, :half]).max(axis=1, initial=0.0)
    with np.errstate(invalid="ignore"):  # nan is bad
        kept = np.abs(z[:, -1]) <= GROWN * before + LEAST_STATE
    return np.asarray((half > 1) & ~kept.all(axis=1))
