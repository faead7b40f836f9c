"""Systems of units of finite-element models; time is in seconds in all of them."""

from __future__ import annotations

from typing import NamedTuple

from mbd_bridge.base.errors import ModelError, one_of


class UnitSystem(NamedTuple):
    """A system of units: factors to m and kg, and the words for them."""

    length: float
    mass: float
    length_word: str
    mass_word: str


INCH = 0.0254
"""m."""
POUND_FORCE = 4.4482216152605
"""N."""

SYSTEMS = {
    "SI": UnitSystem(1.0, 1.0, "m", "kg"),
    "mm-t": UnitSystem(1e-3, 1e3, "mm", "t"),  # N, MPa
    "mm-kg": UnitSystem(1e-3, 1.0, "mm", "kg"),  # mN, kPa
    "in-lbf": UnitSystem(INCH, POUND_FORCE / INCH, "in", "lbf s^2/in"),
}


def unit_system(name: str) -> UnitSystem:
    """Return the system of a name: "SI", "mm-t" (mm, t, N), "mm-kg" (mm, kg, mN) or "in-lbf"."""
    return SYSTEMS[one_of("unit", name, SYSTEMS, ModelError)]
