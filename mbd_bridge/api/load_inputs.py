"""What loads along a motion depend on beside the motion itself."""

from __future__ import annotations

from dataclasses import dataclass

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.arguments import an_instance, flag, name_list
from mbd_bridge.forces.base import ForceElement
from mbd_bridge.loads.options import ActingOptions
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import ExternalForces, external_forces


@dataclass(frozen=True, eq=False)
class LoadInputs:
    """What acts on a machine along a motion, and who moves it; checked.

    Attributes
    ----------
    external : forces on links
    actuated : of a machine with loops, the actuated joints; None: those that the file names
    minimum_norm : allow more; what they share is then the smallest for the loop joints
    forces : force elements that act, bound to the model
    threads : share the states among this many threads
    """

    external: ExternalForces | None = None
    actuated: tuple[str, ...] | None = None
    minimum_norm: bool = False
    forces: tuple[ForceElement, ...] = ()
    threads: int = 1

    @staticmethod
    def of(
        mechanism: Mechanism, motion: Motion, options: ActingOptions, threads: int
    ) -> LoadInputs:
        """Return what acts along a motion, checked; see `Mechanism.joint_loads`."""
        motion = an_instance("motion", motion, Motion, "robot.read_motion(...)")
        actuated = options["actuated"]
        return LoadInputs(
            external_forces(
                mechanism.model, options["external"], options["external_in"], motion.time
            ),
            actuated if actuated is None else name_list("actuated", actuated, "joints"),
            flag("minimum_norm", options["minimum_norm"]),
            mechanism.elements(options["forces"]),
            threads,
        )
