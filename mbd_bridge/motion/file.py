"""A motion from any file that holds one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike, fspath

from mbd_bridge.base.errors import FileError, some, unknown_name
from mbd_bridge.files.bags import OTHERS, is_bag, read_bag
from mbd_bridge.files.tables import open_table, read_source
from mbd_bridge.model import Model
from mbd_bridge.motion.completed_pieces import motion_pieces
from mbd_bridge.motion.motion import Motion
from mbd_bridge.motion.names import named_columns
from mbd_bridge.motion.partial import whole_motion
from mbd_bridge.motion.pieces import MotionParts, Pieces
from mbd_bridge.motion.reading import Reading
from mbd_bridge.motion.unwrap import Unwrapping
from mbd_bridge.motion.warnings import NAMED


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
            f"there are no states of {some(missing, NAMED)}; the messages have {there} besides: "
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
