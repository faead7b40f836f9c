"""The public names of `mbd_bridge.applications.motors`, each with its module."""

from mbd_bridge.applications.motors.actuator import (
    Actuator as Actuator,
    Efficiency as Efficiency,
    Friction as Friction,
    MotorCurve as MotorCurve,
    TorqueCurve as TorqueCurve,
)
from mbd_bridge.applications.motors.duty import (
    Energies as Energies,
    MotorDuty as MotorDuty,
    MotorStates as MotorStates,
    Verdict as Verdict,
    motor_side as motor_side,
)
from mbd_bridge.applications.motors.files import (
    Actuators as Actuators,
    FromFile as FromFile,
    load_actuators as load,  # noqa: F401 - another name
    save_actuators as save,  # noqa: F401 - another name
)
from mbd_bridge.applications.motors.motors import Motors as Motors, MotorsObserver as MotorsObserver
from mbd_bridge.motion.peak import Use as Use
