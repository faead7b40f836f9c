"""How one signal of a joint is to be smoothed: its noise, and the smoothing that it asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.motion.derivatives import derivatives
from mbd_bridge.motion.options import Smoothing
from mbd_bridge.motion.smoothing.interpolation import INTERPOLATED
from mbd_bridge.motion.smoothing.likelihood import ORDERS, Blocks, Choice
from mbd_bridge.motion.smoothing.noise import (
    FEWEST,
    LEVELS,
    ON_COUNTS,
    UNIFORM,
    Differences,
    repeats,
    rounding_step,
)
from mbd_bridge.motion.smoothing.recorder import (
    FOUND_RISE,
    RISE,
    Fluctuation,
    RecordedFilter,
    fluctuation,
    recorded_filter,
)
from mbd_bridge.motion.smoothing.signals import Signal
from mbd_bridge.motion.smoothing.spline import (
    Data,
    Samples,
    Spline,
    at_times,
    reach,
    usual_step,
)

# Whether measured velocities agree with the positions beside them, and how much they then count.
#
# Controllers filter velocities, difference them, round them and send them late. White noise is
# taken away by a spline through positions and velocities; what filters do is not, and the better
# such velocities look, the more they would count. So they are compared with the rates ḟ of the
# spline through the positions alone, in means R of their differences over the rows that this
# spline averages. They are used if R is no larger than the errors of both explain, and neither a
# lag nor a wrong scale, which regressions of R on f̈ and ḟ show, would harm the accelerations.

APART = 2.0
"""Ratio of the squares of these differences to what noise explains from which on they count."""
SURE = 4.0
"""Standard deviations from which on a lag or a wrong scale is no chance."""
HARM = 0.1
"""Error of the accelerations by a lag or a wrong scale, relative to that from positions alone, from
which on it matters."""
SAME = 1e-3
"""Difference of exact rates, relative to their size, from which on they are not those of the
positions."""
MEAN = 16
"""Rows over which differences of exact rates are averaged."""


@dataclass(frozen=True, eq=False)
class ComparedRates:
    """Measured rates beside the spline through the positions alone, in rows of one part.

    Attributes
    ----------
    rates : (N,) measured
    derived : (3, N) ḟ, f̈ and the third derivative
    variances : (2, N) of ḟ and f̈
    """

    rates: Floats
    derived: Floats
    variances: Floats


def agreement(
    parts: Sequence[ComparedRates], white: float, rows: int, freedom: float = 1.0
) -> tuple[float, float]:
    """Return the white noise that rates count with; and how far they are apart, 0 if they agree.

    Parameters
    ----------
    white : their white noise, 0 where none shows: then it is errors of a filter that they have
    rows : over which the spline through the positions averages
    freedom : ratio of the columns to the numbers that they really are
    """
    left = np.concatenate([_means(part.rates - part.derived[0], rows) for part in parts])
    speed, acceleration, jerk = (
        np.concatenate([_means(part.derived[k], rows) for part in parts]) for k in range(3)
    )
    known, known_second = (
        np.concatenate([_means(part.variances[k], rows) for part in parts]) for k in range(2)
    )
    explained = known + white**2 / rows
    squares = freedom * float(np.mean(left * left))
    apart = squares > APART * float(np.mean(explained))
    usual = math.sqrt(float(np.mean(known_second)))
    for cause, effect in ((acceleration, jerk), (speed, acceleration)):
        size = float(np.sum(cause * cause))
        if size == 0.0:
            continue
        share = float(np.sum(left * cause)) / size
        by_chance = math.sqrt(float(np.sum(explained * cause * cause))) / size
        harm = abs(share) * math.sqrt(float(np.mean(effect * effect)))
        apart |= abs(share) > SURE * by_chance and harm > HARM * usual
    if apart:
        return 0.0, math.sqrt(squares)
    if white > 0.0:
        return white, 0.0
    errors = max(float(np.mean(known)), squares - float(np.mean(known)))
    return math.sqrt(errors * rows), 0.0


def exact_apart(time: Floats, values: Floats, rates: Floats) -> float:
    """Return how far rates (N, n) are from those of positions, both exact, 0 if they agree."""
    (derived,) = derivatives(time, values, (1,))
    left = np.concatenate([_means(column, MEAN) for column in (rates - derived).T])
    off = math.sqrt(float(np.mean(left * left)))
    return off if off > SAME * math.sqrt(float(np.mean(rates * rates))) else 0.0


def _means(values: Floats, rows: int) -> Floats:
    """Return the means of numbers (N,) over so many rows, without what is left at the end."""
    rows = min(rows, len(values))
    count = len(values) // rows
    return np.asarray(values[: count * rows].reshape(count, rows).mean(axis=1))


ROUNDING = 1e-12
"""Noise relative to the largest position (or to 1 rad or m) that is a rounding of floats."""
MATTERS = 1e-4
"""Noise of the interpolated acceleration, relative to the largest acceleration, from which on it is
smoothed."""
EVEN = 0.01
"""Share of a step by which steps may differ where fluctuations of exact values are looked for."""
FIRST_REPEATS = 0.1
"""s, over which equal values count as one, before the cut-off is known."""


@dataclass(frozen=True)
class SignalPlan:
    """How a signal is smoothed.

    Attributes
    ----------
    smoothed : whether it is
    sigma : standard deviation of its noise
    step : to which it was rounded, or 0
    rate_sigma : standard deviation of measured rates, None if none are used
    rate_step : to which these were rounded, or 0
    apart : how far measured rates are from the positions' (RMS), if they are not used for that
    fluctuation : what may be noise though no smoothing can tell it from motion
    choice : of the spline, for data with the weights of `data_of`
    lumped : rows over which equal values count as one
    held : whether a recorder wrote values again until new ones came; the copies count nothing
    glitches : single samples far from their neighbours, in the blocks; they count nothing
    remaining : standard deviation of errors of the positions that no smoothing takes away
    filtered : through what exact positions went before they were recorded
    """

    smoothed: bool
    sigma: float
    step: float = 0.0
    rate_sigma: float | None = None
    choice: Choice | None = None
    lumped: float = 1.0
    held: bool = False
    glitches: int = 0
    rate_step: float = 0.0
    apart: float = 0.0
    fluctuation: Fluctuation | None = None
    remaining: float = 0.0
    filtered: RecordedFilter | None = None

    def reach(self, step: float) -> float:
        """Return for how long, s, a row has an influence, for a usual time step."""
        assert self.choice is not None
        order, weight = self.choice.order, self.choice.weight
        if self.rate_sigma is None:
            omega = 2.0 * math.pi * self.choice.cutoff
            return reach(weight, order, weight * omega ** (2 * order))
        return reach(weight, order, self.sigma**-2.0 / step, self.rate_sigma**-2.0 / step)


def data_of(plan: SignalPlan, samples: Samples, signal: Signal) -> list[Data]:
    """Return the data of each column of a signal, with weights."""
    weights = np.full(len(samples.time), plan.sigma**-2.0)
    if plan.step > 0.0 and plan.lumped > 1.0:
        weights = weights / np.minimum(repeats(signal.values[:, 0]), plan.lumped)
    signal = signal.measured(samples.time)
    fresh = ~(signal.copied | signal.glitch)
    weights = np.where(fresh, weights, 0.0)
    if plan.rate_sigma is None or signal.rates is None:
        return [Data(samples, column, weights) for column in signal.values.T]
    more = np.where(fresh, plan.rate_sigma**-2.0, 0.0)
    if plan.rate_step > 0.0 and plan.lumped > 1.0:
        more = more / np.minimum(repeats(signal.rates[:, 0]), plan.lumped)
    return [
        Data(samples, column, weights, rate, more)
        for column, rate in zip(signal.values.T, signal.rates.T, strict=True)
    ]


def estimate(
    samples: Sequence[Samples],
    signals: Sequence[Signal],
    options: Smoothing,
    factor: float,
    exact_rates: bool = False,
    other_step: float = 0.0,
) -> SignalPlan:
    """Return how a signal, which comes in blocks, is smoothed.

    Parameters
    ----------
    factor : of the unit in which it was written; see `rounding_step`
    exact_rates : the measured rates are without noise: nothing need be smoothed if they agree
    other_step : to which another joint was rounded, or 0
    """
    every = [(t, s.measured(t.time)) for t, s in zip(samples, signals, strict=True)]
    held = any(bool(s.copied.any()) for _, s in every)
    glitches = sum(int(np.count_nonzero(s.glitch)) for _, s in every)
    pairs, left_out = [(t.differences, s) for t, s in every], held or glitches > 0
    if left_out:
        fresh = [~(s.copied | s.glitch) for _, s in every]
        pairs = [
            (Differences(t.time[rows]), s.rows(rows))
            for (t, s), rows in zip(every, fresh, strict=True)
        ]
    steps = {rounding_step(d, s.values[:, 0], factor, other_step) for d, s in pairs}
    step = max(steps) if signals[0].kind != "turn" else 0.0
    white = _noise([(d, s.values) for d, s in pairs], signals[0].freedom)
    size = max(1.0, *(float(np.abs(s.values).max()) for s in signals))
    sigma = max(white, UNIFORM * step)
    rates, rate_step, apart = None, 0.0, 0.0
    if signals[0].rates is not None:
        measured = [(d, s.rates) for d, s in pairs if s.rates is not None]
        rate_step = max(rounding_step(d, rate[:, 0]) for d, rate in measured)
        rates = max(_noise(measured, signals[0].freedom), UNIFORM * rate_step)
    quiet = sigma <= ROUNDING * size and (rates or 0.0) <= ROUNDING * size
    forced = options.method == "spline" or options.cutoff is not None
    if len(pairs[0][0].time) < FEWEST:
        return SignalPlan(False, sigma, step)
    if rates is not None and quiet:
        apart = max(exact_apart(d.time, s.values, s.rates) for d, s in pairs if s.rates is not None)
    if quiet and not (forced or left_out or apart):
        return SignalPlan(False, sigma, step)
    forced = forced or left_out
    plan = SignalPlan(True, max(sigma, ROUNDING * size), step, held=held, glitches=glitches)
    plan = _chosen(plan, every, options)
    if rates is not None and not apart:
        rates, apart = _agreement(plan, every, rates)
    if apart:
        return replace(plan, apart=apart)
    if not forced and (exact_rates or not _matters(plan, every, rates)):
        # too small to matter in rates; where these are measured, positions may be noisy beside
        remaining = sigma if rates is not None and sigma > ROUNDING * size else 0.0
        return SignalPlan(False, plan.sigma, plan.step, remaining=remaining)
    if rates is None:
        return plan
    floor = ROUNDING * max(float(np.abs(s.rates).max()) for s in signals if s.rates is not None)
    plan = replace(plan, rate_sigma=max(rates, floor), rate_step=rate_step)
    return _chosen(plan, every, options)


def resting(plan: SignalPlan, signals: Sequence[Signal], other_step: float) -> SignalPlan:
    """Return the plan of a signal, with the error of its rounding if it stays within few steps.

    Rounding is noise only where a signal moves over steps; else it is off by the same all along.

    Parameters
    ----------
    other_step : to which other joints were rounded, or 0: it counts for a value that never changes
    """
    levels = [np.unique(signal.values[~signal.glitch]) for signal in signals]
    step = plan.step
    if step == 0.0 and other_step > 0.0 and len(np.unique(np.concatenate(levels))) == 1:
        counts = levels[0] / other_step
        step = other_step if np.abs(counts - np.round(counts)).max() < ON_COUNTS else 0.0
    if step == 0.0 or max(len(part) for part in levels) >= LEVELS:
        return plan
    error = UNIFORM * step
    if plan.smoothed:  # its weights stay those with which it was chosen
        return replace(plan, remaining=error)
    return replace(plan, sigma=max(plan.sigma, error), step=step, remaining=error)


def _noise(pairs: Sequence[tuple[Differences, Floats]], freedom: int) -> float:
    """Return the median over blocks of the white noise of a signal."""
    found = [math.sqrt(float(np.sum(d.white_noise(x) ** 2)) / freedom) for d, x in pairs]
    return float(np.median(found))


def _chosen(
    plan: SignalPlan, pairs: Sequence[tuple[Samples, Signal]], options: Smoothing
) -> SignalPlan:
    """Return the plan with the smoothing of largest likelihood, and the noise that it leaves."""
    step = usual_step([t.time for t, _ in pairs])
    lumped = [FIRST_REPEATS / step, None] if plan.step > 0.0 else [None]
    for rows in lumped:
        if plan.choice is not None:
            rows = 0.5 / (plan.choice.cutoff * step)
        plan = replace(plan, lumped=max(1.0, rows or 1.0))
        blocks = Blocks([data for t, s in pairs for data in data_of(plan, t, s)])
        choice = blocks.choose(ORDERS, options.cutoff)
        plan = replace(plan, choice=choice)
    first = pairs[0][1]
    lost = first.values.shape[1] / first.freedom  # a quaternion's length is no noise
    scale = choice.scale * math.sqrt(lost)
    if plan.step > 0.0:
        scale = max(scale, UNIFORM * plan.step / plan.sigma)
    return replace(plan, choice=replace(choice, scale=scale))


def _fits(
    plan: SignalPlan, pairs: Sequence[tuple[Samples, Signal]]
) -> Iterator[tuple[Samples, Signal, list[Spline]]]:
    """Yield blocks with the splines of their columns."""
    assert plan.choice is not None
    step = usual_step([t.time for t, _ in pairs])
    for block, signal in pairs:
        data = data_of(plan, block, signal)
        for rows, part in block.parts(step):
            splines = plan.choice.splines([one.rows(rows, part) for one in data], step)
            yield part, signal.rows(rows), splines


def watched(
    plan: SignalPlan,
    samples: Sequence[Samples],
    signals: Sequence[Signal],
    accelerations: Sequence[Floats],
) -> SignalPlan:
    """Return the plan of a signal, in blocks, with what fluctuates all along, or filtered it.

    Parameters
    ----------
    accelerations : where it is interpolated; see `even_accelerations`
    """
    step = usual_step([t.time for t in samples])
    values = [signal.values for signal in signals]
    plan = replace(plan, filtered=recorded_filter(samples, values, step))
    parts, fits = list(accelerations), list[Spline]()
    if plan.smoothed and plan.choice is not None:
        for block, _, splines in _fits(plan, list(zip(samples, signals, strict=True))):
            even = np.arange(block.time[0], block.time[-1], step)
            parts += [spline(even, (2,))[0] for spline in splines]
            fits.append(splines[0])
    if not parts:
        return plan

    def variance() -> float:
        known = [float(np.mean(spline.covariance()[1][:, 2, 2])) for spline in fits]
        return 0.0 if plan.choice is None else max(known, default=0.0) * plan.choice.scale**2

    rounding = ROUNDING * max(1.0, *(float(np.abs(signal.values).max()) for signal in signals))
    rise = FOUND_RISE if not plan.smoothed and plan.sigma > rounding else RISE
    return replace(plan, fluctuation=fluctuation(parts, step, variance, rounding, rise))


def even_accelerations(
    samples: Sequence[Samples], signals: Sequence[tuple[SignalPlan, Sequence[Signal]]]
) -> list[list[Floats]]:
    """Return the accelerations of signals that are interpolated, where times are even.

    One spline goes through all that have no measured rates, block by block.
    """
    step = usual_step([t.time for t in samples])
    found, inside = [list[Floats]() for _ in signals], list[tuple[int, Sequence[Signal]]]()
    for k, (plan, blocks) in enumerate(signals):
        if not plan.smoothed and blocks[0].rates is None:
            inside.append((k, blocks))
    for block, part in enumerate(samples if inside else ()):
        if len(part.time) < FEWEST or np.ptp(np.diff(part.time)) >= EVEN * step:
            continue
        columns = [(k, column) for k, blocks in inside for column in blocks[block].values.T]
        together, long = np.column_stack([x for _, x in columns]), len(samples) > 1
        accelerations = derivatives(part.time, together, (2,), long)[0]
        for (k, _), acceleration in zip(columns, accelerations.T, strict=True):
            found[k].append(acceleration)
    return found


def _matters(
    plan: SignalPlan, pairs: Sequence[tuple[Samples, Signal]], rates: float | None
) -> bool:
    """Return whether noise shows in accelerations that are interpolated."""
    assert plan.choice is not None
    step = usual_step([t.time for t, _ in pairs])
    noise = plan.sigma * plan.choice.scale * INTERPOLATED[0] / step**2
    if rates is not None:
        noise = rates * INTERPOLATED[1] / step
    largest = max(
        float(np.abs(spline.at_data((2,))).max())
        for _, _, splines in _fits(plan, pairs)
        for spline in splines
    )
    return noise > MATTERS * largest


def _agreement(
    plan: SignalPlan, pairs: Sequence[tuple[Samples, Signal]], white: float
) -> tuple[float, float]:
    """Return the noise with which measured rates count, and how far apart they are (`fusion`)."""
    assert plan.choice is not None
    parts = []
    for block, signal, splines in _fits(plan, pairs):
        assert signal.rates is not None
        known = at_times(block.time, *splines[0].covariance()) * plan.choice.scale**2
        variances = np.stack([known[:, 1, 1], known[:, 2, 2]])
        used = data_of(plan, block, signal)[0].weights > 0.0
        for spline, rates in zip(splines, signal.rates.T, strict=True):
            derived = spline.at_data((1, 2, 3))
            parts.append(ComparedRates(rates[used], derived[:, used], variances[:, used]))
    rows = max(1, round(0.5 / (plan.choice.cutoff * usual_step([t.time for t, _ in pairs]))))
    first = pairs[0][1]
    return agreement(parts, white, rows, first.values.shape[1] / first.freedom)


def exact(samples: Sequence[Samples], rates: Sequence[Floats]) -> bool:
    """Return whether no noise shows in the derivatives of measured velocities (N, n) in blocks."""
    step, pairs = usual_step([t.time for t in samples]), list(zip(samples, rates, strict=True))
    noise = [t.differences.white_noise(v) for t, v in pairs]
    largest = np.max([np.abs(np.gradient(v, t.time, axis=0)).max(axis=0) for t, v in pairs], axis=0)
    rounded = [rounding_step(t.differences, column) for t, v in pairs for column in v.T]
    white = np.median(noise, axis=0) * INTERPOLATED[1] / step
    return bool(np.all(white <= MATTERS * largest)) and not any(rounded)
