"""Times at which tables of forces jump or bend: steps end there, so that they keep their order.

A Runge-Kutta step over a jump of the force is of the first order only. Two steps, one up to the
jump and one from it on, are of the fourth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.inputs.signal import PolynomialSignal

SHARP = 1e-2
"""Of a step: a piece of a table that is shorter is a jump."""

ON_GRID = 1e-6
"""Of a step: a bend so near to the end of a step costs it nothing."""

STRAIGHT = 1e-12
"""Change of force over a step, relative to the table's largest, that is no bend."""

ALL = 2**62
"""More steps than there are."""


@dataclass(frozen=True, eq=False)
class Knots:
    """Times, growing, at which steps have to end.

    Attributes
    ----------
    times : (n,) s
    sharp : (n,) whether it is where a jump begins or ends; steps that control their own error mind
        no other
    """

    times: Array
    sharp: Array

    @staticmethod
    def of(tables: Iterable[PolynomialSignal], start: float, h: float) -> Knots:
        """Return those of tables of forces, for steps of h from `start`."""
        found: dict[float, bool] = {}
        for table in tables:
            times, lengths = table.times, np.diff(table.times)
            slope, values = table.pieces.reshape(*table.pieces.shape[:2], -1).transpose(0, 2, 1)
            rise = np.abs(slope * lengths)
            largest = max(float(np.abs(values).max()), float(rise.max()), 1e-300)
            moved = (rise > STRAIGHT * largest).any(axis=0)
            jump = (lengths < SHARP * h) & moved
            sharp = jump[:-1] | jump[1:]
            bent = (np.abs(np.diff(slope)) * h > STRAIGHT * largest).any(axis=0)
            phase = (times[1:-1] - start) / h
            bent &= np.abs(phase - np.round(phase)) > ON_GRID
            for time, hard in zip(times[1:-1][sharp | bent], sharp[sharp | bent], strict=True):
                found[float(time)] = found.get(float(time), False) or bool(hard)
        order = sorted(found)
        return Knots(np.array(order), np.array([found[time] for time in order], dtype=bool))

    def within(self, start: float, end: float, sharp: bool = False) -> list[float]:
        """Return the times between two others; with `sharp` those of jumps only."""
        if not len(self.times):
            return []
        inside = (self.times > start) & (self.times < end)
        return [float(time) for time in self.times[inside & self.sharp if sharp else inside]]

    @property
    def jumps(self) -> Knots:
        """Those of jumps: steps of the second order need not end at bends."""
        return Knots(self.times[self.sharp], self.sharp[self.sharp])

    def at(self, time: float, h: float) -> bool:
        """Return whether one of them is at a time, on a grid of h seconds."""
        return bool((np.abs(self.times - time) <= ON_GRID * h).any())

    def jump_after(self, time: float) -> float:
        """Return the next time at which a jump begins or ends, inf if there is none."""
        if not len(self.times):
            return np.inf
        later = self.times[self.sharp & (self.times > time)]
        return float(later[0]) if len(later) else np.inf

    def steps_before(self, time: float, h: float) -> int:
        """Return how many steps of h, at least, end before the next of them."""
        next_one = int(np.searchsorted(self.times, time, "right")) if len(self.times) else 0
        if next_one == len(self.times):
            return ALL
        return max(0, int((float(self.times[next_one]) - time) / h - ON_GRID))


NO_KNOTS = Knots(np.zeros(0), np.zeros(0, dtype=bool))


def length_to(start: float, end: float) -> float:
    """Return the length h of a step for which start + h, rounded, is not beyond the end."""
    h = end - start
    while start + h > end:
        h = float(np.nextafter(h, -np.inf))
    return h
