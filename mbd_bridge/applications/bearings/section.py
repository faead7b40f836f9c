"""Bearings in a report: what they carry, and how long they live."""

from __future__ import annotations

import math

from mbd_bridge.applications.bearings import BearingDuty, Bearings
from mbd_bridge.base.readable import life_in_words
from mbd_bridge.loads.streaming import LoadCases, LoadHistory
from mbd_bridge.reports.page import paragraph, table, verdict

HEADING, PLACE = "Bearings", 2


def text(history: LoadHistory) -> str:
    """Return loads and lives of bearings."""
    found = history.bearings
    if found is None:
        return ""
    notes = (f"{duty.title}: {note}." for duty in found.duties for note in duty.notes)
    return "\n".join([*map(table, found.tables()), *(paragraph(note, "note") for note in notes)])


def in_short(cases: LoadCases) -> str:
    """Return what decides, in each case."""
    each = [(case.name, case.history.bearings) for case in cases.cases]
    several = len(each) > 1
    return "\n".join(
        (paragraph(f"Bearings, {name}:", "note") if several else "") + _verdicts(found)
        for name, found in each
        if found
    )


def _verdicts(bearings: Bearings) -> str:
    lines = []
    for state, text, kind in (
        ("yes", "Static load rating exceeded", "bad"),
        ("open", "The motion's noise leaves open whether the static load rating is kept", "doubt"),
    ):
        names = [
            f"{duty.title} ({_safety(duty)})" for duty in bearings.duties if duty.overload == state
        ]
        if names:
            lines.append(verdict(f"{text}: bearing of {', '.join(names)}.", kind))
    lives = [duty for duty in bearings.duties if duty.life is not None]
    if lives:
        least = min(lives, key=lambda duty: duty.life.hours if duty.life else math.inf)
        assert least.life is not None
        text = f"Shortest rating life: bearing of {least.title}, L10h {_hours(least.life.hours)}"
        if least.life.least_hours is not None:
            text += f" (with the motion's noise at least {_hours(least.life.least_hours)})"
        lines.append(paragraph(f"{text}."))
    unsure = [duty.title for duty in bearings.duties if not all(duty.determined[:2])]
    if unsure:
        text = "Rigid-body mechanics does not determine the loads of the bearing of"
        lines.append(verdict(f"{text} {', '.join(unsure)}: no rating life.", "doubt"))
    return "\n".join(lines)


def _hours(life: float) -> str:
    return life_in_words(life) + (" h" if math.isfinite(life) else "")


def _safety(duty: BearingDuty) -> str:
    assert duty.life is not None
    return f"S0 {duty.life.static_safety:.3g}"
