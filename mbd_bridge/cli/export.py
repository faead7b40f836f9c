"""``mbd export``: a kernel as C source, a machine as an FMU."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mbd_bridge.base.extensions import of_applications
from mbd_bridge.cli import inputs, shared
from mbd_bridge.cli.assemble import add_state
from mbd_bridge.cli.parser import add_output, add_robot
from mbd_bridge.cli.shared import add_options
from mbd_bridge.simulation.options import OwnStepOptions

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.kernels import Kernel

WHAT = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "bias_forces",
    "joint_loads",
    "step",
)
"""Kernels; what applications write is in the group ``exports``: modules with `DESCRIPTION`, the
names OPTIONS of their own options, `add_arguments` and `write`."""

OF_STEPS = ("near", "fixed", "velocity", "prescribe", "torque", "effort_limits", "integrator")
"""Options that only steps take, and what is made of them."""

TERM = (
    "{what} is that of the tree with its loops cut: a term of M a + h + Phi_q' lam = tau.\n"
    "The closed mechanism's motion is forward_dynamics."
)
"""What is said of terms of a machine with loops."""

GROUP = "hand it on"
SUMMARY = "C source of a kernel, or an FMU, for embedded and other programs"
DESCRIPTION = """\
Write a kernel as a C file that needs nothing but a C99 compiler and its mathematical library, and
gives the same digits.

  mbd export urdf/kuka_iiwa.urdf --what inverse_dynamics -o iiwa.c
  mbd export urdf/kuka_iiwa.urdf --what joint_loads --joints lbr_iiwa_joint_3 -o load.c
  mbd export urdf/four_bar.urdf --what step --near crank=0.5 --joints coupler_pin -o step.c

A step is that of mbd simulate: Runge-Kutta, put back onto the loops, under the same force elements,
--prescribe and --torque, and with --joints it gives the loads of these joints, of loops too. It
belongs to the constraint rows that are independent at the state of --near, --fixed and --velocity.

The comment at the head of C files lists the arguments, the coordinates by name and order, the units
and the convention of the loads.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("--c", action="store_true", help="as C source (the default)")
    parser.add_argument("--what", choices=(*WHAT, *_exports()), required=True, help="which kernel")
    steps = ", ".join(("joint_loads", "step", *_exports()))
    shared.add_joints(parser, f"for {steps}: whose, or all (default of joint_loads)")
    add_state(parser)
    inputs.add_arguments(parser)
    add_options(parser, OwnStepOptions, ("integrator",), integrator={"default": None})
    for one in _exports().values():
        one.add_arguments(parser)
        parser.description = f"{parser.description}\n{one.DESCRIPTION}"
    parser.add_argument("--name", help="of the C function or model; default: that of the kernel")
    add_output(parser, "file to write; default of C: stdout")


def run(options: argparse.Namespace) -> int:
    """Write the source."""
    from mbd_bridge.base.errors import ModelError
    from mbd_bridge.cli import screen
    from mbd_bridge.kernels import c_source

    exports = _exports()
    taking = [(("joints",), ("joint_loads", "step", *exports)), (OF_STEPS, ("step", *exports))]
    taking += [(one.OPTIONS, (name,)) for name, one in exports.items()]
    for names, kernels in taking:
        kinds = " or ".join(filter(None, (", ".join(kernels[:-1]), kernels[-1])))
        for name in names:
            if getattr(options, name) and options.what not in kernels:
                option = name.replace("_", "-")
                raise ModelError(
                    f"--{option} is for --what {kinds}, not for {options.what}; leave it out"
                )
    robot = screen.load_robot(options)
    if options.what in exports:
        code: int = exports[options.what].write(robot, options)
        return code
    if options.what == "step":
        said, text = "step", _step(robot, options)
    else:
        kernel, notes = _kernel(robot, options)
        text = c_source(kernel, options.name, notes=notes)
        said = f"{kernel.name}, {sum(kernel.counts.values())} operations,"
    if options.output is None:
        screen.data_stdout().write(text)
        return 0
    from mbd_bridge.files.whole_file import whole_file

    with whole_file(options.output) as file:
        file.write(text)
    screen.say(f"{said} written to {options.output}")
    return 0


def _exports() -> dict[str, Any]:
    return {name: one.load() for name, one in of_applications("exports").items()}


def _step(robot: Mechanism, options: argparse.Namespace) -> str:
    """Return the source of a step of a system."""
    import warnings

    from mbd_bridge.base.errors import MbdWarning
    from mbd_bridge.cli import screen
    from mbd_bridge.simulation.equations import Equations
    from mbd_bridge.simulation.steps.source import step_source

    system, start = inputs.system_of(robot, options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MbdWarning)
        equations = Equations(system, q=start.q, v=start.v)
    for warning in caught:
        screen.say(str(warning.message), "warning")
    integrator: Any = options.integrator or "rk4"
    return step_source(equations, options.name or "step", integrator=integrator)


def _kernel(robot: Mechanism, options: argparse.Namespace) -> tuple[Kernel, str]:
    """Return the kernel and what the head of the C file says of it."""
    from mbd_bridge.base.errors import ModelError
    from mbd_bridge.cli import screen
    from mbd_bridge.model.units import model_notes

    notes = model_notes(robot.model)
    if robot.forces and options.what != "joint_loads":
        notes += f"\n\nThe force elements of the machine have no part in {options.what}; see step."
    if options.what == "forward_dynamics" and robot.model.has_loops:
        from mbd_bridge.solve.closed_kernel import closed_kernel

        found = closed_kernel(robot.model)
        return found.kernel, f"{notes}\n\n{found.notes(robot.model)}"
    if options.what == "joint_loads" and robot.model.cuts:
        raise ModelError(
            "loads of a mechanism with loops come with its motion: export them with --what step "
            "--joints NAME; `mbd loads --actuated` computes them along a motion"
        )
    if options.what != "joint_loads":
        kernel = robot.compile(options.what)
        if robot.model.has_loops:
            notes += f"\n\n{TERM.format(what=options.what)}"
        return kernel, notes
    solver = robot.compile("joint_loads", shared.joints(options))
    kinds = [(name, robot.model.joint(name).type) for name in solver.joints]
    columns = [name + suffix for name, kind in kinds for suffix in kind.velocities]
    notes += "".join(f"\n\n{sentence}" for sentence in screen.forces_said(robot))
    notes += f"\n\nload: {solver.convention}"
    notes += "\nforce and moment, a row a joint: " + ", ".join(solver.joints)
    return solver.kernel, notes + "\nactuation: " + (", ".join(columns) or "none")
