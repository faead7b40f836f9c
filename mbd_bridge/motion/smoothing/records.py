"""What was found of the noise in a motion, and how exactly its states are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import NAMED, count, some
from mbd_bridge.model.quaternions import in_child, product
from mbd_bridge.motion.options import SmoothMethod
from mbd_bridge.motion.smoothing.recorder import EvenClock
from mbd_bridge.motion.smoothing.spline import at_times

BAND = 1.959963984540054
"""Half the width of a band that holds 95 % of the errors, in standard deviations of a normal
variable."""


@dataclass(frozen=True, slots=True)
class CoordinateNoise:
    """The noise of one coordinate (of a rotation: of all of it), and what was done about it.

    Attributes
    ----------
    name, unit : of the coordinate, "rad" or "m" (a rotation: joint, "rad")
    sigma : standard deviation of the noise in its positions, white
    step : to which positions were rounded, 0 if none shows
    velocity_sigma : standard deviation of the noise in measured velocities, per s; None: none used
    velocity_apart : how far (RMS) measured velocities are from the positions' rates, where this is
        too far for them to be used; else 0
    smoothed : whether it was smoothed; noise too small to matter is not
    order, cutoff : of the smoothing spline: derivative that is penalised, and frequency, Hz, at
        which a sine is halved
    held : whether a recorder wrote values again until new ones came; the copies count nothing
    glitches : single samples far from their neighbours, of those looked at; they count nothing
    fluctuates : between which frequencies, Hz, it fluctuates all along, and by how much (RMS)
    filtered : frequency, Hz, and damping of a filter whose tails it has behind jumps
    """

    name: str
    unit: str
    sigma: float
    step: float
    velocity_sigma: float | None
    smoothed: bool
    order: int
    cutoff: float
    held: bool = False
    glitches: int = 0
    velocity_apart: float = 0.0
    fluctuates: tuple[float, float, float] | None = None
    filtered: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class MotionNoise:
    """The noise of a motion, and what was done about it.

    Attributes
    ----------
    method : of the smoothing; see `Smoothing`
    coordinates : with noise, smoothed or not
    clock : the even clock whose times replace the time stamps, or None
    doubts : sentences about what may be wrong with rates, and no band tells; each is a note too
    """

    method: SmoothMethod
    coordinates: tuple[CoordinateNoise, ...] = ()
    clock: EvenClock | None = None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Channel:
    """The errors of one degree of freedom: its position, velocity and acceleration.

    Attributes
    ----------
    kind : "plain"; "along", an axis of a free body's position, in the parent's axes; "turn", an
        axis of a rotation, in the child's
    axis : 0, 1, 2 of "along" and "turn"
    q, v : its entries of q and v ("plain"), or the first ones of its position or rotation
    free : of a rotation: whether the body has a position too
    knots, covariance : (K,) s and (K, 3, 3), linear between
    """

    kind: str
    axis: int
    q: int
    v: int
    free: bool
    knots: Floats
    covariance: Floats

    def widened(self, time: Floats, sizes: Floats) -> Channel:
        """Return it with more errors, independent of these.

        Parameters
        ----------
        time, sizes : (N,) s, and deviations (3, N, nv) of position, velocity, acceleration there
        """
        own = sizes[:, :, self.v + (0 if self.kind == "plain" else self.axis)].T
        covariance = at_times(time, self.knots, self.covariance)
        return replace(self, knots=time, covariance=covariance + own[:, :, None] ** 2 * np.eye(3))

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

    def standard_deviations(self, time: Floats, q: Floats, nv: int) -> Floats:
        """Return those of position, velocity and acceleration along each velocity, (3, N, nv)."""
        covariance = at_times(time, self.knots, self.covariance)
        sizes = np.sqrt(np.maximum(np.einsum("nii->ni", covariance), 0.0)).T
        found = np.zeros((3, len(time), nv))
        if self.kind == "plain":
            found[:, :, self.v] = sizes
            return found
        axis = np.zeros((len(time), 3))
        axis[:, self.axis] = 1.0
        if self.kind == "along":
            axis = in_child(q[:, self.q + 3 : self.q + 7], axis)
        found[:, :, self.v : self.v + 3] = sizes[:, :, None] * np.abs(axis)
        return found

    def displaced(
        self, time: Floats, q: Floats, v: Floats, a: Floats, way: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return states (N, n) moved by a direction (N, 3) of position, velocity, acceleration.

        A turn by δ in the child's axes changes what a free body's velocity is in these, too:
        δv = -δ × v,    δv̇ = -δ × (v̇ + ω × v) - δω × v - ω × δv.
        """
        q, v, a = np.array(q), np.array(v), np.array(a)
        if self.kind == "plain":
            q[:, self.q] += way[:, 0]
            v[:, self.v] += way[:, 1]
            a[:, self.v] += way[:, 2]
            return q, v, a
        axis = np.zeros((len(q), 3))
        axis[:, self.axis] = 1.0
        if self.kind == "along":
            omega = v[:, self.v + 3 : self.v + 6]
            own = in_child(q[:, self.q + 3 : self.q + 7], axis)
            q[:, self.q + self.axis] += way[:, 0]
            moved = own * way[:, 1:2]
            v[:, self.v : self.v + 3] += moved
            a[:, self.v : self.v + 3] += own * way[:, 2:3] - np.cross(omega, moved)
            return q, v, a
        turn, spin = axis * way[:, 0:1], axis * way[:, 1:2]
        if self.free:
            line = slice(self.v - 3, self.v)
            linear, omega = np.array(v[:, line]), v[:, self.v : self.v + 3]
            moved = -np.cross(turn, linear)
            v[:, line] += moved
            a[:, line] -= np.cross(turn, a[:, line] + np.cross(omega, linear))
            a[:, line] -= np.cross(spin, linear) + np.cross(omega, moved)
        quaternion = np.zeros((len(q), 4))
        quaternion[:, self.axis], quaternion[:, 3] = (
            np.sin(0.5 * way[:, 0]),
            np.cos(0.5 * way[:, 0]),
        )
        q[:, self.q : self.q + 4] = product(q[:, self.q : self.q + 4], quaternion)
        v[:, self.v : self.v + 3] += spin
        a[:, self.v : self.v + 3] += axis * way[:, 2:3]
        return q, v, a


