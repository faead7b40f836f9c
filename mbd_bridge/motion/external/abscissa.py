"""What a force is tabulated over: time, a coordinate, or where a link is in the world.

time            s
<coordinate>    rad or m: the stroke of a ram, the angle of a crank (<mimic> joints too)
<link>.x .y .z  m: the link's origin in the world's axes, where the stroke is no coordinate
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.equations.cartesian import link_velocity, placement
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import coordinate_units
from mbd_bridge.solve.prepared import Prepared

TIMES = ("time", "t")
AXES = "xyz"


@dataclass(frozen=True)
class Abscissa:
    """The variable of a table of forces.

    Attributes
    ----------
    name : "time", of a coordinate, or "<link>.x", ".y", ".z"
    unit : s, rad or m
    q, v : places of the coordinate and of its rate; None for what has none
    ratio, offset : of a joint that follows the coordinate (``<mimic>``): ratio * q + offset
    link, axis : of a link's position: its index and 0, 1 or 2; else None
    """

    name: str
    unit: str
    q: int | None = None
    v: int | None = None
    ratio: float = 1.0
    offset: float = 0.0
    link: int | None = None
    axis: int = 0

    @property
    def is_time(self) -> bool:
        """Whether it is time."""
        return self.q is None and self.link is None

    def values(self, prepared: Prepared, time: ArrayLike | None, q: Array) -> Array:
        """Return its values (N,) at times (N,) and coordinates (N, nq)."""
        if self.q is not None:
            return np.asarray(self.ratio * q[:, self.q] + self.offset)
        if self.link is not None:
            kernel = prepared.placement(prepared.model.links[self.link].name)
            return np.asarray(kernel(q)[0][:, self.axis, 3])
        if time is None:
            raise StateError(
                "external: a force over time needs the times of the states; give a motion with "
                "its times, or t="
            )
        return np.atleast_1d(as_floats("t", time))

    def rates(self, prepared: Prepared, q: Array, v: Array) -> Array:
        """Return its rates (N,)."""
        if self.v is not None:
            return np.asarray(self.ratio * v[:, self.v])
        assert self.link is not None
        kernel = prepared.velocity(prepared.model.links[self.link].name)
        return np.asarray(kernel(q, v, np.zeros(3))[0][:, self.axis])

    def traced(self, model: Model, t: Any, q: Array) -> Any:
        """Return its value at a state of floats or symbols."""
        if self.q is not None:
            return self.ratio * q[self.q] + self.offset
        return t if self.link is None else placement(model, q, self.link)[self.axis, 3]

    def traced_rate(self, model: Model, q: Array, v: Array) -> Any:
        """Return its rate at a state of floats or symbols."""
        if self.v is not None:
            return self.ratio * v[self.v]
        assert self.link is not None
        return link_velocity(model, q, v, self.link)[self.axis]


def abscissa_of(model: Model, name: str) -> Abscissa | None:
    """Return what a name stands for, or None."""
    if name in TIMES and name not in model.coordinate_names:
        return Abscissa("time", "s")
    for joint in model.joints:
        if not joint.moving:
            continue
        body = model.bodies[joint.body]
        names = model.coordinate_names[body.q] if joint.follows is None else (joint.name,)
        if name not in names:
            continue
        place, plain = names.index(name), joint.type.nq == joint.type.nv
        rate = body.v.start + place if plain else None
        unit = coordinate_units(joint.type)[place]
        return Abscissa(name, unit, body.q.start + place, rate, body.ratio, body.offset)
    link, _, axis = name.rpartition(".")
    if axis in AXES and axis and any(one.name == link for one in model.links):
        number = model.link_number(link)
        return Abscissa(name, "m", link=number, axis=AXES.index(axis))
    return None
