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
from typing import Any, Self, final

import numpy as np

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError
from mbd_bridge.forces.base import Units
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

    area: float = 0.0
    static_length: float = 0.0
    static_volume: float = 0.0
    static_pressure: float | None = None
    static_force: float | None = None
    exponent: float = 1.4
    bump: Throttle = 0.0
    rebound: Throttle | None = None
    ambient_pressure: float = ATMOSPHERE

    def bind(self, model: Model) -> Self:
        """Return the element checked, with its static pressure."""
        links, points = self.ends(model)
        area = self.number("area", self.area, "m²", positive=True)
        ambient = self.number("ambient_pressure", self.ambient_pressure, "Pa", 0.0)
        if (self.static_pressure is None) == (self.static_force is None):
            raise StateError(f"{self.label}: expected a static_pressure, or a static_force")
        pressure = self.static_pressure
        if self.static_force is not None:
            pressure = self.number("static_force", self.static_force, "N") / area + ambient
        bump = self._throttle("bump", self.bump)
        return replace(
            self,
            links=links,
            points=points,
            area=area,
            static_length=self.number("static_length", self.static_length, "m", positive=True),
            static_volume=self.number("static_volume", self.static_volume, "m³", positive=True),
            static_pressure=self.number("static_pressure", pressure, "Pa", positive=True),
            static_force=None,
            exponent=self.number("exponent", self.exponent, "", 1.0),
            bump=bump,
            rebound=bump if self.rebound is None else self._throttle("rebound", self.rebound),
            ambient_pressure=ambient,
        )

    def _throttle(self, name: str, value: Throttle) -> tuple[float, float]:
        where = f"{self.label}: {name}"
        numbers = finite_numbers(where, value).reshape(-1)
        if numbers.size not in (1, 2) or np.any(numbers < 0.0):
            raise StateError(
                f"{where}: expected c, N s/m, or (c, b), N s/m and N s²/m², at least 0, got "
                f"{value!r:.60}"
            )
        return float(numbers[0]), float(numbers[1]) if numbers.size == 2 else 0.0

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
