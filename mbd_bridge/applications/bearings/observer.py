"""What bearings carry along motions, and what they add to a `LoadHistory`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbd_bridge.applications.bearings.bearing_set import BearingSet
from mbd_bridge.applications.bearings.bearings import Bearings, BearingsCounter
from mbd_bridge.base.assumptions import Assumptions
from mbd_bridge.loads import JointLoads
from mbd_bridge.loads.streaming import LoadHistory
from mbd_bridge.motion import Motion

if TYPE_CHECKING:
    from mbd_bridge.api.histories import HistoryRequest
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.simulation import Simulation


class BearingsObserver:
    """Counts what bearings carry along a motion."""

    def __init__(self, counter: BearingsCounter) -> None:
        self._counter = counter

    @staticmethod
    def of(
        mechanism: Mechanism, request: HistoryRequest, run: Simulation | None = None
    ) -> BearingsObserver | None:
        """Return what counts it for the bearings of a request, or those that a machine states."""
        stated = mechanism.stated_bearings if request.bearings is None else request.bearings
        known = BearingSet.of(mechanism.model, stated)
        if not len(known):
            return None
        joints = tuple(known.by_joint)
        if run is None:
            return BearingsObserver(mechanism.bearings_counter(request.inputs, joints, known))
        reactions = run.joint_loads(joints, reaction=True)
        return BearingsObserver(
            BearingsCounter(mechanism.prepared, joints, known, lambda motion: reactions)
        )

    def add(self, motion: Motion, loads: JointLoads) -> None:
        """Take in the next piece."""
        self._counter.add(motion)

    def result(self) -> Bearings:
        """Return what they carry along the pieces so far."""
        return self._counter.bearings()

    def assume(self, known: Assumptions) -> Assumptions:
        """Return the assumptions of the loads, but what bearings assume in place of theirs."""
        return known.stating(*self.result().assumed)


def _bearings(history: LoadHistory) -> Bearings | None:
    """What bearings carry, and their lives, where that was computed, or None."""
    return history.results.get("bearings")


bearings = property(_bearings)
