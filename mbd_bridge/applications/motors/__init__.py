"""The motor side of a machine: gears, rotors, friction, and what motors have to do.

>>> motor = mbd.actuators.Actuator("elbow", ratio=100, rotor_inertia=1e-5)   # doctest: +SKIP
>>> robot.with_actuators([motor]).motors(motion)["elbow"].rms               # doctest: +SKIP
"""

from mbd_bridge.applications.motors.actuator import Actuator, Efficiency
from mbd_bridge.applications.motors.duty import Energies, MotorDuty
from mbd_bridge.applications.motors.files import (
    Actuators,
    load_actuators as load,
    save_actuators as save,
)
from mbd_bridge.applications.motors.friction import Friction
from mbd_bridge.applications.motors.from_file import FromFile
from mbd_bridge.applications.motors.motor_curve import MotorCurve, TorqueCurve
from mbd_bridge.applications.motors.motor_side import MotorStates, motor_side
from mbd_bridge.applications.motors.motors import Motors, MotorsObserver
from mbd_bridge.applications.motors.verdict import Verdict
from mbd_bridge.motion.limit_use import Use

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
    "MotorsObserver",
    "TorqueCurve",
    "Use",
    "Verdict",
    "load",
    "motor_side",
    "save",
]
