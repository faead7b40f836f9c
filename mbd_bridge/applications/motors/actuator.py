"""An actuator of a joint: motor, gears, friction and limits.

    motor | rotor inertia, friction at the shaft | gears: ratio, efficiency | friction | joint

The motor turns `ratio` times as fast as the joint. A field that is None is not known: results are
then those without it, and say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import ModelError, StateError, real_number, unknown_name
from mbd_bridge.model import Model
from mbd_bridge.model.units import FORCE_UNIT, model_units

# Friction of a shaft or a joint along a motion that is known: Coulomb, viscous, by the load.
#
#     F = (F_c + μ |T|) sign(ω) + c ω,   against the motion: a motor must give F more
#
# T is what the shaft transmits. At rest dry friction holds or hinders, which a motion does not
# tell: it is left out there.


@dataclass(frozen=True)
class Friction:
    """Friction of a motor's shaft, or of a joint.

    Parameters
    ----------
    coulomb : F_c, N m, or N of a slide
    viscous : c, N m s/rad, or N s/m
    load : μ, share of the transmitted torque, from 0
    """

    coulomb: float = 0.0
    viscous: float = 0.0
    load: float = 0.0

    def checked(self, where: str) -> Friction:
        """Return the friction with its numbers checked; `where` names it in messages."""
        numbers = (self.coulomb, self.viscous, self.load)
        words = ("coulomb", "viscous", "load")
        return Friction(
            *(from_zero(f"{where}: {w}", x) for w, x in zip(words, numbers, strict=True))
        )

    def force(self, speed: Floats, transmitted: Floats, moves: NDArray[np.bool_]) -> Floats:
        """Return F (N,) at speeds (N,) and transmitted torques (N,), where the shaft moves."""
        dry = np.where(moves, self.coulomb + self.load * np.abs(transmitted), 0.0)
        return np.asarray(dry * np.sign(speed) + self.viscous * speed)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.coulomb or self.viscous or self.load)


def from_zero(where: str, value: float) -> float:
    """Return a finite number that is not negative."""
    number = real_number(where, value, "one number, at least 0")
    if number < 0.0:
        raise StateError(f"{where}: expected one number, at least 0, got {number:g}")
    return number


# What a motor can do: continuous and peak torque over speed, and its largest speed.
#
#     thermal load  u = sqrt( (1/T) ∫ (τ / τ_cont(|ω|))² dt ),    peak load  max |τ| / τ_peak(|ω|)
#
# With one continuous torque for all speeds, u is the RMS torque by it.


@dataclass(frozen=True)
class TorqueCurve:
    """A torque over speed: straight lines between points, level before the first, none beyond.

    Parameters
    ----------
    speed : growing from 0 or more, rad/s (m/s of a linear motor)
    torque : from 0, N m (N)
    """

    speed: tuple[float, ...]
    torque: tuple[float, ...]

    @staticmethod
    def of(where: str, speed: ArrayLike, torque: ArrayLike) -> TorqueCurve:
        """Return a checked curve; `where` names it in messages."""
        x = finite_numbers(f"{where}: speed", speed)
        y = finite_numbers(f"{where}: torque", torque)
        if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
            raise StateError(
                f"{where}: expected as many speeds as torques, two or more, got the shapes "
                f"{x.shape} and {y.shape}"
            )
        if x[0] < 0.0 or not np.all(np.diff(x) > 0.0):
            raise StateError(
                f"{where}: expected speeds that grow, from 0 or more, got {x.tolist()}"
            )
        if y.min() < 0.0:
            raise StateError(f"{where}: expected torques from 0, got {y.tolist()}")
        return TorqueCurve(tuple(x.tolist()), tuple(y.tolist()))

    def at(self, speed: Floats) -> Floats:
        """Return the torque (N,) at speeds (N,) of either sign."""
        return np.asarray(np.interp(np.abs(speed), self.speed, self.torque, right=0.0))

    @property
    def fastest(self) -> float:
        """The last speed."""
        return self.speed[-1]


Torque = float | TorqueCurve | None
"""One torque for all speeds, a curve, or not known."""


@dataclass(frozen=True)
class MotorCurve:
    """Limits of a motor, at its shaft.

    Parameters
    ----------
    continuous : torque that it gives for ever, N m: a number, or a `TorqueCurve`; None: not known
    peak : torque that it gives for a short time
    max_speed : rad/s; None: where a curve of `peak` or `continuous` ends
    """

    continuous: Torque = None
    peak: Torque = None
    max_speed: float | None = None

    def checked(self, where: str) -> MotorCurve:
        """Return the curve with its numbers checked."""
        continuous = _checked(f"{where}: continuous", self.continuous)
        peak = _checked(f"{where}: peak", self.peak)
        speed = self.max_speed
        if speed is None:
            ends = [one.fastest for one in (continuous, peak) if isinstance(one, TorqueCurve)]
            speed = max(ends, default=None)
        else:
            name = f"{where}: max_speed"
            if from_zero(name, speed) == 0.0:
                raise StateError(f"{name}: expected a number above 0, got {speed!r}")
        return MotorCurve(continuous, peak, speed)

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return any(x is not None for x in (self.continuous, self.peak, self.max_speed))


def _checked(where: str, torque: Torque) -> Torque:
    if torque is None:
        return None
    if isinstance(torque, TorqueCurve):
        return TorqueCurve.of(where, torque.speed, torque.torque)
    if isinstance(torque, Sequence | np.ndarray):
        raise StateError(
            f"{where}: expected one torque, or TorqueCurve(speed, torque), got {torque!r:.60}"
        )
    number = from_zero(where, torque)
    if number == 0.0:
        raise StateError(f"{where}: expected a torque above 0, got {torque!r}")
    return number


def used(torque: Floats, speed: Floats, limit: Torque) -> Floats:
    """Return |torque| by what is allowed at its speed, (N,): inf where nothing is."""
    assert limit is not None
    size = np.abs(torque)
    allowed = limit.at(speed) if isinstance(limit, TorqueCurve) else np.full(size.shape, limit)
    out = np.where(size > 0.0, np.inf, 0.0)
    np.divide(size, allowed, out=out, where=allowed > 0.0)
    return out


STANDSTILL = 1e-6
"""rad/s or m/s of the joint: what is slower is at rest, without dry friction and without losses of
gears. It takes 73 days for a turn; rounding of a joint that is held is far below it."""


FRICTION, ROTOR = "friction", "rotor inertia"
"""What may not be known of an actuator, in words."""


@dataclass(frozen=True)
class Efficiency:
    """Efficiency of gears, by the direction of the power.

    Parameters
    ----------
    motoring : power out of the gears by power into them, where the motor moves the joint, up to 1
    braking : the same where the joint moves the motor, up to 1; below 0 the gears are self-locking:
        the motor must push even then. None: as motoring
    """

    motoring: float
    braking: float | None = None

    def checked(self, where: str) -> Efficiency:
        """Return the efficiency with its numbers checked."""
        motoring = real_number(f"{where}: efficiency", self.motoring, "a number above 0 up to 1")
        if not 0.0 < motoring <= 1.0:
            raise StateError(
                f"{where}: efficiency: expected a number above 0 up to 1, got {motoring:g}"
            )
        if self.braking is None:
            return Efficiency(motoring, motoring)
        braking = real_number(f"{where}: efficiency braking", self.braking, "a number up to 1")
        if braking > 1.0:
            raise StateError(
                f"{where}: efficiency braking: expected a number up to 1, got {braking:g}"
            )
        return Efficiency(motoring, braking)


@dataclass(frozen=True)
class Actuator:
    """What moves one degree of freedom.

    Parameters
    ----------
    joint : its name, with the suffix of the degree of freedom where it has several
    ratio : speed of the motor by that of the joint, rad/rad, rad/m of a slide; negative where
        they turn against each other. None: the motor is at the joint, and linear for a slide
    rotor_inertia : kg m², of the rotor and all that turns with it, at the motor's shaft (kg of a
        linear motor)
    efficiency : of the gears: an `Efficiency`, or one number for both directions
    motor_friction : at the motor's shaft
    joint_friction : at the joint, behind the gears
    curve : what the motor can do, at its shaft
    effort, velocity : what the joint's side may have, N m or N and rad/s or m/s (``<limit>``)
    sources : where numbers that were not given come from: topic ("friction", "rotors") and text
    friction_elements : whether force elements are the joint's friction: it is in the actuation
    """

    joint: str
    ratio: float | None = None
    rotor_inertia: float | None = None
    efficiency: Efficiency | float | None = None
    motor_friction: Friction | None = None
    joint_friction: Friction | None = None
    curve: MotorCurve = MotorCurve()
    effort: float | None = None
    velocity: float | None = None
    sources: tuple[tuple[str, str], ...] = ()
    friction_elements: bool = False

    def bind(self, model: Model) -> Actuator:
        """Return the actuator with its name and numbers checked."""
        name = self.joint
        if not isinstance(name, str) or name not in model.velocity_names:
            raise ModelError(f"actuator: {_advice(model, name)}")
        where = f"actuator of {name!r}"
        ratio, inertia = self.ratio, self.rotor_inertia
        if ratio is not None:
            ratio = real_number(f"{where}: ratio", ratio, "a number other than 0")
            if ratio == 0.0:
                raise StateError(f"{where}: ratio: expected a number other than 0, got 0")
        if inertia is not None:
            inertia = from_zero(f"{where}: rotor_inertia", inertia)
        given = self.efficiency
        if given is not None and not isinstance(given, Efficiency):
            given = Efficiency(given)
        for kind, value, expected in (
            (Friction, self.motor_friction, "motor_friction: expected a Friction(coulomb=...)"),
            (Friction, self.joint_friction, "joint_friction: expected a Friction(coulomb=...)"),
            (MotorCurve, self.curve, "curve: expected a MotorCurve(continuous=...)"),
        ):
            if value is not None and not isinstance(value, kind):
                raise StateError(f"{where}: {expected}, got {value!r:.60}")
        shaft, behind = self.motor_friction, self.joint_friction
        return replace(
            self,
            ratio=ratio,
            rotor_inertia=inertia,
            efficiency=given and given.checked(where),
            motor_friction=None if shaft is None else shaft.checked(f"{where}: motor_friction"),
            joint_friction=None if behind is None else behind.checked(f"{where}: joint_friction"),
            curve=self.curve.checked(where),
            effort=None if self.effort is None else from_zero(f"{where}: effort", self.effort),
            velocity=None
            if self.velocity is None
            else from_zero(f"{where}: velocity", self.velocity),
        )

    @property
    def gears(self) -> Efficiency:
        """The efficiency of a bound actuator's gears, 1 where none is known."""
        given = self.efficiency
        return given if isinstance(given, Efficiency) else Efficiency(1.0, 1.0)

    def unit(self, model: Model) -> str:
        """Return "rad" or "m": what the joint moves by."""
        _, of_v = model_units(model)
        return of_v[model.velocity_names.index(self.joint)]

    def motor_unit(self, model: Model) -> str:
        """Return "rad" or "m": what the motor moves by."""
        return self.unit(model) if self.ratio is None else "rad"

    def torque_unit(self, model: Model) -> str:
        """Return "N m" or "N": what the motor gives."""
        return FORCE_UNIT[self.motor_unit(model)]

    @property
    def not_counted(self) -> tuple[str, ...]:
        """What is not known of friction and rotor, of a bound actuator."""
        parts = (self.efficiency, self.motor_friction, self.joint_friction)
        known = self.friction_elements or any(part is not None for part in parts)
        missing = [] if known else [FRICTION]
        return (*missing, *([ROTOR] if self.rotor_inertia is None else []))


def _advice(model: Model, name: object) -> str:
    """Say why a name is no degree of freedom that an actuator can move."""
    if name in [cut.name for cut in model.cuts]:
        return (
            f"joint {name!r} is cut, and a cut joint has no actuator: choose cuts= so that it is "
            f"in the tree (mbd.load(..., cuts=[...]))"
        )
    followers = [joint.name for joint in model.joints if joint.follows is not None]
    if name in followers:
        leader = model.joints[model.joint(str(name)).follows or 0].name
        return f"joint {name!r} follows {leader!r} (<mimic>), whose actuator moves both: name that"
    return unknown_name("degree of freedom that can be actuated", name, model.velocity_names)
