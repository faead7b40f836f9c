"""How a motion is smoothed: found from some blocks of its rows, then done to all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.model import Body, ModelJoint
from mbd_bridge.model.units import velocity_units
from mbd_bridge.motion.derivatives import derivatives
from mbd_bridge.motion.options import Smoothing
from mbd_bridge.motion.smoothing.choose import (
    SignalPlan,
    data_of,
    estimate,
    even_accelerations,
    exact,
    resting,
    watched,
)
from mbd_bridge.motion.smoothing.guard import USUAL, Curve, Guard, Stretch
from mbd_bridge.motion.smoothing.interpolation import interpolated
from mbd_bridge.motion.smoothing.likelihood import Choice, local_covariance
from mbd_bridge.motion.smoothing.noise import FEWEST, rounding_step
from mbd_bridge.motion.smoothing.recorder import EvenClock, better, rows_of_influence, ticks
from mbd_bridge.motion.smoothing.records import BAND, Channel, CoordinateNoise
from mbd_bridge.motion.smoothing.signals import Derivatives, Signal, motion_of, signals_of
from mbd_bridge.motion.smoothing.spline import (
    Data,
    Samples,
    at_times,
    usual_step,
)

# Savitzky-Golay and Butterworth filters of a cut-off, for those who want these by name.
#
# Both need even times. Their errors from white noise follow from what they make of one impulse;
# what they take away of the motion itself is not told by anything.

POLYNOMIAL = 5
"""Degree of the Savitzky-Golay polynomials: the error of second derivatives is of fourth order."""
BUTTERWORTH = 4
"""Order of the Butterworth filter; run forwards and backwards its attenuation is that of 8."""
LENGTHS = 10.0
"""Periods of the cut-off over which a filter's response has died away."""

Filter = Literal["savgol", "lowpass"]


