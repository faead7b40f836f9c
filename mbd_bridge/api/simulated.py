"""The load history of a simulation, with what its motors had to do and its bearings carried."""

from __future__ import annotations

from mbd_bridge.api.histories import HistoryRequest
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.loads import JointLoads
from mbd_bridge.loads.streaming import LoadHistory, stream_loads
from mbd_bridge.motion import Motion, MotionParts
from mbd_bridge.simulation import Simulation


def mechanism_of(run: Simulation) -> Mechanism:
    """Return the mechanism that was simulated, with its actuators and bearings where it has some.

    Of a run that came from another process, or of a variant, only the model is known.
    """
    made_of = run.system.made_of
    machine = None if made_of is None else made_of[0]
    if isinstance(machine, Mechanism) and machine.model is run.model:
        return machine
    return Mechanism(run.model)


def simulated_history(
    run: Simulation, mechanism: Mechanism, loads: JointLoads, request: HistoryRequest
) -> LoadHistory:
    """Return what is kept of the loads of a simulation.

    Parameters
    ----------
    loads : of the joints that are looked at
    request : what is counted
    """
    names = run.model.coordinate_names, run.model.velocity_names
    motion = Motion(run.time, run.q, run.v, run.a, *names, (), run.model)
    whole = MotionParts(motion, "a simulation", max(len(run.time), 1))
    observers = request.observers(mechanism, run)
    return stream_loads(lambda piece: loads, whole, observers=observers)
