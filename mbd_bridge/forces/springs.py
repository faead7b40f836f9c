"""Springs and dampers between two points and in joints; torsion bars.

    e = l - l0 between points, s - s0 in a joint
    F = F0 + spring(e) + damper(ė)        tension along the line, or against the coordinate
    U = F0 e + ∫ spring de,   D = damper(ė) ė

A torsion bar is a round bar that a joint twists:

    k = G J / L,   J = π (d⁴ - d_i⁴) / 32,   F = k e + c ṡ,   U = k e² / 2,   D = c ṡ²

A spring between points of free length 0 has the force k d at length 0, smooth; one of another free
length has no direction where its ends meet, and its force jumps there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import pi
from typing import Annotated, Any, Self, final

from numpy.typing import ArrayLike

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Units, model_in, number
from mbd_bridge.forces.joints import CoordinateEffect, JointCoordinate, JointElement
from mbd_bridge.forces.law import Damping, Stiffness, dissipated, restoring, stored
from mbd_bridge.forces.points import PointElement
from mbd_bridge.model import Model


def _law(spring: PointSpring | JointSpring, e: Any, rate: Any) -> tuple[Any, Any, Any]:
    """Return F, U and D of a bound spring."""
    damping, dissipation = dissipated(spring.damping, rate)
    force = spring.preload + restoring(spring.stiffness, e) + damping
    return force, spring.preload * e + stored(spring.stiffness, e), dissipation


@final
@dataclass(frozen=True, eq=False)
class PointSpring(PointElement):
    """A translational spring-damper between points of two links, or of a link and the ground.

    Parameters
    ----------
    links : two names; "ground" is the world
    points : two points (3,) m, in the frames of these links
    stiffness : N/m; coefficients of a polynomial, or a `functions.Lookup` of the extension (`law`)
    damping : N s/m; coefficients of a polynomial, or a `functions.Lookup` of the rate
    preload : N, constant tension beside
    free_length : m, at least 0; None for the length with all coordinates at zero, or see
        `relaxed_at`

    Examples
    --------
    >>> PointSpring(("ground", "bob"), ((0, 0, 0), (0, 0, 0)), stiffness=100.0)  # doctest: +SKIP
    """

    stiffness: Stiffness = 0.0
    damping: Damping = 0.0
    preload: Annotated[float, number("N")] = 0.0
    free_length: Annotated[float | None, number("m", 0.0)] = None

    def bind(self, model: Model) -> Self:
        """Return the element checked, with its free length."""
        checked = self.checked(model)
        if self.free_length is not None:
            return checked
        if model.has_loops:
            raise StateError(
                f"{self.label}: free_length: expected a number, m, since with all coordinates at "
                f"zero the loops of this machine may be open; or give the configuration: "
                f"element.relaxed_at(robot, q)"
            )
        return replace(checked, free_length=checked.length_at(model, model.neutral()))

    def relaxed_at(self, machine: Any, q: ArrayLike) -> Self:
        """Return the element with the length that it has at coordinates q as its free length."""
        model_in(machine, "relaxed_at")
        return replace(self, free_length=self.length_at(machine, q))

    def tension(self, t: Any, length: Any, rate: Any) -> CoordinateEffect:
        """Return the tension, and the extension."""
        extension = length - self.free_length
        return CoordinateEffect(*_law(self, extension, rate), {"extension": extension})

    def more_units(self) -> Units:
        """Return the unit of the extension."""
        return {"extension": "m"}


@final
@dataclass(frozen=True, eq=False)
class JointSpring(JointElement):
    """A rotational or translational spring-damper in a joint.

    Parameters
    ----------
    joint : name of a coordinate; see `JointElement`
    stiffness : N m/rad or N/m; coefficients of a polynomial, or a `functions.Lookup` (see `law`)
    damping : N m s/rad or N s/m; coefficients of a polynomial, or a `functions.Lookup` of the rate
    rest : s0, rad or m: where the spring is relaxed
    preload : N m or N, constant and against the coordinate
    """

    stiffness: Stiffness = 0.0
    damping: Damping = 0.0
    rest: Annotated[float, number("{s}")] = 0.0
    preload: Annotated[float, number("{f}")] = 0.0

    def along(self, t: Any, s: Any, rate: Any) -> CoordinateEffect:
        """Return the force on the coordinate, and the deflection."""
        e = s - self.rest
        force, energy, dissipation = _law(self, e, rate)
        return CoordinateEffect(-force, energy, dissipation, {"deflection": e})

    def more_units(self, place: JointCoordinate) -> Units:
        """Return the unit of the deflection."""
        return {"deflection": place.unit}

    def replaces(self, model: Model) -> frozenset[tuple[str, str]]:
        """Return the file's damping and spring of the joint, if it has some itself."""
        joint = self.coordinate(model).joint
        kinds = {"damping": self.damping, "stiffness": self.stiffness}
        return frozenset((kind, joint) for kind, law in kinds.items() if law != (0.0,))


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
