"""Elements that act along one coordinate of a joint: what they have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mbd_bridge.forces.base import NO_STATES, Effect, ForceElement, Units
from mbd_bridge.forces.joints import JointCoordinate, joint_coordinate
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array


class CoordinateEffect(NamedTuple):
    """What an element does along its coordinate: force on it, energy, dissipation, report."""

    force: Any
    energy: Any
    dissipation: Any
    report: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class JointElement(ForceElement):
    """An element along one coordinate of a joint; concrete ones say its law.

    Parameters
    ----------
    joint : name of a coordinate: of the joint, or "joint.suffix" where it has several. Cut joints
        have some too: revolute, translational and cylindrical ones
    """

    joint: str

    @abstractmethod
    def along(self, t: Any, s: Any, rate: Any) -> CoordinateEffect:
        """Return what a bound element does at the coordinate s and its rate."""

    def more_units(self, place: JointCoordinate) -> Units:
        """Return names and units of what it reports beside force and rate."""
        return {}

    def coordinate(self, model: Model) -> JointCoordinate:
        """Return its coordinate."""
        return joint_coordinate(self, model, self.joint)

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the force along the coordinate, and the report."""
        at = self.coordinate(model).at(model, q, v)
        force, energy, dissipation, more = self.along(t, at.s, at.rate)
        report = {"force": force, **more, "rate": at.rate}
        exerted = at.exerts(force)
        forces, wrenches = exerted.forces, exerted.wrenches
        return Effect(forces, wrenches, energy, dissipation, report, about="root")

    def within_cuts(
        self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES
    ) -> Mapping[int, Array]:
        """Return its wrench on the successor of a cut joint."""
        at = self.coordinate(model).at(model, q, v)
        return at.exerts(self.along(t, at.s, at.rate).force).within

    def cut_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the cut joint that it acts in."""
        return self.coordinate(model).cuts

    def units(self, model: Model) -> Units:
        """Return the units of the report; the force is that on the coordinate."""
        place = self.coordinate(model)
        more = self.more_units(place)
        return {"force": place.force_unit, **more, "rate": f"{place.unit}/s"}

    def velocity_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the velocity of the coordinate, of a joint of the tree."""
        return self.coordinate(model).velocities

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the links of a cut joint."""
        return self.coordinate(model).links
