"""Stops at the ends of a joint's range: stiff springs that push back only.

    x_u = max(s - upper, 0),   x_l = max(lower - s, 0),   on the coordinate: F_l - F_u

with the law of `contact` for F_u and F_l.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Units
from mbd_bridge.forces.joints import CoordinateEffect, JointCoordinate, JointElement
from mbd_bridge.forces.law import Stiffness, one_sided, progressive
from mbd_bridge.functions import maximum
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

    lower: float | None = None
    upper: float | None = None
    stiffness: Stiffness = 0.0
    damping: float = 0.0
    depth: float = DEPTH

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        place = self.coordinate(model)
        unit, force = place.unit, place.force_unit
        lower, upper = (
            x if x is None else self.number(name, x, unit)
            for name, x in (("lower", self.lower), ("upper", self.upper))
        )
        if lower is None and upper is None:
            raise StateError(f"{self.label}: expected lower, upper or both, {unit}, got none")
        known = not is_traced(lower, upper)
        if known and lower is not None and upper is not None and lower >= upper:
            raise StateError(
                f"{self.label}: expected lower below upper, got {lower:g} and {upper:g} {unit}"
            )
        return replace(
            self,
            lower=lower,
            upper=upper,
            stiffness=progressive(self, self.stiffness),
            damping=self.number("damping", self.damping, f"{force} s/{unit}", 0.0),
            depth=self.number("depth", self.depth, unit, positive=True),
        )

    def along(self, t: Any, s: Any, rate: Any) -> CoordinateEffect:
        """Return the force on the coordinate, and the penetration: negative at the lower end."""
        force: Any = 0.0
        energy: Any = 0.0
        dissipation: Any = 0.0
        penetration: Any = 0.0
        for limit, out in ((self.lower, -1.0), (self.upper, 1.0)):
            if limit is None:
                continue
            inside = out * (s - limit)
            push = one_sided(self.stiffness, self.damping, self.depth, inside, out * rate)
            force = force - out * push.force
            energy = energy + push.energy
            dissipation = dissipation + push.dissipation
            penetration = penetration + out * maximum(inside, 0.0)
        return CoordinateEffect(force, energy, dissipation, {"penetration": penetration})

    def more_units(self, place: JointCoordinate) -> Units:
        """Return the unit of the penetration."""
        return {"penetration": place.unit}

    def replaces(self, model: Model) -> frozenset[tuple[str, str]]:
        """Return the file's limits of the joint."""
        return frozenset({("limits", self.coordinate(model).joint)})
