"""Load cases as rows: a signal each, with its extremes over all cases."""

from __future__ import annotations

from mbd_bridge.base.tabular import Rows, Series
from mbd_bridge.loads.streaming.cases import LoadCases


def rows_of(cases: LoadCases) -> Rows:
    """Return the extremes of every signal, and the cases in which they are."""
    signals = cases.signals
    names = [one.name for one in signals]
    columns = [Series("unit", "", [one.unit for one in signals])]
    for word, of in (("smallest", cases.smallest), ("largest", cases.largest)):
        found = [of(name) for name in names]
        columns.append(Series(word, "", [float(one.extreme.value) for one in found]))
        columns.append(Series(f"{word} in", "", [one.case for one in found]))
    return Rows(repr(cases), Series("signal", "", names), tuple(columns))
