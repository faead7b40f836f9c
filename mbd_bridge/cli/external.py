"""External forces of a process along a motion: ``--external FILE``, ``--sensor FRAME=PREFIX``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mbd_bridge.cli import shared
from mbd_bridge.cli.parser import vector

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.motion.external import ExternalForces


def add_arguments(parser: argparse.ArgumentParser, *, recording: bool = True) -> None:
    """Declare what concerns external forces.

    Parameters
    ----------
    recording : the command reads a motion, which may hold the columns of sensors
    """
    group = parser.add_argument_group("external forces")
    group.add_argument(
        "--external",
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="tables of forces on links: the first column is time, a coordinate or LINK.x, .y, .z "
        "(m, of its origin in the world), the others LINK.fx [N] ... LINK.mz [N m], in the link's "
        "axes about its origin; LINK.world.fx: in the world's axes; LINK.px [m] ...: point of "
        "action. Linear between rows",
    )
    group.add_argument(
        "--external-in",
        choices=("link", "world"),
        help="axes of columns that do not say them (link, or what the file says: # axes: world)",
    )
    group.add_argument(
        "--external-point",
        type=vector,
        metavar="x,y,z",
        help="point of action in the link's frame, m (its origin, or what the file says)",
    )
    group.add_argument(
        "--external-outside",
        choices=("zero", "hold", "repeat"),
        help="beyond the ends of a table: no force, that of the end, or once more from its "
        "beginning (of a whole turn); default: zero where it ends with zero, else refused",
    )
    group.add_argument(
        "--external-rename",
        nargs="+",
        default=[],
        metavar="THERE=HERE",
        help="names of columns of --external, such as F1=ram.fz; F1= leaves one out",
    )
    group.add_argument(
        "--external-unit",
        nargs="+",
        default=[],
        metavar="UNIT",
        help="units of columns of --external that do not say theirs, such as mm kN: of angles, "
        "lengths, forces and moments",
    )
    if not recording:
        return
    group.add_argument(
        "--sensor",
        nargs="+",
        action="extend",
        default=[],
        metavar="LINK=PREFIX",
        help="columns of MOTION that begin with PREFIX (PREFIX.fx, PREFIX.force.x, PREFIX_0 ...) "
        "are those of a force/torque sensor in LINK's frame, compensated for what is behind it, "
        "and act as an external force",
    )
    group.add_argument(
        "--sensor-reads",
        choices=("environment", "parent"),
        default="environment",
        help="what sensors read: the force of the environment on LINK (default), or that of the "
        "part before it, which has the other sign",
    )


def read(
    options: argparse.Namespace, robot: Mechanism, *, tell: bool = True
) -> ExternalForces | None:
    """Return the external forces that the options name; say what they are."""
    from mbd_bridge.base.errors import StateError
    from mbd_bridge.cli import motion_file, screen
    from mbd_bridge.motion.external import ExternalForces

    found = ExternalForces(robot.model)
    common = {"axes": options.external_in, "point": options.external_point}
    renamed = motion_file.renamed(options.external_rename, "--external-rename")
    for path in options.external:
        found += robot.read_external(
            path,
            outside=options.external_outside,
            rename=renamed,
            unit=options.external_unit,
            **common,
        )
    sensors = sensors_of(options)
    if sensors and options.motion is None:
        raise StateError("--sensor: columns of MOTION, which is not given")
    if sensors:
        found += robot.read_external(
            options.motion, sensors=sensors, reads=options.sensor_reads, **common
        )
    for sentence in found.said if tell else ():
        screen.say(sentence)
    return found if found.forces else None


def sensors_of(options: argparse.Namespace) -> dict[str, str]:
    """Return the prefixes of the sensors' columns by link."""
    form = "LINK=PREFIX such as tool0=wrench"
    return shared.named(getattr(options, "sensor", ()), "sensor", form)


def said(forces: ExternalForces | None) -> dict[str, str]:
    """Return what a file of loads says of the external forces in them."""
    return {} if forces is None else {"external": "\n".join(forces.said)}
