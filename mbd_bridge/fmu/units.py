"""Units as FMI describes them: powers of base units."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

BASE = ("kg", "m", "s", "rad")
"""Base units that occur."""

POWERS: dict[str, tuple[int, ...]] = {
    "1": (0, 0, 0, 0),
    "kg": (1, 0, 0, 0),
    "m": (0, 1, 0, 0),
    "s": (0, 0, 1, 0),
    "rad": (0, 0, 0, 1),
    "N": (1, 1, -2, 0),
    "J": (1, 2, -2, 0),
    "W": (1, 2, -3, 0),
    "Pa": (1, -1, -2, 0),
    "Hz": (0, 0, -1, 0),
}
"""Powers of the base units in units that occur."""

DISPLAY = {"rad": ("deg", 180.0 / math.pi), "rad/s": ("deg/s", 180.0 / math.pi)}
"""Name and factor of a unit in which people read another one."""


class Unit(NamedTuple):
    """A unit: its name in FMI, powers of base units or None where they are not known."""

    name: str
    powers: tuple[int, ...] | None

    @property
    def base(self) -> dict[str, int]:
        """The powers that are not zero, by base unit."""
        return {name: k for name, k in zip(BASE, self.powers or (), strict=False) if k}


def fmi_unit(text: str) -> Unit | None:
    """Return a unit such as "N m/rad" or "m/s^2" as FMI writes it ("N.m/rad", "m/s2")."""
    if not text:
        return None
    name = re.sub(r"[ *]+", ".", text.strip()).replace("^", "").replace("²", "2")
    total = [0] * len(BASE)
    for number, side in enumerate(re.split("/", name)):
        for factor in side.strip("()").split("."):
            found = re.fullmatch(r"([A-Za-z]+|1)(-?\d+)?", factor)
            if found is None or found[1] not in POWERS:
                return Unit(name, None)
            power = int(found[2] or 1) * (1 if number == 0 else -1)
            total = [a + power * b for a, b in zip(total, POWERS[found[1]], strict=True)]
    return Unit(name, tuple(total))
