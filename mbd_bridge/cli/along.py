"""What commands along a motion have in common.

MOTION, a table or joint states in a ROS bag; external forces of a process, ``--external FILE`` and
``--sensor FRAME=PREFIX``; the actuated joints of loops.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mbd_bridge.cli import shared
from mbd_bridge.cli.parser import NamesAction, in_group, vector
from mbd_bridge.cli.shared import add_options, values
from mbd_bridge.loads.options import ActuationOptions
from mbd_bridge.motion.options import ExternalReadingOptions, ReadingOptions

if TYPE_CHECKING:
    from mbd_bridge.api.histories import LoadInputs
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.base.assumptions import Assumption
    from mbd_bridge.model import Model
    from mbd_bridge.motion import Motion, Pieces, Reading
    from mbd_bridge.motion.external import ExternalForces
    from mbd_bridge.motion.frames import Placed

TEXT = """\
MOTION is a table (.csv, .parquet, .npz, .h5) with a column 'time' or 't' (s), one for each
coordinate (mbd info lists their names), and where you have them '<name>.vel' and '<name>.acc'
(rates of a ball joint or a floating base by the names under v: 'hip.wx.vel'). SI units; others in
brackets: 'elbow [deg]', 'rail.vel [mm/s]'. Or it is a ROS bag (a rosbag2 folder, .mcap, .db3) with
joint states. Rates that are not there are derived by a spline of degree 5 through the positions
(through the rotation for quaternions), and where these are noisy by smoothing splines. It is said
what was done.
Of a machine with loops MOTION may have the actuated joints only, or any part that determines the
others; or the pose of a link or --frame in the world: 'tool.x', '.y', '.z' and 'tool.qx' to '.qw'
or 'tool.roll', '.pitch', '.yaw'. The rest follows from the loops, from the configuration nearest to
--near.
"""

WORDS = {"nargs": "+", "action": NamesAction, "default": None}
PAIRS = {"nargs": "+", "action": "extend", "default": []}


def add_arguments(parser: argparse.ArgumentParser, *, threads: bool = True) -> None:
    """Declare how a motion is read, what acts along it, and how many threads compute."""
    if threads:
        shared.add_threads(parser)
    add_options(parser, ActuationOptions)
    add_reading(parser)
    add_external(parser)


def add_reading(parser: argparse.ArgumentParser, *, near: bool = True) -> None:
    """Declare how a motion is read; without `near` where the command has one already."""
    names = ("rest", "ignore", "smooth", "cutoff", "rename", "unit", "gaps", "unwrap")
    add_options(in_group(parser, "how MOTION is read"), ReadingOptions, names, rename=WORDS)
    part = parser.add_argument_group("of a part of a motion")
    if near:
        add_near(part)
    add_frame(part)
    add_options(part, ReadingOptions, ("given",))
    add_options(parser.add_argument_group("of a ROS bag"), ReadingOptions, ("topic", "clock"))


def add_pose(parser: argparse.ArgumentParser) -> None:
    """Declare MOTION, and --q for a pose at rest in its place."""
    parser.add_argument(
        "motion", metavar="MOTION", nargs="?", help="table of the motion, or ROS bag; or --q"
    )
    parser.add_argument(
        "--q",
        nargs="*",
        action="extend",
        metavar="NAME=VALUE",
        help="a pose at rest in place of MOTION: coordinates such as elbow=0.3 or elbow=30deg, "
        "the others are zero; with loops these are held, and the others closed from --near",
    )


def pose(options: argparse.Namespace, model: Model) -> Motion:
    """Return the state at rest that --q and --near give."""
    import numpy as np

    from mbd_bridge.base.assumptions import Assumption
    from mbd_bridge.base.errors import StateError, some
    from mbd_bridge.cli.assemble import guesses
    from mbd_bridge.motion import Motion
    from mbd_bridge.solve import assemble

    if options.motion is not None:
        raise StateError("give MOTION or --q, not both; put MOTION before options that take names")
    own = guesses(options.q, "q", model)
    both = {**(near(options, model) or {}), **own}
    fixed = [name for name in own if name in model.velocity_names] if model.has_loops else []
    q = assemble(model, both, fixed=fixed).q
    still = np.zeros((1, model.nv))
    said = ", ".join(f"{name} = {own[name]:g}" for name in own) or "all coordinates zero"
    note = f"at rest with {said}" + (", loops closed" if model.has_loops else "")
    names = model.coordinate_names, model.velocity_names
    others = [name for name in model.coordinate_names if name not in own]
    how = "in the neutral position"
    if model.has_loops:
        how = f"where the loops close, nearest to {'--near' if options.near else 'zero'}"
    parts = [f"{some([*own])} as given"] if own else []
    parts += [f"{some(others)} {how}"] if others else []
    assumed = (
        Assumption("completed", "; ".join(parts)),
        Assumption("rates", "a pose at rest: velocities and accelerations are zero"),
    )
    return Motion(np.zeros(1), q[None], still, still, *names, (note,), model, assumed)


def add_near(parser: argparse._ActionsContainer) -> None:
    """Declare the configuration near which a motion is looked for."""
    add_options(parser, ReadingOptions, ("near",), near=PAIRS)


def add_frame(parser: argparse._ActionsContainer) -> None:
    """Declare frames of the caller's."""
    words = {"flag": "--frame", "dest": "frame", "action": "append", "default": []}
    add_options(parser, ReadingOptions, ("frames",), frames=words)


