"""Stops at the ends of a joint's range: stiff springs that push back only.

    x_u = max(s - upper, 0),   x_l = max(lower - s, 0),   on the coordinate: F_l - F_u

with the law of `contact` for F_u and F_l.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self, final

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Units, number
from mbd_bridge.forces.joints import CoordinateEffect, JointCoordinate, JointElement
from mbd_bridge.forces.law import Progressive, stops
from mbd_bridge.kernels import is_traced
from mbd_bridge.model import Model

DEPTH = 1e-3
"""rad or m: d where none is given."""


@final
@dataclass(frozen=True, eq=False)
class JointStop(JointElement):
    """Elastic stops with damping at the lower and upper end of a coordinate.

    Parameters
    ----------
    joint : name of a coordinate; see `JointElement`
    lower, upper : rad or m; None for no stop on that side
    stiffness : k, N m/rad or N/m; coefficients or a `functions.Table` of a progressive one (`law`)
    damping : c, N m s/rad or N s/m
    depth : d, rad or m, over which the damping fades in
    """

    lower: Annotated[float | None, number("{s}")] = None
    upper: Annotated[float | None, number("{s}")] = None
    stiffness: Progressive = 0.0
    damping: Annotated[float, number("{f} s/{s}", 0.0)] = 0.0
    depth: Annotated[float, number("{s}", positive=True)] = DEPTH

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        unit = self.coordinate(model).unit
        bound = self.checked(model)
        lower, upper = bound.lower, bound.upper
        if lower is None and upper is None:
            raise StateError(f"{self.label}: expected lower, upper or both, {unit}, got none")
        if lower is None or upper is None or is_traced(lower, upper):
            return bound
        if lower >= upper:
            raise StateError(
                f"{self.label}: expected lower below upper, got {lower:g} and {upper:g} {unit}"
            )
        return bound

    def along(self, t: Any, s: Any, rate: Any) -> CoordinateEffect:
        """Return the force on the coordinate, and the penetration: negative at the lower end."""
        found = stops(self, (self.lower, self.upper), s, rate)
        force, energy, dissipation, penetration = found
        return CoordinateEffect(-force, energy, dissipation, {"penetration": penetration})

    def more_units(self, place: JointCoordinate) -> Units:
        """Return the unit of the penetration."""
        return {"penetration": place.unit}

    def replaces(self, model: Model) -> frozenset[tuple[str, str]]:
        """Return the file's limits of the joint."""
        return frozenset({("limits", self.coordinate(model).joint)})
