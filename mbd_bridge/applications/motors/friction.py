"""Friction of a shaft or a joint along a motion that is known: Coulomb, viscous, by the load.

    F = (F_c + μ |T|) sign(ω) + c ω,   against the motion: a motor must give F more

T is what the shaft transmits. At rest dry friction holds or hinders, which a motion does not tell:
it is left out there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import StateError, real_number

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Friction:
    """Friction of a motor's shaft, or of a joint.

    Parameters
    ----------
    coulomb : F_c, N m, or N of a slide
    viscous : c, N m s/rad, or N s/m
    load : μ, share of the transmitted torque, from 0
    """

    coulomb: float = 0.0
    viscous: float = 0.0
    load: float = 0.0

    def checked(self, where: str) -> Friction:
        """Return the friction with its numbers checked; `where` names it in messages."""
        numbers = (self.coulomb, self.viscous, self.load)
        words = ("coulomb", "viscous", "load")
        return Friction(
            *(from_zero(f"{where}: {w}", x) for w, x in zip(words, numbers, strict=True))
        )

    def force(self, speed: Floats, transmitted: Floats, moves: NDArray[np.bool_]) -> Floats:
        """Return F (N,) at speeds (N,) and transmitted torques (N,), where the shaft moves."""
        dry = np.where(moves, self.coulomb + self.load * np.abs(transmitted), 0.0)
        return np.asarray(dry * np.sign(speed) + self.viscous * speed)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.coulomb or self.viscous or self.load)


def from_zero(where: str, value: float) -> float:
    """Return a finite number that is not negative."""
    number = real_number(where, value, "one number, at least 0")
    if number < 0.0:
        raise StateError(f"{where}: expected one number, at least 0, got {number:g}")
    return number
