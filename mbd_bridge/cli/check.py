"""``mbd check``: our numbers beside those of other engines."""

from __future__ import annotations

import argparse

from mbd_bridge.cli.parser import add_robot, from_zero, whole_number

SUMMARY = "compare loads and dynamics with pinocchio, pybullet and MuJoCo"
DESCRIPTION = """\
Compare every joint's load and actuation, the mass matrix, the bias forces and the forward dynamics
with pinocchio and, where it is installed, pybullet, on random states; and check Newton's and
Euler's equations for every free link. Of an MJCF file MuJoCo is asked too, about springs and
damping as well.

  mbd check urdf/kuka_iiwa.urdf --states 50

Out comes a table: quantity, referee, largest relative error, tolerance, where it is worst; then
a verdict. The exit code is 1 if they disagree.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument(
        "--states", type=whole_number, default=20, metavar="N", help="random states (20)"
    )
    parser.add_argument("--seed", type=from_zero, default=0, help="of the random states (0)")
    parser.add_argument(
        "--pybullet",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="insist on pybullet, or leave it out; default: where it is installed",
    )


def run(options: argparse.Namespace) -> int:
    """Print the comparison; return 1 on disagreement."""
    from mbd_bridge.cli import DISAGREEMENT, screen
    from mbd_bridge.engines.crosscheck import crosscheck

    robot = screen.load_robot(options)
    with screen.waiting("checking"):
        report = crosscheck(
            robot.model, states=options.states, seed=options.seed, pybullet=options.pybullet
        )
    console = screen.stdout()
    for table in report.tables():
        screen.show(console, table.title, table, "")
    verdict, comma, rest = report.verdict.partition(",")
    on = f"on {options.states} states (seed {options.seed}) of {robot.name}"
    screen.show(console, f"{verdict} {on}{comma}{rest}")
    for reason in report.absent:
        screen.say(f"not asked: {reason}")
    return 0 if report.passed else DISAGREEMENT
