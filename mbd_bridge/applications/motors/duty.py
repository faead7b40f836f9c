"""What a motor has to do along a motion, taken in piece by piece: peaks, RMS, energies, verdict.

Integrals over time are those of straight lines between the rows: ∫ P dt is split where P changes
its sign, so that what is motored less what is braked is the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from mbd_bridge.applications.motors.actuator import (
    STANDSTILL,
    Actuator,
    Friction,
    TorqueCurve,
    used,
)
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.plot_style import envelope
from mbd_bridge.motion.peak import Peak, Peaks, Use
from mbd_bridge.motion.smoothing import BAND

# From the joint to the motor: torque, speed and power at the motor's shaft along a motion.
#
# With τ the actuation that the equations of motion give (joint, without friction and rotor), N the
# ratio, J the rotor's inertia, η and η_b the gears' efficiencies, F friction:
#
#     ω_m = N ω                              speed of the motor
#     T   = τ + F_joint(ω, τ)                behind the gears: the joint and its friction
#     P   = T ω                              power out of the gears
#     T_g = T / (N η)    where P > 0         the motor moves the joint (motoring)
#     T_g = T η_b / N    where P < 0         the joint moves the motor (braking)
#     T_g = T / N        at rest
#     τ_m = T_g + J N ω̇ + F_motor(ω_m, T_g)
#
#     τ_m ω_m = τ ω + F_joint ω + (T_g ω_m - T ω) + F_motor ω_m + d/dt (J ω_m²/2)
#
# which is: power of the motor = that of the joint + losses (each >= 0) + rate of the rotor's
# energy. The rotor is accelerated in front of the gears. That it turns with the link that carries
# it, its gyroscopic moment, is left out; the links' inertias hold the rotor as a part at rest.


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


# Whether a motor is large enough: only said where all that loads it was counted.

State = Literal["fits", "exceeded", "open"]


@dataclass(frozen=True)
class Verdict:
    """The verdict on a motor, in one line.

    Attributes
    ----------
    state : "fits": no limit is exceeded and all that it takes to say so is known; "exceeded": one
        is, and the motion's noise alone does not explain it; "open": no known limit is exceeded for
        certain, but something is not known or not counted, or noise leaves it open
    text : the whole sentence, with what was not counted
    noisy : the motion's noise leaves it open
    """

    state: State
    text: str
    noisy: bool = False

    @property
    def mark(self) -> str:
        """How it is shown: good, bad or in doubt."""
        return {"fits": "good", "exceeded": "bad", "open": "doubt"}[self.state]

    @property
    def reason(self) -> Literal["fits", "exceeded", "noise", "unknown"]:
        """Why: of "open" whether noise leaves it open, or something is unknown or not counted."""
        if self.state != "open":
            return self.state
        return "noise" if self.noisy else "unknown"

    def __str__(self) -> str:
        return self.text


def verdict(uses: Sequence[Use], missing: Sequence[str], not_counted: Sequence[str]) -> Verdict:
    """Return the verdict.

    Parameters
    ----------
    uses : of the limits that are known
    missing : limits that are not
    not_counted : "friction", "rotor inertia"
    """
    shares = ", ".join(map(str, uses))
    gaps = [f"{' and '.join(not_counted)} NOT counted"] if not_counted else []
    gaps += [f"limits of {', '.join(missing)} not given"] if missing else []
    over = [use for use in uses if use.exceeded]
    if over:
        rest = [use for use in uses if not use.exceeded]
        said = ["exceeded: " + ", ".join(map(str, over)), *map(str, rest), *gaps]
        return Verdict("exceeded", "; ".join(said))
    near = [use for use in uses if not use.kept]
    if near:
        rest = [use for use in uses if use.kept]
        names = ", ".join(map(str, near))
        said = [f"no verdict: the motion's noise leaves open whether {names} is kept"]
        return Verdict("open", "; ".join([*said, *map(str, rest), *gaps]), noisy=True)
    if gaps:
        return Verdict(
            "open", "; ".join(["no verdict: " + "; ".join(gaps), *([shares] * bool(uses))])
        )
    return Verdict("fits", f"fits: {shares}; friction and rotor inertia counted")


POINTS = 4000
"""Points of the torque-speed path that are kept, for pictures; peaks are among them."""


CONTINUOUS, PEAK, SPEED = "continuous torque", "peak torque", "speed"
EFFORT, VELOCITY = "joint effort", "joint velocity"
"""Names of the limits."""

THERMAL = ("thermal", "thermal_low", "thermal_high")
"""Sums of the share of the continuous torque, and of the ends of its band."""


class Bounded(NamedTuple):
    """A share of a limit (N,), and the ends of the band in which noise leaves it."""

    share: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Energies:
    """Energies along a motion, J: motoring - braking = joint + losses + rotor.

    Attributes
    ----------
    motoring, braking : that the motor gives, and that it takes, each from 0
    joint : that the joint takes, less what it gives
    joint_friction, gears, motor_friction : lost
    rotor : gained by the rotor's motion
    """

    motoring: float = 0.0
    braking: float = 0.0
    joint: float = 0.0
    joint_friction: float = 0.0
    gears: float = 0.0
    motor_friction: float = 0.0
    rotor: float = 0.0

    @property
    def lost(self) -> float:
        """All that is lost."""
        return self.joint_friction + self.gears + self.motor_friction


ENERGIES = tuple(Energies.__dataclass_fields__)
"""Names of the energies."""


@dataclass(frozen=True, eq=False)
class MotorDuty:
    """What one motor has to do along a motion.

    Attributes
    ----------
    actuator : whose motor it is, with all its numbers
    torque_unit, speed_unit : of the motor: N m and rad/s, or N and m/s of a linear one
    begin, end : s
    peak : torque of the largest size, with its sign
    rms : root of the mean square of the torque over time
    fastest : speed of the largest size, with its sign
    mean_speed : mean of the speed's size over time
    motoring, braking : largest power that the motor gives, and that it takes, W, each from 0
    energies : over the motion
    uses : of the limits that are known
    missing : limits that are not
    time, speed, torque : points (P,) of the path that are worth drawing
    states : the whole path, where the motion was there as a whole; else None
    rms_band : what the motion's noise adds to the RMS or takes from it at most; 95 %, None: nothing
        is known of it
    """

    actuator: Actuator
    torque_unit: str
    speed_unit: str
    begin: float
    end: float
    peak: Peak
    rms: float
    fastest: Peak
    mean_speed: float
    motoring: Peak
    braking: Peak
    energies: Energies
    uses: tuple[Use, ...]
    missing: tuple[str, ...]
    time: Floats
    speed: Floats
    torque: Floats
    states: MotorStates | None = None
    rms_band: float | None = None

    @property
    def name(self) -> str:
        """The degree of freedom that it moves."""
        return self.actuator.joint

    @property
    def verdict(self) -> Verdict:
        """Whether the motor is large enough, or why that is not said."""
        return verdict(self.uses, self.missing, self.actuator.not_counted)

    def __repr__(self) -> str:
        return (
            f"MotorDuty({self.name!r}: peak {self.peak.value:.4g} {self.torque_unit}, RMS "
            f"{self.rms:.4g} {self.torque_unit}, {self.verdict})"
        )


class DutyCounter:
    """The duty of one motor whose states come in pieces."""

    def __init__(self, actuator: Actuator, torque_unit: str, speed_unit: str) -> None:
        self.actuator = actuator
        self._units = torque_unit, speed_unit
        self._first: MotorStates | None = None
        self._last: MotorStates | None = None
        self._pieces = 0
        self._largest = Peaks()
        self._uses: dict[str, tuple[tuple[float, ...], float]] = {}
        names = ("square", "square_off", "speed", *THERMAL, *ENERGIES)
        self._sums = dict.fromkeys(names, 0.0)
        self._path = np.zeros((3, 0))
        self._off = np.zeros((0, 4))
        self._known = True

    def add(self, states: MotorStates, deviations: Floats | None = None) -> None:
        """Take in the next states, (N,) with N from 1.

        Parameters
        ----------
        deviations : (N, 4) standard deviations of `MotorStates.uncertain`; None: not known
        """
        self._known = self._known and deviations is not None
        off = np.zeros((len(states.time), 4)) if deviations is None else BAND * deviations
        if self._last is None:
            self._begin = float(states.time[0])
            self._integrate(states, off)
        else:
            whole = _joined(self._last, states)
            self._integrate(whole, np.concatenate([self._off, off]))
        self._take_largest(states, off)
        self._off = off[-1:]
        path = np.hstack([self._path, [states.time, states.speed, states.torque]])
        self._path = path[:, envelope(path[2], path[1], path[1] * path[2], most=POINTS)]
        self._pieces += 1
        self._first = states if self._pieces == 1 else None
        self._last = states

    def _take_largest(self, states: MotorStates, off: Floats) -> None:
        power, (torque, speed, output, rate) = states.power, off.T
        values = {"torque": states.torque, "fastest": states.speed}
        values |= {"motoring": np.maximum(power, 0.0), "braking": np.maximum(-power, 0.0)}
        for name, signed in values.items():
            widths = {"torque": torque, "fastest": speed}.get(name, power)
            self._largest.look(name, states.time, signed, widths)
        actuator, curve = self.actuator, self.actuator.curve
        own, joint = (states.speed, speed), (states.joint_speed, rate)
        limits = (
            (CONTINUOUS, (states.torque, torque), own, curve.continuous),
            (PEAK, (states.torque, torque), own, curve.peak),
            (SPEED, own, own, curve.max_speed),
            (EFFORT, (states.output, output), joint, actuator.effort),
            (VELOCITY, joint, joint, actuator.velocity),
        )
        for name, what, at, limit in limits:
            if limit is None:
                continue
            share = _bounded(what, at, limit)
            row = int(np.argmax(share.share))
            ends = tuple(float(x[row]) for x in share)
            if name not in self._uses or ends[0] > self._uses[name][0][0]:
                self._uses[name] = ends, float(states.time[row])

    def _integrate(self, states: MotorStates, off: Floats) -> None:
        step, power = np.diff(states.time), states.power
        values = {
            "square": _squares(step, states.torque),
            "speed": _line(step, np.abs(states.speed)),
            "motoring": _positive(step, power),
            "braking": _positive(step, -power),
            "joint": _line(step, states.joint_power),
        }
        for name in ("joint_friction", "gears", "motor_friction", "rotor"):
            values[name] = _line(step, getattr(states, name))
        values["square_off"] = _squares(step, off[:, 0])
        if self.actuator.curve.continuous is not None:
            torque, speed = (states.torque, off[:, 0]), (states.speed, off[:, 1])
            shares = _bounded(torque, speed, self.actuator.curve.continuous)
            for name, share in zip(THERMAL, shares, strict=True):
                values[name] = _squares(step, share)
        for name, value in values.items():
            self._sums[name] += value

    def duty(self) -> MotorDuty:
        """Return the duty of what came so far."""
        if self._last is None:
            raise StateError("no states were counted: add() was not called")
        sums, largest = self._sums, self._largest
        end = float(self._last.time[-1])
        span = end - self._begin

        uses = []
        if CONTINUOUS in self._uses:
            at_once, _ = self._uses[CONTINUOUS]  # of one row, which takes no time
            ends = [float(np.sqrt(sums[x] / span)) for x in THERMAL] if span else [*at_once]
            uses.append(self._use(CONTINUOUS, ends))
        uses += [
            self._use(x, *self._uses[x]) for x in (PEAK, SPEED, EFFORT, VELOCITY) if x in self._uses
        ]
        limited = [use.name for use in uses]
        peak, fastest = largest["torque"], largest["fastest"]
        motoring, braking = (largest[x]._replace(band=None) for x in ("motoring", "braking"))
        if not self._known:
            peak, fastest = peak._replace(band=None), fastest._replace(band=None)
        rms, off = (np.sqrt(sums[x] / span) if span else 0.0 for x in ("square", "square_off"))
        time, speed, torque = self._path.copy()
        return MotorDuty(
            self.actuator,
            *self._units,
            self._begin,
            end,
            peak,
            float(rms) if span else abs(peak.value),
            fastest,
            sums["speed"] / span if span else abs(fastest.value),
            motoring,
            braking,
            Energies(**{name: sums[name] for name in ENERGIES}),
            tuple(uses),
            tuple(name for name in (CONTINUOUS, PEAK, SPEED) if name not in limited),
            time,
            speed,
            torque,
            self._first,
            (float(off) if span else peak.band) if self._known else None,
        )

    def _use(self, name: str, ends: Sequence[float], time: float = float("nan")) -> Use:
        share, low, high = ends
        return Use(name, share, time, low, high) if self._known else Use(name, share, time)


def _bounded(
    what: tuple[Floats, Floats], speed: tuple[Floats, Floats], limit: float | TorqueCurve
) -> Bounded:
    """Return shares of a limit.

    Parameters
    ----------
    what, speed : each (N,), and half the width of its band (N,)
    """
    (value, off), (rate, rate_off) = what, speed
    size, fast = np.abs(value), np.abs(rate)
    low = used(np.maximum(size - off, 0.0), np.maximum(fast - rate_off, 0.0), limit)
    return Bounded(used(size, fast, limit), low, used(size + off, fast + rate_off, limit))


def _joined(last: MotorStates, states: MotorStates) -> MotorStates:
    """Return states with the last row of those before them in front."""
    parts = {
        name: np.concatenate([getattr(last, name)[-1:], getattr(states, name)])
        for name in MotorStates.__dataclass_fields__
    }
    return replace(states, **parts)


def _line(step: Floats, values: Floats) -> float:
    """Return ∫ y dt of straight lines."""
    return float(np.sum(0.5 * step * (values[1:] + values[:-1])))


def _squares(step: Floats, values: Floats) -> float:
    """Return ∫ y² dt of straight lines."""
    if np.isinf(values).any():  # beyond the end of a curve nothing is allowed
        return np.inf
    a, b = values[:-1], values[1:]
    return float(np.sum(step * (a * a + a * b + b * b)) / 3.0)


def _positive(step: Floats, values: Floats) -> float:
    """Return ∫ max(y, 0) dt of straight lines."""
    low, high = np.minimum(values[:-1], values[1:]), np.maximum(values[:-1], values[1:])
    both = (low < 0.0) & (high > 0.0)
    area = 0.5 * (np.maximum(low, 0.0) + np.maximum(high, 0.0))
    span = np.where(both, high - low, 1.0)
    area = np.where(both, 0.5 * high * high / span, area)
    return float(np.sum(step * area))
