"""What loads along a motion depend on beside the motion itself."""

from __future__ import annotations

from dataclasses import dataclass

from mbd_bridge.forces.base import ForceElement
from mbd_bridge.motion.external import ExternalForces


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
