"""Friction in a joint that grows with the force that the joint carries.

    F = (F_c + μ r N) tanh(ṡ/v_0),   on the coordinate: -F,   D = F ṡ >= 0
    N = |force across the axis| of the joint's load at accelerations zero

r is 1 where the joint slides. N holds weights and what comes from velocities; what accelerations
and force elements add to the load is left out, since friction would then depend on itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self, final

import numpy as np

from mbd_bridge.base.errors import ModelError
from mbd_bridge.equations.newton_euler import recursive_loads
from mbd_bridge.forces.base import NO_STATES, Effect, ForceElement, Units, number
from mbd_bridge.forces.joint_friction import SMOOTHING
from mbd_bridge.forces.joints import TreeCoordinate, joint_coordinate
from mbd_bridge.forces.points import SMALLEST
from mbd_bridge.functions import maximum, sqrt, tanh
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array


@final
@dataclass(frozen=True, eq=False)
class LoadFriction(ForceElement):
    """Dry friction by the load of a joint of the tree, in a machine without loops.

    Parameters
    ----------
    joint : name of a joint that turns or slides about one axis
    coefficient : μ
    radius : r of the bearing, m; of a joint that slides it has no part
    coulomb : F_c without load, N m or N
    smoothing_velocity : v_0, rad/s or m/s
    """

    joint: str
    coefficient: Annotated[float, number("", 0.0)] = 0.0
    radius: Annotated[float, number("m", 0.0)] = 0.0
    coulomb: Annotated[float, number("{f}", 0.0)] = 0.0
    smoothing_velocity: Annotated[float, number("{s}/s", positive=True)] = SMOOTHING

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        self._place(model)
        if model.has_loops:
            raise ModelError(
                f"{self.label}: the load of a joint depends on the accelerations where a machine "
                f"has loops; use a JointFriction"
            )
        return self.checked(model)

    def place_units(self, model: Model) -> Units:
        """Return the units of its coordinate."""
        place = self._place(model)
        return {"s": place.unit, "f": place.force_unit}

    def _place(self, model: Model) -> TreeCoordinate:
        place = joint_coordinate(self, model, self.joint)
        if not isinstance(place, TreeCoordinate) or place.joint != self.joint:
            raise ModelError(
                f"{self.label}: joint {self.joint!r}: expected a joint of the tree with one degree "
                f"of freedom; use a JointFriction"
            )
        return place

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the friction, and the force across the axis."""
        place = self._place(model)
        number = model.joint_index[self.joint]
        (wrench,) = recursive_loads(model, q, v, np.zeros(model.nv), [number]).wrench
        across = sqrt(maximum(wrench[0] * wrench[0] + wrench[1] * wrench[1], SMALLEST))
        at = place.at(model, q, v)
        arm = self.radius if place.unit == "rad" else 1.0
        dry = self.coulomb + self.coefficient * arm * across
        force = dry * tanh(at.rate * (1.0 / self.smoothing_velocity))
        report = {"force": -force, "load": across, "rate": at.rate}
        return Effect(at.exerts(-force).forces, {}, 0.0, force * at.rate, report)

    def units(self, model: Model) -> Units:
        """Return the units of the report; the force is that on the coordinate."""
        place = self._place(model)
        return {"force": place.force_unit, "load": "N", "rate": f"{place.unit}/s"}

    def velocity_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the velocity of the joint."""
        return self._place(model).velocities

    def replaces(self, model: Model) -> frozenset[tuple[str, str]]:
        """Return the file's friction of the joint."""
        return frozenset({("friction", self.joint)})
