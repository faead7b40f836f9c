"""The spectrum of a signal: its cycles by range and mean, and damage-equivalent loads.

With the ranges R_i (from valley to peak) of n_i cycles and Woehler exponent m, the range that does
the same damage in N_ref equal cycles is

    R_eq(m) = (Σ n_i R_i^m / N_ref)^(1/m),      N_ref = frequency · duration, by default 1 Hz

by Miner's rule: a cycle's damage is R^m / C, and C cancels. It is a range; its amplitude is half of
it. Means have no part in it. The sums Σ n_i R_i^m are formed from the ranges themselves; only what
is shown of the spectrum is in bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mbd_bridge.applications.durability.cycles import (
    CycleCounter,
    Cycles,
    Histogram,
    cycle_places,
    signal,
)
from mbd_bridge.base.arguments import as_floats
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.loads.options import EXPONENTS


class Exceedance(NamedTuple):
    """How many cycles (K,) have a range of at least so much (K,), from small to large ones."""

    range: Floats
    cycles: Floats


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Rainflow cycles of one signal along its duration.

    Attributes
    ----------
    name, unit : of the signal
    duration : s, from the first sample to the last
    largest : the largest range of a cycle, in `unit`, as all ranges and means
    cycles : how many there are, half ones as 0.5
    ranges, means : (B + 1,) edges of the bins: at or above one, below the next
    matrix : (B, B) cycles by range (rows) and mean (columns)
    exponents : (E,) Woehler exponents
    powers : (E,) (Σ n_i R_i^m)^(1/m): the range that does the damage in a single cycle
    determined : whether rigid-body mechanics determines the signal; else its numbers are those of
        one solution of many
    """

    name: str
    unit: str
    duration: float
    largest: float
    cycles: float
    ranges: Floats
    means: Floats
    matrix: Floats
    exponents: tuple[float, ...]
    powers: Floats
    determined: bool = True

    @property
    def counts(self) -> Floats:
        """Cycles in each bin of ranges (B,)."""
        return np.asarray(self.matrix.sum(axis=1))

    @property
    def exceedance(self) -> Exceedance:
        """Cycles with at least the range of each bin's lower edge; bins above the largest left out.

        The cycles of a bin are counted for its lower edge: they reach at least that.
        """
        above = np.cumsum(self.counts[::-1])[::-1]
        used = above > 0.0
        return Exceedance(self.ranges[:-1][used], above[used])

    def damage_equivalent(
        self, exponent: float, *, frequency: float = 1.0, cycles: float | None = None
    ) -> float:
        """Return the range (in `unit`) that in so many equal cycles does the same damage.

        Parameters
        ----------
        exponent : one of `exponents`
        frequency : Hz; there are frequency · duration equal cycles
        cycles : or so many, whatever the duration
        """
        if exponent not in self.exponents:
            raise StateError(
                f"the damage sums of {self.name!r} were formed for the exponents "
                f"{', '.join(f'{m:g}' for m in self.exponents)}, not for {exponent!r}; count "
                f"again with exponents=[...]"
            )
        if cycles is None:
            _positive("frequency", frequency, "Hz")
            if not self.duration > 0.0:
                raise StateError(
                    f"{self.name!r} has no duration: frequency · duration needs two samples or "
                    f"more; give cycles=..."
                )
            cycles = frequency * self.duration
        _positive("cycles", cycles, "equal cycles")
        power = self.powers[self.exponents.index(exponent)]
        return float(power * cycles ** (-1.0 / exponent))

    def __repr__(self) -> str:
        return (
            f"Spectrum({self.name}: {self.cycles:g} cycles in {self.duration:g} s, ranges up to "
            f"{self.largest:.6g} {self.unit}{'' if self.determined else '; undetermined'})"
        )


class SpectrumCounter:
    """The spectrum of a signal that comes in pieces.

    Parameters
    ----------
    exponents : Woehler exponents for which damage is summed
    """

    def __init__(self, exponents: Sequence[float] = EXPONENTS) -> None:
        self.exponents = checked_exponents(exponents)
        self._counter = CycleCounter()
        self._histogram = Histogram()
        self._damage = _Damage(self.exponents)
        self._cycles = 0.0

    def add(self, values: Floats) -> None:
        """Take in samples (N,)."""
        self._count(self._counter.add(values), self._histogram, self._damage)

    def spectrum(
        self, name: str, unit: str, duration: float, *, determined: bool = True
    ) -> Spectrum:
        """Return the spectrum of what came so far; what is open counts as half cycles."""
        histogram, damage = self._histogram.copy(), self._damage.copy()
        before = self._cycles
        self._count(self._counter.half_cycles(), histogram, damage)
        cycles, self._cycles = self._cycles, before
        return Spectrum(
            name,
            unit,
            duration,
            damage.scale,
            cycles,
            histogram.ranges.edges,
            histogram.means.edges,
            histogram.counts,
            self.exponents,
            damage.powers(),
            determined,
        )

    def _count(self, cycles: Cycles, histogram: Histogram, damage: _Damage) -> None:
        histogram.add(cycles)
        damage.add(cycles)
        self._cycles += float(cycles.counts.sum())


