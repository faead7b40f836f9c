"""The public names of `mbd_bridge.forces`, each with its module."""

from mbd_bridge.forces import roads as roads
from mbd_bridge.forces.actuator import (
    JointActuator as JointActuator,
    PointActuator as PointActuator,
    PositionControl as PositionControl,
)
from mbd_bridge.forces.base import Effect as Effect, ForceElement as ForceElement
from mbd_bridge.forces.bushing import Bushing as Bushing
from mbd_bridge.forces.drag import Drag as Drag
from mbd_bridge.forces.files import (
    from_urdf as from_urdf,
    load_forces as load_forces,
    save_forces as save_forces,
)
from mbd_bridge.forces.friction import JointFriction as JointFriction, LoadFriction as LoadFriction
from mbd_bridge.forces.general_force import GeneralForce as GeneralForce
from mbd_bridge.forces.gravity_field import GravityField as GravityField
from mbd_bridge.forces.hydropneumatic import HydropneumaticUnit as HydropneumaticUnit
from mbd_bridge.forces.springs import (
    JointSpring as JointSpring,
    PointSpring as PointSpring,
    TorsionBar as TorsionBar,
)
from mbd_bridge.forces.stops import JointStop as JointStop, PointStop as PointStop
from mbd_bridge.forces.track import Track as Track
from mbd_bridge.forces.tyres import (
    FialaTyre as FialaTyre,
    PacejkaTyre as PacejkaTyre,
    SimpleTyre as SimpleTyre,
    TableTyre as TableTyre,
)
