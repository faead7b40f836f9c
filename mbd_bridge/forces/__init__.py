"""Force elements: springs, dampers, bushings, friction, stops, drag, tyres on roads.

>>> spring = mbd.forces.PointSpring(("ground", "bob"), stiffness=100.0)      # doctest: +SKIP
>>> run = mbd.simulate(robot, 1.0, forces=[spring])                          # doctest: +SKIP

To add an element, write one final frozen class in a file here, see `base.ForceElement`.
"""

from mbd_bridge.forces.actuator import JointActuator, PointActuator
from mbd_bridge.forces.base import Effect, ForceElement
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
    "save_forces",
]
