"""Spectra of joint loads: rainflow cycles and damage-equivalent loads of every component.

Count components, not resultants: a force that swings between +F and -F has ranges of 2 F, its
length always F and no cycle at all. And a component along x and one along y do not damage the same
place; which direction of a radial load damages most is found by looking along all of them
(`directions`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.applications.durability.spectrum import (
    Spectrum,
    SpectrumCounter,
    checked_exponents,
)
from mbd_bridge.base.arguments import as_floats, chosen_names, known_name
from mbd_bridge.base.arrays import Flags, Floats
from mbd_bridge.base.errors import StateError, one_of, warn, whole_number
from mbd_bridge.base.named import Named
from mbd_bridge.base.plots import SpectrumPanel, Steps, draw_spectra
from mbd_bridge.base.table import Arrays, Series, Table, Tabular, of_units
from mbd_bridge.loads.convention import PLANES, Plane
from mbd_bridge.loads.observers import Needs
from mbd_bridge.loads.options import EXPONENTS
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.loads.signals import LoadSignal, Signals, signal_labels, times_of
from mbd_bridge.motion import Motion
from mbd_bridge.motion.table import ACTUATION, FORCES, MOMENTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


RESULTANTS_MISLEAD = (
    "cycles of the length of a force or moment are not those of its components: a full swing "
    "from +F to -F leaves no cycle in the length. Use components for fatigue"
)


EQUIVALENT = (
    "Rainflow cycles (ASTM E1049-85). m = ...: the range that does the same damage once a second"
)
RANGES = "with this Woehler exponent; ranges, not amplitudes."

Bands = Callable[[str, float], float | None]
"""Gives the band of a signal's equivalent range for an exponent."""


class WorstDirection(NamedTuple):
    """The direction with the largest damage-equivalent load.

    Attributes
    ----------
    angle : rad, from the first of the two axes to the second
    equivalent : N or N m, a range
    along : (K,) rad, all directions looked along
    equivalents : (K,) theirs
    """

    angle: float
    equivalent: float
    along: Floats
    equivalents: Floats


