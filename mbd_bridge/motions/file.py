"""A motion from any file that holds one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

from mbd_bridge.errors import FileError, some, unknown_name
from mbd_bridge.formats.bags import OTHERS, is_bag, read_bag
from mbd_bridge.formats.tables import open_table, read_source
from mbd_bridge.mechanism import Model
from mbd_bridge.motions.motion import Motion
from mbd_bridge.motions.names import Naming, named_columns
from mbd_bridge.motions.partial import CompletionOptions, whole_motion
from mbd_bridge.motions.smoothing import Smoothing
from mbd_bridge.motions.warnings import NAMED


def motion_from_file(
    path: str | PathLike[str],
    model: Model,
    *,
    rest: bool = False,
    smoothing: Smoothing | None = None,
    progress: Callable[[float], None] | None = None,
    bag: Mapping[str, Any] | None = None,
    naming: Naming | None = None,
    completion: CompletionOptions | None = None,
) -> Motion:
    """Return the motion that a file gives to a model: a table, or joint states in a ROS bag.

    Parameters
    ----------
    path : .csv, .parquet, .npz, .h5, .hdf5; .mcap, .db3, .bag or a rosbag2 folder
    rest : hold the coordinates that the file has not at zero (no rotation), at rest
    smoothing : how noise is kept out of rates that are derived; None: ``Smoothing()``
    progress : see `formats.tables.read_table` and `formats.bags.read_bag`
    naming : what the columns of a table are, and the joints of a bag
    bag : topic and clock of a bag, None where not given; see `formats.bags.read_bag`
    completion : how a motion of which the file has a part is completed (`motions.partial`)
    """
    given = {key: value for key, value in (bag or {}).items() if value is not None}
    if not is_bag(path):
        if given:
            raise FileError(f"{', '.join(given)}: only for ROS bags", fspath(path))
        frames = None if completion is None else completion.frames
        source = named_columns(open_table(path), model, naming, frames=frames, rest=rest)
        table = read_source(source, progress=progress)
        motion = whole_motion(table, model, rest, completion, smoothing)
        return replace(motion, notes=(*source.notes, *motion.notes))
    if naming is not None and naming.rename:
        given["joints"] = {there: here or None for there, here in naming.rename.items()}
    followers = [joint.name for joint in model.joints if joint.follows is not None]
    names = (*model.coordinate_names, *followers)
    for here in (given.get("joints") or {}).values():
        if here is not None and here not in names:
            raise FileError(unknown_name("coordinate", here, names), fspath(path))
    found = read_bag(path, names, progress=progress, **given)
    missing = [name for name in model.coordinate_names if name not in found.table.names]
    if missing and not rest and (not model.has_loops or len(missing) == model.nq):
        there = found.table.attributes[OTHERS] or "no others"
        raise FileError(
            f"there are no states of {some(missing, NAMED)}; the messages have {there} besides: "
            f"say which is which with --rename THERE=HERE (rename={{there: here}}), or hold what "
            f"is missing at zero with --rest (rest=True)",
            fspath(path),
        )
    motion = whole_motion(found.table, model, rest, completion, smoothing)
    return replace(motion, notes=(*found.notes, *motion.notes))
