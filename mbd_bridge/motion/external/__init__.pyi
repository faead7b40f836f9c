"""The public names of `mbd_bridge.motion.external`, each with its module."""

from mbd_bridge.motion.external.files import external_from_file as external_from_file
from mbd_bridge.motion.external.force import ExternalForce as ExternalForce
from mbd_bridge.motion.external.forces import (
    ExternalForces as ExternalForces,
    ExternalGiven as ExternalGiven,
    external_forces as external_forces,
    wrenches_at as wrenches_at,
)
from mbd_bridge.motion.options import Reads as Reads
