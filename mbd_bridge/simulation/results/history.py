"""The steps of a motion, one by one: how long they were and what they left open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from mbd_bridge.base.errors import StateError, one_of
from mbd_bridge.model.spatial import Array
from mbd_bridge.simulation.methods.equations import ReferenceEquations

Correction: TypeAlias = Literal["state", "velocity", "none"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
"""What is put back onto loops and prescribed motions after a step: position and velocity, velocity,
nothing."""


@dataclass(frozen=True, eq=False)
class History:
    """All steps of a motion.

    Attributes
    ----------
    time : (S,) s, the end of each step
    size : (S,) s, its length
    order : (S,) of the integrator in it
    left : (S,) largest residual of loops and prescribed motions that it left, before it was
        corrected, relative to the mechanism's size
    """

    time: Array
    size: Array
    order: Array
    left: Array

    def __len__(self) -> int:
        return len(self.time)

    def until(self, end: float) -> History:
        """Return the steps that end before a time, or at it."""
        kept = self.time <= end
        return History(self.time[kept], self.size[kept], self.order[kept], self.left[kept])


class Recorder:
    """Writes down steps as they are taken."""

    def __init__(self, system: ReferenceEquations, start: float) -> None:
        self._system, self._start = system, start
        self._steps: list[tuple[float, int, float]] = []

    def __len__(self) -> int:
        return len(self._steps)

    def step(self, t: float, order: int, q: Array, v: Array) -> None:
        """Write down a step that ends at t and leaves q and v."""
        left = np.abs(self._system.residual(q, v, t).phi).max(initial=0.0)
        self._steps.append((t, order, float(left)))

    def back(self, count: int) -> None:
        """Forget all steps but the first so many."""
        del self._steps[count:]

    def history(self) -> History:
        """Return all steps."""
        rows = np.array(self._steps).reshape(-1, 3)
        size = np.diff(rows[:, 0], prepend=self._start)
        return History(rows[:, 0], size, rows[:, 1].astype(int), rows[:, 2])


def check_correction(correction: str) -> Correction:
    """Return what is corrected, or say which there are."""
    return one_of("correction", correction, CORRECTIONS, StateError)
