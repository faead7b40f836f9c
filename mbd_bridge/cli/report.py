"""``mbd report``: one page about a machine and its motions."""

from __future__ import annotations

import argparse
from typing import Any

from mbd_bridge.base.extensions import of_applications
from mbd_bridge.cli import along, shared
from mbd_bridge.cli.parser import add_output, add_robot, add_stated
from mbd_bridge.cli.shared import add_options, values
from mbd_bridge.reports.title import TitleOptions
from mbd_bridge.view.options import ExaggerateOptions

GROUP = "loads"
SUMMARY = "a page with picture, loads, actuators, bearings, spectra and cross-check"
DESCRIPTION = """\
Write one self-contained HTML page about a machine and a motion: its picture and its tree of joints,
extremes of every load component, what the actuators need, what its bearings carry, range spectra
and damage-equivalent loads, what rigid mechanics does not determine, and what pinocchio and
pybullet say of the machine.

  mbd report urdf/kuka_iiwa.urdf urdf/kuka_iiwa_motion.csv -o report.html
  mbd report arm.urdf pick=pick.csv stop=stop.csv --weight pick=2e6 -o report.html

Several motions are load cases: the page says which of them decides, and adds up their damage. A
table is read piece by piece, so that it may be of any length. Motors and bearings are those of
NAME.actuators.yaml and NAME.bearings.yaml beside ROBOT.

"""
DESCRIPTION += along.TEXT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    along.add_motions(parser)
    add_output(
        parser,
        "page to write: .html, or .pdf, which an installed Chromium, Chrome or Edge prints",
        "FILE",
        required=True,
    )
    shared.add_joints(parser, "whose loads; default: all, the cut ones too")
    shared.add_exponents(parser)
    shared.add_sensitivity(parser)
    add_stated(parser)
    for one in of_applications("options").values():
        one.load().add_options(parser)
    along.add_arguments(parser)
    title = parser.add_argument_group("of the title block")
    add_options(title, TitleOptions)
    add_options(parser, ExaggerateOptions)
    parser.add_argument("--no-view", action="store_true", help="leave the 3-D view out")
    parser.add_argument("--no-picture", action="store_true", help="leave the machine's picture out")
    parser.add_argument("--no-check", action="store_true", help="do not ask other engines")


def run(options: argparse.Namespace) -> int:
    """Write the page."""
    from mbd_bridge.cli import screen

    files = along.case_files(options)
    weights = along.case_weights(options, files)
    robot = along.load_robot(options)
    for one in of_applications("options").values():
        robot = one.load().with_options(robot, options)
    cases: dict[str, Any] = {
        name: (along.CasePieces(one, robot.model), along.read_external(one, robot) or {})
        for name, one in along.of_each_case(options, files).items()
    }
    found = robot.report(
        options.output,
        cases,
        shared.joints(options),
        weights=weights,
        actuated=options.actuated,
        minimum_norm=options.minimum_norm,
        exponents=options.exponents,
        sensitivity=options.sensitivity,
        picture=not options.no_picture,
        check=not options.no_check,
        threads=options.threads,
        view=not options.no_view,
        exaggerate=options.exaggerate,
        **values(options, TitleOptions),
    )
    screen.say_all(dict.fromkeys(note for case in found.cases for note in case.history.notes))
    rows = sum(case.history.rows for case in found.cases)
    screen.say(f"{rows} states in {options.output}")
    return 0
