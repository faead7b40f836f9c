"""Motions, forces and loads from files and arrays: methods of a mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Unpack

from numpy.typing import ArrayLike

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.arguments import file_path, flag
from mbd_bridge.base.options import with_options
from mbd_bridge.files.tables import read_table
from mbd_bridge.loads import JointLoads, loads_from_table
from mbd_bridge.motion import Motion, Reading, motion_from_file
from mbd_bridge.motion.external import ExternalForces, external_from_file
from mbd_bridge.motion.external.forces import force_on_link
from mbd_bridge.motion.motion import motion_from_arrays
from mbd_bridge.motion.options import (
    ExternalReadingOptions,
    PartialMotionOptions,
    ReadingOptions,
)
from mbd_bridge.motion.partial import complete_columns
from mbd_bridge.motion.reading import CompletionOptions
from mbd_bridge.motion.smoothing import Smooth, Smoothing
from mbd_bridge.solve.wrenches import Axes


@with_options
def read_motion(
    machine: Mechanism,
    path: str | PathLike[str],
    **options: Unpack[ReadingOptions],
) -> Motion:
    """Read a motion from a file: a table with time and coordinates, or joint states in a bag.

    Parameters
    ----------
    path : .csv, .parquet, .npz, .h5 or .hdf5, columns named after coordinates; or a ROS bag: a
        rosbag2 folder, .mcap, .db3, .bag. Rates that it does not have come from splines,
        smoothing ones where the data are noisy (``.notes`` says so)
    **options : of the file

    See Also
    --------
    motion, complete, joint_loads, load_history
    """
    return motion_from_file(path, machine.model, Reading.of(**options))


def motion(
    machine: Mechanism,
    time: ArrayLike,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    smooth: Smooth = "auto",
    cutoff: float | None = None,
) -> Motion:
    """Return the motion of states in arrays, checked and completed as `read_motion` does.

    Parameters
    ----------
    time : (N,) s
    q, v, a : (N, nq), (N, nv), (N, nv): rad or m, and their rates; rates that are not given
        come from splines, smoothing ones where the data are noisy
    smooth, cutoff : as in `read_motion`
    """
    return motion_from_arrays(machine.model, time, q, v, a, Smoothing.of(smooth, cutoff))


def external_force(
    machine: Mechanism,
    link: str,
    force: ArrayLike,
    *,
    moment: ArrayLike = (0.0, 0.0, 0.0),
    point: ArrayLike = (0.0, 0.0, 0.0),
    axes: Axes = "link",
    time: ArrayLike | None = None,
) -> ExternalForces:
    """Return a force on a link, ``external=`` of loads and simulations; several are added by +.

    Parameters
    ----------
    force, moment : (3,) N, N m; or (n, 3) at times
    point : (3,) m in the link's frame, at which it acts
    axes : of force and moment: "link" or "world"
    time : (n,) s of the rows, linear between them; None: it is always the same

    Examples
    --------
    >>> push = robot.external_force("tool0", (0, 0, -50), axes="world")  # doctest: +SKIP
    """
    return force_on_link(machine.model, link, force, moment, point, axes, time)


@with_options
def read_external(
    machine: Mechanism, path: str | PathLike[str], **options: Unpack[ExternalReadingOptions]
) -> ExternalForces:
    """Read external forces on the links: a process force, a sensor's recording.

    The first column is ``time``, a coordinate, or ``<link>.x`` (.y, .z) where the link's origin
    is in the world; the others are ``<link>.fx [N]`` ... ``<link>.mz [N m]``, with ``<link>.px
    [m]`` ... the point of action. What is not said here may be said by the file's attributes of
    the same names (in CSV ``# outside: zero``). It is linear between rows.

    Parameters
    ----------
    path : .csv, .parquet, .npz, .h5 or .hdf5
    **options : of the file

    See Also
    --------
    external_force, joint_loads, simulate

    Examples
    --------
    >>> press = machine.read_external("stroke.csv")                     # doctest: +SKIP
    >>> machine.joint_loads(motion, external=press)                     # doctest: +SKIP
    """
    return external_from_file(file_path("path", path), machine.model, **options)


@with_options
def complete(
    machine: Mechanism,
    recorded: Mapping[str, ArrayLike],
    time: ArrayLike,
    **options: Unpack[PartialMotionOptions],
) -> Motion:
    """Return the whole motion that recorded coordinates or poses determine.

    Parameters
    ----------
    recorded : (N,) numbers by the names that columns of a motion have: coordinates ("crank"),
        their rates ("crank.vel", "crank.acc"), poses of a link or frame in the world
        ("tool.x", ..., "tool.roll", ... or "tool.qx", ...); rad, m and s. Rates that are not
        there are derived
    time : (N,) s
    **options : of what is recorded

    Examples
    --------
    >>> motion = robot.complete({"crank": angles}, time)               # doctest: +SKIP
    """
    rest, check = flag("rest", options["rest"]), flag("check", options["check"])
    found = CompletionOptions(
        options["near"], options["frames"], options["given"], options["tolerance"]
    )
    reading = Reading(rest, completion=found)
    return complete_columns(machine.model, recorded, time, reading, check=check)


def read_loads(machine: Mechanism, path: str | PathLike[str]) -> JointLoads:
    """Read joint loads along time back from a file that `JointLoads.save` or ``mbd`` wrote.

    Parameters
    ----------
    path : a .csv, .parquet, .npz, .h5 or .hdf5 file; also one that holds the motion too
    """
    return loads_from_table(read_table(path), machine.model)
