"""``mbd worst-pose``: the largest loads at rest over all poses that a machine can take."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from mbd_bridge.cli import along, shared
from mbd_bridge.cli.loads import add_convention, add_joints
from mbd_bridge.cli.parser import add_output, add_robot, whole_number
from mbd_bridge.cli.shared import add_options
from mbd_bridge.loads.options import ActuationOptions, WorkspaceOptions

if TYPE_CHECKING:
    from mbd_bridge.loads.poses import PoseExtreme, WorstPoses
    from mbd_bridge.model import Model

GROUP = "loads"
SUMMARY = "the largest loads at rest over all poses within the limits"
DESCRIPTION = """\
Find the poses at rest at which the loads of joints are largest, over the whole workspace.

  mbd worst-pose urdf/kuka_iiwa.urdf --joints lbr_iiwa_joint_2 --payload lbr_iiwa_link_ee,7
  mbd worst-pose urdf/kuka_iiwa.urdf --joints all --samples 1000000 --threads 2

Poses are spread evenly over the limits of the file (a turn without limits goes all round); --range
NAME=LOW:HIGH changes them, --range NAME=VALUE holds a coordinate. From the best pose of each
component a search goes on to the extreme. Of a machine with loops the actuated joints are moved.
Out comes, for each joint and component, the value farthest from zero, lowest and highest value, and
the pose: the coordinates that matter for it, the others may be anywhere. -o writes whole poses as
JSON.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    add_joints(parser)
    parser.add_argument(
        "--samples", type=whole_number, default=2**17, metavar="N", help="poses (131072)"
    )
    ranges = {**along.PAIRS, "flag": "--range", "dest": "range"}
    add_options(parser, WorkspaceOptions, ("ranges",), ranges=ranges)
    along.add_near(parser)
    add_convention(parser)
    add_options(parser, ActuationOptions)
    add_options(parser, WorkspaceOptions, ("clearance", "seed"))
    parser.add_argument(
        "--no-refine", action="store_true", help="the samples' extremes only, without the search"
    )
    shared.add_threads(parser, "poses")
    add_output(parser, "write values and poses as .json")


def run(options: argparse.Namespace) -> int:
    """Search, show and write."""
    from mbd_bridge.cli import screen

    robot = along.load_robot(options)
    with screen.waiting("looking at poses"):
        found = robot.worst_pose(
            shared.joints(options),
            samples=options.samples,
            ranges=_ranges(options.range, robot.model),
            near=along.near(options, robot.model),
            on=options.on,
            at=options.at,
            in_=options.in_,
            actuated=options.actuated,
            clearance=options.clearance,
            refine=not options.no_refine,
            seed=options.seed,
            threads=options.threads,
        )
    screen.show_tables(found)
    apart = f", {options.clearance:g} from singular ones" if robot.model.has_loops else ""
    screen.say(f"{found.existing} of {found.samples} poses exist{apart}; at rest, under gravity")
    screen.say_all(screen.forces_said(robot))
    if options.output is not None:
        _write(found, options.output)
        screen.say(f"values and poses written to {options.output}")
    return 0


def _write(found: WorstPoses, path: str) -> None:
    def entry(one: PoseExtreme) -> dict[str, object]:
        q = dict(zip(found.coordinates, map(float, one.q), strict=True))
        names = {"joint": one.joint, "component": one.component}
        return {**names, "value": one.value, "unit": one.unit, "sampled": one.sampled, "q": q}

    content = {
        "mechanism": found.name,
        "samples": found.samples,
        "existing": found.existing,
        "highest": [entry(one) for one in found.highest.values()],
        "lowest": [entry(one) for one in found.lowest.values()],
    }
    from mbd_bridge.files.whole_file import whole_file

    with whole_file(path) as file:
        json.dump(content, file, indent=1)
        file.write("\n")


def _ranges(words: list[str], model: Model) -> dict[str, tuple[float, ...]]:
    """Return the ranges in SI units that NAME=LOW:HIGH words give."""
    from mbd_bridge.cli.assemble import guesses

    found = {}
    for word in words:
        name, _, text = word.partition("=")
        ends = [guesses([f"{name}={end}"], "range", model) for end in text.split(":", 1)]
        found[name.strip()] = tuple(end[name.strip()] for end in ends)
    return found
