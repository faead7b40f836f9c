"""What all tyres share: a wheel, a road, the wrench, the energy and the report.

    force   Φ N at the lowest point,  F_x t_x + F_y t_y at the contact point      (`contact`)
    moment  M_z n, M_y a and M_x t_x beside

    U = the vertical spring's,   D = -P - dU/dt:
    D = (Φ - U') δ̇ - F_x s_x - F_y s_y - M_z n·ω - M_y a·ω - M_x t_x·ω - F·w

Nothing is lost on an uneven road that stays. Tyres lose power in their damping and by slip; a
road that moves (w) does the work F·w on the machine, which counts as negative D.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import (
    Bodies,
    Checked,
    Effect,
    ForceElement,
    LinkName,
    Units,
    Vector,
)
from mbd_bridge.forces.law import restoring, stored
from mbd_bridge.forces.points import on_links
from mbd_bridge.forces.roads import Flat, Road
from mbd_bridge.forces.tyres.contact import Contact, Wheel, contact, vector
from mbd_bridge.functions import arcsin, arctan, maximum, minimum
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import cross

UNITS = {
    "normal_force": "N",
    "longitudinal_force": "N",
    "lateral_force": "N",
    "aligning_moment": "N m",
    "deflection": "m",
    "slip_ratio": "-",
    "slip_angle": "rad",
    "camber": "rad",
}
"""Report of every tyre. Forces on the wheel along n, t_x and t_y, moment about n."""

FADE = 1e-3
"""m: deflection over which a tyre's damping sets in, so that its force does not jump."""


def _road(element: ForceElement, name: str, value: Any, model: Model) -> Road:
    if not isinstance(value, Road):
        raise StateError(
            f"{element.label}: {name}: expected a road of mbd_bridge.forces.roads, got "
            f"{value!r:.60}"
        )
    return value


def _direction(element: ForceElement, name: str, value: Any, model: Model) -> tuple[float, ...]:
    axis = element.vector(name, value)
    size = float(np.linalg.norm(axis))
    if not 0.0 < size < np.inf:
        raise StateError(f"{element.label}: {name}: expected a direction (3,), got {axis}")
    return tuple(x / size for x in axis)


RoadUnder: TypeAlias = Annotated[Road, Checked(_road)]
"""A road under wheels."""

Direction: TypeAlias = Annotated[ArrayLike, Checked(_direction)]
"""(3,), of any length."""


LOW_SPEED = 1.0
"""m/s: v0 where none is given."""


@dataclass(frozen=True, eq=False)
class Tyre(ForceElement):
    """A tyre on a wheel; concrete tyres are final.

    Parameters
    ----------
    wheel : name of the link that rolls
    road : under it
    centre : (3,) m, of the wheel in the link's frame
    axis : (3,), its axis in the link's frame, to the left when it rolls forward
    """

    wheel: LinkName
    road: RoadUnder = field(default=Flat(), kw_only=True)
    centre: Vector = field(default=(0.0, 0.0, 0.0), kw_only=True)
    axis: Direction = field(default=(0.0, 1.0, 0.0), kw_only=True)

    def units(self, model: Model) -> Units:
        """Return the units of the report."""
        return dict(UNITS)

    @property
    def depends_on_time(self) -> bool:
        """It does, on a road that moves."""
        return any(self.road.motion)

    def link_numbers(self, model: Model) -> tuple[int, ...]:
        """Return its wheel."""
        return (model.link_number(self.wheel),)

    def check_start(self, model: Model, t: float, bodies: Bodies) -> None:
        """Raise a `StateError` if the wheel's centre is below the road."""
        touch = self.contact(model, t, bodies, self.rolling_radius)
        above = float(self.rolling_radius - touch.deflection)
        if above < 0.0:
            raise StateError(
                f"{self.label}: at the start the centre of wheel {self.wheel!r} is "
                f"{-above:.4g} m below the road; expected it at most its radius, "
                f"{self.rolling_radius:g} m, above. Lift the machine, or lower the road"
            )

    @property
    @abstractmethod
    def rolling_radius(self) -> float:
        """Radius of the unloaded tyre, m."""

    def contact(
        self, model: Model, t: Any, bodies: Bodies, radius: float, steps_over: bool = False
    ) -> Contact:
        """Return how the wheel of a bound tyre touches its road."""
        wheel = Wheel(self.wheel, self.centre, self.axis, radius, self.road, steps_over)
        return contact(model, t, bodies, wheel)


class VerticalForce(NamedTuple):
    """Φ, its elastic part U', and U."""

    push: Any
    elastic: Any
    energy: Any


def spring_damper(touch: Contact, stiffness: Any, damping: float) -> VerticalForce:
    """Return Φ = max(U' + c min(δ/d, 1) δ̇, 0): the road never pulls.

    Parameters
    ----------
    stiffness : of U' and U at δ held at 0 above the road; see `law`
    damping : c, N s/m
    """
    pressed = maximum(touch.deflection, 0.0)
    elastic, energy = restoring(stiffness, pressed), stored(stiffness, pressed)
    fade = minimum(pressed * (1.0 / FADE), 1.0)
    return VerticalForce(maximum(elastic + damping * fade * touch.rate, 0.0), elastic, energy)


class SlipForce(NamedTuple):
    """Forces along t_x and t_y, N, moments about n, about the wheel's axis and about t_x, N m."""

    x: Any = 0.0
    y: Any = 0.0
    aligning: Any = 0.0
    rolling: Any = 0.0
    overturning: Any = 0.0


def tyre_effect(
    touch: Contact,
    spring: VerticalForce,
    slip: SlipForce,
    slips: tuple[Any, Any],
    vertical: bool = False,
    rates: Sequence[Any] = (),
) -> Effect:
    """Return the effect of a tyre.

    Parameters
    ----------
    slips : κ and tan α, for the report
    vertical : the push is Φ ẑ instead of Φ N. A road then drives the machine by its slopes, which
        D counts: a wheel that is pushed up a slope needs no force forward
    rates : of the tyre's own states
    """
    push = spring.push
    if vertical:
        load = push
        along = vector(0.0, 0.0, push)
        moment = vector(push * touch.arm[1], 0.0, 0.0)
        lost = -spring.elastic * touch.rate - push * touch.way[2]
    else:
        load = push * touch.length
        along = push * touch.normal
        moment = push * touch.normal_moment
        lost = (push - spring.elastic) * touch.rate
    tangential = slip.x * touch.forward + slip.y * touch.left
    force = along + tangential
    moment = moment + cross(touch.arm, tangential)
    n = touch.normal * (1.0 / touch.length)
    omega = touch.axes @ touch.centre.omega
    beside = slip.aligning * n + slip.rolling * touch.axis + slip.overturning * touch.forward
    lost = lost - slip.x * touch.slip_x - slip.y * touch.slip_y
    lost = lost - beside @ omega - force @ touch.belt
    report = {
        "normal_force": load,
        "longitudinal_force": slip.x,
        "lateral_force": slip.y,
        "aligning_moment": slip.aligning,
        "overturning_moment": slip.overturning,
        "rolling_moment": slip.rolling,
        "deflection": maximum(touch.deflection, 0.0),
        "slip_ratio": slips[0],
        "slip_angle": arctan(slips[1]),
        "camber": arcsin(touch.sin_camber),
    }
    whole = force, moment + beside
    wrenches = on_links((touch.centre, touch.wrench(*whole)))
    return Effect({}, wrenches, spring.energy, lost, report, rates, "root")
