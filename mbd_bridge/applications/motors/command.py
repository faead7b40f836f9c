"""``mbd motors``: what motors have to do along a motion, and whether they are large enough."""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mbd_bridge.cli import along, shared
from mbd_bridge.cli.parser import add_output, add_robot, add_stated
from mbd_bridge.cli.plot import picture_suffix, save_picture
from mbd_bridge.files.whole_file import PLOT_NAMES

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.applications.motors import Actuator, MotorDuty, Motors
    from mbd_bridge.applications.motors.duty import MotorStates
    from mbd_bridge.base.arrays import Floats
    from mbd_bridge.files.table import Column
    from mbd_bridge.files.tables import TableWriter

GROUP = "size its parts"
SUMMARY = "torque, speed and power of motors along a motion; are they large enough?"
DESCRIPTION = f"""\
Compute what the motors of a machine have to do along a motion: torque, speed and power at their
shafts, with gears, rotors and friction, and how much of their curves that takes.

  mbd motors urdf/kuka_iiwa.urdf urdf/kuka_iiwa_motion.csv --ratio lbr_iiwa_joint_2=100 \\
      --rotor-inertia lbr_iiwa_joint_2=1e-4 --efficiency lbr_iiwa_joint_2=0.8,0.7

What is not given here comes from NAME.actuators.yaml beside ROBOT, then from ROBOT itself
(<transmission>, ros2_control, <dynamics>, <limit>). "fits" is only said where friction, rotor and
the motor's limits are known; else the line says what is not.

{along.TEXT}
Numbers are at the motor's shaft. Motoring is power that the motor gives, braking what it takes.
With -o the motors' torque, speed and power along the motion go into a table.
"""

OPTIONS = {
    "ratio": ("N", "speed of the motor by that of the joint, rad/rad (rad/m of a slide)"),
    "rotor-inertia": ("J", "of the rotor and what turns with it, kg m²"),
    "efficiency": ("e[,e]", "of the gears where the motor moves the joint, and in braking"),
    "motor-friction": ("C[,c[,mu]]", "at the shaft: Coulomb N m, viscous N m s/rad, share of load"),
    "joint-friction": ("C[,c[,mu]]", "the same at the joint (N, N s/m of a slide)"),
    "continuous": ("T", "torque that the motor gives for ever, N m"),
    "peak": ("T", "torque that it gives for a short time, N m"),
    "max-speed": ("w", "of the motor, rad/s"),
}
"""Options that take JOINT=NUMBERS: what the numbers are, and how many of them at most there are."""

MOST = {"efficiency": 2, "motor-friction": 3, "joint-friction": 3}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("motion", metavar="MOTION", help="table of the motion, or ROS bag")
    shared.add_joints(parser, "of the motors; default: all")
    add_output(parser, ".csv, .parquet, .npz or .h5")
    add_output(parser, f"torque over speed: {PLOT_NAMES}", flag="--plot")
    add_stated(parser)
    group = parser.add_argument_group("the motors (repeatable; JOINT 'all' stands for all)")
    for name, (numbers, text) in OPTIONS.items():
        group.add_argument(
            f"--{name}",
            action="append",
            default=[],
            type=_assigned(MOST.get(name, 1), text),
            metavar=f"JOINT={numbers}",
            help=text,
        )
    along.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Compute, show and write."""
    from mbd_bridge.cli import screen

    if options.plot is not None:
        picture_suffix(options.plot)
    shared.check_table(options)
    robot = along.load_robot(options)
    robot = _with_options(robot, options)
    motors, rows, notes = _count(robot, options)
    screen.say_all((*notes, *screen.forces_said(robot), *map(str, motors.assumed)))
    screen.show_tables(motors)
    if options.plot is not None:
        save_picture(motors.plot, options.plot)
    if options.output is not None:
        screen.rows_written(rows, options.output)
    return 0


def _count(robot: Mechanism, options: argparse.Namespace) -> tuple[Motors, int, tuple[str, ...]]:
    """Return the motors' duties, the number of rows and what there is to say of the motion."""
    from mbd_bridge.applications.motors.motors import motors_along
    from mbd_bridge.files.tables import TableWriter
    from mbd_bridge.motion.table import TIME, attributes

    joints = shared.joints(options)
    inputs = along.load_inputs(options, robot)
    rows = 0
    writer: TableWriter | None = None
    with along.pieces(options, robot.model) as pieces, contextlib.ExitStack() as stack:

        def write(motors: Motors, time: Floats, states: list[MotorStates]) -> None:
            nonlocal rows, writer
            rows += len(time)
            if options.output is None:
                return
            if writer is None:
                said = attributes(f"motors of {robot.name} along {pieces.name}", pieces.notes)
                columns = [TIME, *(column for duty in motors.duties for column in _columns(duty))]
                writer = stack.enter_context(TableWriter(options.output, columns, said))
            parts = [column for one in states for column in (one.torque, one.speed, one.power)]
            writer.append(np.column_stack([time, *parts]))

        motors = motors_along(pieces, inputs, joints, write)
    return motors, rows, pieces.notes


def _columns(duty: MotorDuty) -> list[Column]:
    from mbd_bridge.files.table import Column

    units = {"torque": duty.torque_unit, "speed": duty.speed_unit, "power": "W"}
    return [Column(f"{duty.name}.motor.{what}", unit) for what, unit in units.items()]


def _with_options(robot: Mechanism, options: argparse.Namespace) -> Mechanism:
    """Return the machine with the actuators that the options give."""
    from mbd_bridge.applications.motors import Actuator, Actuators

    stated = {
        name: values for name in OPTIONS if (values := getattr(options, name.replace("-", "_")))
    }
    if not stated:
        return robot
    actuators = Actuators() if robot.stated_actuators is None else robot.stated_actuators
    by_joint = {one.joint: one for one in actuators}
    every = [one.joint for one in robot.actuators] or [*by_joint]
    for name, values in stated.items():
        for joint, numbers in values:
            for one in every if joint == "all" else [joint]:
                by_joint[one] = _changed(by_joint.get(one, Actuator(one)), name, numbers)
    return robot.with_actuators(
        Actuators.of(robot, Actuators((*by_joint.values(),), actuators.use))
    )


def _changed(actuator: Actuator, name: str, numbers: tuple[float, ...]) -> Actuator:
    from mbd_bridge.applications.motors import Efficiency, Friction

    key = name.replace("-", "_")
    if key in ("continuous", "peak", "max_speed"):
        limits: dict[str, Any] = {key: numbers[0]}
        return replace(actuator, curve=replace(actuator.curve, **limits))
    value: Any = numbers[0]
    if key == "efficiency":
        value = Efficiency(*numbers)
    elif key.endswith("friction"):
        value = Friction(*numbers)
    field: dict[str, Any] = {key: value}
    return replace(actuator, **field)


def _assigned(most: int, meaning: str) -> Any:
    """Return what reads JOINT=NUMBERS."""

    def read(text: str) -> tuple[str, tuple[float, ...]]:
        joint, equals, rest = text.partition("=")
        try:
            numbers = tuple(float(part) for part in rest.split(","))
        except ValueError:
            numbers = ()
        if not joint or not equals or not 1 <= len(numbers) <= most:
            many = "a number" if most == 1 else f"up to {most} numbers with commas between"
            raise argparse.ArgumentTypeError(
                f"expected JOINT= and {many} without a unit ({meaning}), got {text!r}"
            )
        return joint, numbers

    return read
