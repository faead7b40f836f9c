"""What bearings carry along motions, and what they add to a `LoadHistory`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mbd_bridge.applications.bearings.bearing_set import BearingSet
from mbd_bridge.applications.bearings.bearings import Bearings, BearingsObserver
from mbd_bridge.base.readable import life_in_words
from mbd_bridge.base.table import Series, Table
from mbd_bridge.loads.streaming import LoadCases, LoadHistory
from mbd_bridge.loads.streaming.cases import OfCases

if TYPE_CHECKING:
    from mbd_bridge.api.histories import HistoryRequest
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.simulation import Simulation


def observe(
    mechanism: Mechanism, request: HistoryRequest, run: Simulation | None = None
) -> BearingsObserver | None:
    """Return what sees the bearings of a request, or those that a machine states; None of none."""
    stated = mechanism.stated_bearings if request.bearings is None else request.bearings
    known = BearingSet.of(mechanism.model, stated)
    return (
        BearingsObserver(mechanism.prepared, tuple(known.by_joint), known) if len(known) else None
    )


def _bearings(history: LoadHistory) -> Bearings | None:
    """What bearings carry, and their lives, where that was computed, or None."""
    return history.results.get("bearings")


bearings = property(_bearings)


def bearing_hours(cases: LoadCases, joint: str, name: str = "") -> float | None:
    """Return L10h of a bearing under all cases, as often as they happen; None: not known.

    With L_c million turns in the case c, of N_c turns: 1/h = Σ w_c N_c / (L_c 10⁶) / Σ w_c T_c.
    """
    damage, hours = 0.0, 0.0
    for case in cases.cases:
        carried = case.history.bearings
        if carried is None:
            return None
        duty = next((x for x in carried.duties if (x.joint, x.name) == (joint, name)), None)
        if duty is None or duty.life is None:
            return None
        damage += case.weight * duty.life.revolutions / (duty.life.million_revolutions * 1e6)
        hours += case.weight * (duty.end - duty.begin) / 3600.0
    return hours / damage if damage else math.inf


def of_cases(cases: LoadCases) -> OfCases:
    """Return the rating lives under all cases, where there are some."""
    found = cases.cases[0].history.bearings
    duties = found.duties if found else ()
    lives = {duty.title: bearing_hours(cases, duty.joint, duty.name) for duty in duties}
    if not any(hours is not None for hours in lives.values()):
        return OfCases()
    column = Series("L10h", "h", [*lives.values()], shown=life_in_words)
    said = "All cases as often as they happen, by Miner's rule."
    table = Table(repr(cases), Series("bearing of", "", [*lives]), [column], caption=said)
    return OfCases(tables=(table,))
