"""``mbd export``: a kernel as C source."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mbd_bridge.cli.parser import Names, add_robot

if TYPE_CHECKING:
    from mbd_bridge.api import Mechanism
    from mbd_bridge.kernels import Kernel
    from mbd_bridge.mechanism import Model

WHAT = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_forces", "joint_loads")

TERM = (
    "{what} is that of the tree with its loops cut: a term of M a + h + Phi_q' lam = tau.\n"
    "The closed mechanism's motion is forward_dynamics."
)
"""What is said of terms of a machine with loops."""

SUMMARY = "C source of a kernel, for embedded and other programs"
DESCRIPTION = """\
Write a kernel as a C file that needs nothing but a C99 compiler and its mathematical library, and
gives the same digits.

  mbd export urdf/kuka_iiwa.urdf --what inverse_dynamics -o iiwa.c
  mbd export urdf/kuka_iiwa.urdf --what joint_loads --joints lbr_iiwa_joint_3 -o load.c

The comment at the head lists the arguments, the coordinates by name and order, the units and the
convention of the loads.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("--c", action="store_true", help="as C source (the default)")
    parser.add_argument("--what", choices=WHAT, required=True, help="which kernel")
    parser.add_argument(
        "--joints",
        nargs="+",
        action=Names,
        metavar="JOINT",
        help="for joint_loads: whose, or all (default)",
    )
    parser.add_argument("--name", help="of the C function; default: that of the kernel")
    parser.add_argument("-o", "--output", metavar="FILE", help="C file to write; default: stdout")


def run(options: argparse.Namespace) -> int:
    """Write the source."""
    from mbd_bridge.cli import screen
    from mbd_bridge.errors import ModelError
    from mbd_bridge.kernels import c_source

    if options.joints and options.what != "joint_loads":
        raise ModelError(
            f"--joints is for --what joint_loads, not for {options.what}; leave it out"
        )
    robot = screen.load_robot(options)
    kernel, notes = _kernel(robot, options)
    text = c_source(kernel, options.name, notes=notes)
    if options.output is None:
        screen.data_stdout().write(text)
        return 0
    from mbd_bridge.formats.whole_file import whole_file

    with whole_file(options.output) as file:
        file.write(text)
    operations = sum(kernel.counts.values())
    screen.say(f"{kernel.name}, {operations} operations, written to {options.output}")
    return 0


def _kernel(robot: Mechanism, options: argparse.Namespace) -> tuple[Kernel, str]:
    """Return the kernel and what the head of the C file says of it."""
    from mbd_bridge.errors import ModelError

    notes = _notes(robot.model)
    if options.what == "forward_dynamics" and robot.model.has_loops:
        from mbd_bridge.solve.closed_kernel import closed_kernel

        found = closed_kernel(robot.model)
        return found.kernel, f"{notes}\n\n{found.notes(robot.model)}"
    if options.what == "joint_loads" and robot.model.cuts:
        raise ModelError(
            "loads of a mechanism with loops are solved for, not a formula that C source could "
            "hold; --what forward_dynamics, mass_matrix and bias_forces can be exported, "
            "`mbd loads --actuated` computes the loads"
        )
    if options.what != "joint_loads":
        kernel = robot.kernel(options.what)
        if robot.model.has_loops:
            notes += f"\n\n{TERM.format(what=options.what)}"
        return kernel, notes
    solver = robot.load_solver(None if options.joints == ["all"] else options.joints)
    kinds = [(name, robot.model.joint(name).type) for name in solver.joints]
    drives = [name + suffix for name, kind in kinds for suffix in kind.velocities]
    notes += f"\n\nload: {solver.convention}"
    notes += "\nforce and moment, a row a joint: " + ", ".join(solver.joints)
    return solver.kernel, notes + "\ndrive: " + (", ".join(drives) or "none")


def _notes(model: Model) -> str:
    """Return the coordinates in their order, and the units."""
    from mbd_bridge.loads.units import DRIVE, model_units

    of_q, of_v = model_units(model)
    lines = [f"Mechanism {model.name}, {'floating' if model.floating else 'fixed'} base.", ""]
    for k, (name, unit) in enumerate(zip(model.coordinate_names, of_q, strict=True)):
        lines.append(f"q[{k}]  {name}  {'part of a unit quaternion' if unit == '1' else unit}")
    lines.append("")
    for k, (name, unit) in enumerate(zip(model.velocity_names, of_v, strict=True)):
        lines.append(f"v[{k}], a[{k}], tau[{k}]  {name}  {unit}/s, {unit}/s^2, {DRIVE[unit]}")
    gravity = ", ".join(f"{x:g}" for x in model.gravity)
    return "\n".join([*lines, "", f"SI units; gravity ({gravity}) m/s^2 in the world's axes."])
