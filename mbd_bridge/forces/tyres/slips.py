"""Slips of a tyre: how far its material slides for each metre that it rolls, at once or with delay.

    κ = -s_x/V,   tan α = s_y/V                                    at once
    σ_x κ̇' = -s_x - V κ',   σ_y d(tan α')/dt = s_y - V tan α'      relaxation, lengths σ

V is the rolling speed, bounded from below (`slip_speed`). The delayed slips are states of the tyre.
They divide by no speed; at rest the tyre is a spring of stiffness/σ that slowly lets go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mbd_bridge.forces.tyres.contact import Contact
from mbd_bridge.functions import absolute, less, where
from mbd_bridge.spatial import Array

STATES = {"slip_ratio": "-", "tangent_of_slip_angle": "-"}
"""Names and units of delayed slips."""


class Slips(NamedTuple):
    """κ and tan α, or their delayed values, and the rates of these."""

    kappa: Any
    tan_alpha: Any
    rates: tuple[Any, ...] = ()


def slips(touch: Contact, low_speed: float, z: Array, lengths: tuple[Any, Any] | None) -> Slips:
    """Return the slips of a tyre.

    Parameters
    ----------
    low_speed : m/s
    z : κ' and tan α' if there are relaxation lengths
    lengths : σ_x, σ_y, m, above 0; None for slips at once
    """
    speed = slip_speed(touch.rolling, low_speed)
    if lengths is None:
        over = 1.0 / speed
        return Slips(-touch.slip_x * over, touch.slip_y * over)
    x, y = lengths
    rates = (-touch.slip_x - speed * z[0]) / x, (touch.slip_y - speed * z[1]) / y
    return Slips(z[0], z[1], rates)


def slip_speed(rolling: Any, low_speed: float) -> Any:
    """Return the speed over which slips are taken, |V| above a low speed v0 (m/s).

        |V| >= v0: |V|,      else (V²/v0 + v0)/2

    It is smooth but for a jump of curvature at v0, and never below v0/2: at rest a tyre is a damper
    between wheel and road.
    """
    speed = absolute(rolling)
    slow = (0.5 / low_speed) * (rolling * rolling) + 0.5 * low_speed
    return where(less(speed, low_speed), slow, speed)
