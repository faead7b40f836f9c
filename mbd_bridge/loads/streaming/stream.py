"""From the file of a motion to loads, their file and what is kept of them, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike, fspath
from types import MappingProxyType
from typing import TextIO

import numpy as np

from mbd_bridge.base.errors import some
from mbd_bridge.files.tables import TableWriter
from mbd_bridge.loads.export import load_attributes, load_columns, load_rows
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.signals import Flags
from mbd_bridge.loads.streaming.load_history import LoadHistory, LoadHistoryCounter
from mbd_bridge.loads.streaming.observer import Observer
from mbd_bridge.motion.motion import Motion
from mbd_bridge.motion.pieces import Pieces
from mbd_bridge.motion.table import COMPONENTS, TIME, attributes

Answer = Callable[[Motion], JointLoads]
"""What gives the loads along a piece of a motion."""


def stream_loads(
    answer: Answer,
    pieces: Pieces,
    *,
    output: str | PathLike[str] | TextIO | None = None,
    digits: int | None = None,
    observers: Mapping[str, Observer] = MappingProxyType({}),
) -> LoadHistory:
    """Return what is kept of the loads along a motion in pieces; write the loads if asked to.

    Memory does not grow with the length of the motion.

    Parameters
    ----------
    answer : gives the loads, with their times, along each piece
    pieces : of the motion: `MotionPieces` of a file, `MotionParts` of a motion
    output : .parquet, .csv, .npz or .h5 file for the loads themselves
    digits : significant digits in a text; None for all
    observers : by the names of their results in the history
    """
    counter = LoadHistoryCounter(observers)
    named: Flags | None = None
    bands = False
    with ExitStack() as stack:
        writer: TableWriter | None = None
        for motion in pieces:
            loads = answer(motion)
            if output is not None and writer is None:
                writer = stack.enter_context(loads_writer(output, loads, pieces, digits))
                named, bands = loads.determined, loads.uncertainty is not None
            if writer is not None:
                writer.append(np.column_stack([motion.time, load_rows(loads, bands)]))
            counter.add(motion, loads)
    name = fspath(output) if isinstance(output, str | PathLike) else None
    history = counter.history(pieces.notes, name, pieces.assumed)
    if named is None:
        return history
    sure = [[history[f"{j}.{c}"].determined for c in COMPONENTS] for j in history.joints]
    lost = lost_components(history.joints, named, np.array(sure))
    return replace(history, notes=(*history.notes, *lost))


def lost_components(joints: Sequence[str], named: Flags, sure: Flags) -> tuple[str, ...]:
    """Return a note on columns that were begun as determined ones, but are not throughout, or none.

    Parameters
    ----------
    named, sure : (J, 6) what the columns' names say, and what is so at all states
    """
    lost = [f"{joints[j]}.{COMPONENTS[k]}" for j, k in np.argwhere(named & ~sure)]
    if not lost:
        return ()
    names = some(lost, 6)
    return (f"not determined throughout, though the names of their columns do not say so: {names}",)


def loads_writer(
    output: str | PathLike[str] | TextIO,
    loads: JointLoads,
    pieces: Pieces,
    digits: int | None,
    more: Mapping[str, str] | None = None,
) -> TableWriter:
    """Return what writes times and loads such as these, with what is known of them so far.

    Parameters
    ----------
    more : attributes of the file, beside those of all such files
    """
    said = attributes(f"joint loads of {pieces.model.name} along {pieces.name}", pieces.notes)
    columns = [TIME, *load_columns(loads)]
    said |= {**(more or {}), **load_attributes(loads)}
    return TableWriter(output, columns, said, digits=digits)
