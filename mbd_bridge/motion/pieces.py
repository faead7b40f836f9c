"""A motion of any length, piece by piece, as if it had been read whole.

Rates that the file does not have come from a spline through all of its rows. What a row far away
contributes to it shrinks by 0.43 from row to row (the largest root of the quintic spline's system),
so that the spline through a piece and `OVERLAP` rows more at both ends is that of the whole, to
rounding. Each row is derived by one piece; where two meet, the one behind derives the last row of
the one before once more, and how much they differ is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.assumptions import Assumption, replaced
from mbd_bridge.files.table import Block, Column, ColumnTable
from mbd_bridge.files.tables import TableSource
from mbd_bridge.model import Model
from mbd_bridge.motion.derivatives import FEWEST
from mbd_bridge.motion.efforts import without_efforts
from mbd_bridge.motion.motion import Motion, measured_states, motion_from_table
from mbd_bridge.motion.smoothing import OFF, Plan, Smoothing, make_plan
from mbd_bridge.motion.smoothing.plan import BLOCKS, ROWS as SAMPLED, WHOLE
from mbd_bridge.motion.table import is_load
from mbd_bridge.motion.unwrap import Unwrapping
from mbd_bridge.motion.warnings import MotionWarnings

Floats = NDArray[np.float64]

ROWS = 65_536
"""Rows of a piece."""
OVERLAP = 100
"""Rows that a spline sees beyond its piece: 0.43 ** 100 is 1e-37."""
SEAM = 1e-6
"""Difference of rates where two pieces meet, relative to the largest, from which on it is said."""
ROUNDINGS = 1e3
"""Roundings of positions and times that a second difference may add up."""
EPSILON = float(np.finfo(np.float64).eps)
READ = 16_384
"""Rows that are read at a time."""


class Pieces(Protocol):
    """A motion that comes in pieces.

    Attributes
    ----------
    name : of the file, or what the motion is
    model : whose motion it is
    """

    name: str
    model: Model

    @property
    def notes(self) -> tuple[str, ...]:
        """What was derived, held still or looks odd, in what was taken so far."""

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What was done to the motion, in what was taken so far; see `Motion`."""

    def __iter__(self) -> Iterator[Motion]: ...


