"""Which loads are rounding errors: one threshold, relative to the machine's own loads.

    F₀ = ε max(m g, largest force),     M₀ = ε max(F₀ L / ε, largest moment)

with the machine's weight m g and size L, over all joints and the whole history. Tables, pictures,
pages and finite element cards show what is not larger as zero; tables of loads keep it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.model import Model

ROUND_OFF = 1e-9
"""ε: share of the machine's own loads. Rounding leaves 1e-15 of them, and 1e-10 in loops that are
simulated; the smallest loads that physics gives in the machines of `urdf/` are 1e-6."""


class RoundOff(NamedTuple):
    """Sizes up to which loads of a machine are rounding errors.

    Attributes
    ----------
    force, moment : N, N m
    arm : the machine's size, m: a force at it is a moment to compare others with
    """

    force: float
    moment: float
    arm: float

    @staticmethod
    def of(model: Model | None, force: float = 0.0, moment: float = 0.0) -> RoundOff:
        """Return the sizes for a machine with these largest loads.

        Parameters
        ----------
        model : None: a machine that is not known, whose loads alone count
        force, moment : the largest ones, N and N m
        """
        if model is None:
            return RoundOff(0.0, 0.0, 0.0).including(force, moment)
        mass = sum(link.inertia.mass for link in model.links)
        mass += sum(part.integrals.mass for part in model.flexible)
        weight = mass * np.linalg.norm(model.gravity)
        least = ROUND_OFF * float(weight)
        return RoundOff(least, least * model.size, model.size).including(force, moment)

    def including(self, force: float, moment: float) -> RoundOff:
        """Return the sizes with further loads of the machine."""
        forces = [x for x in (self.force, ROUND_OFF * force) if np.isfinite(x)]
        largest = max(forces, default=0.0)
        moments = [self.moment, largest * self.arm, ROUND_OFF * moment]
        return RoundOff(largest, max(x for x in moments if np.isfinite(x)), self.arm)

    def joined(self, other: RoundOff | None) -> RoundOff:
        """Return the sizes for the loads of both, of one machine."""
        return self if other is None else RoundOff(*map(max, self, other))

    def floor(self, unit: str) -> float:
        """Return the size of rounding errors in "N" or "N m"; 0 in other units."""
        return self.floors.get(unit, 0.0)

    @property
    def floors(self) -> dict[str, float]:
        """The sizes by unit."""
        return {"N": self.force, "N m": self.moment}

    def cleaned(self, values: Floats, unit: str) -> Floats:
        """Return values in "N" or "N m" with 0 in place of rounding errors."""
        return np.where(np.abs(values) <= self.floor(unit), 0.0, values)

    def cleaned_wrench(self, wrench: Floats) -> Floats:
        """Return forces and moments (..., 6) with 0 in place of rounding errors."""
        parts = self.cleaned(wrench[..., :3], "N"), self.cleaned(wrench[..., 3:], "N m")
        return np.concatenate(parts, axis=-1)
