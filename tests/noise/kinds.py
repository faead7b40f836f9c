"""``python -m tests.noise.kinds``: recordings as loggers write them, and what becomes of them.

Some forty kinds of recordings, random in their numbers, of motions that are known exactly. A
recording is *confidently wrong* if the peak of an actuation is off by more than 5 % and by more
than three stated bands, and nothing doubts it.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy import signal

from mbd_bridge.base.errors import MbdError
from mbd_bridge.motion.smoothing import BAND
from tests.noise import study
from tests.noise.recordings import Truth, recorded

OFF = 0.05
"""Error of a peak, relative to the true one, from which on it is wrong."""
BANDS = 3.0
"""Error of a peak, in bands of 95 %, from which on the band did not tell."""
SAME = 1e-4
"""Error, relative to the joint's peak, that counts as none: what interpolating leaves."""
IDLE = 0.02
"""Peak, relative to the largest of the machine, below which a joint carries nothing."""
ROWS = 2500
"""Rows of a recording, at most, but of those that rest for long."""

MACHINES = ("urdf/pendulum.urdf", "urdf/crank_rocker.urdf", "erd/ur/ur5_robot")
"""One is taken after the other."""
LOADED = {"urdf/crank_rocker.urdf": ["crank"]}
"""Joints that are driven, of machines with loops."""


@dataclass(frozen=True)
class Recording:
    """What a logger wrote, and the states at its rows: where it lags, those that it saw."""

    truth: Truth
    stamps: np.ndarray
    q: np.ndarray
    v: np.ndarray | None = None


@dataclass(frozen=True)
class Verdict:
    """What became of a recording.

    Attributes
    ----------
    covered : share of the samples of all actuations within 1.96 standard deviations
    off : error of the worst peak of an actuation, relative to the true peak
    bands : the same in its bands
    doubts : what the motion says against itself
    refused : why there are no loads, or ""
    """

    kind: str
    machine: str
    seed: int
    covered: float
    off: float
    bands: float
    doubts: tuple[str, ...] = ()
    refused: str = ""

    @property
    def confidently_wrong(self) -> bool:
        """Whether a peak is wrong beyond its band, and nothing doubts it."""
        return not self.doubts and abs(self.off) > OFF and self.bands > BANDS


