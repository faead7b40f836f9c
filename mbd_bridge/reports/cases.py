"""Load cases of a report: what each motion asks of the joints, side by side and all together."""

from __future__ import annotations

from collections.abc import Callable

from mbd_bridge.loads.streaming import LoadCases, LoadHistory
from mbd_bridge.reports.page import subsection, table


def of_each(cases: LoadCases, part: Callable[[LoadHistory], str]) -> str:
    """Return a part of each case's, under its name where there are several."""
    if len(cases) == 1:
        return part(cases.cases[0].history)
    each = ((case.name, part(case.history)) for case in cases.cases)
    return "\n".join(subsection(name, text) for name, text in each if text)


def load_cases(cases: LoadCases) -> str:
    """Return the cases, extremes and damage over all of them, and lives of bearings."""
    envelope, listed, *lives = cases.tables()
    return "\n".join([table(listed), table(envelope, fold="signal"), *map(table, lives)])
