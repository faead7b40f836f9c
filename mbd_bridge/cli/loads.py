"""``mbd loads``: what chosen joints carry along a motion."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.base.extensions import of_applications
from mbd_bridge.cli import external, loop_loads, motion_file, shared
from mbd_bridge.cli.options import add_options
from mbd_bridge.cli.parser import add_output, add_robot, add_stated, vector
from mbd_bridge.loads.options import ConventionOptions

if TYPE_CHECKING:
    from mbd_bridge.base.assumptions import Assumptions
    from mbd_bridge.loads import LoadSolver
    from mbd_bridge.loads.efforts import EffortDifferences
    from mbd_bridge.loads.peaks import LoadPeaks
    from mbd_bridge.motion import Pieces
    from mbd_bridge.motion.external import ExternalForces

SUMMARY = "force, moment and actuation of joints along a motion"
DESCRIPTION = f"""\
Compute the force, the moment and the actuation in chosen joints along a motion.

  mbd loads urdf/kuka_iiwa.urdf urdf/kuka_iiwa_motion.csv --joints lbr_iiwa_joint_3 -o loads.csv
  mbd loads urdf/kuka_iiwa.urdf --q lbr_iiwa_joint_2=90deg --joints all

{motion_file.TEXT}
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
    motion_file.add_pose(parser)
    add_joints(parser)
    add_output(parser)
    add_stated(parser)
    add_convention(parser)
    parser.add_argument(
        "--reaction",
        action="store_true",
        help="add the load without the actuation's part: what the bearing carries",
    )
    parser.add_argument(
        "--digits",
        type=_digits,
        default=DIGITS,
        metavar="N",
        help=f"significant digits of the numbers written ({DIGITS}; 17 are all there are)",
    )
    shared.add_threads(parser)
    loop_loads.add_arguments(parser)
    motion_file.add_arguments(parser)
    external.add_arguments(parser)


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

    motion_file.check_given(options)
    shared.check_table(options)
    robot = loop_loads.load_robot(options)
    model = robot.model
    joints = None if options.joints == ["all"] else options.joints
    forces = external.read(options, robot, tell=False)
    with screen.waiting("preparing the kernel"):
        solver = robot.load_solver(
            joints,
            on=options.on,
            at=options.at,
            in_=options.in_,
            links=() if forces is None else forces.links,
            reaction=options.reaction,
            actuated=options.actuated,
            minimum_norm=options.minimum_norm,
        )
    with motion_file.pieces(options, model) as pieces:
        summaries = []
        for one in of_applications("summaries").values() if options.output else ():
            summary = one.load()(robot, loop_loads.inputs(options, robot, forces))
            summaries += [summary] if summary is not None else []
        rows, peaks, lost, assumed, efforts = _write(solver, pieces, options, forces, summaries)
    notes = (*pieces.notes, *filter(None, [peaks.beyond_efforts()]), *lost)
    if options.output is None:
        notes += () if forces is None else forces.said
        notes += () if efforts is None else tuple(map(str, efforts.entries))
        unused = screen.unused_in_file(robot, "these loads")
        notes += (*screen.forces_said(robot), unused)
    else:
        notes = tuple(note for note in notes if note not in assumed.texts)
    screen.say_all(notes)
    if options.output is not None:
        screen.show(screen.stderr(), f"{solver.convention}", peaks.table())
        if efforts:
            screen.show(screen.stderr(), "", *efforts.tables())
        for summary in summaries:
            tables, more = summary.told()
            for table in tables:
                screen.show(screen.stderr(), "", table)
            assumed = assumed.adding(*more)
        screen.show(screen.stderr(), "", assumed.brief(without=("convention",)), "")
        screen.rows_written(rows, options.output)
    return 0


def _write(
    solver: LoadSolver,
    pieces: Pieces,
    options: argparse.Namespace,
    forces: ExternalForces | None,
    summaries: Sequence[Any],
) -> tuple[int, LoadPeaks, tuple[str, ...], Assumptions, EffortDifferences | None]:
    """Write the loads piece by piece; return rows, peaks, notes, assumptions, efforts."""
    from mbd_bridge.cli import screen
    from mbd_bridge.loads.assumed import assumptions_of, undetermined_components
    from mbd_bridge.loads.efforts import EffortCounter
    from mbd_bridge.loads.export import load_rows
    from mbd_bridge.loads.peaks import LoadPeaks
    from mbd_bridge.loads.streaming import loads_writer, lost_components
    from mbd_bridge.loads.streaming.load_history import total_use

    target = options.output or screen.data_stdout()
    with contextlib.ExitStack() as stack:
        out, peaks, rows, counter, use = None, None, 0, EffortCounter(), None
        for motion in pieces:
            loads = solver.along(motion, forces, threads=options.threads)
            if out is None or peaks is None:
                peaks, named = LoadPeaks(solver.model, loads), loads.determined
                sure, bands = named.copy(), loads.uncertainty is not None
                said = loop_loads.actuated(solver) | external.said(forces)
                out = stack.enter_context(loads_writer(target, loads, pieces, options.digits, said))
            sure &= loads.determined
            out.append(np.column_stack([motion.time, load_rows(loads, bands)]))
            peaks.add(motion.time, loads)
            counter.add(loads)
            use = total_use(use, loads)
            for summary in summaries:
                summary.add(motion)
            rows += len(motion.time)
    assert peaks is not None
    lost = lost_components(solver.joints, named, sure)
    unsure = undetermined_components(solver.joints, sure)
    efforts = counter.differences()
    known = (*pieces.assumed, *(() if efforts is None else efforts.assumed))
    known += () if use is None else use.assumed
    said_of_all = assumptions_of(loads, unsure, known, peaks.round_off)
    return rows, peaks, lost, said_of_all, efforts


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
