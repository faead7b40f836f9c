"""The public names of `mbd_bridge`, each with its module."""

from mbd_bridge import (
    flexible as flexible,
    forces as forces,
    integrators as integrators,
    loads as loads,
    simulation as simulation,
)
from mbd_bridge.api.load import load as load, models as models
from mbd_bridge.api.mechanism import Mechanism as Mechanism
from mbd_bridge.applications import (
    linear as linear,
    motors as actuators,  # noqa: F401 - another name
    studies as studies,
)
from mbd_bridge.applications.real_time.runner import RealTime as RealTime
from mbd_bridge.base import errors as errors
from mbd_bridge.base.errors import MbdError as MbdError, MbdWarning as MbdWarning
from mbd_bridge.forces.varying import Input as Input, Sampled as Sampled
from mbd_bridge.model import Builder as Builder
from mbd_bridge.motion import Motion as Motion
from mbd_bridge.motion.external import ExternalForces as ExternalForces
from mbd_bridge.simulation.equations import Equations as Equations
from mbd_bridge.simulation.system import System as System

__version__: str
