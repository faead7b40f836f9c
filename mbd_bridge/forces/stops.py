"""Stops that push back where a coordinate of a joint, or the length between two points, is too far.

    x_u = max(s - upper, 0),   x_l = max(lower - s, 0),   against the coordinate: F_u - F_l

F_u and F_l are springs over the depth x >= 0, progressive if wanted, with damping that fades in:

    F = max(spring(x) + c w(x) ẋ, 0),    w = 3 y² - 2 y³,  y = min(x/d, 1)
    U = ∫ spring dx,    D = (F - spring(x)) ẋ >= 0

w fades the damping in over the depth d: the force is continuous, and it never pulls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self, TypeAlias, final

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Checked, ForceElement, Units, number
from mbd_bridge.forces.joints import CoordinateEffect, JointCoordinate, JointElement
from mbd_bridge.forces.law import STIFFNESS, Law, restores, restoring, stored
from mbd_bridge.forces.points import PointElement
from mbd_bridge.functions import Lookup, maximum, minimum
from mbd_bridge.kernels import is_traced
from mbd_bridge.model import Model

DEPTH = 1e-3
"""rad or m: d where none is given."""


class Push(NamedTuple):
    """Force that pushes back, energy J, dissipated power W."""

    force: Any
    energy: Any
    dissipation: Any


def _progressive(
    element: ForceElement, name: str, value: Law, model: Model
) -> tuple[float, ...] | Lookup:
    """Return a checked law over the depth; it must not pull."""
    law = restores(element, name, value, model)
    if isinstance(law, Lookup) and law(0.0) != 0.0:
        raise StateError(
            f"{element.label}: {name}: expected a table that is 0 at depth 0, got {law(0.0):g}"
        )
    known = law.points[1] if isinstance(law, Lookup) else [x for x in law if not is_traced(x)]
    lowest = min(known, default=0.0)
    if lowest < 0.0:
        raise StateError(
            f"{element.label}: {name}: expected numbers at least 0, since it only pushes, got "
            f"{lowest:g}"
        )
    return law


Progressive: TypeAlias = Annotated[Law, Checked(_progressive, STIFFNESS)]
"""Such a stiffness over the depth of what pushes only."""


def one_sided(law: Any, damping: float, fade: float, inside: Any, speed: Any) -> Push:
    """Return what pushes back.

    Parameters
    ----------
    law : as `progressive` returns it
    damping : c
    fade : d, the depth over which the damping fades in
    inside, speed : how far it is pressed in, negative where it is free; its rate
    """
    depth = maximum(inside, 0.0)
    part = minimum(depth * (1.0 / fade), 1.0)
    spring = restoring(law, depth)
    force = maximum(spring + damping * (part * part * (3.0 - 2.0 * part)) * speed, 0.0)
    return Push(force, stored(law, depth), (force - spring) * speed)


class Stops(NamedTuple):
    """Force against the coordinate, energy J, dissipated power W, and the penetration: negative at
    the lower end.
    """

    force: Any
    energy: Any
    dissipation: Any
    penetration: Any


def stops(element: Any, ends: tuple[Any, Any], s: Any, rate: Any) -> Stops:
    """Return what two such ends of a range do at s.

    Parameters
    ----------
    element : with stiffness, damping and depth, bound
    ends : lower and upper, None for no stop on that side
    """
    total = Stops(0.0, 0.0, 0.0, 0.0)
    for limit, out in zip(ends, (-1.0, 1.0), strict=True):
        if limit is not None:
            inside = out * (s - limit)
            law = element.stiffness, element.damping, element.depth
            push = one_sided(*law, inside, out * rate)
            here = out * push.force, push.energy, push.dissipation, out * maximum(inside, 0.0)
            total = Stops(*(a + b for a, b in zip(total, here, strict=True)))
    return total


@final
@dataclass(frozen=True, eq=False)
class JointStop(JointElement):
    """Elastic stops with damping at the lower and upper end of a coordinate.

    Parameters
    ----------
    joint : name of a coordinate; see `JointElement`
    lower, upper : rad or m; None for no stop on that side
    stiffness : k, N m/rad or N/m; coefficients or a `functions.Lookup` of a progressive one (`law`)
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


@final
@dataclass(frozen=True, eq=False)
class PointStop(PointElement):
    """End-of-stroke bumpers between points of two links, or of a link and the ground.

    Parameters
    ----------
    links : two names; "ground" is the world
    points : two points (3,) m, in the frames of these links
    shortest, longest : m, the length's range; None for no stop on that side
    stiffness : N/m; coefficients or a `functions.Lookup` of a progressive one (`law`)
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