def read_motion(options: argparse.Namespace, model: Model) -> Motion:
    """Return the motion that the options name."""
    from mbd_bridge.cli import screen
    from mbd_bridge.motion import motion_from_file

    with screen.progress("reading", _size(options.motion)) as step:
        return motion_from_file(options.motion, model, reading(options, model), step)


def _size(path: str) -> int | None:
    """Return the bytes of a table; None of a pipe, and of a bag, whose messages are counted."""
    from os import stat

    from mbd_bridge.files.bags import is_bag

    if is_bag(path):
        return None
    with contextlib.suppress(OSError):  # the reader has the better message
        return stat(path).st_size or None
    return None


def check_given(options: argparse.Namespace) -> None:
    """Refuse a command without a motion and without a pose."""
    from mbd_bridge.base.errors import StateError

    if options.motion is None and getattr(options, "q", None) is None:
        raise StateError(
            "expected MOTION, or --q NAME=VALUE ... for a pose at rest; put MOTION before "
            "--joints, which takes every word behind it"
        )


@contextlib.contextmanager
def pieces(options: argparse.Namespace, model: Model) -> Iterator[Pieces]:
    """Give the motion that the options name in pieces, and show how far they are taken."""
    from mbd_bridge.cli import screen
    from mbd_bridge.motion import MotionParts, pieces_from_file

    if getattr(options, "q", None) is not None:
        yield MotionParts(pose(options, model), "a pose at rest")
        return
    check_given(options)
    with screen.progress("reading and computing", _size(options.motion)) as step:
        yield pieces_from_file(options.motion, model, reading(options, model), step)


def write_motion(options: argparse.Namespace, model: Model, motion: Motion) -> None:
    """Write a motion where the options say, and say what is to note of it."""
    from mbd_bridge.cli import screen
    from mbd_bridge.motion.table import save_motion

    parts = [motion.time, motion.q, motion.v, motion.a]
    save_motion(options.output or screen.data_stdout(), model, parts, notes=motion.notes)
    screen.say_all(motion.notes)
    if options.output is not None:
        screen.rows_written(len(motion.time), options.output)


def reading(options: argparse.Namespace, model: Model) -> Reading:
    """Return how MOTION is read."""
    from mbd_bridge.motion import Reading

    columns = (f"{prefix}*" for prefix in sensors_of(options).values())
    chosen = values(
        options,
        ReadingOptions,
        rename=renamed(options.rename, "--rename"),
        ignore=[*(options.ignore or ()), *columns],
        near=near(options, model),
        frames=frames(options.frame),
    )
    return Reading.of(**chosen)


def near(options: argparse.Namespace, model: Model) -> dict[str, float] | None:
    """Return the coordinates that --near gives, in SI units."""
    from mbd_bridge.cli.assemble import guesses

    return guesses(options.near, "near", model) or None


def frames(words: list[str]) -> dict[str, Placed]:
    """Return the frames that NAME=LINK[,x,y,z[,r,p,y]] words name."""
    from mbd_bridge.base.errors import StateError

    found: dict[str, Placed] = {}
    form = "NAME=LINK, NAME=LINK,x,y,z or NAME=LINK,x,y,z,r,p,y such as tool=wrist,0,0,0.1"
    for name, text in shared.named(words, "frame", form).items():
        link, *numbers = text.split(",")
        try:
            values = [float(number) for number in numbers]
        except ValueError:
            values = [0.0]
        if not link or len(values) not in (0, 3, 6):
            raise StateError(f"--frame: expected {form}, got {f'{name}={text}'!r}")
        found[name] = (link, values[:3] or (0.0, 0.0, 0.0), values[3:] or (0.0, 0.0, 0.0))
    return found


def renamed(words: list[str] | None, option: str) -> dict[str, str | None] | None:
    """Return the names THERE -> HERE of an option's words; None of nothing."""
    from mbd_bridge.base.errors import StateError

    if words is None:
        return None
    for word in words:
        if "=" not in word:
            raise StateError(f"{option}: expected THERE=HERE, got {word!r}")
    pairs = (word.split("=", 1) for word in words)
    return {there: here or None for there, here in pairs}


TABLES = {"axes": "in", "point": "point", "outside": "outside", "rename": "rename", "unit": "unit"}
"""Options of tables of forces, and what they are called behind --external-."""


