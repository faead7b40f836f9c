"""A tyre of few numbers: a vertical spring with damper, and slip forces that grow up to friction.

    Φ = max(k δ + c δ̇, 0),   F_z = Φ |N|
    κ = -s_x/V,  tan α = s_y/V,   V = |rolling speed|, above a low speed smooth (`slips.slip_speed`)
    e = (c_x κ, -c_y tan α)
    (F_x, F_y) = F_z e / √(1 + |e|²/μ²)

c_x and c_y are the stiffnesses over the load: small slips give F_x = c_x F_z κ, large ones μ F_z
against the sliding. Power is only lost in it: F_x s_x <= 0, F_y s_y <= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, final, get_args

from mbd_bridge.base.errors import StateError, one_of
from mbd_bridge.forces.base import NO_STATES, Bodies, Effect, number, vector
from mbd_bridge.forces.law import Stiffness
from mbd_bridge.forces.tyres.contact import slips
from mbd_bridge.forces.tyres.tyre import LOW_SPEED, SlipForce, Tyre, spring_damper, tyre_effect
from mbd_bridge.functions import sqrt
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

Direction = Literal["normal", "vertical"]
"""Of the spring's force: along the normal of the road, or vertical."""


@final
@dataclass(frozen=True, eq=False)
class SimpleTyre(Tyre):
    """A tyre with a vertical spring-damper and simple slip forces at one contact point.

    Parameters
    ----------
    radius : R, m
    stiffness : k, N/m; coefficients of a polynomial, or a `functions.Lookup` of the deflection
    damping : c, N s/m; it sets in over the first millimetre
    slip_stiffness : c_x, c_y: longitudinal stiffness and cornering stiffness (1/rad) by the load
    friction : μ; 0 for a wheel that only follows the road
    low_speed : v0, m/s; below it slips are taken over a lower bound of the speed, and at rest the
        tyre is a damper of 2 c_x F_z/v0 along the road
    direction : of the spring's force, "normal" to the road; or "vertical", with slip forces that
        are level: only the road's height counts, as in simple vehicle models

    Notes
    -----
    The stiffest rate of a rolling wheel of inertia J is c_x F_z R²/(J V): the step of Runge-Kutta
    must be shorter than 2.78 over it, at rest with v0/2 for V.
    """

    radius: Annotated[float, number("m", positive=True)]
    stiffness: Stiffness
    damping: Annotated[float, number("N s/m", 0.0)] = 0.0
    slip_stiffness: Annotated[tuple[float, float], vector("", "")] = (15.0, 12.0)
    friction: Annotated[float, number("", 0.0)] = 0.9
    low_speed: Annotated[float, number("m/s", positive=True)] = LOW_SPEED
    direction: Direction = "normal"

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        one_of(f"{self.label}: direction", self.direction, get_args(Direction), StateError)
        bound = self.checked(model)
        if min(bound.slip_stiffness) < 0.0:
            raise StateError(
                f"{self.label}: slip_stiffness: expected two numbers, at least 0, got "
                f"{bound.slip_stiffness}"
            )
        return bound

    @property
    def rolling_radius(self) -> float:
        """R."""
        return self.radius

    @property
    def passive(self) -> bool:
        """A vertical force on a slope drives the machine."""
        return super().passive and self.direction != "vertical"

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the wrench on the wheel, and the report."""
        vertical = self.direction == "vertical"
        touch = self.contact(model, t, Bodies(model, q, v), self.radius, vertical)
        spring = spring_damper(touch, self.stiffness, self.damping)
        kappa, tan_alpha, _ = slips(touch, self.low_speed, z, None)
        slip = SlipForce()
        if self.friction > 0.0:
            load = spring.push * touch.length
            x, y = self.slip_stiffness[0] * kappa, -self.slip_stiffness[1] * tan_alpha
            part = load / sqrt(1.0 + (x * x + y * y) * (1.0 / self.friction**2))
            slip = SlipForce(part * x, part * y)
        return tyre_effect(touch, spring, slip, (kappa, tan_alpha), vertical)
