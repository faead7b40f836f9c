"""Force elements: springs, dampers, bushings, friction, stops, drag, tyres on roads.

>>> spring = mbd.forces.PointSpring(("ground", "bob"), stiffness=100.0)      # doctest: +SKIP
>>> run = mbd.simulate(robot, 1.0, forces=[spring])                          # doctest: +SKIP

To add an element, write one final frozen class in a file here, see `base.ForceElement`.
"""

from typing import TYPE_CHECKING

from mbd_bridge.forces.base import Effect, ForceElement
from mbd_bridge.lazy import imported_at_first_use

if TYPE_CHECKING:
    from mbd_bridge.forces import roads
    from mbd_bridge.forces.actuator import JointActuator, PointActuator
    from mbd_bridge.forces.bushing import Bushing
    from mbd_bridge.forces.drag import Drag
    from mbd_bridge.forces.files import load_forces, save_forces
    from mbd_bridge.forces.general_force import GeneralForce
    from mbd_bridge.forces.gravity_field import GravityField
    from mbd_bridge.forces.hydropneumatic import HydropneumaticUnit
    from mbd_bridge.forces.joint_friction import JointFriction
    from mbd_bridge.forces.joint_spring import JointSpring
    from mbd_bridge.forces.joint_stop import JointStop
    from mbd_bridge.forces.load_friction import LoadFriction
    from mbd_bridge.forces.point_spring import PointSpring
    from mbd_bridge.forces.point_stop import PointStop
    from mbd_bridge.forces.torsion_bar import TorsionBar
    from mbd_bridge.forces.track import Track
    from mbd_bridge.forces.tyres import FialaTyre, PacejkaTyre, SimpleTyre
    from mbd_bridge.forces.urdf import from_urdf

_PLACES = {
    "Bushing": "mbd_bridge.forces.bushing",
    "Drag": "mbd_bridge.forces.drag",
    "FialaTyre": "mbd_bridge.forces.tyres",
    "GeneralForce": "mbd_bridge.forces.general_force",
    "GravityField": "mbd_bridge.forces.gravity_field",
    "HydropneumaticUnit": "mbd_bridge.forces.hydropneumatic",
    "JointActuator": "mbd_bridge.forces.actuator",
    "JointFriction": "mbd_bridge.forces.joint_friction",
    "JointSpring": "mbd_bridge.forces.joint_spring",
    "JointStop": "mbd_bridge.forces.joint_stop",
    "LoadFriction": "mbd_bridge.forces.load_friction",
    "PacejkaTyre": "mbd_bridge.forces.tyres",
    "PointActuator": "mbd_bridge.forces.actuator",
    "PointSpring": "mbd_bridge.forces.point_spring",
    "PointStop": "mbd_bridge.forces.point_stop",
    "SimpleTyre": "mbd_bridge.forces.tyres",
    "TorsionBar": "mbd_bridge.forces.torsion_bar",
    "Track": "mbd_bridge.forces.track",
    "from_urdf": "mbd_bridge.forces.urdf",
    "load_forces": "mbd_bridge.forces.files",
    "roads": "mbd_bridge.forces.roads",
    "save_forces": "mbd_bridge.forces.files",
}
__getattr__, __dir__ = imported_at_first_use(__name__, _PLACES)

__all__ = [
    "Bushing",
    "Drag",
    "Effect",
    "FialaTyre",
    "ForceElement",
    "GeneralForce",
    "GravityField",
    "HydropneumaticUnit",
    "JointActuator",
    "JointFriction",
    "JointSpring",
    "JointStop",
    "LoadFriction",
    "PacejkaTyre",
    "PointActuator",
    "PointSpring",
    "PointStop",
    "SimpleTyre",
    "TorsionBar",
    "Track",
    "from_urdf",
    "load_forces",
    "roads",
    "save_forces",
]
