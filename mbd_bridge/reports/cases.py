"""Load cases of a report: what each motion asks of the joints, side by side and all together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mbd_bridge.loads.streaming import LoadCases, LoadHistory
from mbd_bridge.reports.page import subsection, table

EXTREMES = 4
"""Columns of an envelope: largest and smallest, and the cases in which they are."""


def of_each(cases: LoadCases, part: Callable[[LoadHistory], str]) -> str:
    """Return a part of each case's, under its name where there are several."""
    if len(cases) == 1:
        return part(cases.cases[0].history)
    each = ((case.name, part(case.history)) for case in cases.cases)
    return "\n".join(subsection(name, text) for name, text in each if text)


def load_cases(cases: LoadCases) -> str:
    """Return the cases, extremes and damage over all of them, and lives of bearings."""
    envelope, listed, *lives = cases.tables()
    parts = [envelope.columns[:EXTREMES], envelope.columns[EXTREMES:]]  # a page is not as wide
    halves = [replace(envelope, columns=part, caption="") for part in parts if part]
    halves[-1] = replace(halves[-1], caption=envelope.caption)
    each = (table(half, fold="signal") for half in halves)
    return "\n".join([table(listed), *each, *map(table, lives)])
