"""Actuators: a given force between two points or in a joint, and motors that hold a position.

    force = a number, a table of time, or a function (t, s, ṡ)
    force = k (goal - s) + c (rate - ṡ), within ± limit

of time, s, rad or m (the length of the line, or the coordinate), and its rate.

An actuator stores nothing: D = -power, negative where it drives the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, final

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Checked, ForceElement, Units, number
from mbd_bridge.forces.joints import CoordinateEffect, JointCoordinate, JointElement
from mbd_bridge.forces.points import PointElement
from mbd_bridge.forces.varying import TracedFunction
from mbd_bridge.functions import Lookup, clip
from mbd_bridge.model import Model


def _given(element: ForceElement, name: str, value: Any, model: Model) -> Any:
    """Return a checked force."""
    if isinstance(value, Lookup):
        return value
    if callable(value):
        return TracedFunction.of(element.label, value, {"t": None, "s": None, "rate": None})
    unit = element.unit_of(name, model)
    if isinstance(value, str):
        raise StateError(
            f"{element.label}: {name}: expected a number, {unit}, a Table of time, or a function "
            f"of (t, s, rate), got {value!r:.60}"
        )
    return element.number(name, value, unit)


Given: TypeAlias = Annotated[
    float | Lookup | Callable[[Any, Any, Any], Any], Checked(_given, ("{f}",))
]
"""N or N m: a number, a `functions.Lookup` of time, or a traced function of (t, s, rate)."""


class Drive:
    """What actuators have in common: a force that is given."""

    force: Given

    def given(self, t: Any, s: Any, rate: Any) -> Any:
        """Return the force of a bound element at a time and state."""
        if isinstance(self.force, Lookup):
            return self.force(t)
        return self.force(t, s, rate) if callable(self.force) else self.force

    @property
    def passive(self) -> bool:
        """It drives the machine."""
        return False

    @property
    def depends_on_time(self) -> bool:
        """Whether its force is a table, or a function that uses t."""
        timed = isinstance(self.force, TracedFunction) and self.force.timed
        return timed or isinstance(self.force, Lookup)


@final
@dataclass(frozen=True, eq=False)
class PointActuator(Drive, PointElement):
    """A given force between points of two links, or of a link and the ground.

    Parameters
    ----------
    links : two names; "ground" is the world
    points : two points (3,) m, in the frames of these links
    force : N, a tension: a number, a `functions.Lookup` of time, or a function of (t, length, rate)
        made of `mbd_bridge.functions`
    """

    force: Given = 0.0

    def tension(self, t: Any, length: Any, rate: Any) -> CoordinateEffect:
        """Return the tension."""
        force = self.given(t, length, rate)
        return CoordinateEffect(force, 0.0, force * rate)


@final
@dataclass(frozen=True, eq=False)
class JointActuator(Drive, JointElement):
    """A given force or torque along a coordinate of a joint.

    Parameters
    ----------
    joint : name of a coordinate; see `JointElement`
    force : N m or N, on the coordinate: a number, a `functions.Lookup` of time, or a function of
        (t, s, rate) made of `mbd_bridge.functions`
    """

    force: Given = 0.0

    def along(self, t: Any, s: Any, rate: Any) -> CoordinateEffect:
        """Return the force on the coordinate."""
        force = self.given(t, s, rate)
        return CoordinateEffect(force, 0.0, -(force * rate))


@final
@dataclass(frozen=True, eq=False)
class PositionControl(JointElement):
    """A motor that brings a coordinate of a joint to a goal and holds it there.

    Parameters
    ----------
    joint : name of a coordinate; see `JointElement`
    goal : rad or m; a formula of time, or an `mbd.Input`, moves it
    stiffness : N m/rad or N/m, for each rad or m that is missing
    damping : N m s/rad or N s/m, for each rad/s or m/s that the rate is off
    limit : N m or N, the most that the motor gives; None: no limit
    rate : rad/s or m/s, that of the goal
    """

    goal: Annotated[float, number("{s}")] = 0.0
    stiffness: Annotated[float, number("{f}/{s}", 0.0)] = 0.0
    damping: Annotated[float, number("{f} s/{s}", 0.0)] = 0.0
    limit: Annotated[float | None, number("{f}", positive=True)] = None
    rate: Annotated[float, number("{s}/s")] = 0.0

    def along(self, t: Any, s: Any, rate: Any) -> CoordinateEffect:
        """Return the force on the coordinate, and what is missing to the goal."""
        missing = self.goal - s
        force = self.stiffness * missing + self.damping * (self.rate - rate)
        if self.limit is not None:
            force = clip(force, -self.limit, self.limit)
        return CoordinateEffect(force, 0.0, -(force * rate), {"missing": missing})

    def more_units(self, place: JointCoordinate) -> Units:
        """Return the unit of what is missing."""
        return {"missing": place.unit}

    @property
    def passive(self) -> bool:
        """It drives the machine."""
        return False