def window(cutoff: float, step: float) -> int:
    """Return the odd number of rows of the Savitzky-Golay filter with a cut-off (Schafer11).

    f ≈ (n + 1) / (3.2 M - 4.6) of half the sampling rate, for the degree n and 2 M + 1 rows.
    """
    half = ((POLYNOMIAL + 1) / (2.0 * cutoff * step) + 4.6) / 3.2
    return 2 * max(math.ceil(half), POLYNOMIAL // 2 + 1) + 1


def filtered(method: Filter, time: Floats, values: Floats, cutoff: float) -> list[Floats]:
    """Return signals (N, n) at even times, filtered, and their first two derivatives."""
    from scipy import signal

    step = float((time[-1] - time[0]) / (len(time) - 1))
    if method == "savgol":
        rows = window(cutoff, step)
        return [
            signal.savgol_filter(values, rows, POLYNOMIAL, deriv=k, delta=step, axis=0)
            for k in range(3)
        ]
    sections = signal.butter(BUTTERWORTH, cutoff, fs=1.0 / step, output="sos")
    smooth = signal.sosfiltfilt(sections, values, axis=0, padlen=padding(cutoff, step, len(time)))
    return [smooth, *derivatives(time, smooth, (1, 2))]


def padding(cutoff: float, step: float, rows: int) -> int:
    """Return by how many rows the signal is continued at both ends, point-symmetrically."""
    return max(0, min(rows - 1, math.ceil(1.0 / (cutoff * step))))


def noise_covariance(method: Filter, cutoff: float, step: float) -> Floats:
    """Return the covariance (3, 3) of value, velocity, acceleration from noise of variance 1."""
    rows = 2 * math.ceil(LENGTHS / (cutoff * step)) + 1
    time, impulse = np.asarray(step * np.arange(float(rows))), np.zeros((rows, 1))
    impulse[rows // 2] = 1.0
    responses = np.hstack(filtered(method, time, impulse, cutoff))
    return np.asarray(responses.T @ responses)


WHOLE = 16_384
"""Rows up to which a motion is looked at as a whole."""
ROWS, BLOCKS = 4096, 8
"""Rows of a block of a longer one, and the most blocks that are looked at."""
FOLLOWS = 0.25
"""Cut-off, relative to the sampling rate, from which on a spline nearly goes through all values:
there are hardly any errors, and a low order is none of a motion."""
END_PERIODS = 4.0
"""Periods of a cut-off at the ends that are fitted again, to look at the last of them."""
EVEN = 0.01
"""Share of a step by which steps may differ for filters that need even times."""


@dataclass(frozen=True, eq=False)
class States:
    """Rows of a motion as far as they were measured.

    Attributes
    ----------
    time, q : (N,) s and (N, nq)
    v : (N, nv), of which the measured ones are meant
    """

    time: Floats
    q: Floats
    v: Floats

    @cached_property
    def samples(self) -> Samples:
        """The times, and what is the same for all signals there."""
        return Samples(self.time)


@dataclass(frozen=True)
class JointToSmooth:
    """A joint whose velocities or accelerations are not known.

    Attributes
    ----------
    joint, body : of the model
    measured : whether its velocities are measured
    factors : of the units in which its coordinates were written
    """

    joint: ModelJoint
    body: Body
    measured: bool
    factors: tuple[float, ...]

    def factor(self, signal: int) -> float:
        """Return the factor of the unit in which one of its signals was written."""
        return self.factors[signal]

    def signals(self, states: States) -> list[Signal]:
        """Return its signals."""
        v = states.v[:, self.body.v] if self.measured else None
        return signals_of(self.joint.type, states.q[:, self.body.q], v)

    def channels(self, signal: Signal, knots: Floats, covariance: Floats) -> list[Channel]:
        """Return the errors of its degrees of freedom from those (K, 3, 3) of a signal."""
        axes = range(3) if signal.kind == "turn" else (signal.axis,)
        start = signal.axis if signal.kind == "plain" else 0
        turn = 3 if signal.kind == "turn" and self.joint.type.nq > 4 else 0
        return [
            Channel(
                signal.kind,
                axis,
                self.body.q.start + start + turn,
                self.body.v.start + start + turn,
                turn > 0,
                knots,
                covariance * signal.angle**2,
            )
            for axis in axes
        ]


@dataclass(frozen=True, eq=False)
class SmoothedJoint:
    """Positions, velocities and accelerations of a joint, their errors, and what was found."""

    q: Floats
    v: Floats
    a: Floats
    channels: tuple[Channel, ...]
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """How the rows of a motion are smoothed.

    Attributes
    ----------
    options : what was asked for
    clock : whose times replace the stamps, or None
    origin, step : s, the first time of the motion and the usual step
    signals : by name of the joint, those of its signals
    """

    options: Smoothing
    clock: EvenClock | None
    origin: float
    step: float
    signals: Mapping[str, tuple[SignalPlan, ...]] = field(default_factory=dict)

    @property
    def overlap(self) -> int:
        """Rows beyond a piece of a motion that have an influence on it."""
        lasting = [0.0]
        for plans in self.signals.values():
            for plan in plans:
                if plan.smoothed and plan.choice is not None:
                    lasting += [plan.reach(self.step), LENGTHS / plan.choice.cutoff]
        clock = 0 if self.clock is None else rows_of_influence()
        return math.ceil(max(lasting) / self.step) + clock

    def smooths(self, joint: str) -> bool:
        """Return whether anything of a joint is smoothed."""
        return any(plan.smoothed for plan in self.signals.get(joint, ()))

    def times(self, stamps: Floats) -> Floats:
        """Return the times at time stamps (N,)."""
        even = ticks(stamps) if self.clock is not None else None
        return stamps if even is None else even[0]

    def smoothed(self, one: JointToSmooth, states: States) -> SmoothedJoint | None:
        """Return a joint's motion, smoothed where it is noisy; None: one spline interpolates it."""
        smooths = self.smooths(one.joint.name)
        if self.options.method == "off" or (one.measured and not smooths):
            return None
        parts: list[Derivatives] = []
        channels = list[Channel]()
        stretches = list[Stretch]()
        signals, plans = one.signals(states), self.signals[one.joint.name]
        curves = [
            self._curve(plan, states.samples, signal, one.factor(k))
            for k, (signal, plan) in enumerate(zip(signals, plans, strict=True))
        ]
        if all(curve is None for curve in curves):
            return None
        for signal, curve in zip(signals, curves, strict=True):
            if curve is None:
                parts.append((signal.values, *_two(states.time, signal.values)))
                continue
            values, first, second = curve.derived
            parts.append((values, first, second))
            stretches += curve.stretches
            if curve.covariance.any():
                channels += one.channels(signal, curve.knots, curve.covariance)
        return SmoothedJoint(*motion_of(one.joint.type, parts), tuple(channels), tuple(stretches))

    def remaining(self, one: JointToSmooth, states: States) -> list[Channel]:
        """Return the errors of a joint's positions that are the same however it is smoothed."""
        found, ends = list[Channel](), states.time[[0, -1]]
        for signal, plan in zip(
            one.signals(states), self.signals.get(one.joint.name, ()), strict=False
        ):
            if plan.remaining > 0.0:
                covariance = np.diag([plan.remaining**2, 0.0, 0.0])
                found += one.channels(signal, ends, np.array([covariance, covariance]))
        return found

    def _curve(
        self, plan: SignalPlan, samples: Samples, signal: Signal, factor: float
    ) -> Curve | None:
        """Return the curve of a signal, None if it is interpolated by one spline and exact."""
        curve, time = self._fitted(plan, samples, signal, factor), samples.time
        if plan.fluctuation is None and plan.filtered is None:
            return curve
        if curve is None:
            derived = np.array([signal.values, *_two(time, signal.values)])
            curve = Curve(derived, time[[0, -1]], np.zeros((2, 3, 3)))
        if plan.filtered is not None:
            change = plan.filtered.change(samples, curve.derived)
            curve.widen_by(time, change, plan.filtered.rows(self.step))
        if plan.fluctuation is not None:
            curve.covariance = curve.covariance + plan.fluctuation.covariance
        return curve

    def _fitted(
        self, plan: SignalPlan, samples: Samples, signal: Signal, factor: float
    ) -> Curve | None:
        """Return the curve that white noise asks for, None if one spline interpolates."""
        if plan.smoothed and self.options.method in ("savgol", "lowpass"):
            return self._filtered(plan, samples, signal)
        if plan.smoothed:
            return self._splined(plan, samples, signal)

        def smooth(rows: slice) -> Curve | None:
            part, some = signal.rows(rows), Samples(samples.time[rows])
            own = estimate([some], [part], self.options, factor)
            return self._splined(own, some, part) if own.smoothed else None

        return interpolated(samples, signal.values, self.step, smooth)

    def _splined(self, plan: SignalPlan, samples: Samples, signal: Signal) -> Curve:
        assert plan.choice is not None
        data = data_of(plan, samples, signal)
        curves = []
        for rows, part in samples.parts(self.step):
            own = [one.rows(rows, part) for one in data]
            splines = plan.choice.splines(own, self.step, self.origin)
            derived = np.stack([spline.at_data() for spline in splines], axis=-1)
            curve = Curve(derived, *local_covariance(splines, own[-1], plan.choice))
            self._guard(plan, own).watch(curve)
            begins = rows.start > 0 or part.time[0] - self.origin < self.step
            self._compare_ends(curve, own, plan.choice, begins)
            curves.append(curve)
        return Curve(
            np.concatenate([one.derived for one in curves], axis=1),
            np.concatenate([one.knots for one in curves]),
            np.concatenate([one.covariance for one in curves]),
            [stretch for one in curves for stretch in one.stretches],
        )

    def _compare_ends(
        self, curve: Curve, data: Sequence[Data], choice: Choice, begins: bool
    ) -> None:
        """Widen the covariance at ends where a spline of a lower order is too far to be noise.

        Where most of a recording rests, or is smooth, high orders are likely; nothing behind its
        end tells that the motion is less smooth there.

        Parameters
        ----------
        begins : whether there is nothing before the first row
        """
        if choice.rough is None or choice.rough.cutoff * self.step > FOLLOWS:
            return
        time = data[0].time
        looked = max(2, math.ceil(1.0 / (choice.cutoff * self.step)))
        fitted = max(FEWEST, math.ceil(END_PERIODS / (choice.cutoff * self.step)))
        last = (slice(-fitted, None), slice(-looked, None))
        first = (slice(0, fitted), slice(0, looked))
        for fit, rows in (first, last) if begins else (last,):
            if np.count_nonzero(data[0].weights[fit]) < FEWEST:
                continue
            splines = choice.rough.splines([one.rows(fit) for one in data], self.step)
            other = np.stack([np.array(spline(time[rows])) for spline in splines], axis=-1)
            change = other - curve.derived[:, rows]
            knots = splines[0].knots
            near, behind = np.searchsorted(knots, time[rows][[0, -1]])
            knots = knots[max(0, near - 1) : behind + 1]
            known = at_times(time[rows], knots, splines[0].variances(knots, 2))
            noise = USUAL * choice.rough.scale * np.sqrt(known)
            if np.any(np.linalg.norm(change[2], axis=1) > noise):
                curve.widen_by(time[rows], change / BAND, max(2, looked // 2))

    def _guard(self, plan: SignalPlan, data: Sequence[Data]) -> Guard:
        assert plan.choice is not None
        own = self.options.cutoff is None and self.options.method in ("auto", "spline")
        scale, cutoff = plan.choice.scale, plan.choice.cutoff
        return Guard(data, scale, plan.sigma, 0.5 * plan.step, self.step, own, cutoff)

    def _filtered(self, plan: SignalPlan, samples: Samples, signal: Signal) -> Curve:
        assert plan.choice is not None
        assert self.options.method in ("savgol", "lowpass")
        time, cutoff = samples.time, plan.choice.cutoff
        steps = np.diff(time)
        if np.ptp(steps) > EVEN * self.step:
            raise StateError(
                f"smooth={self.options.method!r}: expected even times, got steps of "
                f"{steps.min():g} to {steps.max():g} s; use smooth='spline'"
            )
        if cutoff * self.step >= 0.5:
            raise StateError(
                f"cutoff: expected less than half the sampling rate, {0.5 / self.step:g} Hz, got "
                f"{cutoff:g} Hz"
            )
        derived = np.array(filtered(self.options.method, time, signal.values, cutoff))
        covariance = plan.sigma**2 * noise_covariance(self.options.method, cutoff, self.step)
        knots = np.array([time[0], time[-1]])
        curve = Curve(derived, knots, np.array([covariance, covariance]))
        self._guard(plan, data_of(plan, samples, signal)).watch(curve)
        return curve


def _two(time: Floats, values: Floats) -> tuple[Floats, Floats]:
    first, second = derivatives(time, values, (1, 2))
    return first, second


def block_stride(rows: int) -> int:
    """Return at every how many blocks of `ROWS` rows a motion of so many rows is looked at."""
    stride = 1
    while -(-(rows // ROWS) // stride) > BLOCKS:
        stride *= 2
    return stride


def blocks_of(states: States) -> list[States]:
    """Return the rows of a motion from which its noise is estimated."""
    rows = len(states.time)
    if rows <= WHOLE:
        return [states]
    begins = range(0, rows - ROWS + 1, ROWS * block_stride(rows))
    return [
        States(*(part[k : k + ROWS] for part in (states.time, states.q, states.v))) for k in begins
    ]


def make_plan(
    options: Smoothing, joints: Sequence[JointToSmooth], blocks: Sequence[States]
) -> Plan:
    """Return how a motion is smoothed, from blocks of its rows (`blocks_of`)."""
    clock, times = _clock(joints, blocks) if options.method != "off" else (None, None)
    samples = [states.samples for states in blocks]
    if times is not None:
        samples = [Samples(time) for time in times]
    step, origin = usual_step([t.time for t in samples]), float(samples[0].time[0])
    plan = Plan(options, clock, origin, step)
    if options.method == "off":
        return plan
    other = _usual_rounding(joints, blocks)
    estimates = list[tuple[str, SignalPlan, list[Signal], float]]()
    for one in joints:
        each = [one.signals(states) for states in blocks]
        known = one.measured and exact(samples, [states.v[:, one.body.v] for states in blocks])
        units = velocity_units(one.joint.type)
        for k in range(len(each[0])):
            same = [parts[k].measured(t.time) for t, parts in zip(samples, each, strict=True)]
            rounding = other.get(units[k], 0.0)
            signal_plan = estimate(samples, same, options, one.factor(k), known, rounding)
            estimates.append((one.joint.name, signal_plan, same, rounding))
    signals = {one.joint.name: tuple[SignalPlan, ...]() for one in joints}
    accelerations = even_accelerations(samples, [(p, same) for _, p, same, _ in estimates])
    for (name, signal_plan, same, rounding), parts in zip(estimates, accelerations, strict=True):
        signal_plan = watched(signal_plan, samples, same, parts)
        signals[name] += (resting(signal_plan, same, rounding),)
    return replace(plan, signals=signals)


def _usual_rounding(joints: Sequence[JointToSmooth], blocks: Sequence[States]) -> dict[str, float]:
    """Return the smallest steps to which angles and lengths were rounded, by unit, if any were."""
    found = dict[str, float]()
    for one in joints:
        if one.joint.type.nq > 1:
            continue
        unit = velocity_units(one.joint.type)[0]
        for states in blocks:
            (signal,) = one.signals(states)
            differences = states.samples.differences
            step = rounding_step(differences, signal.values[:, 0], one.factor(0))
            if step > 0.0:
                found[unit] = min(step, found.get(unit, math.inf))
    return found


def _clock(
    joints: Sequence[JointToSmooth], blocks: Sequence[States]
) -> tuple[EvenClock | None, list[Floats] | None]:
    """Return the clock behind the stamps, and its times in each block, if there is a better one."""
    found = [ticks(states.time) for states in blocks]
    each = [one for one in found if one is not None]
    if not joints or len(each) < len(blocks):
        return None, None
    values = [
        np.hstack([s.values for one in joints for s in one.signals(states)]) for states in blocks
    ]
    even = [times for times, _ in each]
    if not better([states.time for states in blocks], even, values):
        return None, None
    clocks = [clock for _, clock in each]
    period = float(np.median([clock.period for clock in clocks]))
    jitter = float(np.median([clock.jitter for clock in clocks]))
    return EvenClock(period, jitter), even


def coordinate_noise(plan: Plan, joints: Sequence[JointToSmooth]) -> tuple[CoordinateNoise, ...]:
    """Return what is to be told of each noisy signal."""
    found = []
    for one in joints:
        units = velocity_units(one.joint.type)
        for place, signal in enumerate(plan.signals.get(one.joint.name, ())):
            noisy = signal.fluctuation
            if noisy is not None and not noisy.doubtful:
                noisy = None
            filtered = signal.filtered
            if signal.sigma == 0.0 and not (signal.held or noisy or filtered):
                continue
            turn = place == 3 or one.joint.type.nq == 4
            angle = 2.0 if turn else 1.0
            names = one.joint.type.velocities
            name = one.joint.name
            if not turn and len(names) > 1:
                name += names[place]
            choice = signal.choice
            scale = 1.0 if choice is None else choice.scale
            rate = None if signal.rate_sigma is None else signal.rate_sigma * scale * angle
            found.append(
                CoordinateNoise(
                    name,
                    "rad" if turn else units[place],
                    signal.sigma * scale * angle,
                    signal.step,
                    rate,
                    signal.smoothed,
                    0 if choice is None else choice.order,
                    0.0 if choice is None else choice.cutoff,
                    signal.held,
                    signal.glitches,
                    signal.apart * angle,
                    None if noisy is None else (noisy.low, noisy.high, noisy.size * angle),
                    None if filtered is None else (filtered.frequency, filtered.damping),
                )
            )
    return tuple(found)
