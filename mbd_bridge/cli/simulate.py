"""``mbd simulate``: let a mechanism move, and write its motion as a table."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.cli import along, inputs, shared
from mbd_bridge.cli.assemble import EXIT_INCOMPLETE, add_state, assembled, say_start
from mbd_bridge.cli.parser import OutputFile, add_output, add_robot
from mbd_bridge.cli.shared import add_options
from mbd_bridge.loads.options import ActuationOptions
from mbd_bridge.simulation.options import SimulateOptions

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.model.spatial import Array
    from mbd_bridge.simulation import Simulation
    from mbd_bridge.solve import Assembly

GROUP = "close its loops, move it"
SUMMARY = "move a mechanism, with or without loops, from a state"
DESCRIPTION = """\
Let a mechanism move from a state that satisfies its loops, under gravity, prescribed motions,
forces and its force elements, in steps of the fourth order (Runge-Kutta) that are put back onto the
loops.

  mbd simulate urdf/four_bar.urdf --seconds 2 --near crank=0.5 --joints coupler_pin -o run.csv
  mbd simulate urdf/crank_rocker.urdf --seconds 1 --velocity crank=5 --torque crank=0.2 --every 10
  mbd simulate urdf/crank_rocker.urdf --seconds 1 --prescribe "crank=2*pi*t" --joints crank rocker
  mbd simulate urdf/slider_crank.urdf --seconds 9 --prescribe crank=motion.csv --checkpoint long.npz

The start is that of mbd assemble with the same --near, --fixed and --velocity; joints with a
prescribed motion start where it does. A formula is made of t, numbers, + - * / ^, brackets, pi,
sin, cos, tan, sqrt, exp, log, tanh, asin, acos, atan, atan2, abs, sign, min, max, units (deg, rpm,
mm, kN, ...) and step(t, t0, a, t1, b), which goes smoothly from a to b.
The force that a prescribed motion takes is the '.actuation' of its joint, with --joints.
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
    add_options(parser, SimulateOptions, ("step",))
    add_state(parser)
    inputs.add_arguments(parser)
    along.add_external(parser, recording=False)
    add_options(parser, SimulateOptions, ("every",))
    shared.add_joints(parser, "joints whose loads are written too (tree and loop joints), or all")
    text = (
        "in a mechanism with loops: the actuated joints, as many as it has degrees of freedom; "
        "without it prescribed motions and --torque carry the loads of --joints as they do in the "
        "run"
    )
    add_options(parser, ActuationOptions, actuated={"help": text})
    add_output(parser)
    steps = ("method", "coordinates", "integrator", "tolerance")
    add_options(parser.add_argument_group("how it is integrated"), SimulateOptions, steps)
    kept = parser.add_argument_group("of long runs")
    add_options(kept, SimulateOptions, ("checkpoint",), checkpoint={"type": OutputFile})
    kept.add_argument(
        "--resume", action="store_true", help="go on from the checkpoint, if it is there"
    )
    add_options(kept, SimulateOptions, ("checkpoint_every",))


def run(options: argparse.Namespace) -> int:
    """Simulate, write the table, say how it went."""
    from mbd_bridge.base.errors import SolveError, visible
    from mbd_bridge.cli import screen
    from mbd_bridge.loads.peaks import LoadPeaks

    shared.check_table(options)
    robot = screen.load_robot(options)
    joints = _joints(robot, options)
    _check_actuated(robot, options)
    shared.check_columns(options.output, robot.model, joints)
    try:
        motion = _simulated(robot, options)
    except SolveError as error:
        screen.report_error(SolveError(error.message))
        return EXIT_INCOMPLETE
    loads, lost, known = None, None, 0
    try:
        with screen.waiting("computing accelerations and loads"):
            known = len(motion.a)
            if joints and known:
                loads = motion.joint_loads(
                    joints, actuated=options.actuated, minimum_norm=options.minimum_norm
                )
    except SolveError as error:  # at the start alone, where the status says more
        if not (known and options.actuated):
            screen.report_error(error if motion.finished else SolveError(motion.status))
            return EXIT_INCOMPLETE
        lost = error  # the joints cannot carry the loads: the motion is written without them
    notes = [f"from {visible(options.robot)}, in steps of {motion.step:g} s"]
    notes += [f"prescribed motions {', '.join(options.prescribe)}"] if options.prescribe else []
    notes += [f"forces {', '.join(options.torque)}"] if options.torque else []
    notes += screen.forces_said(robot)
    motion.save(options.output or screen.data_stdout(), loads, notes=notes)
    beyond = ""
    if loads is not None:
        peaks = LoadPeaks()
        peaks.add(None, loads)
        beyond = peaks.beyond_efforts()
        screen.show(screen.stderr(), f"{loads.convention}", peaks.table())
    for line in filter(
        None, (*screen.forces_said(robot), *motion.notes, beyond, *_summary(motion))
    ):
        screen.say(line)
    if options.output is not None:
        screen.rows_written(len(motion.time), options.output)
    if not motion.finished:
        screen.say(motion.status, "warning")
        return EXIT_INCOMPLETE
    if lost is not None:
        screen.report_error(lost)
        return EXIT_INCOMPLETE
    return 0


def _joints(robot: Mechanism, options: argparse.Namespace) -> tuple[str, ...]:
    """Return the joints whose loads are asked for; refuse a wrong name before the work is done."""
    from mbd_bridge.loads import LoadRequest

    if not options.joints:
        return ()
    return LoadRequest.of(robot.model, shared.joints(options)).joints


