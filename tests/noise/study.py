"""Random recordings of random motions: whether loads are where their stated uncertainty says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

import mbd_bridge as mbd
from mbd_bridge.motion.smoothing import BAND, OFF
from tests.noise.recordings import Truth, recorded
from tests.robots import robot

ROBOTS = ("erd/ur/ur5_robot", "erd/panda/panda", "urdf/kuka_iiwa.urdf", "urdf/pendulum.urdf")
Path = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Gives position, velocity, acceleration of a coordinate at times."""


@dataclass(frozen=True)
class Case:
    """A random recording.

    Attributes
    ----------
    robot, motion : names
    rate : Hz
    seconds : of the motion
    sigma : rad, noise of positions
    decimals : to which they are rounded, or None
    jitter : s, of the stamps about even sampling
    uneven : s, of the sampling itself, told by the stamps
    dropped : share of the rows that are missing
    velocity_sigma : rad/s, of measured velocities; None: none are measured
    seed : of the motion and the noise
    """

    robot: str
    motion: str
    rate: float
    seconds: float
    sigma: float
    decimals: int | None
    jitter: float
    uneven: float
    dropped: float
    velocity_sigma: float | None
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes
    ----------
    covered : share of all samples of all load components within 1.96 standard deviations
    actuation : the same of the actuations alone
    peak : error of the largest actuation of all joints, relative to its peak
    interpolated : the same without smoothing
    """

    case: Case
    covered: float
    actuation: float
    peak: float
    interpolated: float


def random_case(seed: int) -> Case:
    """Return one of endless cases."""
    rng = np.random.default_rng(seed)
    rate = float(np.exp(rng.uniform(np.log(50.0), np.log(1000.0))))
    disturbed = rng.choice(["", "", "jitter", "uneven"])
    return Case(
        str(rng.choice(ROBOTS)),
        str(rng.choice(list(MOTIONS))),
        rate,
        float(rng.uniform(4.0, 10.0)),
        float(np.exp(rng.uniform(np.log(1e-6), np.log(1e-3)))),
        int(rng.integers(3, 6)) if rng.random() < 0.3 else None,
        rng.uniform(0.01, 0.1) / rate if disturbed == "jitter" else 0.0,
        rng.uniform(0.01, 0.2) / rate if disturbed == "uneven" else 0.0,
        float(rng.uniform(0.0, 0.05)) if rng.random() < 0.3 else 0.0,
        float(np.exp(rng.uniform(np.log(1e-4), np.log(1e-2)))) if rng.random() < 0.2 else None,
        seed,
    )


def sines(rng: np.random.Generator, seconds: float) -> Path:
    """Return the sum of three sines of up to 1 Hz."""
    size, frequency = rng.uniform(0.1, 0.5, 3), rng.uniform(0.1, 1.0, 3)
    phase, omega = rng.uniform(0.0, 6.3, 3), 2.0 * np.pi * frequency

    def path(time):
        angle = omega * time[:, None] + phase
        s, c = size * np.sin(angle), size * np.cos(angle)
        return s.sum(axis=1), (omega * c).sum(axis=1), -(omega**2 * s).sum(axis=1)

    return path


def moves(
    profile: Path,
    lasting: tuple[float, float] = (0.6, 1.6),
    rests: tuple[float, float] = (0.0, 0.8),
    often: bool = False,
) -> Callable[[np.random.Generator, float], Path]:
    """Return a maker of moves from point to point, with rests between, of a profile on 0 ... 1.

    They last for some `lasting` s, with `rests`, s, after every other or, `often`, after each.
    """

    def make(rng: np.random.Generator, seconds: float) -> Path:
        begins, lengths, ways, end = [], [], [], rng.uniform(0.0, 0.5)
        while end < seconds:
            begins.append(end)
            lengths.append(rng.uniform(*lasting))
            ways.append(rng.uniform(-1.0, 1.0))
            rest = rng.uniform(*rests)
            end += lengths[-1] + (rest if often else rng.choice([0.0, rest]))

        def path(time):
            q, v, a = np.zeros((3, len(time)))
            for begin, length, way in zip(begins, lengths, ways, strict=True):
                u = np.clip((time - begin) / length, 0.0, 1.0)
                x, first, second = profile(u)
                inside = (time > begin) & (time < begin + length)
                q += way * x
                v += np.where(inside, way * first / length, 0.0)
                a += np.where(inside, way * second / length**2, 0.0)
            return q, v, a

        return path

    return make


def minimum_jerk(u):
    """Return the polynomial of degree 5."""
    x = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
    return x, 30.0 * u**2 * (1.0 - u) ** 2, 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u)


def s_curve(u):
    """Return a move of which the acceleration is a trapezoid up and one down (bounded jerk)."""
    knots = np.array([0.0, 0.15, 0.35, 0.5, 0.65, 0.85, 1.0])
    values = np.array([0.0, 1.0, 1.0, 0.0, -1.0, -1.0, 0.0])
    a = np.interp(u, knots, values)
    x, v = np.zeros((2, len(u)))
    place = speed = 0.0
    for k in range(6):
        length = knots[k + 1] - knots[k]
        jerk = (values[k + 1] - values[k]) / length
        inside = u >= knots[k]
        s = u[inside] - knots[k]
        v[inside] = speed + values[k] * s + 0.5 * jerk * s**2
        x[inside] = place + speed * s + 0.5 * values[k] * s**2 + jerk * s**3 / 6.0
        place += speed * length + 0.5 * values[k] * length**2 + jerk * length**3 / 6.0
        speed += values[k] * length + 0.5 * jerk * length**2
    return x / place, v / place, a / place


def trapezoid(u):
    """Return a move of which the velocity is a trapezoid: the acceleration jumps."""
    r, top = 0.3, 1.0 / 0.7
    a = np.where(u < r, top / r, np.where(u > 1.0 - r, -top / r, 0.0))
    v = np.minimum(np.minimum(top * u / r, top * (1.0 - u) / r), top)
    rise, fall = 0.5 * top * u * u / r, 1.0 - 0.5 * top * (1.0 - u) ** 2 / r
    x = np.where(u < r, rise, np.where(u > 1.0 - r, fall, top * (u - 0.5 * r)))
    return x, v, a


def lone_move(rng: np.random.Generator, seconds: float) -> Path:
    """Return a move of some hundredths of a radian within tenths of a second, else rest."""
    begin, lasting = rng.uniform(0.2, 0.8) * seconds, rng.uniform(0.1, 0.3)
    way = rng.choice([-1.0, 1.0]) * rng.uniform(0.01, 0.05)

    def path(time):
        u = np.clip((time - begin) / lasting, 0.0, 1.0)
        x, first, second = minimum_jerk(u)
        return way * x, way * first / lasting, way * second / lasting**2

    return path


def burst(rng: np.random.Generator, seconds: float) -> Path:
    """Return a sine of 10 to 30 Hz that lasts for some periods."""
    omega = 2.0 * np.pi * rng.uniform(10.0, 30.0)
    begin, lasting = rng.uniform(0.2, 0.8) * seconds, 2.0 * np.pi / omega * rng.integers(4, 9)
    size = rng.uniform(3.0, 30.0) / omega**2  # rad: of so many rad/s²

    def path(time):
        u = (time - begin) / lasting
        inside, rate = (u > 0.0) & (u < 1.0), np.pi / lasting
        w = np.sin(np.pi * u) ** 4  # a window, with its derivatives
        w1 = 4.0 * rate * np.sin(np.pi * u) ** 3 * np.cos(np.pi * u)
        w2 = 4.0 * rate**2 * np.sin(np.pi * u) ** 2 * (4.0 * np.cos(np.pi * u) ** 2 - 1.0)
        s, c = np.sin(omega * (time - begin)), np.cos(omega * (time - begin))
        parts = (w * s, w1 * s + omega * w * c, w2 * s + 2 * omega * w1 * c - omega**2 * w * s)
        return tuple(size * np.where(inside, x, 0.0) for x in parts)

    return path


def stops(step: float) -> Callable[[np.random.Generator, float], Path]:
    """Return a maker of moves that begin gently and stop within a few steps."""

    def make(rng: np.random.Generator, seconds: float) -> Path:
        ramps = []  # begin, length, change of the velocity
        end = rng.uniform(0.0, 0.5)
        while end < seconds:
            speed = rng.uniform(-0.6, 0.6)
            ramps.append((end, 0.4, speed))
            end += 0.4 + rng.uniform(0.3, 1.0)
            ramps.append((end, step * rng.uniform(3.0, 8.0), -speed))
            end += rng.uniform(0.3, 1.0)

        def path(time):
            q, v, a = np.zeros((3, len(time)))
            for begin, length, change in ramps:
                u = np.clip((time - begin) / length, 0.0, 1.0)
                q += change * (length * (u**3 - 0.5 * u**4) + np.maximum(time - begin - length, 0))
                v += change * (3.0 * u**2 - 2.0 * u**3)
                a += change * 6.0 * u * (1.0 - u) / length
            return q, v, a

        return path

    return make


MOTIONS = {
    "sines": sines,
    "minimum jerk": moves(minimum_jerk),
    "s-curve": moves(s_curve),
    "trapezoid": moves(trapezoid),
}


@cache
def machine(name: str) -> mbd.Mechanism:
    """Return a robot."""
    return mbd.load(robot(name) if name.startswith("erd/") else name)


def run(case: Case) -> Outcome:
    """Record, smooth, compute loads and compare them with the true ones."""
    arm, rng = machine(case.robot), np.random.default_rng(case.seed)
    time = np.arange(int(case.rate * case.seconds)) / case.rate
    time = time[rng.random(len(time)) >= case.dropped]
    time = time + case.uneven * np.clip(rng.normal(size=len(time)), -2.0, 2.0)
    paths = [MOTIONS[case.motion](rng, case.seconds) for _ in range(arm.nq)]
    truth = Truth(time, *(np.column_stack(x) for x in zip(*(p(time) for p in paths), strict=True)))
    q = truth.q + case.sigma * rng.normal(size=truth.q.shape)
    if case.decimals is not None:
        q = np.round(q, case.decimals)
    v = None
    if case.velocity_sigma is not None:
        v = truth.v + case.velocity_sigma * rng.normal(size=truth.v.shape)
    stamps = time + case.jitter * np.clip(rng.normal(size=len(time)), -4.0, 4.0)
    true = arm.joint_loads(truth.q, truth.v, truth.a)
    found = arm.joint_loads(recorded(arm, stamps, q, v))
    rough = arm.joint_loads(recorded(arm, stamps, q, v, OFF))
    known = found.uncertainty
    assert known is not None
    pairs = [
        (np.abs(getattr(found, x) - getattr(true, x)), getattr(known, x))
        for x in ("actuation", "force", "moment")
    ]
    shares = []
    for error, deviation in pairs:
        counted = deviation > 1e-9 * np.abs(true.moment).max()
        shares.append((np.sum((error <= BAND * deviation) & counted), counted.sum()))
    inside, number = (sum(x) for x in zip(*shares, strict=True))
    largest = np.abs(true.actuation).max(axis=0)
    joint = int(np.argmax(largest))
    peaks = [
        abs(np.abs(one.actuation[:, joint]).max() / largest[joint] - 1.0) for one in (found, rough)
    ]
    own = shares[0][0] / max(shares[0][1], 1)
    return Outcome(case, float(inside / max(number, 1)), float(own), *map(float, peaks))


def show(count: int, first: int = 0) -> list[Outcome]:
    """Run cases and print what came out."""
    found = [run(random_case(seed)) for seed in range(first, first + count)]
    print(
        f"{'motion':14s}{'cases':>6s}{'covered':>10s}{'worst':>8s}{'peak off by':>13s}{'most':>8s}",
        end="",
    )
    print(f"{'interpolated':>14s}")
    groups = {name: [x for x in found if x.case.motion == name] for name in MOTIONS}
    for name, group in {**groups, "all": found}.items():
        if group:
            covered = [x.covered for x in group]
            peaks = [100 * x.peak for x in group]
            rough = np.median([100 * x.interpolated for x in group])
            print(
                f"{name:14s}{len(group):6d}{100 * np.mean(covered):8.1f} %"
                f"{100 * min(covered):6.0f} %{np.median(peaks):11.2f} %{max(peaks):6.1f} %"
                f"{rough:12.0f} %"
            )
    return found
