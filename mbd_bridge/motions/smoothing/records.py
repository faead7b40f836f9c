"""What was found of the noise in a motion, and how exactly its states are known."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mbd_bridge.motions.quaternions import in_child, product
from mbd_bridge.motions.smoothing.basis import Floats
from mbd_bridge.motions.smoothing.clock import Clock
from mbd_bridge.motions.smoothing.options import Method
from mbd_bridge.motions.smoothing.spline import at_times

COVERED = 0.95
"""Share of the errors that a band holds."""
BAND = 1.959963984540054
"""Half the width of that band, in standard deviations of a normal variable."""


@dataclass(frozen=True, slots=True)
class CoordinateNoise:
    """The noise of one coordinate (of a rotation: of all of it), and what was done about it.

    Attributes
    ----------
    name, unit : of the coordinate, "rad" or "m" (a rotation: joint, "rad")
    sigma : standard deviation of the noise in its positions, white
    step : to which positions were rounded, 0 if none shows
    velocity_sigma : standard deviation of the noise in measured velocities, per s; None: none used
    smoothed : whether it was smoothed; noise too small to matter is not
    order, cutoff : of the smoothing spline: derivative that is penalised, and frequency, Hz, at
        which a sine is halved
    """

    name: str
    unit: str
    sigma: float
    step: float
    velocity_sigma: float | None
    smoothed: bool
    order: int
    cutoff: float


@dataclass(frozen=True, slots=True)
class MotionNoise:
    """The noise of a motion, and what was done about it.

    Attributes
    ----------
    method : of the smoothing; see `Smoothing`
    coordinates : with noise, smoothed or not
    clock : the even clock whose times replace the time stamps, or None
    """

    method: Method
    coordinates: tuple[CoordinateNoise, ...] = ()
    clock: Clock | None = None


@dataclass(frozen=True, eq=False)
class Channel:
    """The errors of one degree of freedom: its position, velocity and acceleration.

    Attributes
    ----------
    kind : "plain"; "along", an axis of a free body's position, in the parent's axes; "turn", an
        axis of a rotation, in the child's
    axis : 0, 1, 2 of "along" and "turn"
    q, v : first entries of its joint in q and v ("plain": its own)
    knots, covariance : (K,) s and (K, 3, 3), linear between
    """

    kind: str
    axis: int
    q: int
    v: int
    knots: Floats
    covariance: Floats

    def roots(self, time: Floats) -> Floats:
        """Return R (N, 3, 3) with R Rᵀ the covariance at times (N,): columns are directions.

        The first moves all, the second velocity and acceleration, the third the acceleration.
        """
        covariance = at_times(time, self.knots, self.covariance)
        scale = np.sqrt(np.maximum(np.einsum("nii->ni", covariance), np.finfo(float).tiny))
        correlation = covariance / (scale[:, :, None] * scale[:, None, :])
        root = np.zeros_like(covariance)
        root[:, :, 0] = correlation[:, :, 0]
        root[:, 1, 1] = np.sqrt(np.maximum(1.0 - root[:, 1, 0] ** 2, 0.0))
        left = correlation[:, 2, 1] - root[:, 2, 0] * root[:, 1, 0]
        some = root[:, 1, 1] > 0.0
        root[some, 2, 1] = left[some] / root[some, 1, 1]
        root[:, 2, 2] = np.sqrt(np.maximum(1.0 - root[:, 2, 0] ** 2 - root[:, 2, 1] ** 2, 0.0))
        return np.asarray(root * scale[:, :, None])

    def standard_deviations(self, time: Floats) -> Floats:
        """Return those of position, velocity and acceleration at times, (N, 3)."""
        covariance = at_times(time, self.knots, self.covariance)
        return np.asarray(np.sqrt(np.maximum(np.einsum("nii->ni", covariance), 0.0)))

    def displaced(self, q: Floats, way: Floats) -> tuple[Floats, Floats, Floats]:
        """Return q, dv, da: positions (N, nq) moved by a direction (N, 3), and its rates.

        The rates are given in the entries of the joint (N, 1) or (N, 3), from `v` on.
        """
        moved = np.array(q)
        if self.kind == "plain":
            moved[:, self.q] += way[:, 0]
            return moved, way[:, 1:2], way[:, 2:3]
        axes = np.zeros((len(q), 3))
        axes[:, self.axis] = 1.0
        if self.kind == "along":
            moved[:, self.q + self.axis] += way[:, 0]
            axes = in_child(q[:, self.q + 3 : self.q + 7], axes)
        else:
            turn = np.zeros((len(q), 4))
            turn[:, self.axis], turn[:, 3] = np.sin(0.5 * way[:, 0]), np.cos(0.5 * way[:, 0])
            moved[:, self.q : self.q + 4] = product(q[:, self.q : self.q + 4], turn)
        return moved, axes * way[:, 1:2], axes * way[:, 2:3]


@dataclass(frozen=True, eq=False)
class MotionUncertainty:
    """How exactly a motion is known, as far as the noise of its data goes.

    The errors of different degrees of freedom are independent; those of position, velocity and
    acceleration at one time are not.

    Attributes
    ----------
    channels : of the degrees of freedom with noise; the others are taken as exact
    """

    channels: tuple[Channel, ...] = field(default=())
