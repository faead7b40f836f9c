"""The state at which a simulation starts: given and checked, or found."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.errors import StateError
from mbd_bridge.mechanism import Model
from mbd_bridge.simulate.motions import PrescribedMotions
from mbd_bridge.solve import assemble, prepare
from mbd_bridge.solve.assembly import CLOSED
from mbd_bridge.solve.constrained import CONSISTENT
from mbd_bridge.solve.rank import TOLERANCE
from mbd_bridge.spatial import Array

LOOPS_OPEN = "the position at the start does not close the loops: start from assemble(near=...).q"
LOOPS_MOVE_APART = (
    "the velocity at the start does not keep the loops closed: start from "
    "assemble(near=..., velocity=...).v"
)


def start_state(
    model: Model,
    q: ArrayLike | None,
    v: ArrayLike | None,
    motions: PrescribedMotions | None = None,
    t: float = 0.0,
) -> tuple[Array, Array]:
    """Return q and v at the start.

    What is not given is the neutral position at rest; with prescribed motions, what they prescribe
    and the nearest to that which closes the loops.

    Raises
    ------
    StateError
        A state that is given does not satisfy the loops or the prescribed motions, or the motions
        prescribe what the loops already decide.
    """
    q0 = _position(model, motions, t) if q is None else np.array(q, dtype=np.float64)
    _check_shape("q", q0, model.nq)
    v0 = _velocity(model, q0, motions, t) if v is None else np.array(v, dtype=np.float64)
    _check_shape("v", v0, model.nv)
    if model.has_loops:
        _check_loops(model, q0, v0)
    if motions is not None:
        _check_motions(model, q0, v0, motions, t)
    return q0, v0


def independent_rows(
    model: Model, q: Array, motions: PrescribedMotions | None = None
) -> tuple[int, ...]:
    """Return rows of the constraints that are independent at q, the best ones first found.

    Driven coordinates are taken out of Φ_q: rows must be independent of them, too.
    """
    if not model.has_loops:
        return ()
    return independent_among(_scaled(model, q), () if motions is None else motions.v)[0]


def independent_among(phi_q: Array, driven: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """Return rows of a dimensionless Φ_q that are independent, of the driven coordinates too.

    The second result says whether driving these takes nothing from the rank of Φ_q.
    """
    order, rank = _pivoted(phi_q, driven)
    whole = _pivoted(phi_q, ())[1] if driven else rank
    return tuple(sorted(int(row) for row in order[:rank])), rank == whole


def _scaled(model: Model, q: Array) -> Array:
    """Return Φ_q without dimensions."""
    _, phi_q, _ = prepare(model, "constraints")(q, np.zeros(model.nv))
    return np.asarray(phi_q / model.row_scale[:, None] * model.velocity_scale)


def _pivoted(scaled: Array, driven: tuple[int, ...]) -> tuple[Array, int]:
    """Return an order of the rows, independent ones first, and how many these are."""
    from scipy.linalg import qr  # here, so that importing the package does not load SciPy

    largest = np.linalg.norm(scaled, axis=1).max(initial=0.0)
    free = np.delete(scaled, list(driven), axis=1)
    _, R, order = qr(free.T, pivoting=True, mode="economic")
    diagonal = np.abs(np.diag(R))
    return order, int(np.sum(diagonal > TOLERANCE * max(largest, 1e-300)))


def _check_shape(name: str, array: Array, size: int) -> None:
    if array.shape != (size,) or not np.all(np.isfinite(array)):
        raise StateError(f"{name}: expected ({size},) finite numbers, got {array!r:.80}")


def _position(model: Model, motions: PrescribedMotions | None, t: float) -> Array:
    if motions is None:
        return model.neutral()
    wish = dict(zip(motions.names, motions.at(t)[0], strict=True))
    if model.has_loops:
        return assemble(model, wish, fixed=motions.names).q
    q = model.neutral()
    q[list(motions.q)] = list(wish.values())
    return q


def _velocity(model: Model, q: Array, motions: PrescribedMotions | None, t: float) -> Array:
    """Return the smallest velocity that follows the motions and keeps the loops closed."""
    v = np.zeros(model.nv)
    if motions is None:
        return v
    v[list(motions.v)] = motions.at(t)[1]
    if model.has_loops:
        _, phi_q, _ = prepare(model, "constraints")(q, v)
        free = np.setdiff1d(np.arange(model.nv), motions.v)
        scale = model.velocity_scale[free]
        J = phi_q[:, free] / model.row_scale[:, None] * scale
        rate = phi_q @ v / model.row_scale
        v[free] = -scale * np.linalg.lstsq(J, rate, rcond=TOLERANCE)[0]
    return v


def _check_loops(model: Model, q: Array, v: Array) -> None:
    phi, phi_q, _ = prepare(model, "constraints")(q, v)
    rows = model.row_scale
    speed = np.abs(phi_q) @ np.abs(v)
    if np.any(np.abs(phi) > CONSISTENT * rows):
        raise StateError(LOOPS_OPEN)
    if np.any(np.abs(phi_q @ v) > CONSISTENT * np.maximum(speed.max(), CLOSED * rows)):
        raise StateError(LOOPS_MOVE_APART)


def _check_motions(model: Model, q: Array, v: Array, motions: PrescribedMotions, t: float) -> None:
    f, f1, _ = motions.at(t)
    for what, have, want, scale in (
        ("position", q[list(motions.q)], f, motions.scale),
        ("velocity", v[list(motions.v)], f1, np.maximum(motions.scale, np.abs(f1))),
    ):
        wrong = np.flatnonzero(np.abs(have - want) > CONSISTENT * scale)
        if len(wrong):
            k = int(wrong[0])
            raise StateError(
                f"drive {motions.names[k]!r}: its {what} at t = {t:g} s is {want[k]:.9g}, that of "
                f"the start {have[k]:.9g}; leave q and v out, or start from what it prescribes"
            )
    if model.has_loops:
        scaled = _scaled(model, q)
        left, whole = _pivoted(scaled, motions.v)[1], _pivoted(scaled, ())[1]
        if left < whole:
            freedoms = model.nv - whole
            raise StateError(
                f"the drives {', '.join(map(repr, motions.names))} are not independent at the "
                f"start: the loops leave {freedoms} freedoms, and drives prescribe "
                f"{whole - left} of what the loops already decide. Drive fewer joints, or others"
            )
