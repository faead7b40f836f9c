"""``mbd export``: a kernel as C source, a machine as an FMU."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mbd_bridge.cli import inputs, shared
from mbd_bridge.cli.assemble import add_state
from mbd_bridge.cli.parser import OutputFile, add_robot

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.kernels import Kernel
    from mbd_bridge.simulation.system import System
    from mbd_bridge.solve import Assembly

WHAT = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "bias_forces",
    "joint_loads",
    "step",
    "fmu",
)

OF_STEPS = ("near", "fixed", "velocity", "prescribe", "torque", "effort_limits", "integrator")
"""Options that only a step and an FMU take."""

OF_FMUS = ("step", "fmi")
"""Options that only an FMU takes."""

TERM = (
    "{what} is that of the tree with its loops cut: a term of M a + h + Phi_q' lam = tau.\n"
    "The closed mechanism's motion is forward_dynamics."
)
"""What is said of terms of a machine with loops."""

SUMMARY = "C source of a kernel, or an FMU, for embedded and other programs"
DESCRIPTION = """\
Write a kernel as a C file that needs nothing but a C99 compiler and its mathematical library, and
gives the same digits.

  mbd export urdf/kuka_iiwa.urdf --what inverse_dynamics -o iiwa.c
  mbd export urdf/kuka_iiwa.urdf --what joint_loads --joints lbr_iiwa_joint_3 -o load.c
  mbd export urdf/four_bar.urdf --what step --near crank=0.5 --joints coupler_pin -o step.c
  mbd export urdf/crank_rocker.urdf --what fmu --near crank=0.5 --joints coupler_pin -o rocker.fmu

A step is that of mbd simulate: Runge-Kutta, put back onto the loops, under the same force elements,
--prescribe and --torque, and with --joints it gives the loads of these joints, of loops too. It
belongs to the constraint rows that are independent at the state of --near, --fixed and --velocity.

An FMU (functional mock-up unit) holds that step for co-simulation in other programs, as C sources
and as a binary for Linux if there is a C compiler. Joints that get no --torque and no --prescribe
have an input torque.NAME. Coordinates q.NAME, velocities v.NAME, accelerations a.NAME, energies
and, with --joints, loads load.JOINT.fx ... are outputs.

The comment at the head of C files lists the arguments, the coordinates by name and order, the units
and the convention of the loads.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("--c", action="store_true", help="as C source (the default)")
    parser.add_argument("--what", choices=WHAT, required=True, help="which kernel")
    shared.add_joints(
        parser, "for joint_loads, step and fmu: whose, or all (default of joint_loads)"
    )
    add_state(parser)
    inputs.add_arguments(parser)
    parser.add_argument(
        "--integrator",
        metavar="NAME",
        help="of a step or an FMU: rk4 (default), newmark, hht, generalised_alpha or "
        "explicit_newmark",
    )
    parser.add_argument(
        "--step", type=float, metavar="H", help="of an FMU's integration, s (0.001)"
    )
    parser.add_argument("--fmi", type=int, choices=(2, 3), help="version of FMI (3)")
    parser.add_argument(
        "--name", help="of the C function, or of the FMU's model; default: that of the kernel"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=OutputFile,
        metavar="FILE",
        help="file to write; default: stdout, ROBOT.fmu of an FMU",
    )


def run(options: argparse.Namespace) -> int:
    """Write the source."""
    from mbd_bridge.base.errors import ModelError
    from mbd_bridge.cli import screen
    from mbd_bridge.kernels import c_source

    taking = {
        "joint_loads, step or fmu": (("joints",), ("joint_loads", "step", "fmu")),
        "step or fmu": (OF_STEPS, ("step", "fmu")),
        "fmu": (OF_FMUS, ("fmu",)),
    }
    for kinds, (names, kernels) in taking.items():
        for name in names:
            if getattr(options, name) and options.what not in kernels:
                option = name.replace("_", "-")
                raise ModelError(
                    f"--{option} is for --what {kinds}, not for {options.what}; leave it out"
                )
    robot = screen.load_robot(options)
    if options.what == "fmu":
        return _fmu(robot, options)
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


