"""A file whose columns are called as they are here, and rows of it that are left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.arguments import known_name
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import count, some
from mbd_bridge.base.units import find_unit
from mbd_bridge.files.table import Block, Column, Lines, TableSource, check_finite
from mbd_bridge.model import Model
from mbd_bridge.model.units import model_units
from mbd_bridge.motion.table import EFFORT

# Angles that begin again after each turn, as encoders give them: counted on from turn to turn.
#
# An angle is wrapped where it jumps by more than half a turn from one row to the next. That of a
# continuous joint is unwrapped where all of its values so far are within one turn, as those of an
# encoder are; a joint whose turns are counted leaves that range before it matters. It makes no
# difference to the machine's position, and is said. Of other joints a jump is one, unless
# `Naming.unwrap` names them.


WITHIN = 1.01
"""Turns within which the values of an encoder are: one, and its noise."""
ALL, NONE = "all", "none"


@dataclass
class _Angle:
    """What is known of a column's values so far, in its unit."""

    turn: float
    always: bool
    last: float = math.nan
    lowest: float = math.inf
    highest: float = -math.inf
    turns: int = 0
    jumps: int = 0

    def unwrapped(self, values: Floats) -> Floats:
        """Return the next values, counted on."""
        lowest = np.minimum(np.fmin.accumulate(values), self.lowest)
        highest = np.maximum(np.fmax.accumulate(values), self.highest)
        steps = np.diff(values, prepend=self.last)
        wrapped = np.abs(steps) > 0.5 * self.turn
        if not self.always:
            wrapped &= highest - lowest <= WITHIN * self.turn
        turns = self.turns - np.cumsum(np.where(wrapped, np.round(steps / self.turn), 0.0))
        self.last, self.lowest, self.highest = values[-1], float(lowest[-1]), float(highest[-1])
        self.turns, self.jumps = int(turns[-1]), self.jumps + int(np.count_nonzero(wrapped))
        return np.asarray(values + turns * self.turn)


class Unwrapping:
    """Unwraps the columns of a table, block by block.

    Parameters
    ----------
    columns : by the names that they have here
    names : joints whose angles are unwrapped, wherever they jump; "all", or "none"; None:
        continuous joints, as far as their angles are within one turn
    """

    def __init__(
        self, columns: Sequence[Column], model: Model, names: tuple[str, ...] | None
    ) -> None:
        continuous = {joint.name for joint in model.joints if joint.type.name == "continuous"}
        of_q, _ = model_units(model)
        angles = {n for n, unit in zip(model.coordinate_names, of_q, strict=True) if unit == "rad"}
        chosen = continuous if names is None else angles | continuous if names == (ALL,) else names
        for name in () if names in ((ALL,), (NONE,)) else chosen:
            known = [*sorted(angles | continuous), ALL, NONE]
            known_name("angle of a joint", name, known, "unwrap: ")
        self._always, self._chosen, self._columns = names is not None, chosen, columns
        self.begin()

    def begin(self) -> None:
        """Forget all rows: the first one is next."""
        self._angles: dict[str, _Angle] = {}
        for column in self._columns:
            unit = find_unit(column.unit or "rad")
            if column.name in self._chosen and unit is not None and unit.measures == "rad":
                self._angles[column.name] = _Angle(2.0 * math.pi / unit.factor, self._always)

    def add(self, values: Floats, columns: Sequence[Column]) -> Floats:
        """Return the next rows (n, columns) with their angles unwrapped."""
        places = [k for k, column in enumerate(columns) if column.name in self._angles]
        if not places or not len(values):
            return values
        found = values.copy()
        for k in places:
            found[:, k] = self._angles[columns[k].name].unwrapped(values[:, k])
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence about what was unwrapped so far, and what else can be done."""
        advice = "with --unwrap none (unwrap='none') they are taken as they are"
        return tuple(f"{assumption.text}; {advice}" for assumption in self.assumed)

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What was unwrapped so far, for results along the motion."""
        jumps = {name: angle.jumps for name, angle in self._angles.items() if angle.jumps}
        if not jumps:
            return ()
        named = some([f"{name} ({count(n, 'jump')})" for name, n in jumps.items()])
        text = f"angles that begin again after a turn are counted on: {named}"
        return (Assumption("completed", text),)


