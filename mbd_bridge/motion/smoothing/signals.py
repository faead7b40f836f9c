"""The signals of a joint that are smoothed, one beside another, and its motion made of them.

A joint with one number for each degree of freedom has its coordinates. A rotation is the four parts
u of its quaternion (with signs that follow each other), smoothed alike; the smoothed u is no longer
of unit length, and the rotation is s = u / |u|, with ω in the child's axes

    ω = 2 vec(s̄ ⊗ u̇) / |u|,    ω̇ = 2 vec(s̄ ⊗ ü) / |u| - 2 (s·u̇) / |u| ω.

A free body's position p is smoothed in its parent's axes: v = Rᵀ ṗ, v̇ = Rᵀ p̈ - ω × v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arrays import Flags, Floats
from mbd_bridge.model import JointType
from mbd_bridge.model.quaternions import conjugate, in_child, in_parent, near_signs, product
from mbd_bridge.motion.smoothing.noise import FEWEST, FEWEST_CHANGES, Differences, count_step

# Which rows of a signal were measured: neither copies of the row before, nor single glitches.
#
# A robot tells its joints at 125 Hz, a recorder writes 500 rows/s: three of four are copies, and a
# spline through all of them would be stairs. Or it holds the last row now and then, for 60 ms when
# a network is busy, and the motion seems to stop and to jump. A bit that falls over makes a sample
# that has nothing to do with its neighbours.

HELD_SHARE = 0.02
"""Share of the values that stay for several rows amid motion from which on a recorder held them."""
USUAL_RUN = 90.0
"""Percentile of the rows for which values stay that is usual: 125 rows/s are written as 150 by
writing every fifth twice."""
HELD_STEPS = 2.0
"""Changes of rounded values by no more than so many steps are a staircase, not held values."""
LONG_HELD = 1.5
"""Ratio of a run of equal values to the usual one from which on the machine rests, or the recorder
held them now and then."""
JUMP, BESIDE = 1.5, 3
"""Ratio of the change behind a run of equal values to the largest of so many changes on either side
from which on it was no rest: a machine that rests starts with small changes."""
FEWEST_HELD = 3
"""Equal rounded values, at least, that were held now and then: two are equal by chance."""
LONGEST_HELD = 0.25
"""s, up to which values with noise that stay the same to the last bit were held, however small the
change behind them; and the part of a long run that may have been held after a rest."""
AMID = 0.3
"""Ratio of the change before a run to the mean one in it from which on it began amid motion."""
GLITCH = np.array([1.0, -4.0, 6.0, -4.0, 1.0])
"""What one sample that is off by 1 makes of the differences of order 4."""
ALIKE, NEAR = 0.05, 0.4
"""Differences that look like it are off by no more, relative to the largest; and beside noise."""
FAR, AMONG = 12.0, 4.0
"""Ratios to the median difference around: of a glitch, at least; of what else there is, at most."""
AROUND = 30
"""Rows on either side of which differences are looked at."""
PASSES = 3
"""Times that glitches are looked for: a large one hides small ones nearby."""
GLITCH_STEPS = 4.0
"""Steps of rounded values by which a glitch is off, at least."""
DUST = 1e-12
"""Changes relative to the largest value that are roundings of floats."""


def measured_rows(time: Floats, values: Floats) -> tuple[Flags, Flags]:
    """Return which rows of a signal (N, n) at times (N,) are copies, and which are glitches.

    Where the machine rests, and a recorder repeats each value, one of as many rows as are usual
    elsewhere is none.
    """
    copied, glitch = copies(time, values), np.zeros(len(values), dtype=bool)
    fresh = np.flatnonzero(~copied)
    glitch[fresh[glitches(values[fresh])]] = True
    return copied, glitch


def copies(time: Floats, values: Floats) -> Flags:
    """Return which rows (N,) a recorder that holds values until new ones come wrote again."""
    copied = np.zeros(len(values), dtype=bool)
    change = np.linalg.norm(np.diff(values, axis=0), axis=1)
    dust = DUST * max(1.0, float(np.abs(values).max()))
    change[change <= dust] = 0.0
    places = np.flatnonzero(change) + 1
    starts, ends = np.append(0, places), np.append(places, len(values))
    runs = ends - starts
    if len(runs) <= FEWEST_CHANGES or len(values) < FEWEST or not np.any(runs > 1):
        return copied
    step = count_step(values[~glitches(values), 0])
    sizes = change[places - 1]
    before, behind = np.append(0.0, sizes), np.append(sizes, 0.0)
    moves = np.minimum(before, behind) > HELD_STEPS * step
    usual = 1.0
    number = np.count_nonzero((runs > 1) & moves)
    if number >= max(FEWEST_CHANGES, HELD_SHARE * len(runs)):
        usual = float(np.percentile(runs[1:-1], USUAL_RUN))
    lasting = time[ends - 1] - time[starts]
    long = runs > LONG_HELD * usual
    held = long & (behind > HELD_STEPS * step) & (behind > JUMP * _beside(sizes))
    if step > 0.0:
        held &= runs >= FEWEST_HELD
    else:
        single = starts[~long]
        if np.any(Differences(time[single]).white_noise(values[single]) > dust):
            held |= long & (lasting < LONGEST_HELD)
    for k in np.flatnonzero(runs > 1):
        rows = slice(starts[k], ends[k])
        amid = before[k] > AMID * behind[k] / runs[k]
        starts_late = not amid and len(runs) - k <= BESIDE + 1  # too few changes to compare with
        if not long[k]:
            copied[rows] = usual > 1.0
        elif held[k] and (amid or lasting[k] < LONGEST_HELD) and not starts_late:
            copied[rows] = True
        else:  # at rest, to which the motion may have come before the recorder held it
            if usual > 1.0:
                copied[rows] = np.arange(runs[k]) % round(usual) > 0
            if held[k] and not starts_late:
                copied[rows] |= time[rows] > time[ends[k] - 1] - LONGEST_HELD
        copied[starts[k]] = False
    return copied


def _beside(sizes: Floats) -> Floats:
    """Return of each run (K + 1,) the largest of the changes (K,) next to those at its ends."""
    padded = np.concatenate([np.zeros(BESIDE), sizes, np.zeros(BESIDE + 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, BESIDE).max(axis=1)
    runs = len(sizes) + 1
    return np.asarray(np.maximum(windows[:runs], windows[BESIDE + 1 : BESIDE + 1 + runs]))


def glitches(values: Floats) -> Flags:
    """Return which single rows of a signal (N, n) are far from what their neighbours say."""
    found = np.zeros(len(values), dtype=bool)
    if len(values) < FEWEST:
        return found
    for column in values.T:
        mended = np.array(column)
        for _ in range(PASSES):
            rows, sizes = _glitches(mended)
            found[rows] = True
            mended[rows] -= sizes
            if not len(rows):
                break
    return found


def _glitches(values: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the rows that are far off in numbers (N,), and by how much."""
    difference = np.diff(values, 4)
    windows = [difference[k : len(difference) - len(GLITCH) + 1 + k] for k in range(len(GLITCH))]
    size = np.correlate(difference, GLITCH / (GLITCH @ GLITCH))  # of a glitch in row k + 4
    left = np.zeros(len(size))
    for part, share in zip(windows, GLITCH, strict=True):
        np.maximum(left, np.abs(part - share * size), out=left)
    peak = GLITCH.max() * np.abs(size)
    steps = np.abs(np.diff(values))
    steps = steps[steps > DUST * max(1.0, float(np.abs(values).max()))]
    least = GLITCH_STEPS * float(steps.min()) if len(steps) else np.inf
    maybe = np.flatnonzero((left < NEAR * peak) & (np.abs(size) > least))
    beside = np.concatenate([np.arange(-AROUND, 0), np.arange(5, 5 + AROUND)])
    padded = np.pad(np.abs(difference), AROUND, constant_values=np.nan)
    near = padded[AROUND + maybe[:, None] + beside]
    ends = np.isnan(near[:, 0]) | np.isnan(near[:, -1])  # there are fewer neighbours
    quiet = np.count_nonzero(FAR * near < peak[maybe, None], axis=1) >= AROUND
    maybe, near, ends = (x[ends | quiet] for x in (maybe, near, ends))
    usual = np.median(near, axis=1)
    usual[ends] = np.nanmedian(near[ends], axis=1)  # takes ten times as long
    far = (peak[maybe] > FAR * usual) & (
        left[maybe] < np.maximum(ALIKE * peak[maybe], AMONG * usual)
    )
    rows = maybe[far]
    return rows + 4, size[rows]


