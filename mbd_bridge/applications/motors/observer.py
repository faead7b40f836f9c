"""The duties of motors along motions, and what they add to a `LoadHistory`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbd_bridge.applications.motors.motors import Motors, MotorsCounter
from mbd_bridge.applications.motors.of_mechanism import without_rotors
from mbd_bridge.base.assumptions import Assumptions
from mbd_bridge.loads import JointLoads
from mbd_bridge.loads.streaming import LoadHistory
from mbd_bridge.motion import Motion
from mbd_bridge.simulation.results.simulation import efforts

if TYPE_CHECKING:
    from mbd_bridge.api.histories import HistoryRequest
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.simulation import Simulation


class MotorsObserver:
    """Counts the duties of motors along a motion."""

    def __init__(self, counter: MotorsCounter) -> None:
        self._counter = counter

    @staticmethod
    def of(
        mechanism: Mechanism, request: HistoryRequest, run: Simulation | None = None
    ) -> MotorsObserver | None:
        """Return what counts them where a request asks for it, or a machine states actuators.

        Parameters
        ----------
        run : motors give what its torque inputs and prescribed motions did; of a machine with
            loops they are those of joints with an input or a stated actuator
        """
        if not (mechanism.has_motors if request.motors is None else request.motors):
            return None
        if run is None:
            return MotorsObserver(mechanism.motors_counter(request.inputs))
        tau = without_rotors(run.model, efforts(run), run.a)
        moved = mechanism.moved_by(tau)
        return MotorsObserver(MotorsCounter(run.model, moved, lambda motion, check: tau))

    def add(self, motion: Motion, loads: JointLoads) -> None:
        """Take in the next piece."""
        self._counter.add(motion)

    def result(self) -> Motors:
        """Return the duties along the pieces so far."""
        return self._counter.motors()

    def assume(self, known: Assumptions) -> Assumptions:
        """Return the assumptions of the loads, and of the motors beside them."""
        return known.adding(*self.result().assumed)


def _motors(history: LoadHistory) -> Motors | None:
    """What motors have to do, where that was computed, or None."""
    return history.results.get("motors")


motors = property(_motors)
