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
from functools import partial
from os import PathLike, fspath
from typing import Protocol

import numpy as np

from mbd_bridge.base.assumptions import Assumption, replaced
from mbd_bridge.base.errors import FileError, some, unknown_name
from mbd_bridge.files.bags import OTHERS, is_bag, read_bag
from mbd_bridge.files.table import Block, Column, ColumnTable
from mbd_bridge.files.tables import TableSource, open_table, read_source
from mbd_bridge.model import Model
from mbd_bridge.motion.columns import GivenColumns, is_partial
from mbd_bridge.motion.derivatives import FEWEST
from mbd_bridge.motion.match_columns import named_columns
from mbd_bridge.motion.motion import Motion, measured_states, motion_from_table
from mbd_bridge.motion.named_source import NamedColumns, Unwrapping
from mbd_bridge.motion.partial import PartialMotion, whole_motion
from mbd_bridge.motion.reading import Reading
from mbd_bridge.motion.smoothing import OFF, Plan, Smoothing, make_plan
from mbd_bridge.motion.smoothing.plan import BLOCKS, ROWS as SAMPLED, WHOLE
from mbd_bridge.motion.table import is_load, without_efforts
from mbd_bridge.motion.warnings import MotionWarnings, without_unit

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
KEPT = 2**22
"""Numbers of a file, 32 MB, that are kept where it was sampled for noise: it is read once."""


AS_IT_IS = Reading()
"""Nothing is said of the file."""


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
    reading : which coordinates rest, and how noise is kept out of rates that are derived
    rows : of a piece
    progress : is called with the bytes read since the last call
    of : returns what of a block of the table is read; None: all
    machine : whose efforts are measured; None: the model's

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
        reading: Reading = AS_IT_IS,
        *,
        rows: int | None = None,
        progress: Callable[[float], None] | None = None,
        of: Callable[[ColumnTable], ColumnTable] | None = None,
        machine: Model | None = None,
    ) -> None:
        self._of, self._machine = of, machine or model
        self.name, self.model = source.path, model
        self._source, self._rest, self._smoothing = source, reading.rest, reading.smoothing
        self._rows = max(ROWS if rows is None else int(rows), OVERLAP)
        self.overlap, self._head = OVERLAP, list[ColumnTable]()
        self._reading: Iterator[Block] | None = None
        self._progress, self._untold = progress, 0.0
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
        source = self._source
        unwrapped = source.unwrapping.assumed if isinstance(source, NamedColumns) else ()
        return replaced((*unwrapped, *self._assumed), self._warnings.assumed)

    def _apart(self) -> str:
        return (
            f"rates derived piece by piece differ by {self.seam:.0e} of the largest where pieces "
            f"meet: the times are uneven, or too near each other for second derivatives"
        )

    def __iter__(self) -> Iterator[Motion]:
        last: Motion | None = None
        if not self._source.once:  # someone may have taken a few pieces only: begin anew
            self._head, self._reading, self._untold = [], None, 0.0
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
        sample, kept, room = list[ColumnTable](), list[ColumnTable](), KEPT
        for block in self._blocks(again=True):
            held, room = _joined(held, block), room - block.values.size
            kept = [*kept, block] if room >= 0 or self._source.once else []
            if self._source.once and len(held.values) > WHOLE:
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
            if kept or self._source.once:  # it is read to its end
                self._reading = iter(())
        self._head = kept
        return sample or [held]

    def _tables(self) -> Iterator[tuple[ColumnTable, int, int]]:
        """Yield tables with the overlap at both ends, and where the rows between begin and end."""
        held, start, begin = self._empty(), 0, 0
        parts, rows = list[ColumnTable](), 0
        for block in self._blocks():
            parts.append(block)
            rows += len(block.values)
            if rows < begin + self._rows + self.overlap:
                continue
            held, parts = _joined(held, *parts), []
            while len(held.values) >= begin + self._rows + self.overlap:
                end = begin + self._rows
                yield replace(_rows(held, 0, end + self.overlap), start=start), begin, end
                cut = end - self.overlap
                held, start, begin = _rows(held, cut, None), start + cut, self.overlap
            rows = len(held.values)
        held = _joined(held, *parts)
        if len(held.values) > begin:
            yield replace(held, start=start), begin, len(held.values)

    def _blocks(self, again: bool = False) -> Iterator[ColumnTable]:
        """Yield the rows; without telling the progress, where they may be read `again`."""
        source, columns, tell = self._source, self._columns(), self._progress or (lambda _: None)
        places = source.places([column.name for column in columns])
        if self._head:
            tell(self._untold)
        yield from self._head
        self._head, self._untold = [], 0.0
        if self._reading is None:
            self._reading = source.checked(READ, places)
        for block in self._reading:
            if source.once or not again:
                tell(block.size)
            else:
                self._untold += block.size
            if len(block.values):
                yield replace(self._empty(), values=block.values, lines=block.lines)
        self._reading = None

    def _columns(self) -> tuple[Column, ...]:
        """Return the columns of the motion: loads beside it are not read."""
        return tuple(c for c in self._source.columns if not is_load(c.name, self.model))

    def _empty(self) -> ColumnTable:
        return _without_rows(self._source, self._columns())