def _not_looked_for() -> Flags:
    return np.zeros(0, dtype=bool)


@dataclass(frozen=True, eq=False)
class Signal:
    """Numbers of a joint that are smoothed alike.

    Attributes
    ----------
    kind : "plain", "along" or "turn"
    axis : which degree of freedom ("plain", "along"); 0 of a rotation
    values : (N, 1), or (N, 4) of a rotation
    rates : likewise, measured, or None
    copied, glitch : (N,) which rows were not measured; (0,) before `measured` looked for them
    """

    kind: str
    axis: int
    values: Floats
    rates: Floats | None
    copied: Flags = field(default_factory=_not_looked_for)
    glitch: Flags = field(default_factory=_not_looked_for)

    def measured(self, time: Floats) -> Signal:
        """Return it with the rows that were not measured, which are looked for only once."""
        if len(self.copied):
            return self
        copied, glitch = measured_rows(time, self.values)
        return replace(self, copied=copied, glitch=glitch)

    def rows(self, rows: NDArray[np.bool_] | slice) -> Signal:
        """Return some of the rows."""
        rates = None if self.rates is None else self.rates[rows]
        copied, glitch = (x[rows] if len(x) else x for x in (self.copied, self.glitch))
        return replace(self, values=self.values[rows], rates=rates, copied=copied, glitch=glitch)

    @property
    def freedom(self) -> int:
        """Numbers that the values really are."""
        return 3 if self.kind == "turn" else 1

    @property
    def angle(self) -> float:
        """What a number of a rotation counts as an angle: s changes by half of it."""
        return 2.0 if self.kind == "turn" else 1.0


