"""``mbd free-body``: all that acts on one link at chosen instants of a motion."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from mbd_bridge.cli import along
from mbd_bridge.cli.parser import add_output, add_robot, whole_number

if TYPE_CHECKING:
    from mbd_bridge.applications.free_body import NearestInstants, PeakInstants

GROUP = "loads"
SUMMARY = "all that acts on a link at chosen instants, for strength analysis"
DESCRIPTION = """\
Cut one link free: the force and moment of every joint on it (fixed ones, loop joints), gravity and
inertia, in equilibrium, at the instants at which its loads are largest.

  mbd free-body urdf/kuka_iiwa.urdf urdf/kuka_iiwa_motion.csv --link lbr_iiwa_link_3 -o link_3.bdf
  mbd free-body urdf/kuka_iiwa.urdf --q lbr_iiwa_joint_2=90deg --link lbr_iiwa_link_3

Forces act on the link, in the axes of its frame; moments are about the points given. Written as
.csv (a table) or .bdf, .dat, .nas, .blk (Nastran bulk data in large fields: a grid at every joint
and at the centre of mass; for instant k the load set 10 k, the sum of 10 k + 1, what joints do, and
10 k + 2, gravity and inertia). Without -o only what is written is shown.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    along.add_pose(parser)
    parser.add_argument("--link", required=True, metavar="LINK", help="name of the link")
    parser.add_argument(
        "--at",
        nargs="+",
        default=["peak"],
        metavar="peak|JOINT.fx|s",
        help="peak: where any component of any joint on the link is largest (default); a joint or "
        "one of its components (elbow.fx); or times in s, the nearest rows of MOTION "
        "(where it has stamps of a clock: s after the first)",
    )
    add_output(parser, ".csv, .bdf, .dat, .nas, .blk, .inp or .comm")
    parser.add_argument(
        "--length", choices=("m", "mm"), default="m", help="unit of length in bulk data (m)"
    )
    parser.add_argument(
        "--first",
        type=whole_number,
        default=1,
        metavar="N",
        help="number of the first grid in bulk data; load sets begin 9 later (1)",
    )
    parser.add_argument(
        "--system",
        type=whole_number,
        default=0,
        metavar="N",
        help="write a coordinate system of this number into bulk data and use it; else the basic "
        "system is the link's frame",
    )
    parser.add_argument(
        "--mass",
        choices=("points", "distributed"),
        default="points",
        help="gravity and inertia in .inp and .comm: forces at points, or loads on the model's "
        "own mass (points)",
    )
    along.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Find the instants, cut the link free there, show and write it."""
    from mbd_bridge.applications.free_body.files import check_output
    from mbd_bridge.base.errors import count
    from mbd_bridge.cli import screen

    along.check_given(options)
    if options.output is not None:
        check_output(options.output)
    robot = along.load_robot(options)
    robot.model.link_number(options.link)
    instants = _instants(options.at)
    actuation = {"actuated": options.actuated, "minimum_norm": options.minimum_norm}
    forces = along.read_external(options, robot)
    with along.pieces(options, robot.model) as pieces:
        for motion in pieces:
            body = robot.free_body(
                options.link, motion, external=forces, threads=options.threads, **actuation
            )
            instants.add(body)
    screen.say_all((*pieces.notes, screen.unused_in_file(robot, "these loads")))
    wanted = () if options.at == ["peak"] or _are_times(options.at) else options.at
    body = instants.body(*wanted)
    if options.output is not None:
        choices = {"length": options.length, "first": options.first, "system": options.system}
        body.write(options.output, mass=options.mass, **choices)
    console = screen.stdout()
    screen.show(console, f"{body.link}: forces on it, in its axes, moments about the points")
    for table in body.tables():
        screen.show(console, "", table.title, table)
    if options.output is not None:
        screen.say(f"{count(len(body.time), 'instant')} written to {options.output}")
    return 0


def _instants(words: list[str]) -> NearestInstants | PeakInstants:
    """Return what keeps the instants that are asked for."""
    from mbd_bridge.applications.free_body import NearestInstants, PeakInstants
    from mbd_bridge.base.errors import StateError

    if _are_times(words):
        return NearestInstants([float(word) for word in words])
    if len(words) > 1:
        raise StateError(f"--at: expected times, or one word; got {' '.join(words)}")
    return PeakInstants()


def _are_times(words: list[str]) -> bool:
    return all(math.isfinite(_number(word)) for word in words)


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return math.nan
