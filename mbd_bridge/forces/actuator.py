"""Actuators: a given force between two points or in a joint.

    force = a number, a table of time, or a function (t, s, ṡ)

of time, s, rad or m (the length of the line, or the coordinate), and its rate.

An actuator stores nothing: D = -power, negative where it drives the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias, final

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.forces.joints import CoordinateEffect, JointElement
from mbd_bridge.forces.points import PointElement
from mbd_bridge.forces.varying import TracedFunction
from mbd_bridge.functions import Table
from mbd_bridge.model import Model

Given: TypeAlias = float | Table | Callable[[Any, Any, Any], Any]
"""N or N m: a number, a `functions.Table` of time, or a function of (t, s, rate) that is traced."""


def given(element: ForceElement, value: Given, unit: str) -> Given:
    """Return a checked force."""
    if isinstance(value, Table):
        return value
    if callable(value):
        return TracedFunction.of(element.label, value, {"t": None, "s": None, "rate": None})
    if isinstance(value, str):
        raise StateError(
            f"{element.label}: force: expected a number, {unit}, a Table of time, or a function "
            f"of (t, s, rate), got {value!r:.60}"
        )
    return element.number("force", value, unit)


def timed(force: Given) -> bool:
    """Return whether a checked force depends on time."""
    return force.timed if isinstance(force, TracedFunction) else isinstance(force, Table)


def value_of(force: Given, t: Any, s: Any, rate: Any) -> Any:
    """Return the force at a time and state."""
    if isinstance(force, Table):
        return force(t)
    return force(t, s, rate) if callable(force) else force


@final
@dataclass(frozen=True, eq=False)
class PointActuator(PointElement):
    """A given force between points of two links, or of a link and the ground.

    Parameters
    ----------
    links : two names; "ground" is the world
    points : two points (3,) m, in the frames of these links
    force : N, a tension: a number, a `functions.Table` of time, or a function of (t, length, rate)
        made of `mbd_bridge.functions`
    """

    force: Given = 0.0

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        links, points = self.ends(model)
        return replace(self, links=links, points=points, force=given(self, self.force, "N"))

    def tension(self, t: Any, length: Any, rate: Any) -> CoordinateEffect:
        """Return the tension."""
        force = value_of(self.force, t, length, rate)
        return CoordinateEffect(force, 0.0, force * rate)

    @property
    def passive(self) -> bool:
        """It drives the machine."""
        return False

    @property
    def depends_on_time(self) -> bool:
        """Whether its force is a table, or a function that uses t."""
        return timed(self.force)


@final
@dataclass(frozen=True, eq=False)
class JointActuator(JointElement):
    """A given force or torque along a coordinate of a joint.

    Parameters
    ----------
    joint : name of a coordinate; see `JointElement`
    force : N m or N, on the coordinate: a number, a `functions.Table` of time, or a function of
        (t, s, rate) made of `mbd_bridge.functions`
    """

    force: Given = 0.0

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        unit = self.coordinate(model).force_unit
        return replace(self, force=given(self, self.force, unit))

    def along(self, t: Any, s: Any, rate: Any) -> CoordinateEffect:
        """Return the force on the coordinate."""
        force = value_of(self.force, t, s, rate)
        return CoordinateEffect(force, 0.0, -(force * rate))

    @property
    def passive(self) -> bool:
        """It drives the machine."""
        return False

    @property
    def depends_on_time(self) -> bool:
        """Whether its force is a table, or a function that uses t."""
        return timed(self.force)
