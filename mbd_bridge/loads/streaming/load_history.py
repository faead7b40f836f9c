"""What is kept of loads along a motion of any length: extremes, spectra, envelopes of actuators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from mbd_bridge.base.assumptions import Assumption, Assumptions
from mbd_bridge.base.errors import StateError, count
from mbd_bridge.base.named import Named
from mbd_bridge.base.readable import instant, sentence
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.loads.assumed import assumptions_of
from mbd_bridge.loads.efforts import EffortCounter, EffortDifferences
from mbd_bridge.loads.observers import LoadSystem, LoadWriter, Needs, Observer, watch
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.loads.signals import Signals, signal_labels, times_of
from mbd_bridge.loads.streaming.envelope import Envelope, EnvelopeCounter
from mbd_bridge.loads.streaming.statistics import SignalStatistics, StatisticsCounter
from mbd_bridge.loads.streaming.traces import Traces, TracesCounter
from mbd_bridge.motion import Motion, Pieces

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


class LoadBasisCounter:
    """Observer of what loads that come in pieces assume, and of efforts measured along them.

    Parameters
    ----------
    needs : which loads
    """

    def __init__(self, needs: Needs = Needs()) -> None:  # noqa: B008 - it is frozen
        self._needs, self._efforts, self.rows = needs, EffortCounter(), 0
        self._use: ExternalUse | None = None
        self._signals: Signals | None = None

    def needs(self) -> Needs:
        """Return which loads are looked at."""
        return self._needs

    def add(self, motion: Motion | None, loads: JointLoads) -> None:
        """Take in the next piece of a motion, and the loads along it; they know their times."""
        time, use = times_of(loads), loads.external_use
        if self._signals is None:
            self._signals = Signals(loads)
            self._sure = np.ones(len(self._signals.entries), dtype=bool)
            self._first, self._begin, self._use = loads, float(time[0]), use
            self._round_off = loads.round_off
        elif self._use is not None and use is not None:
            self._use = self._use + use
        self._end, self.rows = float(time[-1]), self.rows + len(time)
        self._sure &= self._signals.determined(loads)
        self._round_off = loads.round_off.joined(self._round_off)
        self._efforts.add(loads)

    def result(self) -> Any:
        """Return what came so far."""
        return self

    @property
    def effort_differences(self) -> EffortDifferences | None:
        """How far measured efforts are from the computed ones; None: none were measured."""
        return self._efforts.differences()

    def assumptions(
        self,
        assumed: Iterable[Assumption] = (),
        results: Iterable[Any] = (),
        round_off: RoundOff | None = None,
    ) -> Assumptions:
        """Return what the loads assume, and beside that what results of observers do.

        Parameters
        ----------
        assumed : contributions beside those of the loads, such as of the motion
        round_off : the sizes up to which numbers are shown as 0; None: those of the loads
        """
        if self._signals is None:
            raise StateError("no loads were counted: add() was not called, or had no rows")
        pairs = zip(self._signals.entries, self._sure.tolist(), strict=True)
        unsure = [signal.name for signal, sure in pairs if not (sure or signal.resultant)]
        efforts = self.effort_differences
        beside = (*assumed, *(efforts.assumed if efforts else ()))
        beside += self._use.assumed if self._use else ()
        known = assumptions_of(self._first, unsure, beside, round_off or self._round_off)
        return known.adding(*(x for one in results for x in getattr(one, "assumed", ())))


class LoadHistoryCounter(LoadBasisCounter):
    """A `LoadHistory` of loads that come in pieces."""

    def add(self, motion: Motion | None, loads: JointLoads) -> None:
        """Take in the next piece of a motion, and the loads along it; they know their times."""
        super().add(motion, loads)
        assert self._signals is not None
        assert loads.time is not None
        if self.rows == len(loads.time):
            entries = self._signals.entries
            self._statistics = StatisticsCounter(entries)
            self._traces = TracesCounter([signal.name for signal in entries])
            self._envelopes = [EnvelopeCounter() for _ in loads.actuation_names]
        columns = self._signals.columns(loads)
        self._statistics.add(loads.time, columns, self._signals.deviations(loads))
        self._traces.add(loads.time, columns)
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
        results: Mapping[str, Any] = MappingProxyType({}),
    ) -> LoadHistory:
        """Return what came so far.

        Parameters
        ----------
        assumed : contributions to the assumptions beside those of the loads
        results : of other observers, by name
        """
        known = self.assumptions(assumed, results.values())
        first, entries = self._first, self._signals.entries if self._signals else ()
        assert first.model is not None
        actuations = [x for x in entries if x.quantity.split(".")[0] == "actuation"]
        envelopes = [
            counter.envelope(name, signal.unit)
            for counter, name, signal in zip(
                self._envelopes, first.actuation_names, actuations, strict=True
            )
        ]
        return LoadHistory(
            first.model.name,
            first.joints,
            str(first.convention),
            self.rows,
            self._begin,
            self._end,
            self._statistics.statistics(self._sure.tolist()),
            tuple(envelopes) if first.speed is not None else (),
            self._traces.traces(),
            self._round_off,
            known,
            tuple(notes),
            file,
            dict(results),
            effort_differences=self.effort_differences,
        )


def watch_loads(
    pieces: Pieces,
    system: LoadSystem,
    needs: Needs,
    observers: Mapping[str, Observer] = MappingProxyType({}),
    *,
    output: str | PathLike[str] | TextIO | None = None,
    digits: int | None = None,
) -> LoadHistory:
    """Return what is kept of the loads along a motion in pieces; write the loads if asked to.

    Memory does not grow with the length of the motion.

    Parameters
    ----------
    system : what acts along the motion
    needs : which loads
    observers : by the names of their results in the history
    output : .parquet, .csv, .npz or .h5 file for the loads themselves
    digits : significant digits in a text; None for all
    """
    counter = LoadHistoryCounter(needs)
    every: dict[str, Observer] = {**observers, HISTORY: counter}
    with ExitStack() as stack:
        if output is not None:
            writer = LoadWriter(output, needs, pieces, digits)
            every[FILE] = stack.enter_context(writer)
        results = watch(pieces, system, every)
    file = results.pop(FILE, None)
    del results[HISTORY]
    notes = (*pieces.notes, *(file.lost if file else ()))
    return counter.history(notes, file.name if file else None, pieces.assumed, results)


HISTORY, FILE = "the history", "the file"
"""Names of the observers that a history has of its own."""
