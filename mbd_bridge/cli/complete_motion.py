"""``mbd complete-motion``: a whole motion from a part of it."""

from __future__ import annotations

import argparse

from mbd_bridge.cli import along, shared
from mbd_bridge.cli.parser import add_output, add_robot

GROUP = "close its loops, move it"
SUMMARY = "complete a motion of which a part is recorded: actuated joints, or a platform's pose"
DESCRIPTION = f"""\
Complete a motion from the columns that are recorded, by the loops of the machine.

  mbd complete-motion urdf/stewart.urdf legs.csv -o whole.csv
  mbd complete-motion urdf/stewart.urdf pose.csv --frame top=platform -o whole.csv

{along.TEXT}
Out comes the whole motion: coordinates, velocities, accelerations. How well the recorded columns
determine it, and rows that are not to be trusted, are said.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("motion", metavar="MOTION", help="table of the motion, or ROS bag")
    add_output(parser)
    along.add_reading(parser)


def run(options: argparse.Namespace) -> int:
    """Write the whole motion."""
    from mbd_bridge.cli import screen

    shared.check_table(options)
    robot = screen.load_robot(options)
    shared.check_columns(options.output, robot.model)
    motion = along.read_motion(options, robot.model)
    along.write_motion(options, robot.model, motion)
    return 0