Derivatives = tuple[Floats, Floats, Floats]
"""A signal, and its first and second derivative, each shaped as `Signal.values`."""


def signals_of(kind: JointType, q: Floats, v: Floats | None) -> list[Signal]:
    """Return the signals of a joint from its coordinates (N, nq) and, measured, velocities."""
    if kind.nq == kind.nv:
        return [
            Signal("plain", k, q[:, k : k + 1], None if v is None else v[:, k : k + 1])
            for k in range(kind.nq)
        ]
    s = q[:, -4:] * near_signs(q[:, -4:])[:, None]
    rates = None
    if v is not None:
        omega = np.column_stack([v[:, -3:], np.zeros(len(v))])
        rates = 0.5 * product(s, omega)
    turn = Signal("turn", 0, s, rates)
    if kind.nq == 4:
        return [turn]
    along = None if v is None else in_parent(s, v[:, :3])
    places = [
        Signal("along", k, q[:, k : k + 1], None if along is None else along[:, k : k + 1])
        for k in range(3)
    ]
    return [*places, turn]


def motion_of(kind: JointType, parts: Sequence[Derivatives]) -> Derivatives:
    """Return q (N, nq), v and a (N, nv) of a joint from its signals."""
    if kind.nq == kind.nv:
        q, v, a = (np.hstack([part[order] for part in parts]) for order in range(3))
        return q, v, a
    u, first, second = parts[-1]
    length = np.linalg.norm(u, axis=1)[:, None]
    s = u / length
    omega = 2.0 * product(conjugate(s), first)[:, :3] / length
    growth = np.sum(s * first, axis=1)[:, None] / length
    omega_rate = 2.0 * product(conjugate(s), second)[:, :3] / length - 2.0 * growth * omega
    if kind.nq == 4:
        return s, omega, omega_rate
    p, along, along_rate = (np.hstack([part[order] for part in parts[:3]]) for order in range(3))
    v = in_child(s, along)
    v_rate = in_child(s, along_rate) - np.cross(omega, v)
    return np.hstack([p, s]), np.hstack([v, omega]), np.hstack([v_rate, omega_rate])