class _Damage:
    """Σ n_i (R_i / scale)^m for each exponent, where scale is the largest range so far."""

    def __init__(self, exponents: tuple[float, ...]) -> None:
        self._exponents = np.array(exponents)
        self._sums = np.zeros(len(exponents))
        self.scale = 0.0

    def copy(self) -> _Damage:
        """Return the same sums, to go on with apart."""
        other = _Damage(tuple(self._exponents.tolist()))
        other._sums, other.scale = self._sums.copy(), self.scale
        return other

    def add(self, cycles: Cycles) -> None:
        """Take in cycles."""
        largest = float(cycles.ranges.max(initial=0.0))
        if largest > self.scale:
            self._sums *= (self.scale / largest) ** self._exponents
            self.scale = largest
        if self.scale > 0.0:
            share = cycles.ranges / self.scale
            # Not counts @ ...: the threads that BLAS starts for it wait longer than it takes.
            self._sums += [np.sum(cycles.counts * share**m) for m in self._exponents]

    def powers(self) -> Floats:
        """Return (Σ n_i R_i^m)^(1/m)."""
        return np.asarray(self.scale * self._sums ** (1.0 / self._exponents))


def spectrum(
    values: Floats,
    duration: float,
    *,
    name: str = "signal",
    unit: str = "1",
    exponents: Sequence[float] = EXPONENTS,
) -> Spectrum:
    """Return the spectrum of a whole signal (N,) that lasts so many seconds.

    Raises
    ------
    StateError
        The samples are not finite, or there is none; an exponent is not positive.
    """
    samples = signal(values)
    if not len(samples):
        raise StateError(f"{name!r} has no samples; a spectrum needs at least one")
    counter = SpectrumCounter(exponents)
    counter.add(samples)
    return counter.spectrum(name, unit, float(duration))


class EquivalentRange(NamedTuple):
    """A damage-equivalent range of a signal, and its derivatives by the samples (N,)."""

    value: float
    slopes: Floats


def equivalent_range(values: Floats, exponent: float, cycles: float = 1.0) -> EquivalentRange:
    """Return the range that in so many equal cycles does a signal's damage, and its derivatives.

        dR_eq = R_eq^(1-m) / N_ref Σ n_i R_i^(m-1) dR_i,      R_i = |x(end) - x(start)|

    It is piecewise smooth: where samples change places as the ends of cycles, such as two peaks of
    one height, the derivatives jump. By numbers of a machine: ``slopes @ found.gradient``, with
    what a `GradientSolver` found along a motion.

    Parameters
    ----------
    values : (N,) samples
    exponent : Woehler exponent, 1 or more: below it has no derivative where a cycle vanishes
    cycles : how many equal cycles, such as duration times 1 Hz
    """
    samples = signal(values)
    (m,) = checked_exponents([exponent])
    _positive("cycles", cycles, "equal cycles")
    if m < 1.0:
        raise StateError(f"exponent: expected a Woehler exponent of 1 or more, got {exponent!r}")
    places, counts = cycle_places(samples)
    ranges = samples[places[:, 1]] - samples[places[:, 0]]
    largest, slopes = np.abs(ranges).max(initial=0.0), np.zeros(len(samples))
    if largest == 0.0:
        return EquivalentRange(0.0, slopes)
    shares = np.abs(ranges) / largest
    power = (np.sum(counts * shares**m) / cycles) ** (1.0 / m)
    rates = power ** (1.0 - m) / cycles * counts * shares ** (m - 1.0) * np.sign(ranges)
    np.add.at(slopes, places, np.stack([-rates, rates], axis=1))
    return EquivalentRange(float(largest * power), slopes)


def checked_exponents(exponents: Sequence[float]) -> tuple[float, ...]:
    """Return Woehler exponents as numbers, each positive and finite."""
    array = as_floats("exponents", exponents)
    if array.ndim != 1:
        raise StateError(f"exponents: expected numbers such as [3, 5, 10], got {exponents!r:.60}")
    numbers = tuple(array.tolist())
    if not numbers:
        raise StateError("exponents: none given; a damage-equivalent load needs one, such as [3]")
    for m in numbers:
        _positive("exponents", m, "a Woehler exponent, such as 3 for welds or 10 for composites")
    return numbers


def _positive(name: str, value: float, meaning: str) -> None:
    if not (np.isfinite(value) and value > 0.0):
        raise StateError(f"{name}: expected a positive number ({meaning}), got {value!r}")
