"""The motor side of a machine: gears, rotors, friction, and what motors have to do.

>>> motor = mbd.actuators.Actuator("elbow", ratio=100, rotor_inertia=1e-5)   # doctest: +SKIP
>>> robot.with_actuators([motor]).motors(motion)["elbow"].rms               # doctest: +SKIP
"""

from mbd_bridge.base.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
