"""``mbd bearings``: radial, axial and tilting loads of joints with one axis, and rating lives."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mbd_bridge.cli import along, shared
from mbd_bridge.cli.parser import add_robot, add_stated, whole_number

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism

GROUP = "size its parts"
SUMMARY = "radial, axial and tilting loads of bearings, and rating lives (ISO 281)"
DESCRIPTION = f"""\
Compute what the bearings of joints with one axis carry along a motion: radial and axial force,
tilting moment, the direction of the radial force, whether it stands still or goes round in each
ring; and the rating life (ISO 281) of the bearings that are given.

  mbd bearings urdf/kuka_iiwa.urdf urdf/kuka_iiwa_motion.csv --joints lbr_iiwa_joint_2 \\
      --bearing lbr_iiwa_joint_2:C=15.9e3,C0=11e3,position=-0.05 \\
      --bearing lbr_iiwa_joint_2:C=15.9e3,C0=11e3,position=0.05

Two bearings of a joint, at two positions on its axis, share force and moment by statics. Bearings
that are not given here are those of NAME.bearings.yaml beside ROBOT.

{along.TEXT}
Forces are those of the parent on the child. Angles count about the joint's axis, in the child's
axes, from x where the axis is z, from y where it is x, from z where it is y.
"""

WORDS = ("kind",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("motion", metavar="MOTION", help="table of the motion, or ROS bag")
    shared.add_joints(parser, "default: all with one axis")
    add_stated(parser)
    add_options(parser)
    along.add_arguments(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare bearings beside those that are stated."""
    parser.add_argument(
        "--bearing",
        action="append",
        default=[],
        type=_bearing,
        metavar="JOINT:C=N[,...]",
        help="C, C0 (N), kind (deep groove, angular contact, cylindrical roller, tapered roller, "
        "factors), angle (degrees), f0, X, Y, e, X0, Y0, exponent, position (m along the axis); "
        "twice for a pair",
    )
    parser.add_argument(
        "--located",
        choices=("first", "second", "each"),
        help="which of a pair carries the axial force; each: an opposed pair without preload",
    )
    parser.add_argument(
        "--reliability", type=whole_number, metavar="%", help="90 (default), 95 to 99"
    )
    parser.add_argument("--aiso", type=float, metavar="a", help="of ISO 281 (1)")


def run(options: argparse.Namespace) -> int:
    """Compute and show."""
    from mbd_bridge.applications.bearings.bearings import bearings_along, known_bearings
    from mbd_bridge.cli import screen

    robot = with_options(along.load_robot(options), options)
    joints = shared.joints(options)
    inputs = along.load_inputs(options, robot)
    with along.pieces(options, robot.model) as pieces:
        found = bearings_along(pieces, inputs, joints, known_bearings(robot, None))
    screen.say_all((*pieces.notes, *screen.forces_said(robot)))
    for duty in found.duties:
        for note in duty.notes:
            screen.say(f"{duty.title}: {note}")
    screen.say_all(map(str, found.assumed))
    screen.show_tables(found)
    return 0


def with_options(robot: Mechanism, options: argparse.Namespace) -> Mechanism:
    """Return the machine with the bearings of the options beside those that are stated."""
    given: dict[str, list[Any]] = {}
    for joint, bearing in options.bearing:
        given.setdefault(joint, []).append(bearing)
    stated = robot.stated_bearings
    if not given and stated is None:
        return robot
    known = given if stated is None else stated.beside(given)
    return robot.with_bearings(
        known,
        located=options.located,
        reliability=options.reliability,
        aiso=options.aiso,
    )


def _bearing(text: str) -> tuple[str, Any]:
    """Return joint and bearing of JOINT:C=N,..."""
    from dataclasses import fields

    from mbd_bridge.applications.bearings import Bearing

    joint, colon, rest = text.rpartition(":")
    numbers = [one.name for one in fields(Bearing)]
    values: dict[str, Any] = {}
    for part in rest.split(","):
        key, equals, value = part.partition("=")
        try:
            values[key] = value if key in WORDS else float(value)
        except ValueError:
            equals = ""
        if not joint or not colon or not equals or key not in numbers:
            break
    else:
        if "C" in values:
            return joint, Bearing(**values)
    raise argparse.ArgumentTypeError(
        f"expected JOINT:C=N, then more of {', '.join(numbers)}, such as elbow:C=15e3,C0=8e3; got "
        f"{text!r}"
    )
