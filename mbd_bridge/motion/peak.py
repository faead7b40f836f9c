"""Largest values along a motion that comes in pieces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mbd_bridge.model.spatial import Array


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
        row = int(np.argmax(np.abs(values)))
        if name in self and not abs(values[row]) > abs(self[name].value):
            return None
        self[name] = Peak(float(values[row]), float(time[row]), float(widths[row]))
        return row
