"""The load history of a simulation, with what its motors had to do and its bearings carried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.loads import JointLoads
from mbd_bridge.loads.streaming import LoadHistory, stream_loads
from mbd_bridge.model.spatial import Array
from mbd_bridge.motion import Motion, MotionParts
from mbd_bridge.simulation import Simulation
from mbd_bridge.simulation.results.simulation import efforts

if TYPE_CHECKING:
    from mbd_bridge.applications.bearings import BearingSet


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
    run: Simulation,
    mechanism: Mechanism,
    loads: JointLoads,
    exponents: Sequence[float],
    motors: bool | None,
    bearings: BearingSet | None,
) -> LoadHistory:
    """Return what is kept of the loads of a simulation.

    Parameters
    ----------
    loads : of the joints that are looked at
    motors, bearings : see `HistoryRequest`. Motors give what torque inputs and prescribed motions
        did; of a machine with loops they are those of joints with an input or a stated actuator
    """
    names = run.model.coordinate_names, run.model.velocity_names
    motion = Motion(run.time, run.q, run.v, run.a, *names, (), run.model)
    counters: dict[str, Any] = {}
    if motors or (motors is None and mechanism.has_motors):
        from mbd_bridge.applications.motors import MotorsCounter
        from mbd_bridge.applications.motors.of_mechanism import without_rotors

        tau = without_rotors(run.model, efforts(run), run.a)

        def given(piece: Motion, check: bool) -> Array:
            return tau

        counters["motors"] = MotorsCounter(run.model, mechanism.moved_by(tau), given)
    known = mechanism.stated_bearings if bearings is None else bearings
    if known is not None and len(known):
        from mbd_bridge.applications.bearings import BearingsCounter

        joints = tuple(known.by_joint)
        reactions = run.joint_loads(joints, reaction=True)
        counters["bearings"] = BearingsCounter(
            mechanism.prepared, joints, known, lambda piece: reactions
        )
    whole = MotionParts(motion, "a simulation", max(len(run.time), 1))
    return stream_loads(lambda piece: loads, whole, exponents=exponents, **counters)