class Errors(Protocol):
    """The errors of a recorded degree of freedom: a `Channel`, or what it does to others."""

    def roots(self, time: Floats) -> Floats:
        """Return directions (N, 3, 3) of one standard deviation at times; see `Channel`."""

    def standard_deviations(self, time: Floats, q: Floats, nv: int) -> Floats:
        """Return those of position, velocity and acceleration along each velocity, (3, N, nv)."""

    def displaced(
        self, time: Floats, q: Floats, v: Floats, a: Floats, way: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return states (N, n) moved by a direction (N, 3) of position, velocity, acceleration."""


@dataclass(frozen=True, eq=False)
class MotionUncertainty:
    """How exactly a motion is known, as far as the noise of its data goes.

    The errors of different degrees of freedom are independent; those of position, velocity and
    acceleration at one time are not.

    Attributes
    ----------
    channels : of the recorded degrees of freedom with noise; the others are taken as exact
    """

    channels: tuple[Errors, ...] = ()

    def standard_deviations(
        self, time: Floats, q: Floats, v: Floats, a: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Return those of position, velocity and acceleration (N, nv) along each velocity.

        Parameters
        ----------
        time, q, v, a : (N,) s and the states (N, n) there
        """
        squares = np.zeros((3, *v.shape))
        for channel in self.channels:
            squares += channel.standard_deviations(time, q, v.shape[1]) ** 2
        position, velocity, acceleration = np.sqrt(squares)
        return position, velocity, acceleration


# Sentences about the noise of a motion, and what was done about it.

METHODS = {
    "auto": "smoothing splines",
    "spline": "smoothing splines",
    "savgol": "Savitzky-Golay filters",
    "lowpass": "Butterworth low-pass filters, run forwards and backwards",
}


def noise_notes(noise: MotionNoise, coordinates: int) -> list[str]:
    """Return a sentence about the clock, and one about each kind of coordinate that was smoothed.

    Parameters
    ----------
    coordinates : how many the model has
    """
    found = []
    if noise.clock is not None:
        clock = noise.clock
        found.append(
            f"time stamps jitter by {clock.jitter * 1e3:.2g} ms (standard deviation) about an even "
            f"clock of {1.0 / clock.period:.5g} Hz; its times are used"
        )
    smoothed = [one for one in noise.coordinates if one.smoothed]
    for unit in dict.fromkeys(one.unit for one in smoothed):
        part = [one for one in smoothed if one.unit == unit]
        found.append(_sentence(noise, part, unit, coordinates))
    poles = {one.name: one.filtered[0] for one in noise.coordinates if one.filtered}
    if poles:
        span = _span(min(poles.values()), max(poles.values()))
        found.append(
            f"positions look as if a low-pass filter of order 2 at {span} Hz had been before the "
            f"recording, or a drive of this frequency: {some(list(poles))}; bands hold what "
            f"a filter took away"
        )
    return [*found, *noise.doubts]


def fluctuation_doubts(coordinates: Sequence[CoordinateNoise]) -> tuple[str, ...]:
    """Return a sentence about coordinates that fluctuate all along, far above their motion."""
    part = [one for one in coordinates if one.fluctuates is not None]
    bands = [one.fluctuates for one in part if one.fluctuates is not None]
    if not bands:
        return ()
    sizes = "; ".join(
        f"{one.name} by {size:.2g} {one.unit}"
        for one, (_, _, size) in zip(part[:NAMED], bands, strict=False)
    )
    more = f"; and {count(len(part) - NAMED, 'more coordinate')}" if len(part) > NAMED else ""
    low, high = min(low for low, _, _ in bands), max(high for _, high, _ in bands)
    return (
        f"at {low:.2g} to {high:.2g} Hz there are fluctuations (RMS) all along: {sizes}{more}; "
        f"noise that was filtered before it was recorded looks like this, and like motion: bands "
        f"are wider by it; if it is noise, smooth it with cutoff= (--cutoff) below {low:.2g} Hz",
    )


def _sentence(
    noise: MotionNoise, part: Sequence[CoordinateNoise], unit: str, coordinates: int
) -> str:
    names = some([one.name for one in part])
    if len(part) == coordinates > 1:
        names = f"all {count(coordinates, 'coordinate')}"
    text = f"rates of {names} by {METHODS[noise.method]}, cut-off {_range(part, 'cutoff')} Hz"
    text += f": noise of {_range(part, 'sigma')} {unit} (standard deviation)"
    rounded = [one for one in part if one.step > 0.0]
    if rounded:
        text += f", rounded to {_range(rounded, 'step')} {unit}"
    if held := [one.name for one in part if one.held]:
        text += f"; the recorder repeats values until new ones come, copies of {some(held)} "
        text += "are not used"
    if wild := [one.name for one in part if one.glitches]:
        samples = count(sum(one.glitches for one in part), "single sample")
        text += f"; {samples} of {some(wild)} far from the neighbours not used"
    if any(one.velocity_sigma is not None for one in part):
        both = [one for one in part if one.velocity_sigma is not None]
        text += (
            f"; with the measured velocities, known to {_range(both, 'velocity_sigma')} {unit}/s"
        )
    if late := [one for one in part if one.velocity_apart > 0.0]:
        text += (
            f"; measured velocities of {some([one.name for one in late])} are not used: "
            f"they are {_range(late, 'velocity_apart')} {unit}/s (RMS) from the positions' rates, "
            f"more than their noise (filtered, late, or in other units?)"
        )
    return text


def _range(part: Sequence[CoordinateNoise], what: str) -> str:
    values = [float(getattr(one, what)) for one in part]
    return _span(min(values), max(values))


def _span(least: float, most: float) -> str:
    low, high = f"{least:.2g}", f"{most:.2g}"
    return low if low == high else f"{low} to {high}"
