"""A torsion bar: a round bar that a joint twists.

k = G J / L,   J = π (d⁴ - d_i⁴) / 32,   F = k e + c ṡ against the coordinate,   e = s - s0
U = k e² / 2,   D = c ṡ²
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import pi
from typing import Annotated, Any, Self, final

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Units, number
from mbd_bridge.forces.joints import CoordinateEffect, JointCoordinate, JointElement
from mbd_bridge.model import Model


@final
@dataclass(frozen=True, eq=False)
class TorsionBar(JointElement):
    """An elastic bar along the axis of a revolute joint.

    Parameters
    ----------
    joint : name of a coordinate that is an angle; see `JointElement`
    shear_modulus : G, Pa; some 8e10 of steel
    length : L, m
    diameter, inner_diameter : d, d_i, m
    polar_moment : J, m⁴, in place of the diameters
    damping : c, N m s/rad
    rest : s0, rad: where the bar is not twisted
    """

    shear_modulus: Annotated[float, number("Pa", positive=True)]
    length: Annotated[float, number("m", positive=True)]
    diameter: Annotated[float | None, number("m", positive=True)] = None
    inner_diameter: Annotated[float, number("m", 0.0)] = 0.0
    polar_moment: Annotated[float | None, number("m⁴", positive=True)] = None
    damping: Annotated[float, number("N m s/rad", 0.0)] = 0.0
    rest: Annotated[float, number("rad")] = 0.0

    def bind(self, model: Model) -> Self:
        """Return the element checked, with its polar moment."""
        if self.coordinate(model).unit != "rad":
            raise StateError(f"{self.label}: joint: expected an angle, got {self.joint!r}, m")
        if (self.diameter is None) == (self.polar_moment is None):
            raise StateError(f"{self.label}: expected a diameter, or a polar_moment")
        bound = self.checked(model)
        if bound.diameter is not None:
            inner, outer = bound.inner_diameter, bound.diameter
            if inner >= outer:
                raise StateError(
                    f"{self.label}: inner_diameter: expected less than the diameter, {outer:g} m, "
                    f"got {inner:g}"
                )
            moment = pi * (outer**4 - inner**4) / 32.0
            bound = replace(bound, diameter=None, inner_diameter=0.0, polar_moment=moment)
        return bound

    @property
    def stiffness(self) -> float:
        """Return k of a bound element, N m/rad."""
        assert self.polar_moment is not None, "it is bound"
        return self.shear_modulus * self.polar_moment / self.length

    def along(self, t: Any, s: Any, rate: Any) -> CoordinateEffect:
        """Return the moment on the coordinate, and the twist."""
        twist = s - self.rest
        spring = self.stiffness * twist
        energy, dissipation = 0.5 * spring * twist, self.damping * (rate * rate)
        return CoordinateEffect(
            -(spring + self.damping * rate), energy, dissipation, {"twist": twist}
        )

    def more_units(self, place: JointCoordinate) -> Units:
        """Return the unit of the twist."""
        return {"twist": "rad"}

    def replaces(self, model: Model) -> frozenset[tuple[str, str]]:
        """Return the file's damping of the joint, if it has some itself."""
        joint = self.coordinate(model).joint
        return frozenset({("damping", joint)} if self.damping else ())
