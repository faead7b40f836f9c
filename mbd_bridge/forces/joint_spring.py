"""A spring, damper and constant force along one coordinate of a joint; a torsion bar.

e = s - s0,   F = F0 + spring(e) + c ṡ,   on the coordinate: -F
U = F0 e + ∫ spring de,   D = c ṡ²
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

from mbd_bridge.forces.base import NO_STATES, Effect, ForceElement, Units
from mbd_bridge.forces.joints import joint_coordinate
from mbd_bridge.forces.law import Stiffness, restoring, stiffness_of, stored
from mbd_bridge.mechanism import Model
from mbd_bridge.spatial import Array


@final
@dataclass(frozen=True, eq=False)
class JointSpring(ForceElement):
    """A rotational or translational spring-damper in a joint.

    Parameters
    ----------
    joint : name of a coordinate: of the joint, or "joint.suffix" where it has several
    stiffness : N m/rad or N/m; coefficients of a polynomial, or a `functions.Table` (see `law`)
    damping : N m s/rad or N s/m
    rest : s0, rad or m: where the spring is relaxed
    preload : N m or N, constant and against the coordinate
    """

    joint: str
    stiffness: Stiffness = 0.0
    damping: float = 0.0
    rest: float = 0.0
    preload: float = 0.0

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        place = joint_coordinate(self, model, self.joint)
        unit, force = place.unit, place.force_unit
        return replace(
            self,
            stiffness=stiffness_of(self, self.stiffness),
            damping=self.number("damping", self.damping, f"{force} s/{unit}", 0.0),
            rest=self.number("rest", self.rest, unit),
            preload=self.number("preload", self.preload, force),
        )

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the force along the coordinate, and the report."""
        place = joint_coordinate(self, model, self.joint)
        s, rate = place.at(q, v)
        deflection = s - self.rest
        force = self.preload + restoring(self.stiffness, deflection) + self.damping * rate
        return Effect(
            forces=place.force(-force),
            wrenches={},
            energy=self.preload * deflection + stored(self.stiffness, deflection),
            dissipation=self.damping * (rate * rate),
            report={"force": -force, "deflection": deflection, "rate": rate},
        )

    def units(self, model: Model) -> Units:
        """Return the units of the report; the force is that on the coordinate."""
        place = joint_coordinate(self, model, self.joint)
        return {"force": place.force_unit, "deflection": place.unit, "rate": f"{place.unit}/s"}

    def velocity_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the velocity of the coordinate."""
        return (joint_coordinate(self, model, self.joint).v,)

    def replaces(self, model: Model) -> frozenset[tuple[str, str]]:
        """Return the file's damping of the joint, if it has some itself."""
        joint = joint_coordinate(self, model, self.joint).joint
        return frozenset({("damping", joint)} if self.damping else ())