class Draw:
    """A machine with a random motion, and the random numbers of its recording.

    Attributes
    ----------
    rate : Hz, of the rows
    seconds : that the recording lasts
    noise : rad, standard deviation
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.name = MACHINES[seed % len(MACHINES)]
        self.machine = study.machine(self.name)
        self.closed = self.machine.model.has_loops
        self.rate = self.size(100.0, 1000.0)
        self.seconds = min(self.rng.uniform(4.0, 8.0), ROWS / self.rate)
        self.noise = self.size(3e-6, 3e-4)

    def size(self, low: float, high: float) -> float:
        """Return a number of any size between two."""
        return float(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def times(self, seconds: float | None = None) -> np.ndarray:
        """Return the times of even rows."""
        return np.arange(int(self.rate * (seconds or self.seconds))) / self.rate

    def course(self, *makers: Callable, seconds: float | None = None) -> Callable:
        """Return the states at times (N,) of motions of all coordinates that are sums of some."""
        seconds = seconds or self.seconds
        count = 1 if self.closed else self.machine.nq
        paths = [[make(self.rng, seconds) for make in makers] for _ in range(count)]

        def states(time: np.ndarray) -> Truth:
            found = np.zeros((3, len(time), count))
            for column, parts in enumerate(paths):
                found[:, :, column] = sum(np.array(path(time)) for path in parts)
            if not self.closed:
                return Truth(time, *found)
            names = ("crank", "crank.vel", "crank.acc")
            crank = found[:, :, 0] + [[1.0], [0.0], [0.0]]
            given, rows = dict(zip(names, crank, strict=True)), np.arange(float(len(time)))
            motion = self.machine.complete(given, rows)
            return Truth(time, motion.q, motion.v, motion.a)

        return states

    def smooth(self) -> Callable:
        """Return the states of a motion whose acceleration does not jump."""
        return self.course(study.MOTIONS[str(self.rng.choice(SMOOTH))])

    def white(self, like: np.ndarray, size: float | None = None) -> np.ndarray:
        """Return white noise."""
        return (self.noise if size is None else size) * self.rng.normal(size=like.shape)

    def noisy(self, truth: Truth) -> Recording:
        """Return states recorded with white noise."""
        return Recording(truth, truth.time, truth.q + self.white(truth.q))


SMOOTH = ("sines", "minimum jerk", "s-curve")
RESTING = study.moves(study.minimum_jerk, (0.4, 1.2), (1.2, 6.0), often=True)
"""Moves between rests that take more than half of the time."""
Kind = Callable[[Draw], Recording]


def exact(d: Draw) -> Recording:
    truth = d.smooth()(d.times())
    return Recording(truth, truth.time, truth.q)


def white(d: Draw) -> Recording:
    return d.noisy(d.smooth()(d.times()))


def trapezoids(noise: bool) -> Kind:
    def kind(d: Draw) -> Recording:
        truth = d.course(study.MOTIONS["trapezoid"])(d.times())
        return d.noisy(truth) if noise else Recording(truth, truth.time, truth.q)

    return kind


def counted(q: np.ndarray, bits: int) -> np.ndarray:
    """Return angles in whole counts of an encoder."""
    count = 2.0 * np.pi / 2**bits
    return np.round(q / count) * count


def encoder(bits: int, rests: bool) -> Kind:
    def kind(d: Draw) -> Recording:
        d.seconds *= 3.0 if rests else 1.0
        truth = (d.course(RESTING) if rests else d.smooth())(d.times())
        return Recording(truth, truth.time, counted(truth.q, bits))

    return kind


def short_move(bits: int | None) -> Kind:
    def kind(d: Draw) -> Recording:
        d.rate = min(d.rate, 250.0)
        truth = d.course(study.lone_move, seconds=30.0)(d.times(30.0))
        if bits is None:
            return d.noisy(truth)
        return Recording(truth, truth.time, counted(truth.q, bits))

    return kind


def bursts(noise: bool) -> Kind:
    def kind(d: Draw) -> Recording:
        d.rate = max(d.rate, 250.0)
        d.noise = min(d.noise, 3e-5)
        truth = d.course(RESTING, study.burst)(d.times())
        return d.noisy(truth) if noise else Recording(truth, truth.time, truth.q)

    return kind


def quick_stops(noise: bool) -> Kind:
    def kind(d: Draw) -> Recording:
        truth = d.course(study.stops(1.0 / d.rate))(d.times())
        return d.noisy(truth) if noise else Recording(truth, truth.time, truth.q)

    return kind


def through(values: np.ndarray, cutoff: float, rate: float, order: int = 2) -> np.ndarray:
    """Return signals (N, n) at even times behind a low-pass filter."""
    b, a = signal.butter(order, cutoff, fs=rate)
    return signal.lfilter(b, a, values - values[0], axis=0) + values[0]


def delay(cutoff: float, rate: float) -> float:
    """Return by how much that filter delays what is slow, s."""
    b, a = signal.butter(2, cutoff, fs=rate)
    return float(signal.group_delay((b, a), w=[1e-3 * cutoff], fs=rate)[1][0]) / rate


def low_passed(noise: bool) -> Kind:
    """Positions filtered by the drive, at 2 to 5 times the rate of the recording."""

    def kind(d: Draw) -> Recording:
        times = int(d.rng.integers(1, 5))
        fine, cutoff = d.rate * times, d.rate * d.rng.uniform(0.05, 0.2)
        d.noise *= 1.0 if noise else 0.0
        states, time = d.smooth(), np.arange(int(d.seconds * fine)) / fine
        moving = states(time).q
        q = through(moving + d.white(moving), cutoff, fine)[::times]
        truth = states(np.maximum(time[::times] - delay(cutoff, fine), 0.0))
        part = slice(int(2.0 * d.rate / cutoff), None)  # the filter has swung in
        truth = Truth(*(x[part] for x in (time[::times], truth.q, truth.v, truth.a)))
        return Recording(truth, truth.time, q[part])

    return kind


def one_lags(d: Draw) -> Recording:
    """A joint's positions are some rows late: only loops can tell."""
    states, time, late = d.smooth(), d.times(), 1 if d.machine.nq > 1 else 0
    lag = d.rng.uniform(0.5, 3.0) / d.rate
    truth, before = states(time), states(time - lag)
    seen = [np.array(x) for x in (truth.q, truth.v, truth.a)]
    for x, y in zip(seen, (before.q, before.v, before.a), strict=True):
        x[:, late] = y[:, late]
    found = d.noisy(Truth(time, *seen))
    return replace(found, truth=truth) if d.closed else found


