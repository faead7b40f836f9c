"""Moments of mass of the bodies, and mass that may as well belong to the next body inwards.

    m = ∫ dm,   h = ∫ r dm,   Σ = ∫ r rᵀ dm          about the body's origin, in its axes

In an acceleration field r̈(x) = r̈(o) + U x a body needs the force and the moment

    f = m r̈ + U h,    n = h × r̈ + vex(U Σ)

Points on the axis of a revolute joint move with both of its bodies. Of a body's mass moments, an
equal part (m, h_z, Σ_zz) sitting on its joint's axis can therefore be given to the parent body:
no actuator changes, and no load but that of this very joint. The body is left with m = h_z = Σ_zz
= 0, which saves a sixth of the operations. (The idea is that of the base parameters known from
identification; Gautier and Khalil 1990.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mbd_bridge.model import Body, Model
from mbd_bridge.model.spatial import Array, Inertia

AXIS = ("revolute", "continuous")
"""Joint types with points that move with both bodies: those of the axis, z."""


class MassMoments(NamedTuple):
    """m (kg), h (3,) kg m and Σ (3, 3) kg m² about a body's origin. They add like masses."""

    mass: float
    first: Array
    second: Array

    @staticmethod
    def of(inertia: Inertia) -> MassMoments:
        """Return the mass moments of a rigid body."""
        m, c, J = inertia.mass, inertia.centre, inertia.central
        second = 0.5 * np.trace(J) * np.eye(3) - J + m * np.outer(c, c)
        return MassMoments(m, m * c, second)

    def plus(self, other: MassMoments) -> MassMoments:
        """Return the sum of both."""
        first, second = self.first + other.first, self.second + other.second
        return MassMoments(self.mass + other.mass, first, second)

    def minus(self, other: MassMoments) -> MassMoments:
        """Return what is left without the other."""
        first, second = self.first - other.first, self.second - other.second
        return MassMoments(self.mass - other.mass, first, second)


NOTHING = MassMoments(0.0, np.zeros(3), np.zeros((3, 3)))


class Shares(NamedTuple):
    """For each body, what it keeps, and what it gave to its parent.

    Attributes
    ----------
    given : in the parent's frame
    through : the same in the body's own: its joint carries it, too
    """

    kept: list[MassMoments]
    given: list[MassMoments]
    through: list[MassMoments]


def share_out(model: Model, asked: Iterable[int] = ()) -> Shares:
    """Return the bodies' mass moments with all axis mass moved inwards.

    Parameters
    ----------
    asked : joints whose loads are wanted: through them nothing is moved
    """
    whole = set(asked)
    kept = [MassMoments.of(body.inertia) for body in model.bodies]
    given, through = [NOTHING] * len(kept), [NOTHING] * len(kept)
    for i in range(len(kept) - 1, 0, -1):
        body = model.bodies[i]
        if body.joint in whole or body.type.name not in AXIS:
            continue
        own = kept[i]
        on_axis = MassMoments(
            own.mass, np.array([0.0, 0.0, own.first[2]]), np.diag([0.0, 0.0, own.second[2, 2]])
        )
        kept[i] = own.minus(on_axis)
        through[i], given[i] = on_axis, _in_parent(on_axis, body)
        kept[body.parent] = kept[body.parent].plus(given[i])
    return Shares(kept, given, through)


def _in_parent(on_axis: MassMoments, body: Body) -> MassMoments:
    """Return mass on a joint's axis, about the parent's origin and in its axes."""
    p, z = body.placement.translation, body.placement.rotation[:, 2]
    m, h, s = on_axis.mass, on_axis.first[2], on_axis.second[2, 2]
    across = np.outer(p, z)
    second = m * np.outer(p, p) + h * (across + across.T) + s * np.outer(z, z)
    return MassMoments(m, m * p + h * z, second)
