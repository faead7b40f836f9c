"""``mbd loads`` of a mechanism with loops: which joints are driven must be said."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from mbd_bridge.cli.parser import Names

if TYPE_CHECKING:
    from mbd_bridge.api import Mechanism
    from mbd_bridge.loads import Motion
    from mbd_bridge.mechanism import Model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only loops need."""
    parser.add_argument(
        "--actuated",
        nargs="+",
        action=Names,
        metavar="JOINT",
        help="in a mechanism with loops: the joints with a drive, as many as it has freedoms; "
        "without it those that the sidecar or the file's transmissions name",
    )
    parser.add_argument(
        "--minimum-norm",
        action="store_true",
        help="allow more drives than the motion determines: the loads are then the smallest for "
        "the loop joints, and what is not determined is called so",
    )


def run(robot: Mechanism, motion: Motion, options: argparse.Namespace) -> int:
    """Compute and write the loads along a motion that satisfies the loops."""
    from mbd_bridge.cli import loop_tables, screen
    from mbd_bridge.formats.tables import TableWriter
    from mbd_bridge.loads.export import TIME, attributes, load_attributes, load_columns, load_rows

    model = robot.model
    loads = robot.joint_loads(
        motion,
        joints=None if options.joints == ["all"] else options.joints,
        on=options.on,
        at=options.at,
        in_=options.in_,
        reaction=options.reaction,
        actuated=options.actuated,
        minimum_norm=options.minimum_norm,
    )
    said = {"driven": ", ".join(options.actuated or model.description.actuated or ())}
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

    if model.cuts and options.actuated is None and model.description.actuated is None:
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