def add_external(parser: argparse.ArgumentParser, *, recording: bool = True) -> None:
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


def read_external(
    options: argparse.Namespace, robot: Mechanism, *, tell: bool = True
) -> ExternalForces | None:
    """Return the external forces that the options name; say what they are."""
    from mbd_bridge.base.errors import StateError
    from mbd_bridge.cli import screen
    from mbd_bridge.motion.external import ExternalForces

    found = ExternalForces(robot.model)
    common = {"axes": options.external_in, "point": options.external_point}
    names = renamed(options.external_rename, "--external-rename")
    for path in options.external:
        found += robot.read_external(
            path,
            outside=options.external_outside,
            rename=names,
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


def external_said(forces: ExternalForces | None) -> dict[str, str]:
    """Return what a file of loads says of the external forces in them."""
    return {} if forces is None else {"external": "\n".join(forces.said)}


def load_robot(options: argparse.Namespace) -> Mechanism:
    """Return the mechanism that the options ask for, of whose loops the actuators are said."""
    from mbd_bridge.cli import screen

    robot = screen.load_robot(options)
    check_actuated(robot.model, options)
    return robot


def load_inputs(options: argparse.Namespace, robot: Mechanism, *, tell: bool = True) -> LoadInputs:
    """Return what acts along a motion; say what is to say of the external forces."""
    from mbd_bridge.api.histories import LoadInputs

    forces = read_external(options, robot, tell=tell)
    named = None if options.actuated is None else tuple(options.actuated)
    acting = forces, named, options.minimum_norm, robot.forces, options.threads
    return LoadInputs(robot, *acting)


def actuated_said(acting: LoadInputs) -> dict[str, str]:
    """Return what a file of loads in loops says of the actuated joints."""
    model, named = acting.model, acting.actuated
    if not model.has_loops:
        return {}
    return {"actuated": ", ".join(named or model.description.actuated or ())}


def check_actuated(model: Model, options: argparse.Namespace) -> None:
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
            f"JOINT ..., one for each degree of freedom (mbd assemble tells how many there are); "
            f"along a simulation without torques any that moves the loops, its actuation is zero. "
            f"Available: {', '.join(names)}"
        )
    if options.actuated is not None and not model.cuts:
        raise ModelError(f"{model.name} has no loops: every joint has its actuator; no --actuated")


# Several motions of a machine in words: ``pick=pick.csv stop.csv --weight pick=2e6``.


def add_motions(parser: argparse.ArgumentParser) -> None:
    """Declare the motions and their repetitions."""
    parser.add_argument(
        "motion",
        nargs="+",
        metavar="[NAME=]MOTION",
        help="table or ROS bag of the motion; several are load cases, called NAME or after their "
        "files",
    )
    text = "repetitions of a load case (1)"
    shared.add_names(parser, "--weight", "NAME=N", text, default=[])


def case_files(options: argparse.Namespace) -> dict[str, str]:
    """Return the files of the motions by name."""
    from os.path import exists
    from pathlib import PurePath

    from mbd_bridge.base.errors import StateError

    found: dict[str, str] = {}
    for word in options.motion:
        name, sign, path = word.partition("=")
        if not (name and sign and path) or exists(word):
            name, path = PurePath(word).stem, word
        if name in found:
            raise StateError(f"two load cases are called {name!r}; name them: NAME={path}")
        found[name] = path
    return found


def of_each_case(
    options: argparse.Namespace, named: dict[str, str]
) -> dict[str, argparse.Namespace]:
    """Return the options of each load case, whose `motion` is one file."""
    return {
        name: argparse.Namespace(**{**vars(options), "motion": path, "q": None})
        for name, path in named.items()
    }


class CasePieces:
    """The motion of one load case in pieces; its file is opened when they are taken.

    Parameters
    ----------
    options : of this case (`of_each_case`)
    """

    def __init__(self, options: argparse.Namespace, model: Model) -> None:
        self.name, self.model, self._options = options.motion, model, options
        self._pieces: Pieces | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was derived, held still or looks odd."""
        return () if self._pieces is None else self._pieces.notes

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What was done to the motion."""
        return () if self._pieces is None else self._pieces.assumed

    def __iter__(self) -> Iterator[Motion]:
        with pieces(self._options, self.model) as self._pieces:
            yield from self._pieces


def case_weights(options: argparse.Namespace, names: dict[str, str]) -> dict[str, float]:
    """Return the repetitions that --weight gives."""
    from mbd_bridge.base.arguments import known_name
    from mbd_bridge.base.errors import StateError

    found: dict[str, float] = {}
    form = "NAME=N such as pick=2e6"
    for name, text in shared.named(options.weight, "weight", form).items():
        known_name("load case", name, names, "--weight: ")
        try:
            found[name] = float(text)
        except ValueError:
            raise StateError(f"--weight: expected {form}, got {f'{name}={text}'!r}") from None
    return found
