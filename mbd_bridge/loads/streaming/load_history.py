"""What is kept of loads along a motion of any length: extremes, spectra, envelopes of actuators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.assumptions import Assumption, Assumptions
from mbd_bridge.base.errors import StateError, count
from mbd_bridge.base.named import Named
from mbd_bridge.base.readable import instant, sentence
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.loads.assumed import assumptions_of
from mbd_bridge.loads.efforts import EffortCounter, EffortDifferences
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.loads.signals import Flags, Signals, signal_labels, times_of
from mbd_bridge.loads.streaming.envelope import Envelope, EnvelopeCounter
from mbd_bridge.loads.streaming.observer import Observer
from mbd_bridge.loads.streaming.statistics import SignalStatistics, StatisticsCounter
from mbd_bridge.loads.streaming.traces import Traces, TracesCounter
from mbd_bridge.motion import Motion

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import OfLoadHistory as Extended
    from mbd_bridge.motion.external.forces import ExternalUse
else:
    from mbd_bridge.base.extensions import Extended


@dataclass(frozen=True, eq=False)
class LoadHistory(
    Tabular,
    Named[SignalStatistics],
    Extended,
    entries="signal in this history",
):
    """Loads of some joints along a motion, condensed: its size does not depend on the motion's.

    Attributes
    ----------
    mechanism, joints : names
    convention : on whom, at which point, in which axes
    rows : states; from the time `begin` to `end`, s
    statistics : of every signal: components, lengths of force and moment, actuators
    envelopes : largest and smallest force at every speed, of each actuator whose speed is known
    traces : the signals along time, as pictures need them
    round_off : the sizes up to which numbers are rounding errors, over all joints and times
    assumptions : everything that the loads assume, topic by topic
    notes : what was derived, held still or looks odd
    file : where the loads themselves were written, or None
    results : of observers by their names, such as `spectra`, `motors` and `bearings`
    effort_differences : measured efforts minus computed actuation, or None: none were measured

    Raises
    ------
    StateError
        What a result assumes is not among the assumptions.
    """

    mechanism: str
    joints: tuple[str, ...]
    convention: str
    rows: int
    begin: float
    end: float
    statistics: tuple[SignalStatistics, ...]
    envelopes: tuple[Envelope, ...]
    traces: Traces
    round_off: RoundOff
    assumptions: Assumptions
    notes: tuple[str, ...] = ()
    file: str | None = None
    results: Mapping[str, Any] = field(default_factory=dict)
    effort_differences: EffortDifferences | None = None

    def __post_init__(self) -> None:
        for one in self.results.values():
            known = self.assumptions.entries
            missing = [x for x in getattr(one, "assumed", ()) if x not in known]
            if missing:
                raise StateError(f"assumptions: nothing is said of {missing[0]}")

    @property
    def names(self) -> tuple[str, ...]:
        """The signals, such as ``elbow.fx``."""
        return tuple(one.signal.name for one in self.statistics)

    def _entry(self, name: str) -> SignalStatistics:
        return self.statistics[self.names.index(name)]

    def tables(self) -> tuple[Table, ...]:
        """Return the extremes, the mean and the RMS of every signal."""
        each, floors = self.statistics, self.round_off.floors
        signals, columns = [one.signal for one in each], list[Series]()
        units, sure = [one.unit for one in signals], [one.determined for one in each]
        for name, extremes in (
            ("largest", [one.largest for one in each]),
            ("smallest", [one.smallest for one in each]),
        ):
            bands, values = [one.band for one in extremes], [one.value for one in extremes]
            pairs = zip(extremes, units, strict=True)
            times = [None if abs(x.value) <= floors.get(u, 0.0) else x.time for x, u in pairs]
            columns.append(Series(name, units, values, bands=bands, sure=sure))
            columns.append(Series("at", "s", times, shown=instant))
        columns.append(Series("mean", units, [one.mean for one in each], sure=sure))
        columns.append(Series("RMS", units, [one.rms for one in each], sure=sure))
        caption = f"{sentence(self.convention)} Rows force and moment: their lengths."
        return (
            Table(
                repr(self),
                signal_labels(signals),
                columns,
                caption=caption,
                notes=self.notes,
                floors=floors,
                brackets=True,
            ),
        )

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
    """A `LoadHistory` of loads that come in pieces.

    Parameters
    ----------
    observers : of the motion and the loads, by the names of their results
    """

    def __init__(self, observers: Mapping[str, Observer] = MappingProxyType({})) -> None:
        self._observers = observers
        self._round_off: RoundOff | None = None
        self._signals: Signals | None = None
        self._sure: Flags = np.zeros(0, dtype=bool)
        self._envelopes: list[EnvelopeCounter] = []
        self._efforts = EffortCounter()
        self._use: ExternalUse | None = None

    def add(self, motion: Motion, loads: JointLoads) -> None:
        """Take in the next piece of a motion, and the loads along it; they know their times."""
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
        self._round_off = loads.round_off.joined(self._round_off)
        for observer in self._observers.values():
            observer.add(motion, loads)
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
        assert self._round_off is not None
        actuations = [x for x in entries if x.quantity.split(".")[0] == "actuation"]
        envelopes = [
            counter.envelope(name, signal.unit)
            for counter, name, signal in zip(
                self._envelopes, first.actuation_names, actuations, strict=True
            )
        ]
        efforts = self._efforts.differences()
        acted = self._use.assumed if self._use else ()
        assumed = (*assumed, *(efforts.assumed if efforts else ()), *acted)
        known = assumptions_of(first, self._undetermined(), assumed, self._round_off)
        for observer in self._observers.values():
            known = observer.assume(known)
        return LoadHistory(
            first.model.name,
            first.joints,
            str(first.convention),
            self._statistics.rows,
            self._begin,
            self._end,
            self._statistics.statistics(self._sure.tolist()),
            tuple(envelopes) if first.speed is not None else (),
            self._traces.traces(),
            self._round_off,
            known,
            tuple(notes),
            file,
            {name: observer.result() for name, observer in self._observers.items()},
            effort_differences=efforts,
        )

    def _undetermined(self) -> list[str]:
        """Return the names of components and actuations that are not determined throughout."""
        assert self._signals is not None
        pairs = zip(self._signals.entries, self._sure.tolist(), strict=True)
        return [signal.name for signal, sure in pairs if not (sure or signal.resultant)]
