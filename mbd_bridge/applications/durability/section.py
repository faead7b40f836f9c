"""Durability in a report: cycles, damage-equivalent ranges, and how often ranges are exceeded."""

from __future__ import annotations

from mbd_bridge.applications.durability.load_spectra import joint_panels
from mbd_bridge.base.plots import draw_spectra
from mbd_bridge.loads.streaming import LoadHistory
from mbd_bridge.reports.figures import chart, svg
from mbd_bridge.reports.page import charts, table

HEADING, PLACE = "Durability", 3


def text(history: LoadHistory) -> str:
    """Return cycles and damage-equivalent ranges of the signals, and their pictures."""
    shown = history.equivalents()
    kept = [not one.signal.resultant for one in history.statistics]
    cycles = shown.rows(kept)
    return table(cycles.rows([not empty for empty in cycles.empty])) + _exceedances(history)


def _exceedances(history: LoadHistory) -> str:
    """Return how many cycles reach each range, for every joint whose loads move."""
    drawn = []
    for joint in history.joints:
        for panel in joint_panels(history.spectra, joint):
            if any(one.largest for one in panel.steps):
                sheet, ax = chart()
                draw_spectra([panel], ax=ax)
                drawn.append(svg(sheet, f"range spectra of {panel.title}"))
    return charts(drawn) if drawn else ""
