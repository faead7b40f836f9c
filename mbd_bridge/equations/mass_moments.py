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

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mbd_bridge.model import Body, Model
from mbd_bridge.model.spatial import Array, Frame, Inertia, zeros

AXIS = ("revolute", "continuous")
"""Joint types with points that move with both bodies: those of the axis, z."""


class MassMoments(NamedTuple):
    """m (kg), h (3,) kg m and Σ (3, 3) kg m² about a body's origin. They add like masses."""

    mass: float
    first: Array
    second: Array

    @staticmethod
    def of(inertia: Inertia | MassMoments) -> MassMoments:
        """Return the mass moments of a rigid body."""
        if isinstance(inertia, MassMoments):
            return inertia
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

    @staticmethod
    def of_parameters(p: Array) -> MassMoments:
        """Return those of ten inertial parameters (`INERTIAL`), floats or symbols."""
        inertia = zeros((3, 3), p)
        for (i, j), value in zip(INERTIA_PLACES, p[4:], strict=True):
            inertia[i, j] = inertia[j, i] = value
        half = 0.5 * (p[4] + p[6] + p[9])
        return MassMoments(p[0], p[1:4], half * np.eye(3) - inertia)

    def parameters(self) -> Array:
        """Return the ten inertial parameters."""
        inertia = np.trace(self.second) * np.eye(3) - self.second
        return np.array([self.mass, *self.first, *(inertia[place] for place in INERTIA_PLACES)])

    def seen_from(self, frame: Frame) -> MassMoments:
        """Return the same about the origin of the parent of `frame`, in its axes."""
        R, t, m = frame.rotation, frame.translation, self.mass
        turned = R @ self.first
        across = np.outer(turned, t)
        second = R @ self.second @ R.T + across + across.T + m * np.outer(t, t)
        return MassMoments(m, turned + m * t, second)


INERTIAL = {"m": "kg"} | dict.fromkeys(("mx", "my", "mz"), "kg m")
INERTIAL |= dict.fromkeys(("ixx", "ixy", "iyy", "ixz", "iyz", "izz"), "kg m^2")
"""Ten numbers, in which all loads are linear, and their units: mass, mass times centre, moments of
inertia about the origin of the link's frame, in its axes. Their order is pinocchio's."""

INERTIA_PLACES = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))


def with_moments(model: Model, more: Mapping[int, MassMoments]) -> Model:
    """Return the model with more mass on its links, for the recursion alone (`MassMoments.of`).

    Parameters
    ----------
    more : by link, about the origin of its frame, in its axes; floats or symbols
    """
    at_bodies = {link: moments.seen_from(model.links[link].frame) for link, moments in more.items()}

    def whole(inertia: Inertia, links: Iterable[int]) -> Any:
        total = MassMoments.of(inertia)
        for link in links:
            total = total.plus(at_bodies[link]) if link in at_bodies else total
        return total

    of_body: list[list[int]] = [[] for _ in model.bodies]
    for number, link in enumerate(model.links):
        of_body[link.body].append(number)
    pairs = zip(model.bodies, of_body, strict=True)
    bodies = tuple(replace(body, inertia=whole(body.inertia, links)) for body, links in pairs)
    joints = tuple(
        replace(joint, inertia=whole(joint.inertia, joint.beyond)) for joint in model.joints
    )
    heavier = replace(model, bodies=bodies, joints=joints)
    vars(heavier)["size"] = model.size  # of lengths: no mass changes it
    return heavier


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
