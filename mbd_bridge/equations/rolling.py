"""A wheel with a knife edge that rolls on a plane: its contact, and the rows that it gives.

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

from mbd_bridge.model.cut_table import Height, Slip
from mbd_bridge.model.spatial import Array, cross


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
