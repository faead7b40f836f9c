"""``mbd real-time``: let a mechanism move as time goes by, and say how punctual it was."""

from __future__ import annotations

import argparse

from mbd_bridge.cli import inputs, shared
from mbd_bridge.cli.assemble import EXIT_INCOMPLETE, add_state
from mbd_bridge.cli.parser import add_output, add_robot
from mbd_bridge.cli.shared import add_options
from mbd_bridge.simulation.options import OwnStepOptions, RecordOptions

GROUP = "close its loops, move it"
SUMMARY = "run a mechanism at wall-clock pace, and measure jitter"
DESCRIPTION = """\
Let a mechanism move from a state that satisfies its loops in fixed steps, each begun when the clock
says, as a program does that has hardware or people in its loop. It is what mbd simulate computes,
to the same digits.

  mbd real-time urdf/crank_rocker.urdf --seconds 60 --near crank=0.5 --torque crank=0.2
  mbd real-time urdf/four_bar.urdf --near crank=0.5 --rate 0.1 --window

Without --seconds it goes on until Ctrl-C, SIGTERM or SIGHUP, which end it with what there is. A
run with -o keeps its records until then: --every K keeps fewer. Out comes a summary:
how late steps began and how long they took (median, 99 and 99.9 percentile, maximum), how many
ended after the next one was due; with -o the motion as a table.
Other programs drive a machine through mbd.RealTime in Python.
"""

KEPT = 1_000_000
"""Records of a run that is not written: forces are compared with their limits there."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("--seconds", type=float, metavar="T", help="how long, s of the motion")
    add_options(parser, OwnStepOptions, ("step",))
    parser.add_argument(
        "--rate", type=float, default=1.0, metavar="R", help="s of the motion in a second (1)"
    )
    parser.add_argument(
        "--late",
        choices=("catch up", "slip"),
        default="catch up",
        help="after a late step, those that are due follow at once (catch up), or the clock waits "
        "(slip)",
    )
    add_options(parser, OwnStepOptions, ("integrator",))
    parser.add_argument("--window", action="store_true", help="show it in a window")
    add_state(parser)
    inputs.add_arguments(parser)
    add_options(parser, RecordOptions)
    add_output(parser, "table of the motion: .csv, .parquet, .npz or .h5")


def run(options: argparse.Namespace) -> int:
    """Run, write the table, say how it went."""
    from mbd_bridge.applications.real_time.runner import RealTime
    from mbd_bridge.cli import screen
    from mbd_bridge.cli.assemble import say_start
    from mbd_bridge.cli.simulate import start_of
    from mbd_bridge.simulation.outcome import MotionEnd
    from mbd_bridge.simulation.system import System

    shared.check_table(options)
    robot = screen.load_robot(options)
    shared.check_columns(options.output, robot.model)
    moved, torque = inputs.motions(robot, options.prescribe), inputs.forces(robot, options.torque)
    with screen.waiting("compiling"):
        system = System(
            robot,
            torque=torque or None,
            effort_limits=options.effort_limits,
            prescribed=moved or None,
        )
        start = start_of(robot, options, moved)
        machine = RealTime(
            system, step=options.step, q=start.q, v=start.v, integrator=options.integrator
        )
    say_start(robot, options, start)
    motion = machine.run(
        options.seconds,
        rate=options.rate,
        late=options.late,
        every=options.every,
        keep=None if options.output else KEPT,
        window=options.window,
    )
    if options.output is not None:
        motion.save(options.output)
        screen.rows_written(len(motion.time), options.output)
    screen.say(f"{motion.steps} steps of {motion.step:g} s to t = {motion.time[-1]:g} s")
    for line in motion.report().splitlines():
        screen.say(line)
    if motion.slipped:
        screen.say(f"the motion fell behind the clock by {motion.slipped:.3g} s")
    if motion.finished or motion.outcome.end is MotionEnd.INTERRUPTED:
        return 0
    screen.say(motion.status, "warning")
    return EXIT_INCOMPLETE
