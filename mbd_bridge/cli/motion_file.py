"""The motion that a command works on: a table, or joint states in a ROS bag."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mbd_bridge.cli.parser import Names

if TYPE_CHECKING:
    from mbd_bridge.mechanism import Model
    from mbd_bridge.motions import Motion, Pieces

TEXT = """\
MOTION is a table (.csv, .parquet, .npz, .h5) with a column 'time' or 't' (s), one for each
coordinate (mbd info lists their names), and where you have them '<name>.vel' and '<name>.acc'
(rates of a ball joint or a floating base by the names under v: 'hip.wx.vel'). SI units; others in
brackets: 'elbow [deg]', 'rail.vel [mm/s]'. Or it is a ROS bag (a rosbag2 folder, .mcap, .db3) with
joint states. Rates that are not there are derived by a spline of degree 5 through the positions
(through the rotation for quaternions), and this is said.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how a motion is read."""
    parser.add_argument(
        "--rest",
        action="store_true",
        help="hold joints missing from MOTION in their neutral position, at rest",
    )
    parser.add_argument(
        "--ignore",
        nargs="+",
        action=Names,
        metavar="COLUMN",
        help="columns of MOTION that are no part of the motion; * and ? stand for any characters",
    )
    bag = parser.add_argument_group("of a ROS bag")
    bag.add_argument("--topic", metavar="TOPIC", help="with joint states, if it has several")
    bag.add_argument(
        "--rename",
        nargs="+",
        action=Names,
        metavar="THERE=HERE",
        help="names of joints in the bag and of coordinates here; THERE= leaves one out",
    )
    bag.add_argument(
        "--clock",
        choices=("header", "bag"),
        help="times are the stamps in the messages (default), or when messages were recorded",
    )


def read(options: argparse.Namespace, model: Model) -> Motion:
    """Return the motion that the options name."""
    from os import stat

    from mbd_bridge.cli import screen
    from mbd_bridge.formats.bags import is_bag
    from mbd_bridge.motions import motion_from_file

    size = None  # a pipe has none, and of a bag messages are counted
    if not is_bag(options.motion):
        with contextlib.suppress(OSError):  # the reader has the better message
            size = stat(options.motion).st_size or None
    bag = {"topic": options.topic, "joints": _renamed(options.rename), "clock": options.clock}
    with screen.progress("reading", size) as step:
        return motion_from_file(
            options.motion,
            model,
            rest=options.rest,
            progress=step,
            bag=bag,
            ignore=ignored(options),
        )


@contextlib.contextmanager
def pieces(options: argparse.Namespace, model: Model) -> Iterator[Pieces]:
    """Give the motion that the options name in pieces, and show how far they are taken."""
    from os import stat

    from mbd_bridge.cli import screen
    from mbd_bridge.formats.bags import is_bag
    from mbd_bridge.formats.tables import open_table
    from mbd_bridge.motions import MotionParts, MotionPieces

    if is_bag(options.motion) or options.topic or options.rename or options.clock:
        yield MotionParts(read(options, model), options.motion)
        return
    source = open_table(options.motion)
    size = stat(options.motion).st_size or None  # a pipe has none
    with screen.progress("reading and computing", size) as step:
        yield MotionPieces(source, model, rest=options.rest, ignore=ignored(options), progress=step)


def ignored(options: argparse.Namespace) -> list[str]:
    """Return patterns of the columns of MOTION that are no part of the motion."""
    from mbd_bridge.cli.external import sensors_of

    return [*(options.ignore or ()), *(f"{prefix}*" for prefix in sensors_of(options).values())]


def _renamed(words: list[str] | None) -> dict[str, str | None] | None:
    from mbd_bridge.errors import StateError

    if words is None:
        return None
    for word in words:
        if "=" not in word:
            raise StateError(f"--rename: expected THERE=HERE, got {word!r}")
    pairs = (word.split("=", 1) for word in words)
    return {there: here or None for there, here in pairs}
