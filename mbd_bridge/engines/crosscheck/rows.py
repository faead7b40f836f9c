"""A cross-check as rows: a comparison each."""

from __future__ import annotations

import numpy as np

from mbd_bridge.base.tabular import Rows, Series
from mbd_bridge.engines.crosscheck.report import Report


def rows_of(report: Report) -> Rows:
    """Return errors, tolerances and verdicts."""
    each = report.rows
    said = ["not compared" if not r.compared else "ok" if r.passed else "DISAGREES" for r in each]
    columns = (
        Series("against", "", [row.referee for row in each]),
        Series("relative error", "", [row.error if row.compared else np.nan for row in each]),
        Series("tolerance", "", [row.tolerance if row.compared else np.nan for row in each]),
        Series("outcome", "", said),
        Series("worst", "", [row.worst for row in each]),
        Series("note", "", [row.note for row in each]),
    )
    title = f"{report.mechanism}: {report.verdict} at {report.states} random states"
    index = Series("quantity", "", [row.quantity for row in each])
    notes = tuple(f"not asked: {reason}" for reason in report.absent)
    return Rows(title, index, columns, notes=notes)
