"""One step of the classical Runge-Kutta method with projection, as a function to be compiled.

Four accelerations (`solve.closed`), then position and velocity are put back onto the constraints
with the factors of the last stage (quasi-Newton, as Lee94 does with its one matrix): what the
step leaves open is of the order of its own error, each of two corrections takes that times h.
Coordinates whose motion is prescribed are rows beside those of the cuts, at the time of each stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mbd_bridge.equations.cuts import constraints
from mbd_bridge.equations.flexible import damping_forces
from mbd_bridge.equations.motions import coordinate_rates
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.forces.base import NO_STATES
from mbd_bridge.kernels.tracing import shared
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, zeros
from mbd_bridge.simulation.signals.prescribed import PrescribedMotions
from mbd_bridge.simulation.steps.trusted_step import CARRIED, WORK, carried, whole_risk
from mbd_bridge.solve.closed import Closed, ClosedTerms, closed_acceleration
from mbd_bridge.solve.null_space import OnNullSpace
from mbd_bridge.solve.tolerances import BENT_DISTANCE, CROSSED_RISK, UNCLOSED_RISK

Torque = Callable[..., Array]
"""Generalised forces (nv,) as a traceable function of t, q, v and z."""

Rates = Callable[[Any, Array, Array, Array], Array]
"""Rates (nz,) of states of force elements, of t, q, v and z."""

CORRECTIONS = 2

OF_A_SLOPE = 0.5
"""Length of a correction by that of a slope: so both are called, or both written out."""


def normalised(model: Model, q: Array) -> Array:
    """Return q with unit quaternions."""
    out = zeros(model.nq, q)
    out[:] = q
    for body in model.bodies:
        if not body.coupled and body.type.nq > body.type.nv:
            part = out[body.q][-4:]
            out[body.q.stop - 4 : body.q.stop] = part * (1.0 / np.sqrt((part * part).sum()))
    return out


Accelerated: TypeAlias = Closed | OnNullSpace
"""A constrained acceleration, with what takes a state near it onto the constraints."""

Solver = Callable[[ClosedTerms], Any]
"""How an `Accelerated` comes from the equations."""

Slope = Callable[[Array, Array, Any, Array], tuple[Array, Any, Any, Array]]
"""(q, v, t, z) -> q̇, the `Accelerated`, the power of what acts, ż."""

Correct = Callable[[Array, Array, Any, Any], tuple[Array, Array, Any, Any]]
"""(q, v, t, near) -> q, v nearer to the constraints (see `corrections`)."""

After = Callable[[Array, Array, Any, Any], Array]
"""(q, v, t, near) of the end -> the memory that is handed on beside that of the integrator."""


class Stage(NamedTuple):
    """What is given from outside at one of the times of a step: forces and prescribed motions.

    Of a machine whose force elements have states z: the rates of these, too. And the joints of the
    tree whose loads are wanted (`Closed.sections`).
    """

    torque: Torque | None = None
    motions: PrescribedMotions | None = None
    rates: Rates | None = None
    joints: tuple[int, ...] = ()


def runge_kutta_step(
    model: Model,
    rows: Sequence[int],
    torque: Torque | None,
    motions: PrescribedMotions | None = None,
    rates: Rates | None = None,
    joints: Sequence[int] = (),
) -> Callable[..., tuple[Array, ...]]:
    """Return step(q, v, t, h) -> (q, v, t, a, risks, risk) for independent rows.

    t : (2 + nz,) time, the work of forces and prescribed motions, J, and states of force elements
        (see `trusted_step`). a : (nv,) at the start. risks : of being near a singular position, of
        having crossed one or come off the loops; and the square of what the first correction took
        back. risk : all together, with that of having strayed near one.
    """
    slope = shared(slopes(model, rows, torque, motions, rates, joints))
    correct = shared(corrections(model, rows, motions), OF_A_SLOPE)
    return staged_step(model, (slope, slope, slope), correct)


def staged_step(
    model: Model,
    slopes: tuple[Slope, Slope, Slope],
    correct: Correct,
    report: Callable[..., tuple[Array, ...]] | None = None,
    after: After | None = None,
) -> Callable[..., tuple[Array, ...]]:
    """Return such a step from its slopes at its start, in its middle and at its end.

    Parameters
    ----------
    correct : takes the end towards the constraints (see `corrections`)
    report : (q, v, t, closed, beside) -> further outputs, before the risk (see `outputs`); beside:
        what the step computes anyway
    after : makes the memory that stands behind all else in t at the end
    """
    at_start, at_middle, at_end = slopes

    def step(q: Array, v: Array, t: Array, h: Array) -> tuple[Array, ...]:
        half, whole, start = 0.5 * h[0], h[0], t[0]
        middle, last, z = start + half, start + whole, carried(t)
        dq1, one, first, dz1 = at_start(q, v, start, z)
        dq2, two, second, dz2 = at_middle(q + half * dq1, v + half * one.dv, middle, z + half * dz1)
        dq3, three, third, dz3 = at_middle(
            q + half * dq2, v + half * two.dv, middle, z + half * dz2
        )
        dq4, four, fourth, dz4 = at_end(
            q + whole * dq3, v + whole * three.dv, last, z + whole * dz3
        )
        sixth = whole * (1.0 / 6.0)
        q_end = q + sixth * (dq1 + 2.0 * (dq2 + dq3) + dq4)
        v_end = v + sixth * (one.dv + 2.0 * (two.dv + three.dv) + four.dv)
        q_end = normalised(model, q_end)
        q_end, v_end, left, strayed = projected(correct, q_end, v_end, last, four)
        risks = zeros(3, q, v)
        near = one.risk + two.risk + three.risk + four.risk
        risks[0], risks[1], risks[2] = (
            near,
            crossed(one, three, four) + left * UNCLOSED_RISK,
            strayed,
        )
        end = zeros(len(t), t, h)
        end[0] = last
        end[WORK] = t[WORK] + sixth * (first + 2.0 * (second + third) + fourth)
        end[CARRIED:] = z + sixth * (dz1 + 2.0 * (dz2 + dz3) + dz4)
        if after is not None:
            end = np.concatenate([end, after(q_end, v_end, last, four)])
        reported = () if report is None else report(q, v, t, one, (q_end, v_end, end))
        return q_end, v_end, end, one.a, risks, *reported, whole_risk(risks)

    return step


def crossed(start: Accelerated, middle: Accelerated, end: Accelerated) -> Any:
    """Return the risk that a step has stepped over a singular position.

    Its distance, σ = risk^(-1/2), goes down to nothing there and up again: in the middle it is less
    than the mean of both ends. Of its ratio ρ to that, ρ² takes one root and one division:
    (1 - ρ²) / (2 - `BENT_DISTANCE`) stands for 1 - ρ, to which it is equal at `BENT_DISTANCE`.
    """
    if start.inner is None:
        return 0.0
    both = start.risk * end.risk
    whole = start.risk + end.risk + 2.0 * np.sqrt(both)
    square = 4.0 * both / (middle.risk * whole)
    bent = (1.0 - square) * (1.0 / (BENT_DISTANCE * (2.0 - BENT_DISTANCE)))
    squared = bent * bent
    fourth = squared * squared
    return CROSSED_RISK * (fourth * fourth)


def slopes(
    model: Model,
    rows: Sequence[int],
    torque: Torque | None,
    motions: PrescribedMotions | None,
    rates: Rates | None = None,
    joints: Sequence[int] = (),
    solve: Callable[..., Any] | None = None,
) -> Slope:
    """Return slope(q, v, t, z) -> q̇, the constrained acceleration, the power of what acts, ż.

    The power is in W. Without rates z stays as it is. `solve` returns an
    `Accelerated`; None: `closed_acceleration`.
    """
    still, solve = np.zeros(model.nv), solve or closed_acceleration

    def slope(q: Array, v: Array, t: Any, z: Array = NO_STATES) -> tuple[Array, Any, Any, Array]:
        tau = still if torque is None else torque(t, q, v, z)
        power = 0.0 if torque is None else v @ tau
        lost = damping_forces(model, v)
        if lost is not None:
            power = power + v @ lost
        dz = np.zeros(len(z)) if rates is None else rates(t, q, v, z)
        if motions is None:
            found = solve(model, rows, q, v, tau, joints=joints)
            return coordinate_rates(model, q, v), found, power, dz
        _, _, wanted = motions.at(t)
        moved = motions.v, wanted
        found = solve(model, rows, q, v, tau, *moved, joints=joints)
        power = power - found.lam[len(rows) :] @ v[list(motions.v)]
        return coordinate_rates(model, q, v), found, power, dz

    return slope


def corrections(model: Model, rows: Sequence[int], motions: PrescribedMotions | None) -> Correct:
    """Return correct(q, v, t, near) -> q, v, what was left open, how far the correction went.

    It takes position and velocity towards the constraints with the factors of a near state. The
    third result is the sum of squares of what it found open, relative to the rows' scales; the
    fourth that of the step in position, to the velocities'.
    """

    def correct(q: Array, v: Array, t: Any, near: Accelerated) -> tuple[Array, Array, Any, Any]:
        phi, rate, scale = residuals(model, rows, q, v, motions, t)
        left = ((phi / scale) ** 2).sum()
        dq, dv = near.correction(phi), near.correction(rate)
        went = ((dq / model.velocity_scale) ** 2).sum()
        q = normalised(model, q + coordinate_rates(model, q, dq))
        return q, v + dv, left, went

    return correct


def projected(
    correct: Correct, q: Array, v: Array, t: Any, near: Accelerated
) -> tuple[Array, Array, Any, Any]:
    """Return position and velocity put onto the constraints with the factors of a near state.

    The third result is what the corrections before the last one left open, the fourth how far the
    first one went (see `corrections`).
    """
    if near.inner is None:
        return q, v, 0.0, 0.0
    q, v, left, strayed = correct(q, v, t, near)
    for _ in range(CORRECTIONS - 1):
        q, v, left, _ = correct(q, v, t, near)
    return q, v, left, strayed


def residuals(
    model: Model,
    rows: Sequence[int],
    q: Array,
    v: Array,
    motions: PrescribedMotions | None,
    t: Any,
) -> tuple[Array, Array, Array]:
    """Return Φ, Φ̇ and the scales of the chosen rows and of the prescribed motions."""
    picked = list(rows)
    phi, rate, scale = np.zeros(0), np.zeros(0), model.row_scale[picked]
    if picked:
        found = constraints(model, state_vectors(model, q, v))
        phi, rate = found.phi[picked], found.phi_q[picked] @ v
    if motions is None:
        return phi, rate, scale
    f, f1, _ = motions.at(t)
    phi = np.concatenate([phi, q[list(motions.q)] - f])
    rate = np.concatenate([rate, v[list(motions.v)] - f1])
    return phi, rate, np.concatenate([scale, motions.scale])
