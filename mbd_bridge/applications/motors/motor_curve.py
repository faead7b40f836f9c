"""What a motor can do: continuous and peak torque over speed, and its largest speed.

    thermal load  u = sqrt( (1/T) ∫ (τ / τ_cont(|ω|))² dt ),    peak load  max |τ| / τ_peak(|ω|)

With one continuous torque for all speeds, u is the RMS torque by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mbd_bridge.applications.motors.friction import from_zero
from mbd_bridge.base.arguments import finite_numbers
from mbd_bridge.base.errors import StateError

Floats = NDArray[np.float64]


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