class MotionParts:
    """A motion that is there as a whole, in pieces."""

    def __init__(self, motion: Motion, name: str, rows: int | None = None) -> None:
        assert motion.model is not None
        self.name, self.model, self._motion = name, motion.model, motion
        self._rows = ROWS if rows is None else rows

    @property
    def notes(self) -> tuple[str, ...]:
        """What was derived, held still or looks odd."""
        return self._motion.notes

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What was done to the motion."""
        return self._motion.assumed

    def __iter__(self) -> Iterator[Motion]:
        for begin in range(0, len(self._motion.time), self._rows):
            yield self._motion.part(slice(begin, begin + self._rows))


class MotionPieces:
    """The pieces of the motion in a table, one after another.

    Parameters
    ----------
    source : the file, as `formats.tables.open_table` gives it
    rest : hold coordinates that the file has not at zero, at rest
    rows : of a piece
    smoothing : how noise is kept out of rates that are derived; None: ``Smoothing()``
    progress : is called with the bytes read since the last call
    of : returns what of a block of the table is read; None: all
    machine : whose efforts are measured; None: the model's
    unwrapping : what the source does to angles

    Attributes
    ----------
    name, model, notes : see `Pieces`
    overlap : rows that a piece sees beyond its own; known when the first piece is
    seam : the largest difference of rates where two pieces meet beyond what roundings make,
        relative to the largest rate of these pieces
    """

    def __init__(
        self,
        source: TableSource,
        model: Model,
        *,
        rest: bool = False,
        rows: int | None = None,
        smoothing: Smoothing | None = None,
        progress: Callable[[float], None] | None = None,
        of: Callable[[ColumnTable], ColumnTable] | None = None,
        machine: Model | None = None,
        unwrapping: Unwrapping | None = None,
    ) -> None:
        self._of, self._machine, self._unwrapping = of, machine or model, unwrapping
        self.name, self.model = source.path, model
        self._source, self._rest = source, rest
        self._smoothing = Smoothing() if smoothing is None else smoothing
        self._rows = max(ROWS if rows is None else int(rows), OVERLAP)
        self.overlap, self._head = OVERLAP, list[ColumnTable]()
        self._reading: Iterator[Block] | None = None
        self._progress = progress
        self._warnings = MotionWarnings(model)
        self._said: tuple[str, ...] = ()
        self._assumed: tuple[Assumption, ...] = ()
        self.seam = 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was read so far."""
        apart = () if self.seam <= SEAM else (self._apart(),)
        return (*self._source.notes, *self._said, *self._warnings.notes(), *apart)

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What was done to the motion."""
        unwrapped = () if self._unwrapping is None else self._unwrapping.assumed
        return replaced((*unwrapped, *self._assumed), self._warnings.assumed)

    def _apart(self) -> str:
        return (
            f"rates derived piece by piece differ by {self.seam:.0e} of the largest where pieces "
            f"meet: the times are uneven, or too near each other for second derivatives"
        )

    def __iter__(self) -> Iterator[Motion]:
        last: Motion | None = None
        plan = self._plan()
        for table, begin, end in self._tables():
            table, efforts = without_efforts(table, self._machine)
            table = table if self._of is None else self._of(table)
            whole = motion_from_table(
                table, self.model, rest=self._rest, smoothing=plan, warnings=self._warnings
            )
            whole = replace(whole, efforts=efforts)
            self._said, self._assumed = self._said or whole.notes, self._assumed or whole.assumed
            if last is not None:
                self._compare(last, whole.part(slice(begin - 1, begin)))
            last = whole.part(slice(begin, end))
            yield last

    def _compare(self, before: Motion, again: Motion) -> None:
        step = float(np.median(np.diff(before.time))) if len(before.time) > 1 else np.inf
        # What differences of positions and times, rounded to 16 digits, make of rates.
        moves = np.abs(before.v).max(initial=0.0) * np.abs(before.time).max()
        rounding = ROUNDINGS * EPSILON * (np.abs(before.q).max(initial=0.0) + moves)
        for order, first, second in ((1, before.v, again.v), (2, before.a, again.a)):
            largest = np.abs(first).max(initial=0.0)
            apart = np.abs(first[-1:] - second).max(initial=0.0) - rounding / step**order
            if apart > 0.0 and largest > 0.0:
                self.seam = max(self.seam, float(apart / largest))

    def _plan(self) -> Smoothing | Plan:
        """Return how the motion is smoothed, from blocks of its rows."""
        if self._smoothing == OFF:
            return OFF
        blocks = self._sample()
        if self._of is not None:
            blocks = [self._of(without_efforts(table, self._machine)[0]) for table in blocks]
        read = [measured_states(table, self.model, self._rest) for table in blocks]
        if len(read[0][0].time) < FEWEST:
            return OFF  # and the error that too few rows make is raised where they are read
        plan = make_plan(self._smoothing, read[0][1], [states for states, _ in read])
        self.overlap = max(OVERLAP, plan.overlap)
        self._rows = max(self._rows, self.overlap)
        return plan

    def _sample(self) -> list[ColumnTable]:
        """Return the rows that `smoothing.blocks_of` would take of the whole motion."""
        held, start, stride = self._empty(), 0, 1
        sample: list[ColumnTable] = []
        for block in self._blocks(again=True):
            held = _joined(held, block)
            if self._source.once and len(held.values) > WHOLE:
                self._head = [held]
                break
            if not sample and len(held.values) <= WHOLE:
                continue
            while len(held.values) >= SAMPLED:
                if start % (stride * SAMPLED) == 0:
                    sample.append(replace(_rows(held, 0, SAMPLED), start=start))
                held, start = _rows(held, SAMPLED, None), start + SAMPLED
                if len(sample) > BLOCKS:
                    sample, stride = sample[::2], 2 * stride
        else:
            if self._source.once:  # it is read to its end
                self._head, self._reading = [held], iter(())
        return sample or [held]

    def _tables(self) -> Iterator[tuple[ColumnTable, int, int]]:
        """Yield tables with the overlap at both ends, and where the rows between begin and end."""
        held, start, begin = self._empty(), 0, 0
        for block in self._blocks():
            held = _joined(held, block)
            while len(held.values) >= begin + self._rows + self.overlap:
                end = begin + self._rows
                yield replace(_rows(held, 0, end + self.overlap), start=start), begin, end
                cut = end - self.overlap
                held, start, begin = _rows(held, cut, None), start + cut, self.overlap
        if len(held.values) > begin:
            yield replace(held, start=start), begin, len(held.values)

    def _blocks(self, again: bool = False) -> Iterator[ColumnTable]:
        """Yield the rows; without telling the progress, where they are read `again`."""
        source, columns = self._source, self._columns()
        places = source.places([column.name for column in columns])
        yield from self._head
        self._head = []
        if self._reading is None:
            self._reading = source.checked(READ, places)
        for block in self._reading:
            if self._progress is not None and (source.once or not again):
                self._progress(block.size)
            if len(block.values):
                yield replace(self._empty(), values=block.values, lines=block.lines)
        self._reading = None

    def _columns(self) -> tuple[Column, ...]:
        """Return the columns of the motion: loads beside it are not read."""
        return tuple(c for c in self._source.columns if not is_load(c.name, self.model))

    def _empty(self) -> ColumnTable:
        source, columns = self._source, self._columns()
        return ColumnTable(
            columns, np.zeros((0, len(columns))), None, source.path, source.attributes
        )


def _joined(first: ColumnTable, second: ColumnTable) -> ColumnTable:
    if not len(first.values):
        return second
    lines = None
    if first.lines is not None and second.lines is not None:
        lines = np.concatenate([first.lines, second.lines])
    return replace(first, values=np.concatenate([first.values, second.values]), lines=lines)


def _rows(table: ColumnTable, begin: int, end: int | None) -> ColumnTable:
    lines = None if table.lines is None else table.lines[begin:end]
    return replace(table, values=table.values[begin:end], lines=lines)
