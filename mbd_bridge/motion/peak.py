"""Largest values along a motion that comes in pieces, and how much of a limit they use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mbd_bridge.model.spatial import Array

SAME = 1e-12
"""Peaks that differ by less, relatively, are the same: the first of them counts, whatever rounding
makes of the others."""


def first_largest(sizes: Array) -> int:
    """Return the place of the largest of sizes (N,), the first of equal ones."""
    return int(np.argmax(sizes >= (1.0 - SAME) * sizes.max()))


def is_larger(size: float, before: float) -> bool:
    """Return whether a size is a new peak, after a largest one before."""
    return bool(size > (1.0 + SAME) * before)


class Peak(NamedTuple):
    """A largest value, and when it is first reached, s.

    `band` is half the width of the band that holds 95 % of its errors from the motion's noise;
    None: nothing is known of it.
    """

    value: float = 0.0
    time: float = float("nan")
    band: float | None = None


class Peaks(dict[str, Peak]):
    """The values of the largest size so far, by name."""

    def look(self, name: str, time: Array, values: Array, widths: Array) -> int | None:
        """Take in values (N,) with half the widths of their bands; return the row of a new peak."""
        row = first_largest(np.abs(values))
        if name in self and not is_larger(abs(values[row]), abs(self[name].value)):
            return None
        self[name] = Peak(float(values[row]), float(time[row]), float(widths[row]))
        return row


# How much of a limit of an actuator is used.

TOO_FAST = 100.0
"""Share of a torque from which on its number says nothing: at this speed the motor gives none."""


@dataclass(frozen=True)
class Use:
    """How much of a limit is used.

    Attributes
    ----------
    name : "continuous torque", "peak torque", "speed", "joint effort" or "joint velocity"
    share : what is used by what is allowed; inf where nothing is
    time : when most is used, s; nan of what is used over the whole motion
    low, high : the band that holds 95 % of the errors of the share from the motion's noise; None:
        nothing is known of it
    """

    name: str
    share: float
    time: float = float("nan")
    low: float | None = None
    high: float | None = None

    @property
    def exceeded(self) -> bool:
        """Whether the limit is exceeded, whatever the motion's noise."""
        return (self.share if self.low is None else self.low) > 1.0

    @property
    def kept(self) -> bool:
        """Whether the limit is kept, whatever the motion's noise."""
        return (self.share if self.high is None else max(self.share, self.high)) <= 1.0

    def __str__(self) -> str:
        if not self.share < TOO_FAST:
            return f"{self.name} too fast"
        if self.low is None or self.high is None:
            return f"{self.name} {self.share:.0%}"
        if not self.high < TOO_FAST:
            return f"{self.name} {self.share:.0%} or too fast"
        band = max(self.share - self.low, self.high - self.share)
        return f"{self.name} {self.share:.0%} ± {band:.0%}"
