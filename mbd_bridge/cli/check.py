"""``mbd check``: our numbers beside those of other engines."""

from __future__ import annotations

import argparse

from mbd_bridge.cli import along
from mbd_bridge.cli.parser import add_robot, from_zero, whole_number

GROUP = "look at a machine"
SUMMARY = "compare loads and dynamics with pinocchio, pybullet and MuJoCo"
DESCRIPTION = """\
Compare every joint's load and actuation, the mass matrix, the bias forces and the forward dynamics
with pinocchio and, where it is installed, pybullet, on random states; and check Newton's and
Euler's equations for every free link. Of an MJCF file MuJoCo is asked too, about springs and
damping as well.

  mbd check urdf/kuka_iiwa.urdf --states 50

Along a MOTION the loads of each joint are compared, with the external forces, payloads, force
elements and loops of the job: options as those of mbd loads.

  mbd check urdf/kuka_iiwa.urdf urdf/kuka_iiwa_motion.csv --payload lbr_iiwa_link_7,5

Out comes a table: quantity, largest relative error, tolerance, where it is worst; then a verdict.
The exit code is 1 if they disagree.

"""
DESCRIPTION += along.TEXT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    along.add_pose(parser)
    parser.add_argument(
        "--states",
        type=whole_number,
        metavar="N",
        help="random states (20); of MOTION so many rows of each 65,536 (1000), beside those of "
        "the largest loads",
    )
    parser.add_argument("--seed", type=from_zero, default=0, help="of the random states (0)")
    parser.add_argument(
        "--pybullet",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="insist on pybullet, or leave it out; default: where it is installed",
    )
    along.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print the comparison; return 1 on disagreement."""
    from mbd_bridge.api.crosscheck import check_motion
    from mbd_bridge.cli import DISAGREEMENT, screen

    if options.motion is None and options.q is None:
        robot = screen.load_robot(options)
        with screen.waiting("checking"):
            report = robot.crosscheck(
                states=options.states, seed=options.seed, pybullet=options.pybullet
            )
        on = f"{report.states} states (seed {options.seed}) of {robot.name}"
    else:
        robot = along.load_robot(options)
        acting = along.load_inputs(options, robot)
        with along.pieces(options, robot.model) as pieces:
            report = check_motion(acting, pieces, options.states, options.pybullet)
            screen.say_all(pieces.notes)
        on = f"{report.at} of {robot.name}"
    console = screen.stdout()
    for table in report.tables():
        screen.show(console, table.title, table, "")
    verdict, comma, rest = report.verdict.partition(",")
    screen.show(console, f"{verdict} on {on}{comma}{rest}")
    for reason in report.absent:
        screen.say(f"not asked: {reason}")
    return 0 if report.passed else DISAGREEMENT
