"""The duties of motors along motions, and what they add to a `LoadHistory`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbd_bridge.api.histories import HistoryRequest
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.applications.motors.motors import Motors, MotorsObserver
    from mbd_bridge.loads.streaming import LoadHistory
    from mbd_bridge.simulation import Simulation


@property  # type: ignore[misc]
def has_motors(mechanism: Mechanism) -> bool:
    """Whether actuators are stated, or the file says gears or rotors of a joint."""
    if mechanism.stated.get("actuators"):
        return True
    geared = mechanism.model.description.transmissions
    return any(x.reduction not in (None, 1.0) or x.rotor_inertia for x in geared)


def observe(
    mechanism: Mechanism, request: HistoryRequest, run: Simulation | None = None
) -> MotorsObserver | None:
    """Return what sees the motors where a request asks for it, or a machine states actuators.

    Parameters
    ----------
    run : motors give what its torque inputs and prescribed motions did; of a machine with loops
        they are those of joints with an input or a stated actuator
    """
    if not (mechanism.has_motors if request.motors is None else request.motors):
        return None
    from mbd_bridge.applications.motors.motors import MotorsObserver
    from mbd_bridge.applications.motors.of_mechanism import completed_actuators

    if run is None:
        asked = request.request
        actuators = completed_actuators(mechanism, asked.forces, None, asked.actuated)
        return MotorsObserver(mechanism.model, actuators)
    from mbd_bridge.simulation.results.simulation import efforts

    return MotorsObserver(run.model, mechanism.moved_by(efforts(run)))


def _motors(history: LoadHistory) -> Motors | None:
    """What motors have to do, where that was computed, or None."""
    return history.results.get("motors")


motors = property(_motors)
