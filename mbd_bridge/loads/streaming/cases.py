"""Load cases: several motions of one machine, each with a weight; and two sets side by side.

A case happens w times (its weight). The envelope holds the largest and the smallest value of each
signal, and the case that it is of; applications tell more of the cases (group ``cases``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from mbd_bridge.base.arguments import an_instance
from mbd_bridge.base.assumptions import TOPICS, Assumption, Assumptions, Number
from mbd_bridge.base.errors import StateError, real_number
from mbd_bridge.base.extensions import working
from mbd_bridge.base.named import Named
from mbd_bridge.base.table import Series, Table, Tabular
from mbd_bridge.loads.signals import LoadSignal, signal_labels
from mbd_bridge.loads.streaming.load_history import LoadHistory
from mbd_bridge.loads.streaming.statistics import Extreme

if TYPE_CHECKING:
    from mbd_bridge.applications.typed import OfLoadCases as Extended
else:
    from mbd_bridge.base.extensions import Extended


@dataclass(frozen=True)
class LoadCase:
    """One motion's loads, and how often it happens.

    Attributes
    ----------
    name : of the case
    history : of its loads (`robot.load_history`, `robot.report`)
    weight : repetitions, above 0
    """

    name: str
    history: LoadHistory
    weight: float = 1.0

    def __post_init__(self) -> None:
        an_instance("history", self.history, LoadHistory, "robot.load_history(...)")
        real_number("weight", self.weight, "one number of repetitions above 0", positive=True)


class CaseExtreme(NamedTuple):
    """An extreme of a signal over all cases: the case's name and what is there."""

    case: str
    extreme: Extreme


class Compared(NamedTuple):
    """A signal's peaks in two sets of cases, and second over first (nan over zero)."""

    signal: LoadSignal
    first: CaseExtreme
    second: CaseExtreme
    ratio: float


class OfCases(NamedTuple):
    """What an application tells of load cases, beside their extremes (group ``cases``).

    Attributes
    ----------
    columns : of the signals
    caption : of these columns
    tables : beside
    """

    columns: Sequence[Series] = ()
    caption: str = ""
    tables: Sequence[Table] = ()