class NamedColumns(TableSource):
    """A file whose columns have the names and units that they have here; others are left out.

    Attributes
    ----------
    dropped : rows that were left out, since a column that is read has no number there
    repeated : rows that were left out, since they are copies of the row before (with `drop_gaps`:
        since they have its time stamp)
    unwrapping : what counts angles on that begin again after a turn
    """

    def __init__(
        self,
        source: TableSource,
        places: Sequence[int],
        columns: Sequence[Column],
        notes: Sequence[str],
        drop_gaps: bool,
        unwrapping: Unwrapping,
    ) -> None:
        super().__init__(source.path, columns, source.attributes, source.rows)
        self._source, self._places, self._drop = source, list(places), drop_gaps
        self._said = self.notes = (*source.notes, *notes)
        self.dropped, self.repeated, self.once = 0, 0, source.once
        self.unwrapping = unwrapping

    def blocks(self, rows: int, places: Sequence[int]) -> Iterator[Block]:
        """Yield blocks of rows of the columns at some places."""
        self.dropped, self.repeated, needed = 0, 0, self._needed(places)
        self.unwrapping.begin()
        columns = [self.columns[k] for k in places]
        last = np.empty((0, len(needed)))
        clock = [k for k, p in enumerate(needed) if self.columns[places[p]].name == "time"]
        beside = len(needed) < len(places)
        for block in self._source.blocks(rows, [self._places[k] for k in places]):
            lines, values = block.lines, block.values
            if self._drop:
                keep = np.asarray(np.isfinite(values[:, needed]).all(axis=1))
                self.dropped += int((~keep).sum())
                lines, values = _kept(keep, lines, values)
            if clock and len(values):
                again = _again(last, values[:, needed] if beside else values, clock[0], self._drop)
                self.repeated += int(again.sum())
                lines, values = _kept(~again, lines, values)
                last = values[-1:, needed] if len(values) else last
            values = self.unwrapping.add(values, columns)
            self.notes = (*self._said, *self._left_out(), *self.unwrapping.notes)
            yield Block(values, lines, block.size)

    def check(self, block: Block, places: Sequence[int], start: int) -> None:
        """Refuse gaps, but for efforts, which may not have been measured."""
        needed = self._needed(places)
        columns = [self.columns[places[k]] for k in needed]
        check_finite(block.values[:, needed], columns, self.path, start, block.lines)

    def _needed(self, places: Sequence[int]) -> list[int]:
        """Return which of some places have columns of the motion itself: no efforts."""
        return [k for k, p in enumerate(places) if not self.columns[p].name.endswith(EFFORT)]

    def _left_out(self) -> Iterator[str]:
        """Yield sentences about the rows that were left out so far."""
        if self.dropped:
            yield f"{count(self.dropped, 'row')} with gaps left out"
        if self.repeated:
            yield f"{count(self.repeated, 'row')} with the time stamp of the row before left out"


def _again(
    last: NDArray[np.float64], values: NDArray[np.float64], clock: int, stamps: bool
) -> NDArray[np.bool_]:
    """Return which rows (N, n) are copies of the row before, or only have its time stamp.

    Parameters
    ----------
    last : (1, n) the row before them, or (0, n)
    values : one row or more
    stamps : whether the time stamp is enough
    """
    again = np.zeros(len(values), dtype=bool)
    again[1:] = values[1:, clock] == values[:-1, clock]
    if len(last):
        again[0] = values[0, clock] == last[0, clock]
    if not stamps and again.any():
        again[1:] &= (values[1:] == values[:-1]).all(axis=1)
        again[0] &= bool((values[0] == last).all())
    return again


def _kept(
    keep: NDArray[np.bool_], lines: Lines | None, values: NDArray[np.float64]
) -> tuple[Lines | None, NDArray[np.float64]]:
    """Return some rows with their lines in the text."""
    if keep.all():
        return lines, values
    return None if lines is None else lines[keep], values[keep]
