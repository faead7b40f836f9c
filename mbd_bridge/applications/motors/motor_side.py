"""From the joint to the motor: torque, speed and power at the motor's shaft along a motion.

With τ the actuation that the equations of motion give (joint, without friction and rotor), N the
ratio, J the rotor's inertia, η and η_b the gears' efficiencies, F friction:

    ω_m = N ω                              speed of the motor
    T   = τ + F_joint(ω, τ)                behind the gears: the joint and its friction
    P   = T ω                              power out of the gears
    T_g = T / (N η)    where P > 0         the motor moves the joint (motoring)
    T_g = T η_b / N    where P < 0         the joint moves the motor (braking)
    T_g = T / N        at rest
    τ_m = T_g + J N ω̇ + F_motor(ω_m, T_g)

    τ_m ω_m = τ ω + F_joint ω + (T_g ω_m - T ω) + F_motor ω_m + d/dt (J ω_m²/2)

which is: power of the motor = that of the joint + losses (each >= 0) + rate of the rotor's energy.
The rotor is accelerated in front of the gears. That it turns with the link that carries it, its
gyroscopic moment, is left out; the links' inertias hold the rotor as a part at rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.applications.motors.actuator import STANDSTILL, Actuator, Friction

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MotorStates:
    """A motor along a motion; each (N,).

    Attributes
    ----------
    time : s
    torque, speed : at the motor's shaft, N m and rad/s (N and m/s of a linear motor)
    joint_torque, joint_speed : actuation of the joint and its rate, N m and rad/s, or N and m/s
    output : what the gears give, the actuation and the joint's friction together, N m or N
    joint_friction, gears, motor_friction : power lost, W, from 0
    rotor : power that goes into the rotor's motion, W; negative where it comes back
    """

    time: Floats
    torque: Floats
    speed: Floats
    joint_torque: Floats
    joint_speed: Floats
    output: Floats
    joint_friction: Floats
    gears: Floats
    motor_friction: Floats
    rotor: Floats

    @property
    def uncertain(self) -> Floats:
        """What limits are compared with, (N, 4): torque, speed, output, joint's speed."""
        return np.stack([self.torque, self.speed, self.output, self.joint_speed], axis=1)

    @property
    def power(self) -> Floats:
        """What the motor gives, W; negative where it brakes."""
        return np.asarray(self.torque * self.speed)

    @property
    def joint_power(self) -> Floats:
        """What the joint takes, W; negative where it gives."""
        return np.asarray(self.joint_torque * self.joint_speed)


def motor_side(
    actuator: Actuator, time: Floats, torque: Floats, speed: Floats, acceleration: Floats
) -> MotorStates:
    """Return what the motor of a bound actuator does.

    Parameters
    ----------
    time : (N,) s
    torque, speed, acceleration : (N,) of the joint: actuation, N m or N, and its rates
    """
    ratio = 1.0 if actuator.ratio is None else actuator.ratio
    inertia = actuator.rotor_inertia or 0.0
    none, moves = Friction(), np.abs(speed) > STANDSTILL
    behind = (actuator.joint_friction or none).force(speed, torque, moves)
    output = torque + behind
    power = output * speed
    gears = actuator.gears
    assert gears.braking is not None, "it is bound"
    share = np.where(power > 0.0, 1.0 / gears.motoring, gears.braking)
    through = output / ratio * np.where(moves, share, 1.0)
    own_speed = ratio * speed
    rotor = inertia * ratio * acceleration
    shaft = (actuator.motor_friction or none).force(own_speed, through, moves)
    return MotorStates(
        time,
        through + rotor + shaft,
        own_speed,
        torque,
        speed,
        output,
        behind * speed,
        through * own_speed - power,
        shaft * own_speed,
        rotor * own_speed,
    )
