"""``mbd loads`` of a mechanism with loops: which joints are actuated must be said."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mbd_bridge.cli.options import add_options
from mbd_bridge.loads.options import ActuationOptions

if TYPE_CHECKING:
    from mbd_bridge.api.histories import LoadInputs
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.model import Model
    from mbd_bridge.motion.external import ExternalForces


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what only loops need."""
    add_options(parser, ActuationOptions)


def load_robot(options: argparse.Namespace) -> Mechanism:
    """Return the mechanism that the options ask for, of whose loops the actuators are said."""
    from mbd_bridge.cli import screen

    robot = screen.load_robot(options)
    check(robot.model, options)
    return robot


def inputs(
    options: argparse.Namespace, robot: Mechanism, forces: ExternalForces | None
) -> LoadInputs:
    """Return what acts along a motion."""
    from mbd_bridge.api.histories import LoadInputs

    named = None if options.actuated is None else tuple(options.actuated)
    acting = forces, named, options.minimum_norm, robot.forces, options.threads
    return LoadInputs(robot, *acting)


def actuated(acting: LoadInputs) -> dict[str, str]:
    """Return what a file of loads in loops says of the actuated joints."""
    model, named = acting.model, acting.actuated
    if not model.has_loops:
        return {}
    return {"actuated": ", ".join(named or model.description.actuated or ())}


def check(model: Model, options: argparse.Namespace) -> None:
    """Refuse a mechanism with loops whose actuators are not said, and actuators without loops."""
    from mbd_bridge.base.errors import ModelError

    if model.cuts and options.actuated is None and model.description.actuated is None:
        names = [
            model.joints[body.joint].name
            for body in model.bodies
            if body.type.nv and not body.coupled
        ]
        raise ModelError(
            f"{model.name} has loops, so loads depend on which joints are actuated: add --actuated "
            f"JOINT ..., one for each degree of freedom (mbd assemble tells how many there are). "
            f"Available: {', '.join(names)}"
        )
    if options.actuated is not None and not model.cuts:
        raise ModelError(f"{model.name} has no loops: every joint has its actuator; no --actuated")
