"""The largest and the root-mean-square load of each joint along a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.units import DRIVE, velocity_units
from mbd_bridge.mechanism import Model

Floats = NDArray[np.float64]


SAME = 1e-12
"""Peaks that differ by less, relatively, are the same: the first of them counts, whatever rounding
makes of the others."""


def first_largest(sizes: Floats) -> int:
    """Return the place of the largest of sizes (N,), the first of equal ones."""
    return int(np.argmax(sizes >= (1.0 - SAME) * sizes.max()))


@dataclass(slots=True)
class Peak:
    """Extremes of one quantity: the length of a vector, or a drive.

    Attributes
    ----------
    joint, quantity, unit : e.g. elbow, "force", "N"
    peak : value of the largest size; a drive keeps its sign
    time : of the peak, s
    """

    joint: str
    quantity: str
    unit: str
    peak: float = 0.0
    time: float = float("nan")
    _squares: float = 0.0
    _count: int = 0

    @property
    def rms(self) -> float:
        """Root of the mean square over the rows."""
        return float(np.sqrt(self._squares / max(self._count, 1)))

    def add(self, time: Floats, values: Floats) -> None:
        """Take in the values (N,) at the times (N,)."""
        sizes = np.abs(values)
        row = first_largest(sizes)
        if self._count == 0 or sizes[row] > (1.0 + SAME) * abs(self.peak):
            self.peak, self.time = float(values[row]), float(time[row])
        self._squares += float(np.sum(values * values))
        self._count += len(values)


class Peaks:
    """Force, moment and drives of some joints, taken in block by block.

    Attributes
    ----------
    rows : a `Peak` for each joint's force and moment, for each of its drives, and for force and
        moment of its reaction where the loads have it
    """

    def __init__(self, model: Model, loads: JointLoads) -> None:
        self.rows: list[Peak] = []
        for joint, place in zip(loads.joints, loads.drive_of, strict=True):
            self.rows += [Peak(joint, "force", "N"), Peak(joint, "moment", "N m")]
            units = velocity_units(model.joint(joint).type)
            self.rows += [
                Peak(joint, f"drive{name.removeprefix(joint)}", DRIVE[unit])
                for name, unit in zip(loads.drive_names[place], units, strict=True)
            ]
            if loads.reaction_force is not None:
                self.rows += [
                    Peak(joint, "reaction force", "N"),
                    Peak(joint, "reaction moment", "N m"),
                ]

    def add(self, time: Floats, loads: JointLoads) -> None:
        """Take in loads at the times (N,), s."""
        rows = iter(self.rows)
        for k, place in enumerate(loads.drive_of):
            next(rows).add(time, np.linalg.norm(loads.force[:, k], axis=1))
            next(rows).add(time, np.linalg.norm(loads.moment[:, k], axis=1))
            for column in loads.drive[:, place].T:
                next(rows).add(time, column)
            if loads.reaction_force is not None and loads.reaction_moment is not None:
                next(rows).add(time, np.linalg.norm(loads.reaction_force[:, k], axis=1))
                next(rows).add(time, np.linalg.norm(loads.reaction_moment[:, k], axis=1))
