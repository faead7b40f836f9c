"""Bumpers between two points: they push back where the length leaves its range.

    x_s = max(shortest - l, 0),   x_l = max(l - longest, 0),   tension F_l - F_s

with the law of `contact` for F_s and F_l: a bump and a rebound stop, progressive if wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Units
from mbd_bridge.forces.joints import CoordinateEffect
from mbd_bridge.forces.law import Stiffness, one_sided, progressive
from mbd_bridge.forces.points import PointElement
from mbd_bridge.functions import maximum
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

    shortest: float | None = None
    longest: float | None = None
    stiffness: Stiffness = 0.0
    damping: float = 0.0
    depth: float = DEPTH

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        links, points = self.ends(model)
        shortest, longest = (
            x if x is None else self.number(name, x, "m", 0.0)
            for name, x in (("shortest", self.shortest), ("longest", self.longest))
        )
        if shortest is None and longest is None:
            raise StateError(f"{self.label}: expected shortest, longest or both, m, got none")
        if shortest is not None and longest is not None and shortest >= longest:
            raise StateError(
                f"{self.label}: expected shortest below longest, got {shortest:g} and {longest:g} m"
            )
        return replace(
            self,
            links=links,
            points=points,
            shortest=shortest,
            longest=longest,
            stiffness=progressive(self, self.stiffness),
            damping=self.number("damping", self.damping, "N s/m", 0.0),
            depth=self.number("depth", self.depth, "m", positive=True),
        )

    def tension(self, t: Any, length: Any, rate: Any) -> CoordinateEffect:
        """Return the tension, and the penetration: negative where it is too short."""
        force: Any = 0.0
        energy: Any = 0.0
        dissipation: Any = 0.0
        penetration: Any = 0.0
        for limit, out in ((self.shortest, -1.0), (self.longest, 1.0)):
            if limit is None:
                continue
            inside = out * (length - limit)
            push = one_sided(self.stiffness, self.damping, self.depth, inside, out * rate)
            force = force + out * push.force
            energy = energy + push.energy
            dissipation = dissipation + push.dissipation
            penetration = penetration + out * maximum(inside, 0.0)
        return CoordinateEffect(force, energy, dissipation, {"penetration": penetration})

    def more_units(self) -> Units:
        """Return the unit of the penetration."""
        return {"penetration": "m"}
