"""The inertia of a rigid body: mass, centre of mass, moments about that centre."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mbd_bridge.model.spatial.arrays import Array, constant, is_zero
from mbd_bridge.model.spatial.frame import Frame


@dataclass(frozen=True, slots=True, eq=False)
class Inertia:
    """Mass, centre of mass c in the body's frame and central inertia J along its axes.

    Attributes
    ----------
    mass : float, kg
    centre : (3,) array, m
    central : (3, 3) array, kg m², about the centre of mass, along the body frame's axes
    """

    mass: float
    centre: Array
    central: Array

    def __post_init__(self) -> None:
        for name, shape in (("centre", (3,)), ("central", (3, 3))):
            object.__setattr__(self, name, constant(getattr(self, name), shape))

    @staticmethod
    def zero() -> Inertia:
        """Return the inertia of a massless body."""
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))

    def seen_from(self, frame: Frame) -> Inertia:
        """Return this inertia in the parent of `frame`, the frame in which it is given now."""
        rotation = frame.rotation
        return Inertia(
            self.mass,
            rotation @ self.centre + frame.translation,
            rotation @ self.central @ rotation.T,
        )

    def about_origin(self) -> Array:
        """Return the (3, 3) inertia about the body frame's origin: J + m (c·c 1 - c cᵀ)."""
        c = self.centre
        out: Array = self.central + self.mass * (np.dot(c, c) * np.eye(3) - np.outer(c, c))
        return out

    def is_zero(self) -> bool:
        """Return whether the body has neither mass nor moments of inertia."""
        return is_zero(self.mass) and is_zero(self.central)


def lump(parts: Iterable[Inertia]) -> Inertia:
    """Return the inertia of several bodies rigidly joined, all given in one frame."""
    parts = [part for part in parts if not part.is_zero()]
    if not parts:
        return Inertia.zero()
    if len(parts) == 1:
        return parts[0]
    mass = sum(part.mass for part in parts)
    centre = sum((p.mass * p.centre for p in parts), np.zeros(3))
    centre = centre if is_zero(mass) else centre / mass
    offsets = [Inertia(p.mass, p.centre - centre, p.central) for p in parts]
    return Inertia(mass, centre, sum((p.about_origin() for p in offsets), np.zeros((3, 3))))
