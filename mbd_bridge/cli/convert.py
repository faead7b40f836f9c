"""``mbd convert``: a robot's file in another format."""

from __future__ import annotations

import argparse

from mbd_bridge.cli.parser import OutputFile, add_robot, add_stated

FORMS = ("URDF", "URDF+", "MJCF", "SDF", "USD")

GROUP = "hand it on"
SUMMARY = "a robot's file as URDF, URDF+, MJCF, SDF or USD"
DESCRIPTION = """\
Write a machine in another format: .urdf with its sidecars, .sdf, .xml (MJCF), .usda. Links keep
their frames and joints their coordinates; what the format has no place for is listed on stderr.

  mbd convert urdf/four_bar.urdf four_bar.sdf
  mbd convert urdf/kuka_iiwa.urdf iiwa.xml
  mbd convert urdf/four_bar.urdf plus.urdf --format URDF+
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    add_stated(parser)
    parser.add_argument(
        "output",
        type=OutputFile,
        metavar="OUT",
        help="file to write: .urdf, .sdf, .xml (MJCF) or .usda",
    )
    parser.add_argument("--format", choices=FORMS, help="what to write, whatever OUT is called")


def run(options: argparse.Namespace) -> int:
    """Write the file, and say what it cannot hold."""
    import warnings

    from mbd_bridge.base.errors import MbdWarning
    from mbd_bridge.cli import screen

    options.rigid = options.flexible is None  # what bends stands in its own file
    robot = screen.load_robot(options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MbdWarning)  # they are the notes
        found = robot.convert(options.output, form=options.format)
    for note in found.notes:
        screen.say(note, "warning")
    for file in found.files:
        screen.say(f"written: {file}")
    return 0