def jitter(noise: bool) -> Kind:
    def kind(d: Draw) -> Recording:
        truth = d.smooth()(d.times())
        off = d.rng.uniform(0.01, 0.1) / d.rate * np.clip(d.rng.normal(size=len(truth.time)), -4, 4)
        q = truth.q + d.white(truth.q) if noise else truth.q
        return Recording(truth, truth.time + off, q)

    return kind


def uneven(d: Draw) -> Recording:
    time = d.times()
    off = d.rng.uniform(0.01, 0.2) / d.rate * np.clip(d.rng.normal(size=len(time)), -2, 2)
    return d.noisy(d.smooth()(time + off))


def without(recording: Recording, rows: np.ndarray) -> Recording:
    """Return a recording of which only some rows were written."""
    truth = recording.truth
    parts = (x[rows] for x in (truth.time, truth.q, truth.v, truth.a))
    v = None if recording.v is None else recording.v[rows]
    return Recording(Truth(*parts), recording.stamps[rows], recording.q[rows], v)


def missing_rows(d: Draw) -> Recording:
    found = white(d)
    return without(found, d.rng.random(len(found.stamps)) >= d.rng.uniform(0.01, 0.1))


def drop_outs(longest: float) -> Kind:
    """Rows that were not a number for up to so many s, and were dropped."""

    def kind(d: Draw) -> Recording:
        found = white(d)
        rows = np.ones(len(found.stamps), dtype=bool)
        for _ in range(4):
            begin = int(d.rng.integers(20, len(rows) - 20))
            rows[begin : begin + int(d.rng.uniform(0.2, 1.0) * longest * d.rate)] = False
        return without(found, rows)

    return kind