class LoadCases(Tabular, Named[LoadHistory], Extended, entries="load case"):
    """Load cases of the same joints in one convention.

    Parameters
    ----------
    cases : `LoadCase`s with names of their own

    Examples
    --------
    >>> cases = LoadCases([LoadCase("pick", pick, 2e6), LoadCase("stop", stop)])
    ...                                                                     # doctest: +SKIP
    >>> cases.peak("elbow.my").case, cases.damage_equivalent("elbow.my", 3)  # doctest: +SKIP
    """

    def __init__(self, cases: Iterable[LoadCase]) -> None:
        self.cases = tuple(
            an_instance("cases", one, LoadCase, "mbd.loads.LoadCase") for one in cases
        )
        if not self.cases:
            raise StateError("cases: expected one load case or more, got none")
        names = self.names
        first = self.cases[0].history
        for case in self.cases:
            if names.count(case.name) > 1:
                raise StateError(f"cases: {case.name!r} is there twice; choose another name")
            own = case.history
            if (own.joints, own.convention) != (first.joints, first.convention):
                said = [f"{', '.join(h.joints)} ({h.convention})" for h in (own, first)]
                raise StateError(
                    f"cases: {case.name!r} has loads of {said[0]}, {names[0]!r} of {said[1]}; "
                    f"compute all in the same way"
                )

    @property
    def names(self) -> tuple[str, ...]:
        """The cases; the entry of each is its history."""
        return tuple(case.name for case in self.cases)

    def _entry(self, name: str) -> LoadHistory:
        return self.cases[self.names.index(name)].history

    @property
    def _results(self) -> set[str]:
        """The names of the observers that saw all cases."""
        return set.intersection(*(set(case.history.results) for case in self.cases))

    @property
    def assumptions(self) -> Assumptions:
        """What the loads of all cases assume: what is not the same in all, with the case's name."""
        if len(self.cases) == 1:
            return self.cases[0].history.assumptions
        own = [case.history.assumptions for case in self.cases]
        found = list[Assumption]()
        for topic in TOPICS:
            if topic != "cases":
                found += _of_cases([case.name for case in self.cases], [x[topic] for x in own])
        return Assumptions((*found, *self._weights))

    @property
    def _weights(self) -> tuple[Assumption, ...]:
        each = [f"{case.name} {case.weight:g} times" for case in self.cases]
        text = f"{', '.join(each)}; damage adds up by Miner's rule, whatever the order"
        numbers = tuple(Number(f"repetitions of {x.name}", x.weight, "") for x in self.cases)
        return (Assumption("cases", text, numbers),)

    @property
    def signals(self) -> tuple[LoadSignal, ...]:
        """What there is of each case."""
        return tuple(one.signal for one in self.cases[0].history.statistics)

    @property
    def duration(self) -> float:
        """All repetitions of all cases together, s."""
        return sum(case.weight * (x.end - x.begin) for case in self.cases for x in [case.history])

    def largest(self, signal: str) -> CaseExtreme:
        """Return the largest value of a signal over all cases."""
        each = [CaseExtreme(case.name, case.history[signal].largest) for case in self.cases]
        return max(each, key=lambda one: one.extreme.value)

    def smallest(self, signal: str) -> CaseExtreme:
        """Return the smallest value of a signal over all cases."""
        each = [CaseExtreme(case.name, case.history[signal].smallest) for case in self.cases]
        return min(each, key=lambda one: one.extreme.value)

    def peak(self, signal: str) -> CaseExtreme:
        """Return the extreme of the larger size."""
        return max(
            (self.largest(signal), self.smallest(signal)), key=lambda x: abs(x.extreme.value)
        )

    def determined(self, signal: str) -> bool:
        """Return whether rigid-body mechanics determines a signal in all cases."""
        return all(case.history[signal].determined for case in self.cases)

    def compare(self, other: LoadCases) -> tuple[Compared, ...]:
        """Return the peaks of each signal here and there, such as of a variant, and the ratios."""
        an_instance("other", other, LoadCases, "mbd.loads.LoadCases(...)")
        theirs = {signal.name for signal in other.signals}
        found = []
        for signal in self.signals:
            if signal.name in theirs:
                first, second = self.peak(signal.name), other.peak(signal.name)
                size = abs(first.extreme.value)
                ratio = abs(second.extreme.value) / size if size > 0.0 else float("nan")
                found.append(Compared(signal, first, second, ratio))
        if not found:
            raise StateError("other: has no signal of the same name; the joints differ")
        return tuple(found)

    def tables(self) -> tuple[Table, ...]:
        """Return the extremes and the damage of every signal over all cases; and the cases."""
        names, signals = [one.name for one in self.signals], self.signals
        units, sure = [one.unit for one in signals], list(map(self.determined, names))
        floors = self.floors
        columns = list[Series]()
        for word, of in (("largest", self.largest), ("smallest", self.smallest)):
            columns += _of_case(word, "in", units, [of(name) for name in names], sure, floors)
        more = [one(self) for name, one in working("cases") if name in self._results]
        columns += [column for one in more for column in one.columns]
        caption = " ".join(("Extremes over all cases.", *(x.caption for x in more if x.caption)))
        labels = signal_labels(signals)
        each = self.cases
        cases = [
            Series("repetitions", "", [case.weight for case in each]),
            Series(
                "duration",
                "s",
                [x.history.end - x.history.begin for x in each],
                shown="{:g}".format,
            ),
            Series("states", "", [case.history.rows for case in each]),
        ]
        return (
            Table(repr(self), labels, columns, caption=caption, floors=floors),
            Table(repr(self), Series("load case", "", self.names), cases),
            *(table for one in more for table in one.tables),
        )

    @property
    def floors(self) -> dict[str, float]:
        """The sizes by unit up to which numbers are rounding errors, in any of the cases."""
        each = [case.history.round_off.floors for case in self.cases]
        return {unit: max(one[unit] for one in each) for unit in each[0]}

    def beside(self, others: Mapping[str, LoadCases]) -> Table:
        """Return the peaks of each signal beside those of others by name, such as of variants."""
        units, floors = [one.unit for one in self.signals], self.floors
        sets = {
            name: {x.signal.name: x.second for x in self.compare(other)}
            for name, other in others.items()
        }
        names = [one.name for one in self.signals]
        sure = [
            self.determined(name)
            and all(other.determined(name) for key, other in others.items() if name in sets[key])
            for name in names
        ]
        peaks = [self.peak(name) for name in names]
        columns = _of_case("peak", "case", units, peaks, sure, floors)
        for key in others:
            other = [sets[key].get(name) for name in names]
            columns += _of_case(f"peak of {key}", "case", units, other, sure, floors)
            ratios = [
                abs(b.extreme.value / a.extreme.value) if b and a.extreme.value else None
                for a, b in zip(peaks, other, strict=True)
            ]
            columns.append(Series("ratio", "", ratios, shown="{:.4g}".format, sure=sure))
        return Table(repr(self), signal_labels(self.signals), columns, floors=floors)

    def __repr__(self) -> str:
        each = ", ".join(f"{case.name} x {case.weight:g}" for case in self.cases)
        return f"LoadCases({each}; {self.duration:g} s)"


def _of_case(
    word: str,
    case: str,
    units: Sequence[str],
    extremes: Sequence[CaseExtreme | None],
    sure: Sequence[bool],
    floors: Mapping[str, float],
) -> list[Series]:
    """Return columns of extremes, and of the cases in which they are."""
    values = [None if one is None else one.extreme.value for one in extremes]
    bands = [None if one is None else one.extreme.band for one in extremes]
    pairs = zip(extremes, units, strict=True)
    names = [x.case if x and abs(x.extreme.value) > floors[u] else None for x, u in pairs]
    return [
        Series(word, units, values, bands=bands, sure=sure),
        Series(case, "", names, sure=sure),
    ]


def _of_cases(names: Sequence[str], said: Sequence[tuple[Assumption, ...]]) -> Iterator[Assumption]:
    """Yield what cases assume of a topic: once what all say, else with their names."""
    everyone = [one for one in said[0] if all(one in own for own in said)]
    yield from everyone
    for name, own in zip(names, said, strict=True):
        for one in own:
            if one not in everyone:
                yield replace(one, text=f"{name}: {one.text}")
