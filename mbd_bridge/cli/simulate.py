"""``mbd simulate``: let a mechanism move, and write its motion as a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.cli.assemble import OPEN, add_state, assembled, wishes
from mbd_bridge.cli.parser import Names, add_robot, whole_number

if TYPE_CHECKING:
    from mbd_bridge.api import Mechanism
    from mbd_bridge.simulate import Simulation

SUMMARY = "move a mechanism, with or without loops, from a state"
DESCRIPTION = """\
Let a mechanism move from a state that satisfies its loops, under gravity and constant drives, in
steps of the fourth order (Runge-Kutta) that are put back onto the loops.

  mbd simulate urdf/four_bar.urdf --seconds 2 --near crank=0.5 --joints coupler_pin -o run.csv
  mbd simulate urdf/crank_rocker.urdf --seconds 1 --velocity crank=5 --torque crank=0.2 --every 10

The start is that of mbd assemble with the same --near, --fixed and --velocity.
Out comes a table, CSV or what the suffix of -o says (.parquet, .npz, .h5): time, the coordinates,
their rates as <name>.vel and <name>.acc, so that mbd loads can read it as a motion; with --joints
the loads of these joints, tree or loop joints, as mbd loads writes them. A column named
'... (undetermined)' holds a component that rigid-body mechanics does not determine; the smallest
solution stands there.
A summary goes to stderr. The exit code is 1 if a loop stays open, or if the motion cannot go on;
then the table ends there.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("--seconds", type=float, required=True, metavar="T", help="how long, s")
    parser.add_argument(
        "--step", type=float, default=1e-3, metavar="H", help="of the integration, s (0.001)"
    )
    add_state(parser)
    parser.add_argument(
        "--torque",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="constant drives along velocities, N m or N",
    )
    parser.add_argument(
        "--every", type=whole_number, default=1, metavar="K", help="write every K-th step (1)"
    )
    parser.add_argument(
        "--joints",
        nargs="+",
        action=Names,
        metavar="JOINT",
        help="joints whose loads are written too (tree and loop joints), or all",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=".csv, .parquet, .npz or .h5 file to write; default: CSV to stdout",
    )


def run(options: argparse.Namespace) -> int:
    """Simulate, write the table, say how it went."""
    from mbd_bridge.cli import loop_tables, screen
    from mbd_bridge.errors import SolveError
    from mbd_bridge.formats.tables import check_suffix

    if options.output is not None:
        check_suffix(options.output)
    robot = screen.load_robot(options)
    _check_joints(robot, options)
    try:
        motion = _simulated(robot, options)
    except SolveError as error:
        screen.report_error(error)
        return OPEN
    loads = None
    if options.joints:
        joints = None if options.joints == ["all"] else options.joints
        with screen.waiting("computing loads"):
            loads = motion.joint_loads(joints)
    notes = [f"from {options.robot}, in steps of {motion.step:g} s"]
    notes += [f"drives {', '.join(options.torque)}"] if options.torque else []
    motion.save(options.output or screen.data_stdout(), loads, notes=notes)
    if loads is not None:
        screen.show(
            screen.stderr(),
            f"{loads.convention}",
            loop_tables.peaks(robot.model, motion.time, loads),
        )
    for line in _summary(motion):
        screen.say(line)
    if options.output is not None:
        screen.say(f"{len(motion.time)} rows written to {options.output}")
    if not motion.finished:
        screen.say(motion.status, "warning")
        return OPEN
    return 0


def _check_joints(robot: Mechanism, options: argparse.Namespace) -> None:
    """Refuse a wrong name before the work is done."""
    from mbd_bridge.errors import ModelError, unknown_name

    known = [*robot.model.joint_index, *(cut.name for cut in robot.model.cuts)]
    for name in options.joints or ():
        if name not in known and options.joints != ["all"]:
            raise ModelError(unknown_name("joint", name, known))


def _simulated(robot: Mechanism, options: argparse.Namespace) -> Simulation:
    from mbd_bridge.api import simulate
    from mbd_bridge.cli import screen
    from mbd_bridge.loads.units import DRIVE, model_units

    model = robot.model
    _, of_v = model_units(model)
    units = {name: DRIVE[unit] for name, unit in zip(model.velocity_names, of_v, strict=True)}
    torque = wishes(options.torque, "torque", units)
    with screen.waiting("assembling"):
        start = assembled(robot, options)
    steps = options.seconds / options.step if options.step > 0.0 else None
    with screen.progress("simulating", steps) as step:
        return simulate(
            robot,
            options.seconds,
            step=options.step,
            q=start.q,
            v=start.v,
            torque=torque or None,
            every=options.every,
            check=False,
            progress=step,
        )


def _summary(motion: Simulation) -> list[str]:
    lines = [f"{motion.steps} steps of {motion.step:g} s to t = {motion.time[-1]:g} s"]
    energy = motion.energy
    change = float(np.abs(energy - energy[0]).max())
    span = float(np.ptp(energy))
    if motion.tau.any():
        lines.append(f"energy from {energy[0]:.6g} J to {energy[-1]:.6g} J (drives work)")
    else:
        lines.append(f"energy {energy[0]:.6g} J, kept to {max(change, span):.1e} J")
    if motion.model.cuts:
        lines.append(f"loops closed to {motion.closure.max():.1e} of the mechanism's size")
    if motion.detours:
        lines.append(f"{motion.detours} steps near a singular position were taken with more care")
    return lines
