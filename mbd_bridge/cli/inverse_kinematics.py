"""``mbd inverse-kinematics``: the motion of a machine of which a frame's path is given."""

from __future__ import annotations

import argparse

from mbd_bridge.cli import along, shared
from mbd_bridge.cli.assemble import EXIT_INCOMPLETE
from mbd_bridge.cli.parser import add_output, add_robot
from mbd_bridge.cli.shared import add_options, values
from mbd_bridge.motion.options import InverseKinematicsOptions

GROUP = "close its loops, move it"
SUMMARY = "inverse kinematics: the motion that takes a frame along a path, within the limits"
DESCRIPTION = """\
Find the positions, velocities and accelerations of the joints that take a frame along a path.

  mbd inverse-kinematics urdf/kuka_iiwa.urdf path.csv --near lbr_iiwa_joint_4=-80deg -o motion.csv

PATH is a table with a column 'time' (s) and the pose of one link or --frame in the world, as
mbd complete-motion takes it: 'tool.x', '.y', '.z', and 'tool.qx' to '.qw' or 'tool.roll', '.pitch',
'.yaw'. Without orientation it is free. The joints stay within the limits of the file and, where
there is a choice, as near to --near as they can. Out comes the motion. The exit code is 1 if a row
cannot be reached: then its position of least residual is written, and it is said.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("path", metavar="PATH", help="table of the path")
    add_output(parser)
    along.add_near(parser)
    along.add_frame(parser)
    limits = {"help": "let joints go beyond the limits of the file"}
    closed_to = {"flag": "--closed-to", "metavar": "RESIDUAL"}
    options = InverseKinematicsOptions
    add_options(parser, options, ("limits", "tolerance"), limits=limits, tolerance=closed_to)


def run(options: argparse.Namespace) -> int:
    """Write the motion; return 1 if a row is not reached."""
    from mbd_bridge.cli import screen
    from mbd_bridge.files.tables import read_table
    from mbd_bridge.motion.path import motion_along_path

    shared.check_table(options)
    robot = screen.load_robot(options)
    shared.check_columns(options.output, robot.model)
    with screen.waiting("looking for positions"):
        motion, path = motion_along_path(
            read_table(options.path),
            robot.model,
            **values(
                options,
                InverseKinematicsOptions,
                near=along.near(options, robot.model),
                frames=along.frames(options.frame),
            ),
        )
    along.write_motion(options, robot.model, motion)
    return 0 if path.reached.all() else EXIT_INCOMPLETE
