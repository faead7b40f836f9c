"""``mbd plot``: pictures of a motion, or of the loads along it."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mbd_bridge.cli import along, shared
from mbd_bridge.cli.loads import add_convention
from mbd_bridge.cli.parser import add_output, add_robot, whole_number
from mbd_bridge.files.whole_file import PLOT_NAMES, PLOTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.loads import JointLoads

KINDS = ("loads", "torque-speed", "polar", "motion", "closure", "deflection")
DPI = 150
"""Dots an inch of pictures made of dots."""

GROUP = "look at a machine"
SUMMARY = "pictures of a motion, and of the loads along it"
DESCRIPTION = f"""\
Draw the loads of joints along a motion, what actuators must give, where bearings are loaded, the
motion itself, how far its loops are open, or how far a link that bends is deflected.

  mbd plot urdf/kuka_iiwa.urdf urdf/kuka_iiwa_motion.csv --joints lbr_iiwa_joint_3 -o loads.png
  mbd plot urdf/kuka_iiwa.urdf urdf/kuka_iiwa_motion.csv --kind torque-speed -o actuators.pdf
  mbd plot urdf/four_bar.urdf run.h5 --joints coupler_pin -o pin.svg

FILE is a history of loads that mbd loads or mbd simulate --joints wrote; then these are drawn. Or
it is a motion, and the loads are computed with --on, --at and --in as mbd loads has them.
{along.TEXT.replace("MOTION is", "A motion is")}
Components that rigid-body mechanics does not determine are dashed and grey.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument("motion", metavar="FILE", help="motion, or history of loads")
    add_output(parser, f"to write: {PLOT_NAMES}", "PICTURE", required=True)
    parser.add_argument(
        "--kind",
        choices=KINDS,
        default="loads",
        help="force, moment and actuation along time (default); torque over speed with the limits "
        "of "
        "the file; direction of forces in a plane; coordinates and velocities; residual of "
        "loops; deflection of a link and strain energy by mode",
    )
    shared.add_joints(parser, "names of joints; default: all")
    add_convention(parser)
    parser.add_argument(
        "--plane", choices=("xy", "yz", "zx"), help="of --kind polar; default: across the axis"
    )
    parser.add_argument("--link", metavar="LINK", help="of --kind deflection: that bends")
    parser.add_argument(
        "--x", type=float, metavar="X", help="of --kind deflection: m along the beam (its far end)"
    )
    parser.add_argument(
        "--dpi",
        type=whole_number,
        default=DPI,
        metavar="N",
        help=f"of pictures made of dots ({DPI})",
    )
    along.add_arguments(parser, threads=False)


def run(options: argparse.Namespace) -> int:
    """Draw the picture and write it."""
    from mbd_bridge.cli import screen

    picture_suffix(options.output)
    robot = screen.load_robot(options)
    with screen.waiting("drawing"):
        save_picture(lambda: _drawn(robot, options), options.output, options.dpi)
    screen.say(f"{options.kind} drawn to {options.output}")
    return 0


def picture_suffix(path: str) -> str:
    """Return the suffix of a picture's name, or say which there are."""
    from pathlib import Path

    from mbd_bridge.base.errors import FileError

    suffix = Path(path).suffix.lower()
    if suffix not in PLOTS:
        raise FileError(f"pictures are {PLOT_NAMES}, not {suffix!r}", path)
    return suffix


def save_picture(draw: Callable[[], list[Axes]], path: str, dpi: int = DPI) -> None:
    """Draw a picture, without a display, and write it."""
    from mbd_bridge.base.plot_style import drawing, style

    drawing("matplotlib").use("Agg")
    from mbd_bridge.files.whole_file import whole_path

    figure: Any = draw()[0].figure
    drawn = io.BytesIO()  # matplotlib does not survive a full disk
    with style():
        figure.savefig(drawn, format=picture_suffix(path)[1:], dpi=dpi)
    with whole_path(path) as target:
        target.write_bytes(drawn.getvalue())


def _drawn(robot: Mechanism, options: argparse.Namespace) -> list[Axes]:
    """Return the axes of the picture asked for."""
    from mbd_bridge.simulation.results.pictures import plot_closure

    if options.kind in ("motion", "closure", "deflection"):
        motion = along.read_motion(options, robot.model)
        if options.kind == "motion":
            return motion.plot(shared.joints(options))
        if options.kind == "deflection":
            return robot.deflections(motion, link=options.link, x=options.x).plot()
        return [plot_closure(robot.model, motion.time, motion.q)]
    loads = _loads(robot, options)
    if options.kind == "torque-speed":
        asked = shared.joints(options) or loads.joints
        places = zip(loads.joints, loads.actuation_of, strict=True)
        actuations = [
            name for joint, k in places if joint in asked for name in loads.actuation_names[k]
        ]
        return loads.plot_torque_speed(actuations)
    if options.kind == "polar":
        return loads.plot_polar(shared.joints(options), options.plane)
    return loads.plot(shared.joints(options))


def _loads(robot: Mechanism, options: argparse.Namespace) -> JointLoads:
    """Return the loads in a history, or those along a motion."""
    from mbd_bridge.base.errors import FileError
    from mbd_bridge.cli import screen
    from mbd_bridge.files.bags import is_bag
    from mbd_bridge.files.tables import open_table, read_table
    from mbd_bridge.loads import Convention, loads_from_table
    from mbd_bridge.motion.table import LOAD

    convention = {"on": options.on, "at": options.at, "in_": options.in_}
    if not is_bag(options.motion) and LOAD in open_table(options.motion).attributes:
        found = loads_from_table(read_table(options.motion), robot.model)
        if Convention.of(**convention) not in (Convention(), found.convention):
            raise FileError(
                f"these loads are given {found.convention}; --on, --at and --in are for motions",
                options.motion,
            )
        return found
    along.check_actuated(robot.model, options)
    motion = along.read_motion(options, robot.model)
    for note in motion.notes:
        screen.say(note)
    names, actuated = shared.joints(options), options.actuated
    forces = along.read_external(options, robot)
    return robot.joint_loads(motion, joints=names, actuated=actuated, external=forces, **convention)
