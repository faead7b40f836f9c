"""What came of a run at wall-clock pace: the motion, and how punctual its steps were."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np

from mbd_bridge.formats.tables import Column, TableWriter
from mbd_bridge.mechanism import Model
from mbd_bridge.motions.table import attributes, motion_columns
from mbd_bridge.real_time.record import Histogram
from mbd_bridge.spatial import Array

PERCENT = (50.0, 99.0, 99.9, 100.0)
"""Percentiles of a report; the last one is the largest."""


@dataclass(frozen=True, eq=False)
class RealTimeRun:
    """A motion at wall-clock pace.

    Attributes
    ----------
    model : of the machine
    time, q, v : (K,) s, (K, nq), (K, nv) records
    step, rate : s, and seconds of the motion in a second
    steps : N
    late : (N,) s, by which each step began after it was due; of runs of more than a million steps
        that of the last million (`record.TIMED`)
    took : (N,) s, from the beginning of each step to its end, inputs and outputs included; as many
    histograms : of `late` and `took`, of all steps
    missed : steps that ended after the next one was due
    slipped : s, by which the motion was let fall behind the clock
    status : "finished", or why it ended before
    notes : whether given forces were beyond the effort limits of the file at the records
    """

    model: Model
    time: Array
    q: Array
    v: Array
    step: float
    rate: float
    steps: int
    late: Array
    took: Array
    histograms: tuple[Histogram, Histogram]
    missed: int
    slipped: float
    status: str
    notes: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether it went to its end."""
        return self.status == "finished"

    def percentiles(self) -> dict[str, dict[str, float]]:
        """Return 50 %, 99 %, 99.9 % and the maximum of `late` and `took` of all steps, s."""
        names = [*(f"{p:g} %" for p in PERCENT[:-1]), "max"]
        found = {}
        whats = zip(("late", "took"), (self.late, self.took), self.histograms, strict=True)
        for what, values, histogram in whats:
            numbers = [math.nan] * len(PERCENT)
            if len(values) == self.steps > 0:
                numbers = np.percentile(values, PERCENT).tolist()
            elif len(values):
                numbers = histogram.percentiles(PERCENT)
            found[what] = dict(zip(names, numbers, strict=True))
        return found

    def report(self) -> str:
        """Return the percentiles and missed deadlines as a table of text."""
        rows = self.percentiles()
        names = list(rows["late"])
        lines = [" " * 12 + "".join(f"{name:>10}" for name in names)]
        for what, label in (("late", "begins late"), ("took", "takes")):
            numbers = "".join(f"{1e6 * rows[what][name]:>7.0f} µs" for name in names)
            lines.append(f"{label:<12}{numbers}")
        share = 100.0 * self.missed / max(self.steps, 1)
        lines.append(f"{self.missed} of {self.steps} deadlines missed ({share:.3g} %)")
        return "\n".join([*lines, *self.notes])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write time, coordinates and velocities as a table: CSV, or what the suffix says."""
        columns: list[Column] = [
            one for one in motion_columns(self.model) if not one.name.endswith(".acc")
        ]
        said = attributes(f"motion of {self.model.name}", [f"at wall-clock pace, {self.status}"])
        with TableWriter(os.fspath(path), columns, said) as out:
            out.append(np.column_stack([self.time, self.q, self.v]))

    def __repr__(self) -> str:
        end = float(self.time[-1]) if len(self.time) else 0.0
        return (
            f"RealTimeRun({self.model.name!r}: {self.steps} steps of {self.step:g} s to "
            f"t = {end:.6g} s, {self.missed} deadlines missed, {self.status})"
        )
