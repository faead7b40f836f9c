"""A hydropneumatic unit: a piston that compresses a gas through a throttle.

    V = V_s + A (l - l_s),   p = p_s (V_s / V)^n        gas, p_s and V_s at the static length l_s
    F = A (p - p_0) - (c + b |l̇|) l̇                         pushes the points apart
    U = p_s V_s ((V_s/V)^(n-1) - 1) / (n-1) + A p_0 (l - l_s)         n = 1: p_s V_s ln(V_s/V) + ...
    D = (c + b |l̇|) l̇²

c and b are those of bump (l̇ < 0) or of rebound. The oil is incompressible. The gas is not
compressed below a part of its static volume (`LEAST`): beyond, the pressure stays; bumpers belong
there (`PointStop`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self, final

import numpy as np

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Checked, ForceElement, Units, number
from mbd_bridge.forces.joints import CoordinateEffect
from mbd_bridge.forces.points import PointElement
from mbd_bridge.functions import absolute, exp, log, maximum, where
from mbd_bridge.model import Model

LEAST = 0.01
"""Part of the static volume below which the gas is not compressed: a real unit's piston ends on a
stop at a tenth or so."""

ATMOSPHERE = 101_325.0
"""Pa, around the unit."""

Throttle = float | Sequence[float]
"""N s/m, or (N s/m, N s²/m²): a linear and a quadratic part."""


def _throttle(
    element: ForceElement, name: str, value: Throttle, model: Model
) -> tuple[float, float]:
    where = f"{element.label}: {name}"
    numbers = finite_numbers(where, value).reshape(-1)
    if numbers.size not in (1, 2) or np.any(numbers < 0.0):
        raise StateError(
            f"{where}: expected c, N s/m, or (c, b), N s/m and N s²/m², at least 0, got "
            f"{value!r:.60}"
        )
    return float(numbers[0]), float(numbers[1]) if numbers.size == 2 else 0.0


THROTTLE = Checked(_throttle, ("N s/m", "N s^2/m^2"))
"""A throttle is two numbers then."""


@final
@dataclass(frozen=True, eq=False)
class HydropneumaticUnit(PointElement):
    """A gas spring with a throttle between points of two links, or of a link and the ground.

    Parameters
    ----------
    links : two names; "ground" is the world
    points : two points (3,) m, in the frames of these links
    area : A of the piston, m²
    static_length : l_s, m: distance of the points in the static position
    static_volume : V_s of the gas there, m³
    static_pressure : p_s of the gas there, Pa, absolute
    static_force : N, with which it pushes there, in place of the pressure
    exponent : n, polytropic: 1 isothermal (slow), 1.4 adiabatic (fast)
    bump, rebound : throttle c, or (c, b), for the shortening and for the lengthening unit; without
        `rebound` that of `bump`
    ambient_pressure : p_0, Pa
    """

    area: Annotated[float, number("m²", positive=True)] = 0.0
    static_length: Annotated[float, number("m", positive=True)] = 0.0
    static_volume: Annotated[float, number("m³", positive=True)] = 0.0
    static_pressure: Annotated[float | None, number("Pa", positive=True)] = None
    static_force: Annotated[float | None, number("N")] = None
    exponent: Annotated[float, number("", 1.0)] = 1.4
    bump: Annotated[Throttle, THROTTLE] = 0.0
    rebound: Annotated[Throttle | None, THROTTLE] = None
    ambient_pressure: Annotated[float, number("Pa", 0.0)] = ATMOSPHERE

    def bind(self, model: Model) -> Self:
        """Return the element checked, with its static pressure."""
        bound = self.checked(model)
        if (self.static_pressure is None) == (self.static_force is None):
            raise StateError(f"{self.label}: expected a static_pressure, or a static_force")
        pressure = bound.static_pressure
        if bound.static_force is not None:
            pressure = bound.static_force / bound.area + bound.ambient_pressure
            pressure = self.number("static_pressure", pressure, "Pa", positive=True)
        rebound = bound.bump if bound.rebound is None else bound.rebound
        return replace(bound, static_pressure=pressure, static_force=None, rebound=rebound)

    def tension(self, t: Any, length: Any, rate: Any) -> CoordinateEffect:
        """Return the tension, negative where it pushes; pressure, volume."""
        A, p_s, V_s, n = self.area, self.static_pressure, self.static_volume, self.exponent
        if p_s is None or self.rebound is None:
            raise StateError(f"{self.label}: bind(model) it first")
        stroke = length - self.static_length
        V = V_s + A * stroke
        gas = maximum(V, LEAST * V_s)
        power = exp(n * log(V_s / gas))  # (V_s / gas)^n
        pressure = p_s * power
        (c_b, b_b), (c_r, b_r) = _pair(self.bump), _pair(self.rebound)
        slow = where(rate < 0.0, c_b, c_r)
        fast = where(rate < 0.0, b_b, b_r)
        throttle = (slow + fast * absolute(rate)) * rate
        part = p_s * V_s * log(V_s / gas) if n == 1.0 else (pressure * gas - p_s * V_s) / (n - 1.0)
        energy = part + pressure * (gas - V) + A * self.ambient_pressure * stroke
        force = A * (self.ambient_pressure - pressure) + throttle
        report = {"pressure": pressure, "volume": V, "throttle": throttle}
        return CoordinateEffect(force, energy, throttle * rate, report)

    def more_units(self) -> Units:
        """Return the units of pressure, volume and the throttle's part of the tension."""
        return {"pressure": "Pa", "volume": "m³", "throttle": "N"}


def _pair(value: Any) -> tuple[float, float]:
    c, b = value
    return c, b
