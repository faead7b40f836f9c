"""The motor side of a machine: gears, rotors, friction, and what motors have to do.

>>> motor = mbd.actuators.Actuator("elbow", ratio=100, rotor_inertia=1e-5)   # doctest: +SKIP
>>> robot.with_actuators([motor]).motors(motion)["elbow"].rms               # doctest: +SKIP
"""

from mbd_bridge.actuators.actuator import Actuator, Efficiency
from mbd_bridge.actuators.duty import Energies, MotorDuty
from mbd_bridge.actuators.files import Actuators
from mbd_bridge.actuators.files import load_actuators as load
from mbd_bridge.actuators.files import save_actuators as save
from mbd_bridge.actuators.friction import Friction
from mbd_bridge.actuators.from_file import FromFile
from mbd_bridge.actuators.motor_curve import MotorCurve, TorqueCurve
from mbd_bridge.actuators.motor_side import MotorStates, motor_side
from mbd_bridge.actuators.motors import Motors, MotorsCounter
from mbd_bridge.actuators.verdict import Use, Verdict

__all__ = [
    "Actuator",
    "Actuators",
    "Efficiency",
    "Energies",
    "Friction",
    "FromFile",
    "MotorCurve",
    "MotorDuty",
    "MotorStates",
    "Motors",
    "MotorsCounter",
    "TorqueCurve",
    "Use",
    "Verdict",
    "load",
    "motor_side",
    "save",
]
