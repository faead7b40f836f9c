"""``mbd report``: one page about a machine and a motion."""

from __future__ import annotations

import argparse

from mbd_bridge.cli import external, motion_file
from mbd_bridge.cli.parser import Names, add_robot, whole_number

SUMMARY = "a page with picture, loads, actuators, spectra and cross-check"
DESCRIPTION = """\
Write one self-contained HTML page about a machine and a motion: its picture and its tree of joints,
extremes of every load component, what the actuators need, range spectra and damage-equivalent
loads, what rigid mechanics does not determine, and what pinocchio and pybullet say of the machine.

  mbd report urdf/kuka_iiwa.urdf urdf/kuka_iiwa_motion.csv -o report.html

A table is read piece by piece, so that it may be of any length.

"""
DESCRIPTION += motion_file.TEXT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("motion", metavar="MOTION", help="table or ROS bag of the motion")
    parser.add_argument("-o", "--output", required=True, metavar="FILE.html", help="page to write")
    parser.add_argument(
        "--joints",
        nargs="+",
        action=Names,
        metavar="JOINT",
        help="whose loads; default: all, the cut ones too",
    )
    parser.add_argument(
        "--actuated",
        nargs="+",
        action=Names,
        metavar="JOINT",
        help="in a mechanism with loops: the actuated joints",
    )
    parser.add_argument(
        "--exponents",
        nargs="+",
        type=float,
        default=[3.0, 5.0, 10.0],
        metavar="m",
        help="Woehler exponents of the damage-equivalent loads (3 5 10)",
    )
    motion_file.add_arguments(parser)
    external.add_arguments(parser)
    title = parser.add_argument_group("of the title block")
    for name in ("project", "author", "revision"):
        title.add_argument(f"--{name}", default="", metavar="TEXT")
    title.add_argument(
        "--date", metavar="YYYY-MM-DD", help="default: now; with a date the page is reproducible"
    )
    parser.add_argument(
        "--exaggerate",
        type=float,
        default=1.0,
        metavar="X",
        help="factor on deflections of links that bend, as drawn (1)",
    )
    parser.add_argument("--no-view", action="store_true", help="leave the 3-D view out")
    parser.add_argument("--no-picture", action="store_true", help="leave the machine's picture out")
    parser.add_argument("--no-check", action="store_true", help="do not ask other engines")
    parser.add_argument(
        "--threads", type=whole_number, default=1, metavar="N", help="share the rows among threads"
    )


def run(options: argparse.Namespace) -> int:
    """Write the page."""
    from mbd_bridge.api.reports import report
    from mbd_bridge.cli import screen

    robot = screen.load_robot(options)
    forces = external.read(options, robot)
    with motion_file.pieces(options, robot.model) as pieces:
        history = report(
            robot,
            options.output,
            pieces,
            options.joints,
            actuated=options.actuated,
            exponents=options.exponents,
            picture=not options.no_picture,
            check=not options.no_check,
            threads=options.threads,
            external=forces,
            project=options.project,
            author=options.author,
            revision=options.revision,
            date=options.date,
            view=not options.no_view,
            exaggerate=options.exaggerate,
        )
    for note in history.notes:
        screen.say(note)
    screen.say(f"{history.rows} states in {options.output}")
    return 0
