"""The words of the command line. What a command needs is imported when it runs."""

from __future__ import annotations

import argparse
import importlib

COMMANDS = ("info", "loads", "check", "bench", "export")
"""Modules of this package, each with SUMMARY, DESCRIPTION, `add_arguments` and `run`."""

DESCRIPTION = """\
The load in any joint of any machine, in machine code made for that machine.

  mbd info robot.urdf                                 what is in the file
  mbd loads robot.urdf motion.csv --joints elbow      what the elbow carries along a motion
  mbd check robot.urdf                                are our numbers those of pinocchio?
  mbd bench robot.urdf                                how fast, compared with pinocchio
  mbd export robot.urdf --c --what inverse_dynamics   C source for your own program
"""

EPILOG = """\
mbd COMMAND --help has an example and says what comes out. Results go to stdout, notes, warnings
and errors to stderr. Exit code: 0 all well, 1 mbd check found a disagreement, 2 the input cannot
be used, 130 interrupted, 70 a fault of mbd_bridge.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    from mbd_bridge import __version__

    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "mbd", description=DESCRIPTION, epilog=EPILOG, formatter_class=raw
    )
    parser.add_argument("--version", action="version", version=f"mbd_bridge {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, title="commands"
    )
    for name in COMMANDS:
        module = importlib.import_module(f"mbd_bridge.cli.{name}")
        command = commands.add_parser(
            name, help=module.SUMMARY, description=module.DESCRIPTION, formatter_class=raw
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Add the robot's file and --floating, which every command has."""
    parser.add_argument("robot", metavar="ROBOT", help="URDF file, or .xacro")
    parser.add_argument(
        "--floating",
        action="store_true",
        help="the root link is free (six freedoms, root_joint.*) and not welded to the ground",
    )


def whole_number(text: str) -> int:
    """Return a whole number from 1."""
    return _at_least(1, text)


def from_zero(text: str) -> int:
    """Return a whole number from 0."""
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a whole number from {least}, got {text!r}")
    return int(text)
