"""The torque-speed envelope of an actuator: its largest and smallest force at every speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mbd_bridge.base.arrays import Floats
from mbd_bridge.loads.streaming.bins import Axis
from mbd_bridge.motion.smoothing import BAND

BINS = 128
"""Bins of speed there is room for, from backward to forward; a quarter or more are in use."""


@dataclass(frozen=True, eq=False)
class Envelope:
    """What an actuator gives at every speed.

    Attributes
    ----------
    name : of the actuation
    unit : of its force: N m or N; speeds are in rad/s or m/s
    speeds : (B + 1,) edges of the bins
    largest, smallest : (B,) force in each bin, of the rows and of straight lines from row to row;
        nan where it never is
    fastest : the largest speed, either way
    fastest_band : half the width of the band that holds 95 % of its errors from the motion's noise;
        None: nothing is known of it
    motoring, braking : W, the largest power at one instant that the actuation gives, and that it
        takes, each from 0
    """

    name: str
    unit: str
    speeds: Floats
    largest: Floats
    smallest: Floats
    fastest: float
    motoring: float
    braking: float
    fastest_band: float | None = None


class EnvelopeCounter:
    """The envelope of an actuator whose force and speed come in pieces."""

    def __init__(self) -> None:
        self._axis = Axis(BINS, signed=True)
        self._high = np.full(BINS, -np.inf)
        self._low = np.full(BINS, np.inf)
        self._fastest = self._motoring = self._braking = 0.0
        self._band: float | None = None

    def add(self, speed: Floats, force: Floats, deviation: Floats | None = None) -> None:
        """Take in speed, force and the speed's standard deviation, each (N,)."""
        for _ in range(min(self._axis.widen(speed), BINS)):
            to = self._axis.halved()
            high, low = np.full(BINS, -np.inf), np.full(BINS, np.inf)
            np.maximum.at(high, to, self._high)
            np.minimum.at(low, to, self._low)
            self._high, self._low = high, low
        for speeds, forces in ((speed, force), self._between(speed, force)):
            places = self._axis.places(speeds)
            np.maximum.at(self._high, places, forces)
            np.minimum.at(self._low, places, forces)
        row = int(np.argmax(np.abs(speed)))
        if abs(speed[row]) >= self._fastest:
            self._fastest = float(abs(speed[row]))
            self._band = None if deviation is None else BAND * float(deviation[row])
        power = speed * force
        self._motoring = max(self._motoring, float(power.max(initial=0.0)))
        self._braking = max(self._braking, -float(power.min(initial=0.0)))

    def _between(self, speed: Floats, force: Floats) -> tuple[Floats, Floats]:
        """Return points on the lines between rows that are bins apart, two for each bin.

        Without them a motion of few rows would leave notches: bins that it passed between two rows.
        """
        pieces = 2 * np.abs(np.diff(self._axis.places(speed)))
        pieces[pieces <= 2] = 1
        row = np.repeat(np.arange(len(pieces)), pieces - 1)
        share = (np.arange(len(row)) - np.searchsorted(row, row) + 1) / pieces[row]
        speeds, forces = (x[row] + share * np.diff(x)[row] for x in (speed, force))
        return speeds, forces

    def envelope(self, name: str, unit: str) -> Envelope:
        """Return the envelope of what came so far, without the empty bins at its ends."""
        used = np.flatnonzero(np.isfinite(self._high))
        part = slice(int(used[0]), int(used[-1]) + 1) if len(used) else slice(0, 0)
        edges = self._axis.edges[part.start : part.stop + 1]
        empty = ~np.isfinite(self._high[part])
        high, low = (np.where(empty, np.nan, x[part]) for x in (self._high, self._low))
        powers = self._motoring, self._braking
        return Envelope(name, unit, edges, high, low, self._fastest, *powers, self._band)
