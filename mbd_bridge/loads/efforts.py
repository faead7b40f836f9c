"""Measured against computed actuation: how far a machine's efforts are from those of its model.

Of each degree of freedom whose effort m was measured and whose actuation f is determined:

    rms = sqrt(mean (m - f)²),    largest = max |m - f|,    share = rms / sqrt(mean m²)

A difference holds what the model leaves out (friction, rotors, payload, process forces) and what
the measurement has wrong. Measured efforts are taken to be at the joint, not at the motor's shaft.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.assumptions import Assumption, Number
from mbd_bridge.base.errors import NAMED, StateError, count, some
from mbd_bridge.base.named import Named
from mbd_bridge.base.readable import instant, quantity
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.model.units import FORCE_UNIT, actuation_units
from mbd_bridge.motion.motion import Motion

if TYPE_CHECKING:
    from mbd_bridge.loads.result import JointLoads


@dataclass(frozen=True)
class EffortDifference:
    """How far the measured effort along a degree of freedom is from the computed actuation.

    Attributes
    ----------
    name : of the degree of freedom
    unit : N m or N
    rows : states at which it was measured
    rms, largest : of the difference; `largest` is the largest size
    time : s, of the largest
    measured_rms : of the measured effort
    """

    name: str
    unit: str
    rows: int
    rms: float
    largest: float
    time: float
    measured_rms: float

    @property
    def share(self) -> float:
        """RMS of the difference over that of the measured effort; nan of one that is zero."""
        return self.rms / self.measured_rms if self.measured_rms else float("nan")

    def __str__(self) -> str:
        rms, most, own = (
            quantity(x, self.unit, digits=3) for x in (self.rms, self.largest, self.measured_rms)
        )
        share = f"{self.share:.2g} of its {own} RMS" if self.measured_rms else "it is zero"
        if self.measured_rms and 1e-4 <= self.share < 10.0:
            share = f"{100.0 * self.share:.2g} % of its {own} RMS"
        return (
            f"measured effort of {self.name} differs by {rms} RMS, {share}, at most {most} at "
            f"{instant(self.time)} s"
        )


COMPARED = (
    "Measured efforts of the recording, taken to be at the joint, minus the computed actuation. "
    "They are compared, and not used for the loads."
)


@dataclass(frozen=True)
class EffortDifferences(
    Tabular,
    Named[EffortDifference],
    entries="measured and computed effort",
):
    """The differences of all degrees of freedom that were measured and computed.

    Attributes
    ----------
    entries : a difference each
    """

    entries: tuple[EffortDifference, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The degrees of freedom."""
        return tuple(one.name for one in self.entries)

    def _entry(self, name: str) -> EffortDifference:
        return self.entries[self.names.index(name)]

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What they say of the loads: compared with, not used."""
        numbers = tuple(Number(f"RMS of {x.name}", x.rms, x.unit) for x in self.entries)
        text = "of other joints than these: not compared"
        if self.entries:
            said = some(
                [str(one).removeprefix("measured effort of ") for one in self.entries], NAMED
            )
            text = f"compared with the computed actuation: {said}"
        return (Assumption("efforts", f"{text}; not used for the loads", numbers),)

    def tables(self) -> tuple[Table, ...]:
        """Return the differences."""
        each = self.entries
        units = [one.unit for one in each]
        columns = [
            Series("RMS", units, [one.measured_rms for one in each]),
            Series("difference, RMS", units, [one.rms for one in each]),
            Series("share", "", [one.share for one in each], shown=lambda x: f"{100.0 * x:.2g} %"),
            Series("at most", units, [one.largest for one in each]),
            Series("at", "s", [one.time for one in each], shown=instant),
        ]
        labels = Series("measured effort of", "", self.names)
        title = "measured efforts minus computed actuation"
        return (Table(title, labels, columns, caption=COMPARED),)

    def __repr__(self) -> str:
        return f"EffortDifferences({count(len(self.entries), 'degree')} of freedom)"


def measured_actuation(loads: JointLoads, motion: Motion) -> Floats | None:
    """Return measured efforts (N, F) beside the actuation of loads along the motion; None: none."""
    if motion.efforts is None:
        return None
    efforts = as_floats("motion.efforts", motion.efforts)
    if efforts.shape != np.shape(motion.v):
        raise StateError(
            f"motion.efforts: expected {np.shape(motion.v)}, nan where not measured, got "
            f"{efforts.shape}"
        )
    found = np.full(loads.actuation.shape, np.nan)
    for k, name in enumerate(loads.actuation_names):
        if name in motion.velocities:
            found[:, k] = efforts[:, motion.velocities.index(name)]
    return found


class EffortCounter:
    """Adds up differences of loads that come in pieces."""

    def __init__(self) -> None:
        self._units: dict[str, str] = {}
        self._sums: dict[str, Floats] = {}
        self._largest: dict[str, tuple[float, float]] = {}
        self._measured = False

    def add(self, loads: JointLoads) -> None:
        """Take in the next piece."""
        measured = loads.measured_efforts
        if measured is None:
            return
        assert loads.time is not None
        assert loads.model is not None
        self._measured = True
        if not self._units:
            units = [u for joint in loads.joints for u in actuation_units(loads.model, joint)]
            each = zip(loads.actuation_names, units, strict=True)
            self._units = {name: FORCE_UNIT[unit] for name, unit in each}
        sure = np.broadcast_to(loads.actuation_unique, measured.shape) & np.isfinite(measured)
        for k, name in enumerate(loads.actuation_names):
            rows = np.flatnonzero(sure[:, k])
            if not len(rows):
                continue
            m = measured[rows, k]
            apart = np.abs(m - loads.actuation[rows, k])
            sums = np.array([len(rows), apart @ apart, m @ m])
            self._sums[name] = self._sums.get(name, np.zeros(3)) + sums
            worst = int(np.argmax(apart))
            if name not in self._largest or apart[worst] > self._largest[name][0]:
                self._largest[name] = float(apart[worst]), float(loads.time[rows[worst]])

    def differences(self) -> EffortDifferences | None:
        """Return those of what came so far; None where nothing was measured."""
        if not self._measured:
            return None
        found = []
        for name, unit in self._units.items():
            if name in self._sums:
                rows, apart, own = self._sums[name].tolist()
                rms, measured = np.sqrt(apart / rows), np.sqrt(own / rows)
                worst = self._largest[name]
                found.append(
                    EffortDifference(name, unit, int(rows), float(rms), *worst, float(measured))
                )
        return EffortDifferences(tuple(found))


def effort_differences(loads: JointLoads) -> EffortDifferences | None:
    """Return how far measured efforts are from the actuation of loads; None: none measured."""
    counter = EffortCounter()
    counter.add(loads)
    return counter.differences()
