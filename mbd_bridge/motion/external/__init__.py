"""External forces of a process: tables over time, a coordinate or a link's position; sensors."""

from mbd_bridge.motion.external.files import external_from_file
from mbd_bridge.motion.external.force import ExternalForce
from mbd_bridge.motion.external.forces import (
    ExternalForces,
    ExternalGiven,
    external_forces,
    wrenches_at,
)
from mbd_bridge.motion.options import Reads

__all__ = [
    "ExternalForce",
    "ExternalForces",
    "ExternalGiven",
    "Reads",
    "external_forces",
    "external_from_file",
    "wrenches_at",
]
