"""A spring, damper and constant force along one coordinate of a joint; a torsion bar.

e = s - s0,   F = F0 + spring(e) + damper(ṡ),   on the coordinate: -F
U = F0 e + ∫ spring de,   D = damper(ṡ) ṡ
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, final

from mbd_bridge.forces.base import Units, number
from mbd_bridge.forces.joints import CoordinateEffect, JointCoordinate, JointElement
from mbd_bridge.forces.law import Damping, Stiffness, dissipated, restoring, stored
from mbd_bridge.model import Model


@final
@dataclass(frozen=True, eq=False)
class JointSpring(JointElement):
    """A rotational or translational spring-damper in a joint.

    Parameters
    ----------
    joint : name of a coordinate; see `JointElement`
    stiffness : N m/rad or N/m; coefficients of a polynomial, or a `functions.Table` (see `law`)
    damping : N m s/rad or N s/m; coefficients of a polynomial, or a `functions.Table` of the rate
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
        damping, dissipation = dissipated(self.damping, rate)
        force = -(self.preload + restoring(self.stiffness, e) + damping)
        energy = self.preload * e + stored(self.stiffness, e)
        return CoordinateEffect(force, energy, dissipation, {"deflection": e})

    def more_units(self, place: JointCoordinate) -> Units:
        """Return the unit of the deflection."""
        return {"deflection": place.unit}

    def replaces(self, model: Model) -> frozenset[tuple[str, str]]:
        """Return the file's damping and spring of the joint, if it has some itself."""
        joint = self.coordinate(model).joint
        kinds = {"damping": self.damping, "stiffness": self.stiffness}
        return frozenset((kind, joint) for kind, law in kinds.items() if law != (0.0,))
