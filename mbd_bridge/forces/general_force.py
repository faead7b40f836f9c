"""Whatever a function says: forces along coordinates of joints, or a wrench on a link.

    (t, q, v) -> (n,) N m or N on coordinates of joints, or (6,) force N and moment N m on a link

Traced into the machine code; or, with `sampled`, any Python, called at the start of each step and
held during it: some microseconds a step, and an error of the first order in the step. It stores
nothing: D = -power.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, final, get_args

import numpy as np

from mbd_bridge.base.arguments import flag, name_list
from mbd_bridge.base.errors import ModelError, StateError, one_of
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.forces.base import NO_STATES, Effect, ForceElement, Units
from mbd_bridge.forces.joints import TreeCoordinate, joint_coordinate
from mbd_bridge.forces.points import placed
from mbd_bridge.forces.varying import Sampled, TracedFunction
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

Axes = Literal["link", "world"]


@final
@dataclass(frozen=True, eq=False)
class GeneralForce(ForceElement):
    """A force that a function of (t, q, v) computes.

    Parameters
    ----------
    function : of (t, q, v), made of `mbd_bridge.functions`; with `sampled` any Python
    joints : names of coordinates on which its (n,) numbers act, in this order, of joints of the
        tree; or
    link : name of the link on which its (6,) numbers act, at the origin of the link's frame
    axes : in which these are given, of the "link" or of the "world"
    sampled : call it at each step instead of tracing it
    """

    function: Callable[[Any, Array, Array], Any]
    joints: tuple[str, ...] = ()
    link: str = ""
    axes: Axes = "link"
    sampled: bool = False

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        joints = name_list("joints", self.joints, "coordinates")
        if bool(joints) == bool(self.link):
            raise StateError(f"{self.label}: expected joints, or a link, on which it acts")
        if not callable(self.function):
            raise StateError(
                f"{self.label}: function: expected a function of (t, q, v), got "
                f"{self.function!r:.60}"
            )
        if joints:
            self._coordinates(model, joints)
        else:
            try:
                model.link_number(self.link)
            except ModelError as problem:
                raise ModelError(f"{self.label}: {problem}") from None
        one_of(f"{self.label}: axes", self.axes, get_args(Axes), StateError)
        bound = replace(self, joints=joints, sampled=flag("sampled", self.sampled))
        if self.sampled:
            return bound
        inputs = {"t": None, "q": model.nq, "v": model.nv}
        size = len(joints) or 6
        return replace(bound, function=TracedFunction.of(self.label, self.function, inputs, size))

    def _coordinates(self, model: Model, joints: tuple[str, ...]) -> list[TreeCoordinate]:
        coordinates = []
        for name in joints:
            coordinate = joint_coordinate(self, model, name)
            if not isinstance(coordinate, TreeCoordinate) or coordinate.ratio != 1.0:
                raise ModelError(
                    f"{self.label}: joints: {name!r} is cut or follows another joint; use a "
                    f"JointActuator there"
                )
            coordinates.append(coordinate)
        return coordinates

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the forces, and the report."""
        numbers = np.asarray(self.function(t, q, v))
        report = dict(zip(self.units(model), numbers, strict=True))
        if self.joints:
            places = [place.v for place in self._coordinates(model, self.joints)]
            power: Any = sum(x * v[k] for k, x in zip(places, numbers, strict=True))
            return Effect(dict(zip(places, numbers, strict=True)), {}, 0.0, -power, report)
        at = placed(model, state_vectors(model, q, v, "world"), self.link, np.zeros(3))
        force, moment, wrench = numbers[:3], numbers[3:], numbers
        if self.axes == "link":
            force, moment = at.rotation @ force, at.rotation @ moment
        else:
            wrench = at.wrench(force, moment)
        power = force @ at.velocity + moment @ at.omega
        return Effect({}, {model.link_number(self.link): wrench}, 0.0, -power, report)

    @property
    def held(self) -> dict[str, tuple[Sampled, int]]:
        """What a function returns that is called at each step."""
        called = Sampled(self.function, element=self.name)
        return {"function": (called, len(self.joints) or 6)} if self.sampled else {}

    def holding(self, numbers: Sequence[Any]) -> Self:
        """Return the element with what its function has returned."""
        return replace(self, function=lambda *_: numbers[0]) if self.sampled else self

    @property
    def identity(self) -> str | None:
        """A text that tells it from others: what a function returns that is called is an input."""
        told: Any = "called"
        own = replace(self, function=told) if self.sampled else self
        return super(GeneralForce, own).identity

    def units(self, model: Model) -> Units:
        """Return the units of the report: the numbers of the function."""
        if not self.joints:
            names = "force_x", "force_y", "force_z", "moment_x", "moment_y", "moment_z"
            return {name: "N m" if name.startswith("moment") else "N" for name in names}
        places = zip(self.joints, self._coordinates(model, self.joints), strict=True)
        return {name: place.force_unit for name, place in places}

    @property
    def depends_on_time(self) -> bool:
        """Whether its function uses t."""
        return not isinstance(self.function, TracedFunction) or self.function.timed

    @property
    def passive(self) -> bool:
        """A function may do anything."""
        return False

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return its link."""
        return (model.link_number(self.link),) if self.link else ()

    def velocity_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the velocities of its joints."""
        return tuple(place.v for place in self._coordinates(model, self.joints))
