"""What bearings carry along motions, and what they add to a `LoadHistory`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbd_bridge.applications.bearings.bearing_set import BearingSet
from mbd_bridge.applications.bearings.bearings import Bearings, BearingsObserver
from mbd_bridge.loads.streaming import LoadHistory

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
