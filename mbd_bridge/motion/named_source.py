"""A file whose columns are called as they are here, and rows of it that are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.base.errors import count
from mbd_bridge.files.table import Block, Column, Lines, TableSource, check_finite
from mbd_bridge.motion.table import EFFORT
from mbd_bridge.motion.unwrap import Unwrapping


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