def _check_actuated(robot: Mechanism, options: argparse.Namespace) -> None:
    """Refuse actuators that cannot carry the loads, before the work is done."""
    from mbd_bridge.base.errors import ModelError
    from mbd_bridge.simulation.results.simulation import check_actuated

    if options.minimum_norm and options.actuated is None:
        raise ModelError("--minimum-norm tells how actuated joints share: add --actuated JOINT")
    if options.actuated is None:
        return
    if not options.joints:
        raise ModelError("--actuated says what carries the loads of --joints: add --joints JOINT")
    check_actuated(robot.model, options.actuated, inputs.names(options.torque, "torque"))


def _check_count(robot: Mechanism, actuated: list[str], q: Array) -> None:
    """Refuse more actuators than a motion determines, before the work is done."""
    from mbd_bridge.base.errors import ModelError
    from mbd_bridge.solve.loops import report

    found = report(robot.model, q, actuated).actuation
    if found is not None and found.too_many:
        raise ModelError(
            f"--actuated: {found} at the start; expected as many as there are degrees of freedom, "
            f"that move all of them"
        )


def _simulated(robot: Mechanism, options: argparse.Namespace) -> Simulation:
    from mbd_bridge.base.errors import MbdWarning
    from mbd_bridge.cli import screen

    _check_checkpoint(options)
    pushes = along.read_external(options, robot)
    moved, torque = inputs.motions(robot, options.prescribe), inputs.forces(robot, options.torque)
    with screen.waiting("assembling"):
        start = start_of(robot, options, moved)
    say_start(robot, options, start)
    if options.actuated is not None and not options.minimum_norm:
        _check_count(robot, options.actuated, start.q)
    steps = options.seconds / options.step if options.step > 0.0 else None
    every = {"checkpoint_every": options.checkpoint_every} if options.checkpoint_every else {}
    with (
        warnings.catch_warnings(record=True) as caught,
        screen.progress("simulating", steps) as step,
    ):
        warnings.simplefilter("always", MbdWarning)
        motion = robot.simulate(
            options.seconds,
            step=options.step,
            q=start.q,
            v=start.v,
            torque=torque or None,
            effort_limits=options.effort_limits,
            external=pushes,
            prescribed=moved or None,
            method=options.method,
            coordinates=options.coordinates,
            integrator=options.integrator,
            tolerance=options.tolerance,
            every=options.every,
            check=False,
            progress=step,
            checkpoint=options.checkpoint,
            **every,
        )
    for warning in caught:
        message = str(warning.message)
        if not message.startswith(motion.notes or ("\n",)):  # these are said in the end
            screen.say(message, "warning")
    return motion


def start_of(
    robot: Mechanism, options: argparse.Namespace, moved: dict[str, inputs.FormulaOrTable]
) -> Assembly:
    """Return the initial state; joints with a prescribed motion start where it does."""
    from mbd_bridge.base.errors import StateError
    from mbd_bridge.simulation.system import System
    from mbd_bridge.simulation.trajectory import Trajectory

    if not moved:
        return assembled(robot, options)
    motions = Trajectory(System(robot.model, prescribed=moved)).motions
    assert motions is not None, "there are prescribed motions"
    place, rate, _ = motions.at(0.0)
    names = [*options.fixed, *motions.names]
    initial_values = argparse.Namespace(fixed=names, closed_to=options.closed_to)
    for option, values in (("near", place), ("velocity", rate)):
        words = list(getattr(options, option))
        for name, value in zip(motions.names, values.tolist(), strict=True):
            if any(word.partition("=")[0].strip() == name for word in words):
                raise StateError(
                    f"--{option} {name}: its motion is prescribed, which says where it starts"
                )
            words.append(f"{name}={value!r}")
        setattr(initial_values, option, words)
    return assembled(robot, initial_values)


def _check_checkpoint(options: argparse.Namespace) -> None:
    """Let nobody lose a run that is kept, or resume one that is not."""
    from pathlib import Path

    from mbd_bridge.base.errors import FileError, StateError

    if options.checkpoint is None:
        if options.resume:
            raise StateError("--resume goes with --checkpoint FILE")
        return
    if Path(options.checkpoint).exists() and not options.resume:
        raise FileError(
            "this checkpoint is there already; add --resume to go on from it, or remove it",
            options.checkpoint,
        )


def _summary(motion: Simulation) -> list[str]:
    from mbd_bridge.base.errors import count

    steps = f"{motion.steps} steps"
    if motion.facts["integrator"] in ("rk4", "ab3"):
        steps += f" of {motion.step:g} s"
    lines = [f"{steps} to t = {motion.time[-1]:g} s"]
    energy = motion.energy + motion.force_elements.energy
    system = motion.system
    if system.torques or system.external_links or system.prescribed:
        work = "given forces and prescribed motions do work"
        lines.append(f"energy from {energy[0]:.6g} J to {energy[-1]:.6g} J ({work})")
    elif motion.system.forces:
        lines.append(f"energy from {energy[0]:.6g} J to {energy[-1]:.6g} J, in force elements too")
    else:
        lines.append(f"energy {energy[0]:.6g} J, kept to {np.ptp(energy):.1e} J")
    if motion.model.cuts:
        lines.append(f"loops closed to {motion.closure.max():.1e} of the mechanism's size")
    if motion.detours:
        steps = count(motion.detours, "step")
        lines.append(f"{steps} near a singular position taken with more care")
    return lines
