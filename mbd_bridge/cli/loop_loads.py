"""``mbd loads`` of a mechanism with loops: which joints are driven must be said."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.cli.parser import Names

if TYPE_CHECKING:
    from mbd_bridge.api import Mechanism
    from mbd_bridge.loads import JointLoads, Motion
    from mbd_bridge.mechanism import Model

BLOCK = 500
"""States that are computed at a time, so that the bar moves."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only loops need."""
    parser.add_argument(
        "--actuated",
        nargs="+",
        action=Names,
        metavar="JOINT",
        help="in a mechanism with loops: the joints with a drive, as many as it has freedoms",
    )


def run(robot: Mechanism, motion: Motion, options: argparse.Namespace) -> int:
    """Compute and write the loads along a motion that satisfies the loops."""
    from mbd_bridge.cli import loop_tables, screen
    from mbd_bridge.errors import StateError
    from mbd_bridge.formats.tables import TableWriter
    from mbd_bridge.loads.export import TIME, attributes, load_attributes, load_columns, load_rows

    model = robot.model
    if options.reaction:
        raise StateError("--reaction is not there for mechanisms with loops; leave it out")
    loads = _loads(robot, motion, options)
    said = {"driven": ", ".join(options.actuated)}
    said |= attributes(f"joint loads of {model.name} along {options.motion}", motion.notes)
    said |= load_attributes(loads)
    target = options.output or screen.data_stdout()
    with TableWriter(target, [TIME, *load_columns(loads)], said, digits=options.digits) as out:
        out.append(np.column_stack([motion.time, load_rows(loads)]))
    if options.output is None:
        return 0
    screen.show(
        screen.stderr(), f"{loads.convention}", loop_tables.peaks(model, motion.time, loads)
    )
    screen.say(f"{len(motion.time)} rows written to {options.output}")
    return 0


def check(model: Model, options: argparse.Namespace) -> None:
    """Refuse a mechanism with loops whose drives are not said, and drives without loops."""
    from mbd_bridge.errors import ModelError

    if model.cuts and options.actuated is None:
        names = [
            model.joints[body.joint].name
            for body in model.bodies
            if body.type.nv and not body.coupled
        ]
        raise ModelError(
            f"{model.name} has loops, so loads depend on which joints are driven: add --actuated "
            f"JOINT ..., one for each freedom (mbd assemble tells how many there are). "
            f"Available: {', '.join(names)}"
        )
    if options.actuated is not None and not model.cuts:
        raise ModelError(f"{model.name} has no loops: every joint has its drive; no --actuated")


def _loads(robot: Mechanism, motion: Motion, options: argparse.Namespace) -> JointLoads:
    """Return the loads of all states; a component is determined if it is so at each of them."""
    from mbd_bridge.cli import screen

    joints = None if options.joints == ["all"] else options.joints
    rows, found = len(motion.time), []
    with screen.progress("computing", rows) as step:
        for start in range(0, rows, BLOCK):
            part = slice(start, start + BLOCK)
            found.append(
                robot.joint_loads(
                    motion.q[part],
                    motion.v[part],
                    motion.a[part],
                    joints,
                    on=options.on,
                    at=options.at,
                    in_=options.in_,
                    actuated=options.actuated,
                )
            )
            step(len(motion.time[part]))
    first = found[0]
    shape = (-1, *first.unique.shape[-2:])
    unique = np.concatenate([block.unique.reshape(shape) for block in found])
    return replace(
        first,
        force=np.concatenate([block.force for block in found]),
        moment=np.concatenate([block.moment for block in found]),
        drive=np.concatenate([block.drive for block in found]),
        unique=np.logical_and.reduce(unique),
    )
