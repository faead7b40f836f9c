"""Partial motions of any length, completed piece by piece: each goes on where the last ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from mbd_bridge.base.assumptions import Assumption, replaced
from mbd_bridge.files.table import ColumnTable
from mbd_bridge.files.tables import TableSource
from mbd_bridge.model import Model
from mbd_bridge.motion.efforts import without_efforts
from mbd_bridge.motion.given_columns import GivenColumns, is_partial
from mbd_bridge.motion.motion import Motion
from mbd_bridge.motion.names import named_columns
from mbd_bridge.motion.partial import PartialMotion
from mbd_bridge.motion.pieces import MotionPieces, Pieces
from mbd_bridge.motion.reading import Reading
from mbd_bridge.motion.warnings import MotionWarnings, without_unit

AS_IT_IS = Reading()
"""Nothing is said of the file."""


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
    options, rest, smoothing = reading.completion, reading.rest, reading.smoothing
    source = named_columns(source, model, reading.naming, frames=options.frames, rest=rest)
    empty = ColumnTable(
        source.columns,
        np.zeros((0, len(source.columns))),
        None,
        source.path,
        source.attributes,
    )
    if options.given is None and not is_partial(empty, model, options.frames):
        return MotionPieces(
            source,
            model,
            rest=rest,
            rows=rows,
            smoothing=smoothing,
            progress=progress,
            unwrapping=source.unwrapping,
        )
    columns = GivenColumns(model, without_efforts(empty, model)[0], options.frames)
    recorded = MotionPieces(
        source,
        columns.stand_in,
        rows=rows,
        smoothing=smoothing,
        progress=progress,
        of=columns.of,
        machine=model,
        unwrapping=source.unwrapping,
    )
    return CompletedPieces(recorded, PartialMotion(model, columns, reading), without_unit(empty))


class CompletedPieces:
    """The pieces of a recorded part of a motion, each completed."""

    def __init__(
        self, recorded: MotionPieces, partial: PartialMotion, unitless: frozenset[str]
    ) -> None:
        self.name, self.model = recorded.name, partial.model
        self._recorded, self._partial = recorded, partial
        self._warnings = MotionWarnings(partial.model)
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
            self._warnings.add(motion.time, motion.q, (), v=motion.v)
            yield replace(motion, notes=())