def held(values: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """Return values (N, n) of which rows that are not fresh repeat the last that is."""
    return values[np.maximum.accumulate(np.where(fresh, np.arange(len(values)), 0))]


def regular_holds(times: tuple[int, ...], noise: bool, one: bool = False) -> Kind:
    """New values with every second row, or third, ...; of one joint or of all."""

    def kind(d: Draw) -> Recording:
        d.noise *= 1.0 if noise else 0.0
        found = white(d)
        fresh = np.arange(len(found.stamps)) % int(d.rng.choice(times)) == 0
        if not one:
            return replace(found, q=held(found.q, fresh))
        q = np.array(found.q)
        q[:, -1:] = held(q[:, -1:], fresh)
        return replace(found, q=q)

    return kind


def rare_holds(noise: bool, one: bool = False) -> Kind:
    """The last row again for 60 ms, more or less, now and then; of one joint or of all."""

    def kind(d: Draw) -> Recording:
        d.noise *= 1.0 if noise else 0.0
        found = white(d)
        fresh = np.ones(len(found.stamps), dtype=bool)
        for _ in range(int(d.rng.integers(1, 6))):
            begin = int(d.rng.integers(10, len(fresh) - 10))
            fresh[begin : begin + max(2, int(d.rng.uniform(0.03, 0.09) * d.rate))] = False
        if not one:
            return replace(found, q=held(found.q, fresh))
        q = np.array(found.q)
        q[:, :1] = held(q[:, :1], fresh)
        return replace(found, q=q)

    return kind


def one_still(bits: int | None) -> Kind:
    """One joint does not move; of an encoder, its last digit flickers."""

    def kind(d: Draw) -> Recording:
        if d.closed:
            d.name = MACHINES[2]
            d.machine, d.closed = study.machine(d.name), False
        truth = d.smooth()(d.times())
        parts = [np.array(x) for x in (truth.q, truth.v, truth.a)]
        parts[0][:, 0] = 0.3
        parts[1][:, 0] = parts[2][:, 0] = 0.0
        truth = Truth(truth.time, *parts)
        noisy = truth.q + d.white(truth.q, None if bits is None else 0.3 * 2.0 * np.pi / 2**bits)
        if bits is not None:
            return Recording(truth, truth.time, counted(noisy, bits))
        noisy[:, 0] = 0.3
        return Recording(truth, truth.time, noisy)

    return kind


def glitches(bits: int | None, noise: bool = True) -> Kind:
    """Single samples of one joint that are far off."""

    def kind(d: Draw) -> Recording:
        d.noise *= 1.0 if noise else 0.0
        found = white(d)
        q = found.q if bits is None else counted(found.q, bits)
        q = np.array(q)
        for _ in range(int(d.rng.integers(1, 5))):
            row, column = d.rng.integers(0, q.shape[0]), d.rng.integers(0, q.shape[1])
            q[row, column] += d.rng.choice([-1.0, 1.0]) * d.size(3e-3, 0.3)
        return replace(found, q=q)

    return kind


def varying(d: Draw) -> Recording:
    truth = d.smooth()(d.times())
    begin, end = np.sort(d.rng.uniform(0.1, 0.9, 2)) * truth.time[-1]
    louder = np.where((truth.time > begin) & (truth.time < end), d.size(2.0, 10.0), 1.0)
    return Recording(truth, truth.time, truth.q + d.white(truth.q) * louder[:, None])


def coloured(d: Draw) -> Recording:
    truth, memory = d.smooth()(d.times()), d.rng.uniform(0.3, 0.9)
    noise = signal.lfilter([np.sqrt(1.0 - memory**2)], [1.0, -memory], d.white(truth.q), axis=0)
    return Recording(truth, truth.time, truth.q + noise)


def humming(d: Draw) -> Recording:
    """Noise at 25 Hz beside motions of up to 3 Hz."""
    d.rate = max(d.rate, 125.0)
    size, hum = d.rng.uniform(0.02, 0.1), d.rng.uniform(22.0, 28.0)
    slow, omega = d.rng.uniform(0.5, 3.0), 2.0 * np.pi * hum

    def quick(rng, seconds):
        phase, rate = rng.uniform(0.0, 6.3), 2.0 * np.pi * slow

        def path(time):
            s, c = np.sin(rate * time + phase), np.cos(rate * time + phase)
            return size * s, size * rate * c, -size * rate**2 * s

        return path

    truth = d.course(quick)(d.times())
    b, a = signal.iirpeak(omega / (2.0 * np.pi), 5.0, fs=d.rate)
    noise = signal.lfilter(b, a, d.white(truth.q), axis=0)
    return Recording(truth, truth.time, truth.q + noise)


def decimals(digits: int, unit: float = 1.0) -> Kind:
    def kind(d: Draw) -> Recording:
        truth = d.smooth()(d.times())
        return Recording(truth, truth.time, np.round(truth.q / unit, digits) * unit)

    return kind


def with_rates(rates: Callable[[Draw, Callable, np.ndarray, Recording], np.ndarray]) -> Kind:
    """Positions with noise, or in counts, and velocities beside them."""

    def kind(d: Draw) -> Recording:
        states, time = d.smooth(), d.times()
        found = d.noisy(states(time))
        if d.rng.random() < 0.5:
            found = replace(found, q=counted(found.truth.q, int(d.rng.integers(14, 20))))
        return replace(found, v=rates(d, states, time, found))

    return kind


def noisy_rates(d, states, time, found):
    return found.truth.v + d.white(found.truth.v, d.size(1e-4, 1e-2))


def lagging_rates(d, states, time, found):
    late = states(np.maximum(time - d.rng.uniform(1.0, 15.0) / d.rate, 0.0)).v
    return late + d.white(late, d.size(1e-5, 1e-3))


def filtered_rates(d, states, time, found):
    raw = np.gradient(found.q, time, axis=0)
    return through(raw, d.rate * d.rng.uniform(0.01, 0.1), d.rate)


def differenced_rates(d, states, time, found):
    return np.diff(found.q, axis=0, prepend=found.q[:1]) * d.rate


def quantised_rates(d, states, time, found):
    step = d.size(1e-4, 1e-2)
    return np.round(found.truth.v / step) * step


def robot_rates(d, states, time, found):
    """As robots write them: differences of counts, filtered, rounded."""
    step = d.size(1e-4, 3e-3)
    return np.round(filtered_rates(d, states, time, found) / step) * step


KINDS: dict[str, Kind] = {
    "exact": exact,
    "white noise": white,
    "trapezoids, exact": trapezoids(False),
    "trapezoids, noise": trapezoids(True),
    **{f"encoder of {n} bits": encoder(n, False) for n in (10, 12, 14, 16)},
    **{f"encoder of {n} bits, rests": encoder(n, True) for n in (10, 12, 14, 16)},
    "short move, noise": short_move(None),
    "short move, encoder of 16 bits": short_move(16),
    "burst, exact": bursts(False),
    "burst, noise": bursts(True),
    "stops in few samples, exact": quick_stops(False),
    "stops in few samples, noise": quick_stops(True),
    "filtered before, exact": low_passed(False),
    "filtered before, noise": low_passed(True),
    "one joint lags": one_lags,
    "stamps jitter, exact": jitter(False),
    "stamps jitter, noise": jitter(True),
    "uneven sampling": uneven,
    "missing rows": missing_rows,
    "drop-outs, short": drop_outs(0.05),
    "drop-outs, long": drop_outs(0.5),
    "half rate, exact": regular_holds((2,), False),
    "holds, noise": regular_holds((2, 3, 4, 5), True),
    "rare holds, exact": rare_holds(False),
    "rare holds, noise": rare_holds(True),
    "rare holds of one joint": rare_holds(True, one=True),
    "two rates, exact": regular_holds((2, 4, 5), False, one=True),
    "two rates, noise": regular_holds((2, 4, 5), True, one=True),
    "one joint still": one_still(None),
    "one joint still, encoder of 14 bits": one_still(14),
    "glitches, exact": glitches(None, noise=False),
    "glitches, noise": glitches(None),
    "glitches, encoder of 16 bits": glitches(16),
    "noise that varies": varying,
    "coloured noise": coloured,
    "noise at 25 Hz": humming,
    "three decimals": decimals(3),
    "two decimals of degrees": decimals(2, np.pi / 180.0),
    "velocities, exact": with_rates(lambda d, states, time, found: found.truth.v),
    "velocities, noise": with_rates(noisy_rates),
    "velocities, lagging": with_rates(lagging_rates),
    "velocities, filtered": with_rates(filtered_rates),
    "velocities, differenced": with_rates(differenced_rates),
    "velocities, quantised": with_rates(quantised_rates),
    "velocities, filtered and quantised": with_rates(robot_rates),
}

FAILING: dict[str, str] = {}
"""Kinds of which a recording of the test is confidently wrong, and why: to be empty. A kind that is
mended must be taken out."""


def judge(name: str, seed: int) -> Verdict:
    """Record a motion, read it, compute its loads and compare them with the true ones."""
    d = Draw(seed)
    made = KINDS[name](d)
    which = {"actuated": LOADED[d.name]} if d.name in LOADED else {}
    true = d.machine.joint_loads(made.truth.q, made.truth.v, made.truth.a, **which).actuation
    try:
        motion = recorded(d.machine, made.stamps, made.q, made.v)
        loads = d.machine.joint_loads(motion, **which)
    except MbdError as error:
        return Verdict(name, d.name, seed, np.nan, np.nan, np.nan, refused=str(error))
    found = loads.actuation
    band = np.zeros(found.shape)
    if loads.uncertainty is not None:
        band = BAND * loads.uncertainty.actuation
    largest = np.abs(true).max(axis=0)
    works = largest > IDLE * largest.max()
    inside = np.abs(found - true) <= band + SAME * largest
    rows = np.abs(found).argmax(axis=0)
    columns = np.arange(found.shape[1])
    off = np.abs(found[rows, columns]) - largest
    relative = off / largest
    wide = np.abs(off) / (band[rows, columns] + SAME * largest)
    bad = np.where(np.abs(relative) > OFF, wide, 0.0)  # the most confident of the wrong ones
    worst = int(np.argmax(np.where(works, bad + 1e-9 * np.abs(relative), -1.0)))
    doubts = motion.noise.doubts if motion.noise is not None else ()
    return Verdict(
        name,
        d.name,
        seed,
        float(np.mean(inside[:, works])),
        float(relative[worst]),
        float(wide[worst]),
        doubts,
    )


def show(verdicts: Iterable[Verdict], detail: bool = False) -> list[Verdict]:
    """Print a table by kind."""
    found = []
    for one in verdicts:
        found.append(one)
        if detail and (one.confidently_wrong or one.covered < 0.9 or one.refused or one.doubts):
            print(
                f"{one.kind}, {one.machine}, seed {one.seed}: {100 * one.off:+.1f} %, "
                f"{one.bands:.1f} bands, covered {100 * one.covered:.1f} % "
                f"{'; '.join(one.doubts) or one.refused}",
                flush=True,
            )
    print(f"{'kind':36s}{'recordings':>11s}{'covered':>9s}{'worst peak':>12s}", end="")
    print(f"{'refused':>9s}{'doubted':>9s}{'confidently wrong':>19s}")
    groups = {name: [x for x in found if x.kind == name] for name in KINDS}
    for name, group in {**groups, "all": found}.items():
        known = [x for x in group if not x.refused]
        if known:
            worst = max((x.off for x in known), key=abs)
            print(
                f"{name:36s}{len(group):11d}{100 * np.mean([x.covered for x in known]):7.1f} %"
                f"{100 * worst:+10.1f} %{len(group) - len(known):9d}"
                f"{sum(bool(x.doubts) for x in group):9d}"
                f"{sum(x.confidently_wrong for x in group):19d}"
            )
    return found


def some(
    count: int, first: int = 0, only: Iterable[str] = (), machine: str = ""
) -> Iterable[Verdict]:
    """Yield verdicts on so many recordings, of one kind after the other.

    Parameters
    ----------
    first : seed of the first of each kind
    only : parts of the names of kinds; none: all
    machine : part of a machine's name
    """
    names = [name for name in KINDS if not only or any(word in name for word in only)]
    seeds = (k for k in itertools.count(first) if machine in MACHINES[k % len(MACHINES)])
    pairs = ((name, seed) for seed in seeds for name in names)
    yield from itertools.starmap(judge, itertools.islice(pairs, count if names else 0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m tests.noise.kinds", description=__doc__)
    parser.add_argument("--count", type=int, default=len(KINDS), help="recordings")
    parser.add_argument("--only", action="append", default=[], help="kinds with this in their name")
    parser.add_argument("--machine", default="", help="only this one, or a part of its name")
    parser.add_argument("--seed", type=int, default=0, help="of the first of each kind (0)")
    parser.add_argument("--detail", action="store_true", help="tell which ones are wrong")
    options = parser.parse_args()
    if not any(options.machine in name for name in MACHINES):
        parser.error(f"--machine: expected a part of {', '.join(MACHINES)}")
    verdicts = some(options.count, options.seed, options.only, options.machine)
    show(verdicts, options.detail)
