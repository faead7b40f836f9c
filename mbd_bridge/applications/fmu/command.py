"""``mbd export --what fmu``: a machine as an FMU."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mbd_bridge.cli.shared import add_options
from mbd_bridge.simulation.options import OwnStepOptions

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism

OPTIONS = ("step", "fmi")
"""Options that only an FMU takes."""

DESCRIPTION = """\
An FMU (functional mock-up unit) holds that step for co-simulation in other programs, as C sources
and as a binary for Linux if there is a C compiler. Joints that get no --torque and no --prescribe
have an input torque.NAME. Coordinates q.NAME, velocities v.NAME, accelerations a.NAME, energies
and, with --joints, loads load.JOINT.fx ... are outputs. Without -o it is ROBOT.fmu.

  mbd export urdf/crank_rocker.urdf --what fmu --near crank=0.5 --joints coupler_pin -o rocker.fmu
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_options(parser, OwnStepOptions, ("step",), step={"default": None})
    parser.add_argument("--fmi", type=int, choices=(2, 3), help="version of FMI (3)")


def write(robot: Mechanism, options: argparse.Namespace) -> int:
    """Write an FMU, and say what is in it."""
    import warnings
    from pathlib import Path

    from mbd_bridge.applications.fmu.export import export_fmu, torque_inputs
    from mbd_bridge.base.errors import MbdWarning
    from mbd_bridge.cli import screen
    from mbd_bridge.cli.inputs import system_of
    from mbd_bridge.simulation.variables import UNDETERMINED

    system, start = system_of(robot, options, torque_inputs)
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
