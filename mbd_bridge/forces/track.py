"""A track on road wheels: pads between wheels and ground, and a band under tension over the wheels.

    ground: at each road wheel a spring and damper of the pads, as of a tyre    (`tyres.contact`)
    band:   L = Σ |p_k+1 - p_k|   through the wheels' centres, and idler and sprocket at its ends
            y = T0/k + L - L0, held at 0,   T = max(k y + c w L̇, 0)
            U = k y²/2,   D = (T - k y) L̇ >= 0

The band has one tension: it slides over the wheels without friction. It pulls each wheel towards
both neighbours: a wheel that is lifted by h out of a straight line between two at distances l is
pushed back with 2 T h/l, which couples the wheels, and with more as L grows. w fades the damping in
over the first millimetre of y. The band goes through the centres, not round the wheels. Along the
road the ground exerts no force but that of its slopes; a sprocket's drive is a torque of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated, Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.equations.external import add
from mbd_bridge.equations.state_vectors import state_vectors
from mbd_bridge.forces.base import (
    NO_STATES,
    Bodies,
    Effect,
    ForceElement,
    Units,
    model_in,
    number,
)
from mbd_bridge.forces.points import SMALLEST, Placed, on_links, placed
from mbd_bridge.forces.roads import Flat
from mbd_bridge.forces.tyres.contact import Wheel, contact
from mbd_bridge.forces.tyres.tyre import (
    FADE,
    Direction,
    RoadUnder,
    SlipForce,
    spring_damper,
    tyre_effect,
)
from mbd_bridge.functions import maximum, minimum, sqrt
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, cross

Point = tuple[str, ArrayLike]
"""A link and a point (3,) m in its frame."""


@final
@dataclass(frozen=True, eq=False)
class Track(ForceElement):
    """A track of one side of a vehicle.

    Parameters
    ----------
    wheels : centres of the road wheels from front to rear: link and point (3,) m in its frame
    radius : of a wheel with the pads under it, m
    pad_stiffness, pad_damping : of each wheel on the ground, N/m and N s/m
    front, rear : idler and sprocket, at which the band ends (its run between them, above the
        wheels, is part of the vehicle); None for none
    tension : T0, N, at the length L0
    stiffness : k of the band, N/m
    damping : c of the band, N s/m
    length : L0, m; None for that with all coordinates at zero, or see `relaxed_at`
    road : under the track
    axis : (3,) of the wheels in their links' frames, to the left
    """

    wheels: Sequence[Point]
    radius: Annotated[float, number("m", positive=True)]
    pad_stiffness: Annotated[float, number("N/m", 0.0)]
    pad_damping: Annotated[float, number("N s/m", 0.0)] = 0.0
    front: Point | None = None
    rear: Point | None = None
    tension: Annotated[float, number("N", 0.0)] = 0.0
    stiffness: Annotated[float, number("N/m", 0.0)] = 0.0
    damping: Annotated[float, number("N s/m", 0.0)] = 0.0
    length: Annotated[float | None, number("m", 0.0)] = None
    road: RoadUnder = field(default=Flat(), kw_only=True)
    axis: Direction = field(default=(0.0, 1.0, 0.0), kw_only=True)

    def bind(self, model: Model) -> Self:
        """Return the element checked, with its length."""
        if isinstance(self.wheels, str) or not isinstance(self.wheels, tuple | list):
            raise StateError(
                f"{self.label}: wheels: expected (link, point) of each road wheel, got "
                f"{self.wheels!r:.60}"
            )
        wheels = tuple(self._point(model, f"wheels[{k}]", at) for k, at in enumerate(self.wheels))
        front = None if self.front is None else self._point(model, "front", self.front)
        rear = None if self.rear is None else self._point(model, "rear", self.rear)
        if not wheels or len(wheels) + (front is not None) + (rear is not None) < 2:
            raise StateError(
                f"{self.label}: wheels: expected two places of the band at least, one a road wheel"
            )
        checked = replace(self.checked(model), wheels=wheels, front=front, rear=rear)
        if checked.tension > 0.0 and checked.stiffness == 0.0:
            raise StateError(
                f"{self.label}: stiffness: expected a number above 0, N/m, for a band under tension"
            )
        if self.length is not None:
            return checked
        if model.has_loops:
            raise StateError(
                f"{self.label}: length: expected a number, m, since with all coordinates at zero "
                f"the loops of this machine may be open; or element.relaxed_at(robot, q)"
            )
        return replace(checked, length=checked._length(model, model.neutral()))

    def _point(self, model: Model, name: str, at: Any) -> Point:
        if not isinstance(at, tuple | list) or len(at) != 2:
            raise StateError(f"{self.label}: {name}: expected (link, point), got {at!r:.60}")
        try:
            model.link_number(at[0])
        except ModelError as problem:
            raise ModelError(f"{self.label}: {name}: {problem}") from None
        return str(at[0]), self.vector(name, at[1])

    def relaxed_at(self, machine: Any, q: ArrayLike) -> Self:
        """Return the element with the length that its band has at coordinates q as L0."""
        model = model_in(machine, "relaxed_at")
        bound = replace(self, length=0.0).bind(model)
        return replace(self, length=bound._length(model, finite_numbers("q", q, (model.nq,))))

    def _length(self, model: Model, q: Array) -> float:
        band = self._places(model, q, np.zeros(model.nv))
        places = [np.asarray(at.position, dtype=float) for at in band]
        return float(sum(np.linalg.norm(np.diff(places, axis=0), axis=1)))

    @property
    def band(self) -> list[Point]:
        """Where its band is held, from front to rear: link and point."""
        return [at for at in (self.front, *self.wheels, self.rear) if at is not None]

    def _places(self, model: Model, q: Array, v: Array) -> list[Placed]:
        state = state_vectors(model, q, v, "root")
        return [placed(model, state, link, np.array(point)) for link, point in self.band]

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the wrenches on wheels and ends, and the report."""
        wrenches: dict[int, Any] = {}
        energy: Any = 0.0
        lost: Any = 0.0
        report: dict[str, Any] = {}
        bodies = Bodies(model, q, v)
        for place, (link, point) in enumerate(self.wheels, start=1):
            wheel = Wheel(link, point, self.axis, self.radius, self.road)
            touch = contact(model, t, bodies, wheel)
            spring = spring_damper(touch, (self.pad_stiffness,), self.pad_damping)
            pad = tyre_effect(touch, spring, SlipForce(), (0.0, 0.0))
            add(wrenches, pad.wrenches)
            energy, lost = energy + pad.energy, lost + pad.dissipation
            report[f"normal_force_{place}"] = pad.report["normal_force"]
        band = self._places(model, q, v)
        ways: list[Array] = []
        length: Any = 0.0
        rate: Any = 0.0
        for first, second in pairwise(band):
            d = second.position - first.position
            size = sqrt(maximum(d @ d, SMALLEST))
            ways.append(d * (1.0 / size))
            length = length + size
            rate = rate + ways[-1] @ (second.velocity - first.velocity)
        tension: Any = 0.0
        if self.stiffness and self.length is not None:
            slack = self.length - self.tension / self.stiffness
            stretch = maximum(length - slack, 0.0)
            elastic = self.stiffness * stretch
            fade = minimum(stretch * (1.0 / FADE), 1.0)
            tension = maximum(elastic + self.damping * fade * rate, 0.0)
            energy = energy + 0.5 * elastic * stretch
            lost = lost + (tension - elastic) * rate
            for way, (first, second) in zip(ways, pairwise(band), strict=True):
                pull = tension * way
                for end, force in ((first, pull), (second, -pull)):
                    moment = cross(end.position, force)
                    add(wrenches, on_links((end, np.concatenate([force, moment]))))
        report |= {"tension": tension, "length": length}
        return Effect({}, wrenches, energy, lost, report, about="root")

    def units(self, model: Model) -> Units:
        """Return the units of the report."""
        forces = {f"normal_force_{k}": "N" for k in range(1, len(self.wheels) + 1)}
        return forces | {"tension": "N", "length": "m"}

    @property
    def depends_on_time(self) -> bool:
        """It does, on a road that moves."""
        return any(self.road.motion)

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return the links of its wheels, and of the ends of its band if it has one."""
        points = self.band if self.stiffness else self.wheels
        return tuple(dict.fromkeys(model.link_number(link) for link, _ in points))
