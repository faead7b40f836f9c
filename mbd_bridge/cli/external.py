"""External forces of a process along a motion: ``--external FILE``, ``--sensor FRAME=PREFIX``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mbd_bridge.cli import shared
from mbd_bridge.cli.options import add_options
from mbd_bridge.cli.parser import vector
from mbd_bridge.motion.options import ExternalReadingOptions

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.motion.external import ExternalForces


TABLES = {"axes": "in", "point": "point", "outside": "outside", "rename": "rename", "unit": "unit"}
"""Options of tables of forces, and what they are called behind --external-."""


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
    words: dict[str, dict[str, Any]] = {
        name: {"flag": f"--external-{flag}", "dest": f"external_{flag}"}
        for name, flag in TABLES.items()
    }
    words["point"]["type"] = vector
    words["rename"] |= {"nargs": "+", "default": []}
    words["unit"] |= {"nargs": "+", "default": []}
    add_options(group, ExternalReadingOptions, TABLES, **words)
    if recording:
        sensors = {"flag": "--sensor", "dest": "sensor", "nargs": "+", "action": "extend"}
        reads = {"flag": "--sensor-reads", "dest": "sensor_reads"}
        changes: dict[str, dict[str, Any]] = {"sensors": {**sensors, "default": []}, "reads": reads}
        add_options(group, ExternalReadingOptions, changes, **changes)


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
