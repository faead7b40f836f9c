"""The largest and the root-mean-square load of each joint along a motion."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.arrays import Flags, Floats
from mbd_bridge.base.errors import NAMED, some
from mbd_bridge.base.readable import instant
from mbd_bridge.base.table import Series, Table, only
from mbd_bridge.loads.observers import Needs
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.round_off import RoundOff
from mbd_bridge.loads.signals import signal_labels, times_of
from mbd_bridge.model import Model
from mbd_bridge.model.units import FORCE_UNIT, actuation_units
from mbd_bridge.motion import Motion
from mbd_bridge.motion.peak import first_largest, is_larger
from mbd_bridge.motion.smoothing import BAND
from mbd_bridge.motion.table import COMPONENTS


@dataclass(slots=True)
class LoadPeak:
    """Extremes of one quantity: the length of a vector, or an actuator.

    Attributes
    ----------
    joint, quantity, unit : e.g. elbow, "force", "N"
    peak : value of the largest size; an actuator keeps its sign
    time : of the peak, s
    without : components that are left out, since rigid-body mechanics does not determine them
    known : whether anything is left
    band : half the width of the band that holds 95 % of the errors of the peak from the motion's
        noise; None: nothing is known of it
    """

    joint: str
    quantity: str
    unit: str
    peak: float = 0.0
    time: float = float("nan")
    without: tuple[str, ...] = ()
    known: bool = True
    band: float | None = None
    _squares: float = 0.0
    _count: int = 0

    @property
    def rms(self) -> float:
        """Root of the mean square over the rows."""
        return float(np.sqrt(self._squares / max(self._count, 1)))

    def add(self, time: Floats, values: Floats, deviations: Floats | None = None) -> None:
        """Take in the values (N,), and their standard deviations, at the times (N,)."""
        sizes = np.abs(values)
        row = first_largest(sizes)
        if self._count == 0 or is_larger(sizes[row], abs(self.peak)):
            self.peak, self.time = float(values[row]), float(time[row])
            self.band = None if deviations is None else BAND * float(deviations[row])
        self._squares += float(np.sum(values * values))
        self._count += len(values)


class _Lengths:
    """Peaks of the length of a vector, over those of its components that are always determined.

    Which these are is known at the end only. Of loops, every choice among the components that are
    determined at first is therefore followed until one of its components is lost.
    """

    def __init__(
        self, joint: str, quantity: str, unit: str, names: Sequence[str], sure: Flags, loops: bool
    ) -> None:
        self._none, self._names = LoadPeak(joint, quantity, unit), names
        some = np.flatnonzero(sure).tolist()
        sizes = range(1, len(some) + 1) if loops else (len(some),)
        choices = itertools.chain(*(itertools.combinations(some, size) for size in sizes))
        self._peaks = {choice: replace(self._none) for choice in choices}

    def add(
        self, time: Floats, vectors: Floats, sure: Flags, deviations: Floats | None = None
    ) -> None:
        """Take in vectors (N, 3), which components (3,) are determined in all of them, and the
        standard deviations of their lengths.
        """
        self._peaks = {c: peak for c, peak in self._peaks.items() if sure[list(c)].all()}
        for choice, peak in self._peaks.items():
            whole = deviations if len(choice) == vectors.shape[1] else None
            peak.add(time, np.linalg.norm(vectors[:, choice], axis=1), whole)

    @property
    def peak(self) -> LoadPeak:
        """The peak over all components that were determined throughout."""
        choice = max(self._peaks, key=len, default=())
        without = tuple(name for k, name in enumerate(self._names) if k not in choice)
        return replace(self._peaks.get(choice, self._none), without=without, known=bool(choice))


class LoadPeaks:
    """Observer of the peaks of force, moment and actuators of some joints.

    Parameters
    ----------
    needs : which loads
    """

    def __init__(self, needs: Needs = Needs()) -> None:  # noqa: B008 - it is frozen
        self._needs = needs
        self._model: Model | None = None
        self._vectors = list[_Lengths]()
        self._actuation: list[list[LoadPeak]] = []

    def needs(self) -> Needs:
        """Return which loads are looked at."""
        return self._needs

    def _start(self, loads: JointLoads) -> None:
        """Take in of whose loads the peaks are."""
        assert loads.model is not None
        self._model = model = loads.model
        self._reaction = loads.reaction_force is not None
        for k, (joint, place) in enumerate(zip(loads.joints, loads.actuation_of, strict=True)):
            for title, whole in _wrenches(loads):
                sure = _always(whole.unique[..., k, :])
                for what, unit, part in _PARTS:
                    names = COMPONENTS[part]
                    self._vectors.append(
                        _Lengths(joint, title + what, unit, names, sure[part], model.has_loops)
                    )
            actuations = loads.actuation_names[place]
            units = actuation_units(model, joint) if actuations else ()
            self._actuation.append(
                [
                    LoadPeak(joint, f"actuation{name.removeprefix(joint)}", FORCE_UNIT[unit])
                    for name, unit in zip(actuations, units, strict=True)
                ]
            )

    def add(self, motion: Motion | None, loads: JointLoads) -> None:
        """Take in the next piece of a motion, and the loads along it; they know their times."""
        time = times_of(loads)
        if not self._actuation:
            self._start(loads)
        lengths = iter(self._vectors)
        known = _always(loads.actuation_unique)
        for k, place in enumerate(loads.actuation_of):
            for title, whole in _wrenches(loads):
                sure = _always(whole.unique[..., k, :])
                for (_, _, part), vectors, size in zip(
                    _PARTS, (whole.force, whole.moment), _lengths_known(loads, title), strict=True
                ):
                    own = None if size is None else size[:, k]
                    next(lengths).add(time, vectors[:, k], sure[part], own)
            off = [None] * (place.stop - place.start)
            if loads.uncertainty is not None:
                off = list(loads.uncertainty.actuation[:, place].T)
            for peak, column, sound, deviations in zip(
                self._actuation[k], loads.actuation[:, place].T, known[place], off, strict=True
            ):
                peak.add(time, column, deviations)
                peak.known = peak.known and bool(sound)

    def result(self) -> LoadPeaks:
        """Return the peaks so far."""
        return self

    @property
    def rows(self) -> list[LoadPeak]:
        """A `LoadPeak` for each joint's force and moment, for each of its actuators, and for force
        and moment of its reaction where the loads have it.
        """
        lengths, found = iter(self._vectors), list[LoadPeak]()
        for actuations in self._actuation:
            force, moment = next(lengths).peak, next(lengths).peak
            found += [force, moment, *actuations]
            if self._reaction:
                found += [next(lengths).peak, next(lengths).peak]
        return found

    def table(self) -> Table:
        """Return the peaks, taken over the determined components."""
        each, floors = self.rows, self.round_off.floors
        units, sure = [one.unit for one in each], [one.known for one in each]
        acts = [one.known and abs(one.peak) > floors.get(one.unit, 0.0) for one in each]
        without = [" ".join(one.without) or "actuation" * (not one.known) for one in each]
        peaks, bands = [one.peak for one in each], [one.band for one in each]
        columns = [
            Series("peak", units, peaks, bands=bands, sure=sure),
            Series("RMS", units, [one.rms for one in each], sure=sure),
            Series("at", "s", only([one.time for one in each], acts), shown=instant),
            Series("without (undetermined)", "", without),
        ]
        return Table("largest loads", signal_labels(each), columns, floors=floors)

    def beyond_efforts(self) -> str:
        """Return which actuations are beyond the limits of effort of the file, "" if none is."""
        assert self._model is not None
        limits = {joint.name: joint.limits.effort for joint in self._model.description.joints}
        beyond = list[str]()
        for peak in (peak for actuations in self._actuation for peak in actuations):
            limit = limits.get(peak.joint) if peak.quantity == "actuation" else None
            if limit and peak.known and abs(peak.peak) > limit:
                band = "" if peak.band is None else f" ± {peak.band:.2g}"
                size = f"{abs(peak.peak):.4g}{band}"
                beyond.append(f"{peak.joint} ({size} above {limit:.4g} {peak.unit})")
        return f"beyond the efforts of the file: {some(beyond, NAMED)}" if beyond else ""

    @property
    def round_off(self) -> RoundOff:
        """The sizes up to which peaks are rounding errors."""
        rows = self.rows
        force, moment = (
            max((abs(row.peak) for row in rows if row.unit == unit), default=0.0)
            for unit in ("N", "N m")
        )
        return RoundOff.of(self._model, force, moment)


_PARTS = (("force", "N", slice(0, 3)), ("moment", "N m", slice(3, 6)))


class _Wrenches(NamedTuple):
    force: Floats
    moment: Floats
    unique: Flags


def _wrenches(loads: JointLoads) -> Iterator[tuple[str, _Wrenches]]:
    """Yield the loads, and their reactions if there are any."""
    yield "", _Wrenches(loads.force, loads.moment, loads.unique)
    if loads.reaction_force is not None:
        assert loads.reaction_moment is not None
        assert loads.reaction_unique is not None
        yield (
            "reaction ",
            _Wrenches(loads.reaction_force, loads.reaction_moment, loads.reaction_unique),
        )


def _lengths_known(loads: JointLoads, title: str) -> tuple[Floats | None, Floats | None]:
    """Return the standard deviations (N, J) of lengths of force and moment; of reactions none."""
    if loads.uncertainty is None or title:
        return None, None
    return loads.uncertainty.force_length, loads.uncertainty.moment_length


def _always(flags: Flags) -> Flags:
    """Return which of the last axis are true at all states."""
    return np.asarray(flags.all(axis=tuple(range(flags.ndim - 1))))
