"""Constraints of cut joints: Φ, Φ_q and γ (Lee94 section 4).

With the joint's frames a and b moving with their bodies, d = r_b - r_a, and u = (d for Along and
Distance, b_j for Across):

    Φ  = a_i · u  (minus the cosine of axes that are not perpendicular)   (13)
    Φ̇  = a_i · u̇ + ȧ_i · u = Φ_q q̇                                       (17)
    Φ̈  = a_i · ü + 2 ȧ_i · u̇ + ä_i · u = Φ_q q̈ - γ                       (18)

ȧ = ω × a, ä = ω̇ × a + ω × ȧ. Every row acts on the successor as a wrench: Along(i) as a force
along a_i at b's origin, Across(i, j) as a moment along b_j × a_i, Distance as a force along d / L,
the rows of a rolling wheel as forces at its contact (below; two have no Φ, it is 0).
The predecessor has the opposite wrench through the same point. Φ_q is this wrench times the
relative velocity that each joint between base and cut gives; what carries both bodies gives none.

A coupling of coordinates, Φ = q_j - Σ ratio q_i - offset, acts on the coordinates themselves.

All vectors are in the root frame of `state_vectors`.

A wheel with a knife edge that rolls on a plane has a contact.
With n the plane's normal (z of frame a, whose origin o is in the plane), k the wheel's axis (z of
frame b, whose origin c is the wheel's centre) and R its radius,

    x = k × n / |k × n|          along the track            y = n × x        across it
    P = c + R k × x              the rim's lowest point, the contact

The contact touches the plane, and the wheel's point there has the velocity of the plane's:

    Φ = n · (P - o)                                                                    `Height`
    t · w = 0,   w = V_b(P) - V_a(P),   V(P) = velocity of the body's point at P       `Slip`

with t = x, y. (Φ̇ is n · w: moving the contact along the rim does not change its height.) All three
rows are the relative velocity along t = n, x, y, and act on the wheel as a force along t at P. With
the contact's own velocity Ṗ, and a and α of the bodies for q̈ = 0,

    γ = -ṫ · w - t · ([a + α × (P - c) + ω × (Ṗ - ċ)]_b - [the same]_a)

A multiplier's negative is the plane's force on the wheel along n, x or y. A wheel that lies flat
(k along n) has no lowest point: nothing is finite there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.equations.motions import joint_coordinates
from mbd_bridge.equations.state_vectors import MechanismState
from mbd_bridge.model import Model
from mbd_bridge.model.cut_table import Across, Along, Coupled, Cut, Distance, Height, Slip
from mbd_bridge.model.spatial import Array, Frame, cross, zeros

BodyRow = Along | Across | Distance | Height | Slip
"""Rows between two bodies, which act as wrenches on them."""


class Constraints(NamedTuple):
    """Rows of all cuts, in their order: Φ (m,), Φ_q (m, nv), γ (m,) and the rows' wrenches.

    ``wrenches[k]`` (6,) is force and moment of row k on the successor for a unit multiplier,
    about the root frame's origin; a coupling has none.
    """

    phi: Array
    phi_q: Array
    gamma: Array
    wrenches: Array


def constraints(model: Model, state: MechanismState) -> Constraints:
    """Return Φ, Φ_q, γ and the rows' wrenches of every cut at one state."""
    count = sum(len(cut.rows) for cut in model.cuts)
    example = (*(at.B for at in state.bodies), *(at.Y for at in state.bodies))
    phi, gamma = zeros(count, state.q, *example), zeros(count, *example)
    phi_q, wrenches = zeros((count, model.nv), *example), zeros((count, 6), *example)
    k = 0
    for cut in model.cuts:
        a = _side(state, cut.predecessor, cut.a)
        b = _side(state, cut.successor, cut.b)
        for row in cut.rows:
            if isinstance(row, Coupled):
                phi[k] = _gear(model, state.q, row, phi_q[k])
                k += 1
                continue
            phi[k], gamma[k] = _values(row, a, b)
            wrenches[k] = _wrench(row, a, b)
            _jacobian(model, state, cut, wrenches[k], phi_q[k])
            k += 1
    return Constraints(phi, phi_q, gamma, wrenches)


def cut_wrenches(model: Model, state: MechanismState, lam: Array) -> list[Array]:
    """Return the (6,) wrench of predecessor on successor of each cut, about the root's origin."""
    found = constraints(model, state)
    wrenches, k = [], 0
    for cut in model.cuts:
        total: Array = np.zeros(6)
        for row in range(k, k + len(cut.rows)):
            total = total - lam[row] * found.wrenches[row]
        wrenches.append(total)
        k += len(cut.rows)
    return wrenches


def contact_point(state: MechanismState, cut: Cut) -> Array | None:
    """Return where a rolling wheel touches its plane (3,) m, in the root frame; None if none."""
    radii = [row.radius for row in cut.rows if isinstance(row, Height)]
    if not radii:
        return None
    sides = (_side(state, cut.predecessor, cut.a), _side(state, cut.successor, cut.b))
    return contact(*sides, radii[0]).point


def _gear(model: Model, q: Array, row: Coupled, phi_q: Array) -> object:
    """Return Φ of a coupling and write its row of Φ_q; γ and the wrench are zero.

    Its multiplier acts along the coordinates, between each joint's parent and child.
    """
    phi: object = -row.offset
    for place, factor in ((row.own, 1.0), *((leader, -ratio) for leader, ratio in row.leaders)):
        body = model.bodies[place.body]
        phi = phi + factor * joint_coordinates(body, q)[place.coordinate]
        column = body.v.start + place.coordinate
        phi_q[column] = phi_q[column] + factor * body.ratio
    return phi


