"""What is kept of loads along a motion of any length: extremes, spectra, envelopes of actuators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.applications.durability.load_spectra import LoadSpectra, LoadSpectraCounter
from mbd_bridge.applications.durability.spectrum import EXPONENTS
from mbd_bridge.base.assumptions import Assumption, Assumptions
from mbd_bridge.base.errors import StateError, count
from mbd_bridge.base.named import Named
from mbd_bridge.base.readable import instant
from mbd_bridge.base.tabular import Tabular
from mbd_bridge.loads.assumed import assumptions_of
from mbd_bridge.loads.efforts import EffortCounter, EffortDifferences
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.loads.signals import Flags, Signals, times_of
from mbd_bridge.loads.streaming.envelope import Envelope, EnvelopeCounter
from mbd_bridge.loads.streaming.statistics import SignalStatistics, StatisticsCounter
from mbd_bridge.loads.streaming.traces import Traces, TracesCounter
from mbd_bridge.motion.smoothing import BAND

if TYPE_CHECKING:
    from mbd_bridge.applications.bearings import Bearings
    from mbd_bridge.applications.motors.motors import Motors
    from mbd_bridge.motion.external.forces import ExternalUse


@dataclass(frozen=True, eq=False)
class LoadHistory(
    Tabular,
    Named[SignalStatistics],
    rows="mbd_bridge.loads.streaming.rows",
    entries="signal in this history",
):
    """Loads of some joints along a motion, condensed: its size does not depend on the motion's.

    Attributes
    ----------
    mechanism, joints : names
    convention : on whom, at which point, in which axes
    rows : states; from the time `begin` to `end`, s
    statistics : of every signal: components, lengths of force and moment, actuators
    spectra : rainflow cycles and damage-equivalent loads of the same signals
    envelopes : largest and smallest force at every speed, of each actuator whose speed is known
    traces : the signals along time, as pictures need them
    assumptions : everything that the loads assume, topic by topic
    notes : what was derived, held still or looks odd
    file : where the loads themselves were written, or None
    motors : what motors have to do, where that was computed, or None
    bearings : what bearings carry, and their lives, likewise
    effort_differences : measured efforts minus computed actuation, or None: none were measured

    Raises
    ------
    StateError
        What motors or bearings assume is not among the assumptions.
    """

    mechanism: str
    joints: tuple[str, ...]
    convention: str
    rows: int
    begin: float
    end: float
    statistics: tuple[SignalStatistics, ...]
    spectra: LoadSpectra
    envelopes: tuple[Envelope, ...]
    traces: Traces
    assumptions: Assumptions
    notes: tuple[str, ...] = ()
    file: str | None = None
    motors: Motors | None = None
    bearings: Bearings | None = None
    effort_differences: EffortDifferences | None = None

    def __post_init__(self) -> None:
        for what in (self.motors, self.bearings):
            missing = [
                x for x in (what.assumed if what else ()) if x not in self.assumptions.entries
            ]
            if missing:
                raise StateError(f"assumptions: nothing is said of {missing[0]}")

    @property
    def round_off(self) -> RoundOff:
        """The sizes up to which numbers are rounding errors, over all joints and times."""
        return self.spectra.round_off

    @property
    def names(self) -> tuple[str, ...]:
        """The signals, such as ``elbow.fx``."""
        return tuple(one.signal.name for one in self.statistics)

    def _entry(self, name: str) -> SignalStatistics:
        return self.statistics[self.names.index(name)]

    def equivalent_band(self, name: str, m: float, *, frequency: float = 1.0) -> float | None:
        """Return half the width of the 95 % band of a signal's damage-equivalent range.

        The ends of a cycle are off independently, by the signal's `deviation` σ each, so that
        var(R_eq) = 2 σ² (R_eq^(1-m) / N_ref)² Σ n R^(2m-2). None: nothing is known of it.

        Parameters
        ----------
        name, m, frequency : see `Spectrum.damage_equivalent`
        """
        known, one = self[name].deviation, self.spectra[name]
        if known is None:
            return None
        equivalent = one.damage_equivalent(m, frequency=frequency)
        if equivalent == 0.0:
            return BAND * math.sqrt(2.0) * known
        middle = 0.5 * (one.ranges[1:] + one.ranges[:-1]) / equivalent
        total = math.sqrt(float(np.sum(one.counts * middle ** (2.0 * m - 2.0))))
        return BAND * math.sqrt(2.0) * known * total / (frequency * self.spectra.duration)

    def __repr__(self) -> str:
        return (
            f"LoadHistory({self.mechanism!r}: {', '.join(self.joints)}; "
            f"{count(self.rows, 'state')} from {instant(self.begin)} to {instant(self.end)} s; "
            f"{self.convention})"
        )


def total_use(known: ExternalUse | None, loads: JointLoads) -> ExternalUse | None:
    """Return how much of external forces acted up to some loads, the next piece, and along them."""
    use = loads.external_use
    return use if known is None or use is None else known + use


class LoadHistoryCounter:
    """A `LoadHistory` of loads that come in pieces; see `LoadSpectraCounter` for the options."""

    def __init__(self, exponents: Sequence[float] = EXPONENTS, *, plane: str | None = None) -> None:
        self._spectra = LoadSpectraCounter(exponents, plane=plane)
        self._signals: Signals | None = None
        self._sure: Flags = np.zeros(0, dtype=bool)
        self._envelopes: list[EnvelopeCounter] = []
        self._efforts = EffortCounter()
        self._use: ExternalUse | None = None

    def add(self, loads: JointLoads) -> None:
        """Take in loads along the next piece of a motion; they know their times."""
        time = times_of(loads)
        if self._signals is None:
            self._signals = Signals(loads)
            self._statistics = StatisticsCounter(self._signals.entries)
            self._traces = TracesCounter([signal.name for signal in self._signals.entries])
            self._envelopes = [EnvelopeCounter() for _ in loads.actuation_names]
            self._sure = np.ones(len(self._signals.entries), dtype=bool)
            self._first, self._begin = loads, float(time[0])
        self._end = float(time[-1])
        self._sure &= self._signals.determined(loads)
        self._spectra.add(loads)
        self._efforts.add(loads)
        self._use = total_use(self._use, loads)
        columns = self._signals.columns(loads)
        self._statistics.add(time, columns, self._signals.deviations(loads))
        self._traces.add(time, columns)
        if loads.speed is not None:
            known = loads.uncertainty
            for k, counter in enumerate(self._envelopes):
                deviation = None if known is None else known.speed[:, k]
                counter.add(loads.speed[:, k], loads.actuation[:, k], deviation)

    def history(
        self,
        notes: Sequence[str] = (),
        file: str | None = None,
        assumed: Iterable[Assumption] = (),
    ) -> LoadHistory:
        """Return what came so far.

        Parameters
        ----------
        assumed : contributions to the assumptions beside those of the loads
        """
        if self._signals is None:
            raise StateError("no loads were counted: add() was not called, or had no rows")
        first, entries = self._first, self._signals.entries
        assert first.model is not None
        actuations = [x for x in entries if x.quantity.split(".")[0] == "actuation"]
        envelopes = [
            counter.envelope(name, signal.unit)
            for counter, name, signal in zip(
                self._envelopes, first.actuation_names, actuations, strict=True
            )
        ]
        spectra, efforts = self._spectra.spectra(), self._efforts.differences()
        acted = self._use.assumed if self._use else ()
        assumed = (*assumed, *(efforts.assumed if efforts else ()), *acted)
        return LoadHistory(
            first.model.name,
            first.joints,
            str(first.convention),
            self._statistics.rows,
            self._begin,
            self._end,
            self._statistics.statistics(self._sure.tolist()),
            spectra,
            tuple(envelopes) if first.speed is not None else (),
            self._traces.traces(),
            assumptions_of(first, self._undetermined(), assumed, spectra.round_off),
            tuple(notes),
            file,
            effort_differences=efforts,
        )

    def _undetermined(self) -> list[str]:
        """Return the names of components and actuations that are not determined throughout."""
        assert self._signals is not None
        pairs = zip(self._signals.entries, self._sure.tolist(), strict=True)
        return [signal.name for signal, sure in pairs if not (sure or signal.resultant)]


def load_history(
    loads: JointLoads, exponents: Sequence[float] = EXPONENTS, notes: Sequence[str] = ()
) -> LoadHistory:
    """Return what is kept of loads along a motion that is there as a whole."""
    counter = LoadHistoryCounter(exponents)
    counter.add(loads)
    return counter.history(notes)
