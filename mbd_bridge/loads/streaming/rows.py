"""A load history as rows: a signal each."""

from __future__ import annotations

from mbd_bridge.base.tabular import Rows, Series
from mbd_bridge.loads.streaming.load_history import LoadHistory


def rows_of(history: LoadHistory) -> Rows:
    """Return the extremes, the mean and the RMS of every signal."""
    each = history.statistics
    columns = (
        Series("unit", "", [one.signal.unit for one in each]),
        Series("smallest", "", [float(one.smallest.value) for one in each]),
        Series("largest", "", [float(one.largest.value) for one in each]),
        Series("mean", "", [float(one.mean) for one in each]),
        Series("RMS", "", [float(one.rms) for one in each]),
    )
    index = Series("signal", "", [one.signal.name for one in each])
    return Rows(repr(history), index, columns, notes=history.notes)
