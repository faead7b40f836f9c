"""``mbd loads``: what chosen joints carry along a motion."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mbd_bridge.base.extensions import of_applications
from mbd_bridge.cli import along, shared
from mbd_bridge.cli.parser import add_output, add_robot, add_stated, vector
from mbd_bridge.cli.shared import add_options
from mbd_bridge.loads.options import ConventionOptions, ReactionOptions

if TYPE_CHECKING:
    from mbd_bridge.api.histories import LoadInputs
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.loads.observers import Needs, Observer

GROUP = "loads"
SUMMARY = "force, moment and actuation of joints along a motion"
DESCRIPTION = f"""\
Compute the force, the moment and the actuation in chosen joints along a motion.

  mbd loads urdf/kuka_iiwa.urdf urdf/kuka_iiwa_motion.csv --joints lbr_iiwa_joint_3 -o loads.csv
  mbd loads urdf/kuka_iiwa.urdf --q lbr_iiwa_joint_2=90deg --joints all

{along.TEXT}
Out comes a table, CSV or what the suffix of -o says, with convention, units and the columns
time [s], <joint>.fx [N], .fy, .fz, <joint>.mx [N m], .my, .mz, <joint>.actuation [N m or N], ...
With -o a summary of peaks is printed; of a machine with a file of actuators also what its motors
have to do (mbd motors).
"""

DIGITS = 9
"""Significant digits of numbers written: more than any measured motion has."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    along.add_pose(parser)
    add_joints(parser)
    add_output(parser)
    add_stated(parser)
    add_convention(parser)
    add_options(parser, ReactionOptions, ("reaction",))
    parser.add_argument(
        "--digits",
        type=_digits,
        default=DIGITS,
        metavar="N",
        help=f"significant digits of the numbers written ({DIGITS}; 17 are all there are)",
    )
    parser.add_argument(
        "--assumptions",
        action="store_true",
        help="print all that the loads assume, not only what differs from the usual",
    )
    shared.add_sensitivity(parser)
    along.add_arguments(parser)


def add_joints(parser: argparse.ArgumentParser) -> None:
    """Declare which joints."""
    text = (
        "names of joints (fixed ones too), blanks or commas between them, or all; root_joint is "
        "what holds the root link"
    )
    shared.add_joints(parser, text, required=True)


def add_convention(parser: argparse.ArgumentParser) -> None:
    """Declare on whom, at which point and in whose axes loads are given."""
    add_options(parser, ConventionOptions, at={"type": _point})


def run(options: argparse.Namespace) -> int:
    """Compute and write the loads."""
    from mbd_bridge.cli import screen
    from mbd_bridge.loads.convention import Convention
    from mbd_bridge.loads.observers import LoadWriter, Needs, watch
    from mbd_bridge.loads.peaks import LoadPeaks
    from mbd_bridge.loads.streaming.load_history import LoadBasisCounter

    along.check_given(options)
    shared.check_table(options)
    robot = along.load_robot(options)
    needs = Needs(
        shared.joints(options), Convention.of(options.on, options.at, options.in_), options.reaction
    )
    acting = along.load_inputs(options, robot, tell=False)
    forces = acting.external
    with screen.waiting("preparing the kernel"):
        acting.solver(needs)
    more = along.actuated_said(acting) | along.external_said(forces)
    target = options.output or screen.data_stdout()
    with (
        along.pieces(options, robot.model) as pieces,
        LoadWriter(target, needs, pieces, options.digits, more) as writer,
    ):
        peaks, basis = LoadPeaks(needs), LoadBasisCounter(needs)
        summaries = _summaries(robot, acting, needs) if options.output else {}
        observers: dict[str, Observer] = {
            "peaks": peaks,
            "basis": basis,
            "file": writer,
            **summaries,
        }
        if options.sensitivity is not None:
            from mbd_bridge.loads.derivatives.sensitivities import SensitivityObserver

            asked = acting.request(needs), options.sensitivity, acting.external, acting.threads
            observers["sensitivity"] = SensitivityObserver.of(robot.model, *asked)
        results = watch(pieces, acting, observers)
    written, shown = results["file"], [results[name] for name in summaries]
    changes = results.get("sensitivity")
    assumed = basis.assumptions(pieces.assumed, shown, peaks.round_off)
    efforts = basis.effort_differences
    for table in () if changes is None else changes.tables():
        screen.show(screen.stderr(), table.title, table, "")
    notes = (*pieces.notes, *filter(None, [peaks.beyond_efforts()]), *written.lost)
    if options.output is None:
        notes += () if forces is None else forces.said
        notes += () if efforts is None else tuple(map(str, efforts.entries))
        unused = screen.unused_in_file(robot, "these loads")
        screen.say_all((*notes, *screen.forces_said(robot), unused))
        return 0
    screen.show(screen.stderr(), f"{needs.convention}", peaks.table())
    if efforts:
        screen.show(screen.stderr(), "", *efforts.tables())
    for table in (table for one in shown for table in one.tables()):
        screen.show(screen.stderr(), "", table)
    all_by = " (--assumptions shows all)"
    brief = assumed.brief(("convention",), options.assumptions, all_by)
    screen.show(screen.stderr(), "", brief, "")
    screen.say_all(note for note in notes if note not in assumed.texts)
    screen.rows_written(written.rows, options.output)
    return 0


def _summaries(robot: Mechanism, acting: LoadInputs, needs: Needs) -> dict[str, Observer]:
    """Return what is told of the motion beside the loads, such as of the machine's motors."""
    from mbd_bridge.api.histories import HistoryRequest

    request = HistoryRequest(acting.request(needs), acting.external, threads=acting.threads)
    each = {name: one.load()(robot, request) for name, one in of_applications("summaries").items()}
    return {name: observer for name, observer in each.items() if observer is not None}


def _digits(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 17:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 17, got {text!r}")
    return int(text)


def _point(text: str) -> str | tuple[float, ...]:
    if text in ("joint", "parent"):
        return text
    try:
        return vector(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"expected 'joint', 'parent' or a point x,y,z in m, such as 0,0,0.1; got {text!r}"
        ) from None