def _side(state: MechanismState, body: int, frame: Frame) -> Side:
    at = state.bodies[body]
    r = at.position + at.rotation @ frame.translation
    omega, alpha = at.Y[3:], at.D_sum[3:]
    velocity = at.Y[:3] + cross(omega, r)
    acceleration = at.D_sum[:3] + cross(alpha, r) + cross(omega, velocity)
    return Side(at.rotation @ frame.rotation, r, omega, alpha, velocity, acceleration)


def _values(row: BodyRow, a: Side, b: Side) -> tuple[object, object]:
    """Return Φ and γ of one row."""
    if isinstance(row, Height | Slip):
        return rolling_values(row, a, b)
    d, d1, d2 = b.origin - a.origin, b.velocity - a.velocity, b.acceleration - a.acceleration
    if isinstance(row, Distance):
        length = row.length
        phi = (d @ d - length**2) / (2.0 * length)
        return phi, -(d @ d2 + d1 @ d1) / length
    fixed = a.axes[:, row.i]
    fixed1, fixed2 = _turned(fixed, a)
    if isinstance(row, Along):
        u, u1, u2 = d, d1, d2
    else:
        u = b.axes[:, row.j]
        u1, u2 = _turned(u, b)
    phi = fixed @ u
    if isinstance(row, Across) and row.cosine:
        phi = phi - row.cosine
    return phi, -(fixed @ u2 + 2.0 * (fixed1 @ u1) + fixed2 @ u)


def _turned(axis: Array, side: Side) -> tuple[Array, Array]:
    """Return the first and second derivative of an axis that moves with a body."""
    rate = cross(side.omega, axis)
    return rate, cross(side.alpha, axis) + cross(side.omega, rate)


def _wrench(row: BodyRow, a: Side, b: Side) -> Array:
    """Return ∂Φ/∂(displacement of the successor) as a wrench about the root frame's origin."""
    if isinstance(row, Across):
        moment = cross(b.axes[:, row.j], a.axes[:, row.i])
        return np.concatenate([np.zeros(3), moment])
    if isinstance(row, Height | Slip):
        force, point = rolling_force(row, a, b)
    else:
        force, point = _along(row, a, b), b.origin
    return np.concatenate([force, cross(point, force)])


def _along(row: Along | Distance, a: Side, b: Side) -> Array:
    if isinstance(row, Distance):
        return (b.origin - a.origin) / row.length
    return np.asarray(a.axes[:, row.i])


def _jacobian(model: Model, state: MechanismState, cut: Cut, wrench: Array, row: Array) -> None:
    """Write one row of Φ_q: the wrench's power on each joint's unit velocity."""
    path = model.path
    for j, body in enumerate(model.bodies):
        sign = int(path[cut.successor, j]) - int(path[cut.predecessor, j])
        if sign and body.type.nv:
            B = state.bodies[j].B
            for k in range(B.shape[1]):
                place = body.v.start + k
                row[place] = row[place] + sign * body.ratio * (wrench @ B[:, k])


# A wheel that rolls: its contact, and the rows that it gives.


class Side(NamedTuple):
    """A frame of a cut joint: axes (columns), origin, and their rates when q̈ = 0."""

    axes: Array
    origin: Array
    omega: Array
    alpha: Array
    velocity: Array
    acceleration: Array


class WheelContact(NamedTuple):
    """The contact of a wheel: P, the directions n, x, y (rows of `axes`), and their rates."""

    point: Array
    axes: Array
    velocity: Array
    rates: Array


def contact(a: Side, b: Side, radius: float) -> WheelContact:
    """Return the contact of a wheel at b with the plane at a."""
    n, k = a.axes[:, 2], b.axes[:, 2]
    n1, k1 = cross(a.omega, n), cross(b.omega, k)
    way, way1 = cross(k, n), cross(k1, n) + cross(k, n1)
    inverse = 1.0 / np.sqrt(way @ way)
    x = way * inverse
    x1 = (way1 - x * (x @ way1)) * inverse
    point = b.origin + radius * cross(k, x)
    velocity = b.velocity + radius * (cross(k1, x) + cross(k, x1))
    y1 = cross(n1, x) + cross(n, x1)
    return WheelContact(point, np.array([n, x, cross(n, x)]), velocity, np.array([n1, x1, y1]))


def rolling_values(row: Height | Slip, a: Side, b: Side) -> tuple[object, object]:
    """Return Φ (0 of a `Slip`) and γ of one row."""
    at = contact(a, b, row.radius)
    t, t1 = at.axes[_place(row)], at.rates[_place(row)]
    (va, aa), (vb, ab) = (_carried(side, at) for side in (a, b))
    gamma = -(t1 @ (vb - va) + t @ (ab - aa))
    return (t @ (at.point - a.origin) if isinstance(row, Height) else 0.0), gamma


def rolling_force(row: Height | Slip, a: Side, b: Side) -> tuple[Array, Array]:
    """Return direction and point of the force on the wheel for a unit multiplier."""
    at = contact(a, b, row.radius)
    return at.axes[_place(row)], at.point


def _carried(side: Side, at: WheelContact) -> tuple[Array, Array]:
    """Return the velocity of a body's point at the contact, and how it changes there (q̈ = 0)."""
    velocity = side.velocity + cross(side.omega, at.point - side.origin)
    turning = cross(side.omega, at.velocity - side.velocity)
    change = side.acceleration + cross(side.alpha, at.point - side.origin) + turning
    return velocity, change


def _place(row: Height | Slip) -> int:
    return 0 if isinstance(row, Height) else 1 + row.direction
