"""Stops at the ends of a joint's range: stiff springs that push back only.

    x_u = max(s - upper, 0),   F_u = max(k x_u + c w(x_u) ṡ, 0)         likewise at the lower end
    on the coordinate: F_l - F_u
    U = k (x_u² + x_l²) / 2,   D = (F_u - k x_u) ṡ - (F_l - k x_l) ṡ >= 0

w = 3 y² - 2 y³, y = min(x/d, 1), fades the damping in over the depth d: the force is continuous.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

from mbd_bridge.errors import StateError, real_number
from mbd_bridge.forces.base import NO_STATES, Effect, ForceElement, Units
from mbd_bridge.forces.joints import joint_coordinate
from mbd_bridge.functions import maximum, minimum
from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array

DEPTH = 1e-3
"""rad or m: d where none is given."""


@final
@dataclass(frozen=True, eq=False)
class JointStop(ForceElement):
    """Elastic stops with damping at the lower and upper end of a coordinate.

    Parameters
    ----------
    joint : name of a coordinate: of the joint, or "joint.suffix" where it has several
    lower, upper : rad or m; None for no stop on that side
    stiffness : k, N m/rad or N/m
    damping : c, N m s/rad or N s/m
    depth : d, rad or m, over which the damping fades in
    """

    joint: str
    lower: float | None = None
    upper: float | None = None
    stiffness: float = 0.0
    damping: float = 0.0
    depth: float = DEPTH

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        place = joint_coordinate(self, model, self.joint)
        unit, force = place.unit, place.force_unit
        lower, upper = (
            x if x is None else self.number(name, x, unit)
            for name, x in (("lower", self.lower), ("upper", self.upper))
        )
        if lower is None and upper is None:
            raise StateError(f"{self.label}: expected lower, upper or both, {unit}, got none")
        if lower is not None and upper is not None and lower >= upper:
            raise StateError(
                f"{self.label}: expected lower below upper, got {lower:g} and {upper:g} {unit}"
            )
        depth = self.number("depth", self.depth, unit)
        expected = f"a number above 0, {unit}"
        return replace(
            self,
            lower=lower,
            upper=upper,
            stiffness=self.number("stiffness", self.stiffness, f"{force}/{unit}", 0.0),
            damping=self.number("damping", self.damping, f"{force} s/{unit}", 0.0),
            depth=real_number(f"{self.label}: depth", depth, expected, positive=True),
        )

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the force along the coordinate, and the report."""
        place = joint_coordinate(self, model, self.joint)
        s, rate = place.at(q, v)
        force: Any = 0.0
        energy: Any = 0.0
        dissipation: Any = 0.0
        inside: Any = 0.0
        for limit, out in ((self.lower, -1.0), (self.upper, 1.0)):
            if limit is None:
                continue
            depth, speed = maximum(out * (s - limit), 0.0), out * rate
            part = minimum(depth * (1.0 / self.depth), 1.0)
            fade = part * part * (3.0 - 2.0 * part)
            spring = self.stiffness * depth
            push = maximum(spring + self.damping * fade * speed, 0.0)
            force = force - out * push
            energy = energy + 0.5 * spring * depth
            dissipation = dissipation + (push - spring) * speed
            inside = inside + out * depth
        report = {"force": force, "penetration": inside, "rate": rate}
        return Effect(place.force(force), {}, energy, dissipation, report)

    def units(self, model: Model) -> Units:
        """Return the units of the report: the penetration is negative at the lower end."""
        place = joint_coordinate(self, model, self.joint)
        return {"force": place.force_unit, "penetration": place.unit, "rate": f"{place.unit}/s"}

    def velocity_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the velocity of the coordinate."""
        return (joint_coordinate(self, model, self.joint).v,)

    def replaces(self, model: Model) -> frozenset[tuple[str, str]]:
        """Return the file's limits of the joint."""
        return frozenset({("limits", joint_coordinate(self, model, self.joint).joint)})