def _fmu(robot: Mechanism, options: argparse.Namespace) -> int:
    """Write an FMU, and say what is in it."""
    import warnings
    from pathlib import Path

    from mbd_bridge.applications.fmu.export import export_fmu
    from mbd_bridge.base.errors import MbdWarning
    from mbd_bridge.cli import screen
    from mbd_bridge.simulation.variables import UNDETERMINED

    system, start = _system(robot, options, inputs_of_joints=True)
    path = options.output or f"{Path(options.robot).stem}.fmu"
    more = {} if options.step is None else {"step": options.step}
    integrator: Any = options.integrator or "rk4"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MbdWarning)
        found = export_fmu(
            system,
            path,
            q=start.q,
            v=start.v,
            fmi=options.fmi or 3,
            name=options.name,
            integrator=integrator,
            **more,
        )
    for warning in caught:
        screen.say(str(warning.message), "warning")
    for kind in ("input", "tunable", "fixed", "output"):
        for own, one in found.variables:
            if own == kind:
                lost = one.description.startswith(UNDETERMINED)
                screen.say(f"{kind}  {one.name}{' (undetermined)' if lost else ''}")
    screen.say(f"{found!r} written to {path}")
    return 0


def _step(robot: Mechanism, options: argparse.Namespace) -> str:
    """Return the source of a step of a system."""
    import warnings

    from mbd_bridge.base.errors import MbdWarning
    from mbd_bridge.cli import screen
    from mbd_bridge.simulation.equations import Equations
    from mbd_bridge.simulation.steps.source import step_source

    system, start = _system(robot, options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MbdWarning)
        equations = Equations(system, q=start.q, v=start.v)
    for warning in caught:
        screen.say(str(warning.message), "warning")
    integrator: Any = options.integrator or "rk4"
    return step_source(equations, options.name or "step", integrator=integrator)


def _system(
    robot: Mechanism, options: argparse.Namespace, inputs_of_joints: bool = False
) -> tuple[System, Assembly]:
    """Return the system that the options describe, and its initial state.

    Parameters
    ----------
    inputs_of_joints : give joints that nothing else moves an input for their torque
    """
    from mbd_bridge.applications.fmu.export import torque_inputs
    from mbd_bridge.cli.assemble import say_start
    from mbd_bridge.cli.simulate import start_of
    from mbd_bridge.simulation.system import System

    every = [*robot.joint_names, *(cut.name for cut in robot.model.cuts)]
    moved = inputs.motions(robot, options.prescribe)
    torque: dict[str, Any] = dict(inputs.forces(robot, options.torque))
    if inputs_of_joints:
        torque |= torque_inputs(robot.model, but=(*torque, *moved))
    system = System(
        robot,
        torque=torque or None,
        effort_limits=options.effort_limits,
        prescribed=moved or None,
        loads=every if options.joints == ["all"] else options.joints,
    )
    start = start_of(robot, options, moved)
    say_start(robot, options, start)
    return system, start


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
        kernel = robot.kernel(options.what)
        if robot.model.has_loops:
            notes += f"\n\n{TERM.format(what=options.what)}"
        return kernel, notes
    solver = robot.load_solver(None if options.joints == ["all"] else options.joints)
    kinds = [(name, robot.model.joint(name).type) for name in solver.joints]
    columns = [name + suffix for name, kind in kinds for suffix in kind.velocities]
    notes += "".join(f"\n\n{sentence}" for sentence in screen.forces_said(robot))
    notes += f"\n\nload: {solver.convention}"
    notes += "\nforce and moment, a row a joint: " + ", ".join(solver.joints)
    return solver.kernel, notes + "\nactuation: " + (", ".join(columns) or "none")
