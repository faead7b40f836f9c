"""Slips of a tyre: how far its material slides for each metre that it rolls, at once or with delay.

    κ = -s_x/V,   tan α = s_y/V                        at once
    u̇ = -s_x - V u/σ_x,   ẇ = s_y - V w/σ_y           relaxation, lengths σ; s = 0 in the air
    κ = u/σ_x,   tan α = w/σ_y

V is the rolling speed, bounded from below (`slip_speed`). The deflections u and w of the carcass
are states of the tyre. Nothing is divided by a speed then, and at rest the tyre is a spring of
stiffness/σ that slowly lets go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mbd_bridge.forces.tyres.contact import Contact
from mbd_bridge.functions import absolute, less, where
from mbd_bridge.model.spatial import Array

STATES = {"longitudinal_deflection": "m", "lateral_deflection": "m"}
"""Names and units of the states of a tyre with relaxation."""


class Slips(NamedTuple):
    """κ and tan α, and the rates of the deflections if there are some."""

    kappa: Any
    tan_alpha: Any
    rates: tuple[Any, ...] = ()


def slips(touch: Contact, low_speed: float, z: Array, lengths: tuple[Any, Any] | None) -> Slips:
    """Return the slips of a tyre.

    Parameters
    ----------
    low_speed : m/s
    z : u and w if there are relaxation lengths
    lengths : σ_x, σ_y, m, above 0; None for slips at once
    """
    speed = slip_speed(touch.rolling, low_speed)
    if lengths is None:
        over = 1.0 / speed
        return Slips(-touch.slip_x * over, touch.slip_y * over)
    kappa, tan_alpha = z[0] * (1.0 / lengths[0]), z[1] * (1.0 / lengths[1])
    touches = less(0.0, touch.deflection)  # nothing deflects a carcass in the air
    slip_x, slip_y = (where(touches, s, 0.0) for s in (touch.slip_x, touch.slip_y))
    return Slips(kappa, tan_alpha, (-slip_x - speed * kappa, slip_y - speed * tan_alpha))


def slip_speed(rolling: Any, low_speed: float) -> Any:
    """Return the speed over which slips are taken, |V| above a low speed v0 (m/s).

        |V| >= v0: |V|,      else (V²/v0 + v0)/2

    It is smooth but for a jump of curvature at v0, and never below v0/2: at rest a tyre is a damper
    between wheel and road.
    """
    speed = absolute(rolling)
    slow = (0.5 / low_speed) * (rolling * rolling) + 0.5 * low_speed
    return where(less(speed, low_speed), slow, speed)