@dataclass(frozen=True, eq=False)
class LoadSpectra(
    Tabular,
    Named[Spectrum],
    entries="signal in these spectra",
):
    """Spectra of the loads of some joints.

    Attributes
    ----------
    signals : what was counted
    spectra : one a signal
    duration : s
    convention : on whom, where, in which axes the loads are given
    round_off : the sizes up to which loads and their ranges are rounding errors
    """

    signals: tuple[LoadSignal, ...]
    spectra: tuple[Spectrum, ...]
    duration: float
    convention: str
    round_off: RoundOff
    plane: str = ""
    swept: tuple[tuple[Spectrum, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The signals, such as ``elbow.fx``."""
        return tuple(signal.name for signal in self.signals)

    def _entry(self, name: str) -> Spectrum:
        place = self.names.index(name)
        if self.signals[place].resultant:
            warn(f"{name}: {RESULTANTS_MISLEAD}")
        return self.spectra[place]

    def worst_direction(
        self, signal: str, exponent: float, *, frequency: float = 1.0
    ) -> WorstDirection:
        """Return the direction in the plane in which a joint's load damages most.

        Parameters
        ----------
        signal : ``<joint>.force`` or ``<joint>.moment``
        exponent, frequency : as in `Spectrum.damage_equivalent`
        """
        names = [spectra[0].name for spectra in self.swept]
        kind = "force or moment looked at from all directions"
        more = "; count with plane='xy', 'yz' or 'zx'"
        spectra = self.swept[names.index(known_name(kind, signal, names, more=more))]
        found = [s.damage_equivalent(exponent, frequency=frequency) for s in spectra]
        along = np.arange(len(found)) * np.pi / len(found)
        best = int(np.argmax(found))
        return WorstDirection(float(along[best]), found[best], along, np.array(found))

    def plot(
        self,
        joints: Iterable[str] | str | None = None,
        *,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> list[Axes]:
        """Draw the spectra and return the axes: the ranges that so many cycles reach or exceed.

        Parameters
        ----------
        joints : names; None for all. Each has a panel of its force and one of its moment
        ax : axes to draw into, one a panel; None makes a figure
        """
        known = list(dict.fromkeys(signal.joint for signal in self.signals))
        asked = chosen_names("joints", joints, known, "joint in these spectra", kinds="joints")
        panels = [panel for joint in asked for panel in joint_panels(self, joint)]
        text = f"{self.convention}; rainflow cycles in {self.duration:g} s"
        return draw_spectra(panels, columns=2, text=text, ax=ax)

    def tables(self) -> tuple[Table, ...]:
        """Return cycles and damage-equivalent ranges; and the worst directions, if looked for."""
        return self.equivalents(), *([self.directions()] if self.swept else [])

    def equivalents(self, *, frequency: float = 1.0, bands: Bands | None = None) -> Table:
        """Return cycles and damage-equivalent ranges of every signal.

        Parameters
        ----------
        frequency : Hz, of the equal cycles
        bands : gives half the width of the band of an equivalent range; None: they are not known
        """
        each = self.spectra
        exponents = each[0].exponents if each else ()
        units, sure = [one.unit for one in each], [one.determined for one in each]
        columns = [
            Series("cycles", "", [one.cycles for one in each], shown="{:g}".format, sure=sure),
            Series("largest range", units, [one.largest for one in each], sure=sure),
        ]
        lasting = self.duration > 0.0
        for m in exponents:
            ranges = [
                x.damage_equivalent(m, frequency=frequency) if lasting else None for x in each
            ]
            known = [
                None if bands is None or one.resultant or not lasting else bands(one.name, m)
                for one in self.signals
            ]
            columns.append(Series(f"m = {m:g}", units, ranges, bands=known, sure=sure))
        for k, m in enumerate(exponents):
            powers = [float(one.powers[k]) for one in each]
            columns.append(Series(f"one cycle, m = {m:g}", units, powers, listed=False))
        labels, floors = signal_labels(self.signals), self.round_off.floors
        caption = f"{EQUIVALENT} ({frequency:g} Hz) {RANGES}"
        return Table(repr(self), labels, columns, caption=caption, floors=floors)

    def directions(self, *, frequency: float = 1.0) -> Table:
        """Return in which direction of the plane each force and moment damages most."""
        pairs = [(x[0], m) for x in self.swept for m in x[0].exponents]
        worst = [self.worst_direction(one.name, m, frequency=frequency) for one, m in pairs]
        sure, units = [x.determined for x, _ in pairs], [x.unit for x, _ in pairs]
        first, second = tuple(self.plane)
        angles = [math.degrees(one.angle) for one in worst]
        columns = [
            Series(f"degrees from {first} to {second}", "", angles, shown="{:g}".format, sure=sure),
            Series("equivalent", units, [one.equivalent for one in worst], sure=sure),
        ]
        labels = (
            Series("worst direction of", "", [one.name for one, _ in pairs]),
            Series("m", "", [m for _, m in pairs], shown="{:g}".format),
        )
        return Table(repr(self), labels, columns)

    def _arrays(self) -> Arrays:
        each = self.spectra
        units = [one.unit for one in each]
        signal, exponents = ("signal",), each[0].exponents if each else ()
        powers = np.array([one.powers for one in each]).reshape(len(each), len(exponents))
        ranges = [float(one.largest) for one in each]
        largest, *unit = of_units("largest_range", ranges, signal, units)
        one_cycle, *more = of_units("one_cycle", powers.T, ("exponent", *signal), units)
        variables = [
            Series("cycles", "", [float(one.cycles) for one in each], signal),
            largest,
            one_cycle,
            Series("determined", "", [one.determined for one in each], signal),
        ]
        places = [
            Series("signal", "", list(self), signal),
            *unit,
            *more,
            Series("exponent", "", exponents, ("exponent",)),
        ]
        return Arrays(variables, places, {"convention": self.convention})

    def __repr__(self) -> str:
        return (
            f"LoadSpectra({len(self.signals)} signals of "
            f"{len({s.joint for s in self.signals})} joints along {self.duration:g} s; "
            f"{self.convention})"
        )


class SpectraObserver:
    """Observer that counts the cycles of joint loads.

    Parameters
    ----------
    exponents : Woehler exponents
    plane : "xy", "yz" or "zx": look along directions in this plane of the loads' axes, too
    directions : how many, equally apart in half a turn
    needs : whose loads
    """

    def __init__(
        self,
        exponents: Sequence[float] = EXPONENTS,
        *,
        plane: str | None = None,
        directions: int = 36,
        needs: Needs = Needs(),  # noqa: B008 - it is frozen
    ) -> None:
        self._needs = needs
        self.exponents = checked_exponents(exponents)
        self._axes = _plane(plane)
        self._plane = plane or ""
        directions = whole_number("directions", directions)
        if directions > 720:
            raise StateError(f"directions: expected 1 to 720, got {directions!r:.60}")
        angles = np.arange(directions) * np.pi / directions
        self._ways = np.stack([np.cos(angles), np.sin(angles)])
        self._signals: Signals | None = None
        self._counters: list[SpectrumCounter] = []
        self._swept: list[list[SpectrumCounter]] = []
        self._sure: Flags = np.zeros(0, dtype=bool)
        self._begin = self._end = np.nan
        self._convention = ""
        self._round_off: RoundOff | None = None

    def needs(self) -> Needs:
        """Return whose loads are counted."""
        return self._needs

    def add(self, motion: Motion | None, loads: JointLoads) -> None:
        """Take in the loads along the next piece of a motion; they know their times."""
        time = times_of(loads)
        if self._signals is None:
            self._start(float(time[0]), loads)
        assert self._signals is not None
        if self._end >= time[0]:
            raise StateError(
                f"expected times after {self._end:g} s, where the loads so far end, got "
                f"{time[0]:g} s"
            )
        self._end = float(time[-1])
        self._sure &= self._signals.determined(loads)
        self._round_off = loads.round_off.joined(self._round_off)
        columns = np.asfortranarray(self._signals.columns(loads))
        for counter, values in zip(self._counters, columns.T, strict=True):
            counter.add(values)
        for counters, vectors in zip(self._swept, self._vectors(loads), strict=True):
            for counter, way in zip(counters, self._ways.T, strict=True):
                counter.add(vectors[0] * way[0] + vectors[1] * way[1])

    def _start(self, begin: float, loads: JointLoads) -> None:
        self._signals = Signals(loads)
        self._counters = [SpectrumCounter(self.exponents) for _ in self._signals.entries]
        if self._axes:
            self._swept = [
                [SpectrumCounter(self.exponents) for _ in self._ways.T]
                for _ in range(2 * len(loads.joints))
            ]
        self._sure = np.ones(len(self._signals.entries), dtype=bool)
        self._begin, self._end = begin, -np.inf
        self._convention = str(loads.convention)

    def _vectors(self, loads: JointLoads) -> list[Floats]:
        """Return force and moment of each joint in the plane, (2, N)."""
        if not self._axes:
            return []
        axes = list(self._axes)
        return [
            np.ascontiguousarray(part[:, k, axes].T)
            for k in range(len(loads.joints))
            for part in (loads.force, loads.moment)
        ]

    def result(self) -> LoadSpectra:
        """Return the spectra of what came so far."""
        if self._signals is None:
            raise StateError("no loads were counted: add() was not called, or had no rows")
        duration = self._end - self._begin
        sure = self._sure
        entries = self._signals.entries
        spectra = tuple(
            counter.spectrum(signal.name, signal.unit, duration, determined=bool(known))
            for counter, signal, known in zip(self._counters, entries, sure, strict=True)
        )
        lengths = [
            (signal, known)
            for signal, known in zip(entries, sure, strict=True)
            if signal.resultant and self._swept
        ]
        swept = tuple(
            tuple(c.spectrum(s.name, s.unit, duration, determined=bool(known)) for c in counters)
            for counters, (s, known) in zip(self._swept, lengths, strict=True)
        )
        assert self._round_off is not None
        how = self._convention, self._round_off, self._plane
        return LoadSpectra(entries, spectra, duration, *how, swept)


def load_spectra(
    loads: JointLoads,
    exponents: Sequence[float] = EXPONENTS,
    *,
    time: ArrayLike | None = None,
    plane: Plane | None = None,
    directions: int = 36,
) -> LoadSpectra:
    """Return the spectra of loads along a motion; see `SpectraObserver`.

    Parameters
    ----------
    time : (N,) s; that of the motion where the loads know it
    """
    counter = SpectraObserver(exponents, plane=plane, directions=directions)
    times = times_of(loads, None if time is None else as_floats("time", time))
    counter.add(None, replace(loads, time=times))
    return counter.result()


def _plane(name: str | None) -> tuple[int, int] | None:
    if name is None:
        return None
    return PLANES[one_of("plane", name, PLANES, StateError)]


def joint_panels(spectra: LoadSpectra, joint: str) -> tuple[SpectrumPanel, SpectrumPanel]:
    """Return the spectra of a joint's force and moment, without those of rounding errors."""
    pairs = zip(spectra.signals, spectra.spectra, strict=True)
    own = [(signal, one) for signal, one in pairs if signal.joint == joint]
    floors = spectra.round_off
    force = _panel(joint, own, "force", FORCES, floors.force)
    return force, _panel(joint, own, "moment", MOMENTS, floors.moment)


def _panel(
    joint: str,
    own: list[tuple[LoadSignal, Spectrum]],
    what: str,
    components: tuple[str, ...],
    floor: float,
) -> SpectrumPanel:
    unit = "N" if what == "force" else "N m"
    shown = [
        (signal, one)
        for signal, one in own
        if signal.quantity in components
        or (signal.quantity.split(".")[0] == ACTUATION and signal.unit == unit)
    ]
    steps = []
    for signal, one in shown:
        reached, name = one.exceedance, signal.quantity
        if one.largest > floor:
            steps.append(Steps(name, reached.range, reached.cycles, one.largest, one.determined))
        else:  # its colour stays its own
            steps.append(Steps(name, np.empty(0), np.empty(0), 0.0))
    return SpectrumPanel(f"{joint}: {what}", unit, tuple(steps))
