"""Bumpers between two points: they push back where the length leaves its range.

    x_s = max(shortest - l, 0),   x_l = max(l - longest, 0),   tension F_l - F_s

with the law of `contact` for F_s and F_l: a bump and a rebound stop, progressive if wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self, final

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Units, number
from mbd_bridge.forces.joints import CoordinateEffect
from mbd_bridge.forces.law import Progressive, stops
from mbd_bridge.forces.points import PointElement
from mbd_bridge.model import Model

DEPTH = 1e-3
"""m: d where none is given."""


@final
@dataclass(frozen=True, eq=False)
class PointStop(PointElement):
    """End-of-stroke bumpers between points of two links, or of a link and the ground.

    Parameters
    ----------
    links : two names; "ground" is the world
    points : two points (3,) m, in the frames of these links
    shortest, longest : m, the length's range; None for no stop on that side
    stiffness : N/m; coefficients or a `functions.Table` of a progressive one (`law`)
    damping : N s/m
    depth : d, m, over which the damping fades in
    """

    shortest: Annotated[float | None, number("m", 0.0)] = None
    longest: Annotated[float | None, number("m", 0.0)] = None
    stiffness: Progressive = 0.0
    damping: Annotated[float, number("N s/m", 0.0)] = 0.0
    depth: Annotated[float, number("m", positive=True)] = DEPTH

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        bound = self.checked(model)
        shortest, longest = bound.shortest, bound.longest
        if shortest is None and longest is None:
            raise StateError(f"{self.label}: expected shortest, longest or both, m, got none")
        if shortest is not None and longest is not None and shortest >= longest:
            raise StateError(
                f"{self.label}: expected shortest below longest, got {shortest:g} and {longest:g} m"
            )
        return bound

    def tension(self, t: Any, length: Any, rate: Any) -> CoordinateEffect:
        """Return the tension, and the penetration: negative where it is too short."""
        found = stops(self, (self.shortest, self.longest), length, rate)
        return CoordinateEffect(*found[:3], {"penetration": found.penetration})

    def more_units(self) -> Units:
        """Return the unit of the penetration."""
        return {"penetration": "m"}
