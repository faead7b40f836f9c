"""One step of the classical Runge-Kutta method with projection, as a function to be compiled.

Four accelerations (`solve.closed`), then position and velocity are put back onto the constraints
with the factors of the last stage (quasi-Newton, as Lee94 does with its one matrix): what the
step leaves open is of the order of its own error, each of two corrections takes that times h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.mechanism import Model
from mbd_bridge.solve.closed import Closed, closed_acceleration, correction
from mbd_bridge.spatial import Array, zeros

Torque = Callable[[Any, Array, Array], Array]
"""Generalised forces (nv,) as a traceable function of t, q and v."""

CORRECTIONS = 2


def coordinate_rates(model: Model, q: Array, v: Array) -> Array:
    """Return q̇ (nq,) for velocities v (nv,)."""
    out = zeros(model.nq, q, v)
    for body in model.bodies:
        if not body.coupled and body.type.nq:
            out[body.q] = body.type.coordinate_rate(q[body.q], v[body.v])
    return out


def normalised(model: Model, q: Array) -> Array:
    """Return q with unit quaternions."""
    out = zeros(model.nq, q)
    out[:] = q
    for body in model.bodies:
        if not body.coupled and body.type.nq > body.type.nv:
            part = out[body.q][-4:]
            out[body.q.stop - 4 : body.q.stop] = part * (1.0 / np.sqrt((part * part).sum()))
    return out


def runge_kutta_step(
    model: Model, rows: Sequence[int], torque: Torque | None
) -> Callable[..., tuple[Array, ...]]:
    """Return step(q, v, t, h) -> (q, v, t, risk) for the rows chosen as independent."""
    still = np.zeros(model.nv)

    def slope(q: Array, v: Array, t: Any) -> tuple[Array, Closed]:
        tau = still if torque is None else torque(t, q, v)
        return coordinate_rates(model, q, v), closed_acceleration(model, rows, q, v, tau)

    def step(q: Array, v: Array, t: Array, h: Array) -> tuple[Array, ...]:
        half, whole, start = 0.5 * h[0], h[0], t[0]
        dq1, one = slope(q, v, start)
        dq2, two = slope(q + half * dq1, v + half * one.a, start + half)
        dq3, three = slope(q + half * dq2, v + half * two.a, start + half)
        dq4, four = slope(q + whole * dq3, v + whole * three.a, start + whole)
        sixth = whole * (1.0 / 6.0)
        q_end = q + sixth * (dq1 + 2.0 * (dq2 + dq3) + dq4)
        v_end = v + sixth * (one.a + 2.0 * (two.a + three.a) + four.a)
        q_end = normalised(model, q_end)
        q_end, v_end = projected(model, rows, q_end, v_end, four)
        risk = zeros(1, q, v)
        risk[0] = one.risk + two.risk + three.risk + four.risk
        end = zeros(1, t, h)
        end[0] = start + whole
        return q_end, v_end, end, risk

    return step


def projected(
    model: Model, rows: Sequence[int], q: Array, v: Array, near: Closed
) -> tuple[Array, Array]:
    """Return position and velocity put onto the constraints with the factors of a near state."""
    if not rows:
        return q, v
    picked = list(rows)
    for _ in range(CORRECTIONS):
        found = constraints(model, state_vectors(model, q, v))
        dq = correction(near, found.phi[picked])
        dv = correction(near, found.phi_q[picked] @ v)
        q = normalised(model, q + coordinate_rates(model, q, dq))
        v = v + dv
    return q, v
