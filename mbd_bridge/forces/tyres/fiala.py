"""Fiala's tyre: brush-like slip forces from two stiffnesses and two coefficients of friction.

    s = min(1, √(κ² + tan² α)),   U = u_max - (u_max - u_min) s,   F = U F_z
    r = 2 C_s |κ|/F:       F_x = C_s κ                           r <= 1
                           F_x = F (1 - 1/(2 r)) sign κ          else
    H = 1 - C_α |tan α|/(3 F), held at 0:
                           F_y = -F (1 - H³) sign α,   M_z = F w (1 - H) H³ sign α

as in ADAMS and Chrono. Written here with C_s κ and C_α tan α before everything, so that derivatives
are those of the stiffnesses at zero slip, and nothing is divided by no load. Camber and the other
direction's slip act only through U.

    M_y = -f_r F_z R (R Ω)/V(R Ω)          rolling resistance, smooth through rest
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self, final

from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import NO_STATES, Bodies, Effect, Units, number, vector
from mbd_bridge.forces.law import Stiffness
from mbd_bridge.forces.tyres.contact import STATES, slip_speed, slips
from mbd_bridge.forces.tyres.tyre import LOW_SPEED, SlipForce, Tyre, spring_damper, tyre_effect
from mbd_bridge.functions import absolute, less, maximum, minimum, sqrt, where
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array

NO_LOAD = 1e-9
"""N: least F that divides."""

NO_SLIP = 1e-24
"""Least s², whose root has a derivative."""


@final
@dataclass(frozen=True, eq=False)
class FialaTyre(Tyre):
    """A tyre after Fiala, with relaxation if lengths are given.

    Parameters
    ----------
    radius : R, m
    stiffness : vertical, N/m; coefficients of a polynomial, or a `functions.Lookup`
    damping : vertical, N s/m; it sets in over the first millimetre
    width : w, m
    slip_stiffness : C_s, C_α: N for each unit of κ, N/rad
    friction : u_min, u_max: coefficients at full slip and at none
    relaxation : σ_x, σ_y, m; None for slip forces without delay
    rolling_resistance : f_r, moment by load and radius
    low_speed : v0, m/s; below it slips are taken over a lower bound of the speed
    """

    radius: Annotated[float, number("m", positive=True)]
    stiffness: Stiffness
    damping: Annotated[float, number("N s/m", 0.0)]
    width: Annotated[float, number("m", positive=True)]
    slip_stiffness: Annotated[tuple[float, float], vector("", "")]
    friction: Annotated[tuple[float, float], vector("", "")]
    relaxation: Annotated[tuple[float, float] | None, vector("", "")] = None
    rolling_resistance: Annotated[float, number("", 0.0)] = 0.0
    low_speed: Annotated[float, number("m/s", positive=True)] = LOW_SPEED

    def bind(self, model: Model) -> Self:
        """Return the element checked."""
        bound = self.checked(model)
        stiff, (low, high), lengths = bound.slip_stiffness, bound.friction, bound.relaxation
        if min(stiff) <= 0.0:
            raise StateError(f"{self.label}: slip_stiffness: expected two above 0, got {stiff}")
        if not 0.0 <= low <= high or high == 0.0:
            raise StateError(
                f"{self.label}: friction: expected 0 <= u_min <= u_max above 0, got {low}, {high}"
            )
        if lengths is not None and min(lengths) <= 0.0:
            raise StateError(
                f"{self.label}: relaxation: expected two lengths above 0, m, or None, got "
                f"{lengths[0]:g}, {lengths[1]:g}"
            )
        return bound

    def states(self, model: Model) -> Units:
        """Return the carcass's deflections, if there are relaxation lengths."""
        return {} if self.relaxation is None else dict(STATES)

    @property
    def rolling_radius(self) -> float:
        """R."""
        return self.radius

    def effect(self, model: Model, t: Any, q: Array, v: Array, z: Array = NO_STATES) -> Effect:
        """Return the wrench on the wheel, the report, and the rates of the deflections."""
        touch = self.contact(model, t, Bodies(model, q, v), self.radius)
        spring = spring_damper(touch, self.stiffness, self.damping)
        load = spring.push * touch.length
        found = slips(touch, self.low_speed, z, self.relaxation)
        x, y, aligning = self.slip_forces(found.kappa, found.tan_alpha, load)
        rolling: Any = 0.0
        if self.rolling_resistance:
            speed = self.radius * touch.spin
            part = self.rolling_resistance * self.radius * load
            rolling = -part * speed / slip_speed(speed, self.low_speed)
        slip = SlipForce(x, y, aligning, rolling)
        return tyre_effect(touch, spring, slip, found[:2], rates=found.rates)

    def slip_forces(self, kappa: Any, tan_alpha: Any, load: Any) -> tuple[Any, Any, Any]:
        """Return F_x, F_y (N) and M_z (N m) of slips under a load (N)."""
        (along, across), (low, high) = self.slip_stiffness, self.friction
        s = minimum(sqrt(maximum(kappa * kappa + tan_alpha * tan_alpha, NO_SLIP)), 1.0)
        most = maximum((high - (high - low) * s) * load, NO_LOAD)
        r = absolute((2.0 * along) * kappa) / most
        more = maximum(r, 1.0)
        x = along * kappa * where(less(r, 1.0), 1.0, (2.0 - 1.0 / more) / more)
        r = absolute((across / 3.0) * tan_alpha) / most
        part = minimum(r, 1.0)
        push = across * tan_alpha
        y = -push * (1.0 - part + part * part * (1.0 / 3.0)) / maximum(r, 1.0)
        H = 1.0 - part
        return x, y, (self.width / 3.0) * push * (H * H * H)