def _without_rows(source: TableSource, columns: tuple[Column, ...]) -> ColumnTable:
    """Return the table of a source before its first row."""
    return ColumnTable(columns, np.zeros((0, len(columns))), None, source.path, source.attributes)


def _joined(*tables: ColumnTable) -> ColumnTable:
    """Return the rows of tables with the same columns, one behind another."""
    filled = [table for table in tables if len(table.values)]
    if len(filled) < 2:
        return (filled or tables)[0]
    known = [table.lines for table in filled if table.lines is not None]
    lines = np.concatenate(known) if len(known) == len(filled) else None
    return replace(filled[0], values=np.concatenate([x.values for x in filled]), lines=lines)


def _rows(table: ColumnTable, begin: int, end: int | None) -> ColumnTable:
    lines = None if table.lines is None else table.lines[begin:end]
    return replace(table, values=table.values[begin:end], lines=lines)


# Partial motions of any length, completed piece by piece: each goes on where the last ended.


def motion_pieces(
    source: TableSource,
    model: Model,
    reading: Reading = AS_IT_IS,
    *,
    rows: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Pieces:
    """Return the motion in a table in pieces, completed where the table has a part of it.

    For the parameters see `MotionPieces` and `Reading`.
    """
    options, rest = reading.completion, reading.rest
    source = named_columns(source, model, reading.naming, frames=options.frames, rest=rest)
    pieces = partial(MotionPieces, source, rows=rows, progress=progress)
    empty = _without_rows(source, source.columns)
    if options.given is None and not is_partial(empty, model, options.frames):
        return pieces(model, reading)
    columns = GivenColumns(model, without_efforts(empty, model)[0], options.frames)
    known = replace(reading, rest=False)
    recorded = pieces(columns.stand_in, known, of=columns.of, machine=model)
    return CompletedPieces(recorded, PartialMotion(model, columns, reading), without_unit(empty))


class CompletedPieces:
    """The pieces of a recorded part of a motion, each completed."""

    def __init__(
        self, recorded: MotionPieces, whole: PartialMotion, unitless: frozenset[str]
    ) -> None:
        self.name, self.model = recorded.name, whole.model
        self._recorded, self._partial = recorded, whole
        self._warnings = MotionWarnings(whole.model)
        self._warnings.unitless = unitless

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was read and completed so far."""
        beyond = self._warnings.beyond_limits()
        return (*self._recorded.notes, *self._partial.notes, *beyond)

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What was done to the motion so far."""
        assumed = (*self._recorded.assumed, *self._partial.assumed)
        return replaced(assumed, self._warnings.assumed)

    def __iter__(self) -> Iterator[Motion]:
        for piece in self._recorded:
            motion = self._partial.complete(piece)
            self._warnings.add(motion.time, motion.q, (), v=motion.v, a=motion.a)
            yield replace(motion, notes=())


# A motion from any file that holds one.


def motion_from_file(
    path: str | PathLike[str],
    model: Model,
    reading: Reading,
    progress: Callable[[float], None] | None = None,
) -> Motion:
    """Return the motion that a file gives to a model: a table, or joint states in a ROS bag.

    Parameters
    ----------
    path : .csv, .parquet, .npz, .h5, .hdf5; .mcap, .db3, .bag or a rosbag2 folder
    progress : see `formats.tables.read_table` and `formats.bags.read_bag`
    """
    if not is_bag(path):
        _check_table(path, reading)
        frames, rest = reading.completion.frames, reading.rest
        source = named_columns(open_table(path), model, reading.naming, frames=frames, rest=rest)
        table = read_source(source, progress=progress)
        motion = whole_motion(table, model, reading)
        assumed = (*source.unwrapping.assumed, *motion.assumed)
        return replace(motion, notes=(*source.notes, *motion.notes), assumed=assumed)
    joints = {there: here or None for there, here in reading.naming.rename.items()}
    followers = [joint.name for joint in model.joints if joint.follows is not None]
    names = (*model.coordinate_names, *followers)
    for here in joints.values():
        if here is not None and here not in names:
            raise FileError(unknown_name("coordinate", here, names), fspath(path))
    clock = "header" if reading.clock is None else reading.clock
    found = read_bag(
        path, names, topic=reading.topic, joints=joints, clock=clock, progress=progress
    )
    missing = [name for name in model.coordinate_names if name not in found.table.names]
    if missing and not reading.rest and (not model.has_loops or len(missing) == model.nq):
        there = found.table.attributes[OTHERS] or "no others"
        raise FileError(
            f"there are no states of {some(missing)}; the messages have {there} besides: "
            f"say which is which with --rename THERE=HERE (rename={{there: here}}), or hold what "
            f"is missing at zero with --rest (rest=True)",
            fspath(path),
        )
    columns = found.table.columns
    unwrapping = Unwrapping(columns, model, reading.naming.unwrap)
    table = replace(found.table, values=unwrapping.add(found.table.values, columns))
    motion = whole_motion(table, model, reading)
    notes = (*found.notes, *unwrapping.notes, *motion.notes)
    return replace(motion, notes=notes, assumed=(*unwrapping.assumed, *motion.assumed))


def pieces_from_file(
    path: str | PathLike[str],
    model: Model,
    reading: Reading,
    progress: Callable[[float], None] | None = None,
) -> Pieces:
    """Return the motion in a file in pieces, a table's as they are read; see `motion_from_file`."""
    if is_bag(path):
        return MotionParts(motion_from_file(path, model, reading, progress), fspath(path))
    _check_table(path, reading)
    return motion_pieces(open_table(path), model, reading, progress=progress)


def _check_table(path: str | PathLike[str], reading: Reading) -> None:
    """Refuse for a table what is said of a bag."""
    said = {"topic": reading.topic, "clock": reading.clock}
    given = [name for name, value in said.items() if value is not None]
    if given:
        raise FileError(f"{', '.join(given)}: only for ROS bags", fspath(path))


# Some states of a motion that comes in pieces, evenly apart: what a film of it needs.

MOST = 512
"""Rows that are kept at most; of longer motions every second, fourth, ... row, MOST / 2 or more."""


class MotionSample:
    """Every k-th row of a motion, with k as small as there is room."""

    def __init__(self) -> None:
        self._step, self._rows = 1, 0
        self._kept: list[Motion] = []

    def add(self, motion: Motion) -> None:
        """Take in the next piece."""
        first = -self._rows % self._step
        self._kept.append(motion.part(slice(first, None, self._step)))
        self._rows += len(motion.time)
        while sum(len(piece.time) for piece in self._kept) > MOST:
            whole = joined(self._kept)
            self._kept, self._step = [whole.part(slice(None, None, 2))], 2 * self._step

    def motion(self, *others: Motion) -> Motion | None:
        """Return what was kept, with other states of the motion in their places; None of nothing.

        Parameters
        ----------
        others : single states that are to be among them, whether they were kept or not
        """
        whole = [piece for piece in (*self._kept, *others) if len(piece.time)]
        if not whole:
            return None
        motion = joined(whole)
        _, rows = np.unique(motion.time, return_index=True)
        return motion.part(rows)


def joined(pieces: list[Motion]) -> Motion:
    """Return motions of one machine, one after another."""
    time, q, v, a = (
        np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ("time", "q", "v", "a")
    )
    each = [piece.efforts for piece in pieces]
    measured = [one for one in each if one is not None]
    efforts = np.concatenate(measured) if len(measured) == len(each) else None
    return replace(pieces[0], time=time, q=q, v=v, a=a, efforts=efforts)
