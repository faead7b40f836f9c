"""``mbd vibrations``: where a machine rests or goes on as it does, and small motions about that."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from mbd_bridge.cli.assemble import guesses
from mbd_bridge.cli.parser import add_output, add_robot
from mbd_bridge.cli.plot import picture_suffix, save_picture
from mbd_bridge.cli.shared import add_names
from mbd_bridge.files.whole_file import PLOT_NAMES

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.applications.linear import LinearModel, SteadyState

GROUP = "close its loops, move it"
SUMMARY = "eigenvalues and modes about the equilibrium or a steady motion"
DESCRIPTION = """\
Find the static equilibrium of a mechanism on the force elements of its file, or with --velocity a
motion whose velocities stay, and show the modes of small motions about it: eigenvalues,
frequencies, damping ratios, and whether all are stable.

  mbd vibrations urdf/pendulum.urdf
  mbd vibrations urdf/whipple_bicycle.urdf --velocity rear_wheel=16.667
  mbd vibrations urdf/whipple_bicycle.urdf --over rear_wheel=0:33:67 -o weave.png

--over takes a velocity through a range, FROM:TO:COUNT in rad/s or m/s, and draws the eigenvalues.
"""

ROUNDING = 1e-9
"""N m or N: less drives nothing."""

_RANGE = re.compile(r"(?P<name>[^=]+)=(?P<start>[^:]+):(?P<end>[^:]+):(?P<count>\d+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    pairs: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    pairs["metavar"] = "NAME=VALUE"
    parser.add_argument("--near", **pairs, help="initial guess of coordinates")
    parser.add_argument("--velocity", **pairs, help="velocities of a steady motion")
    text = "displacements that are to be independent"
    add_names(parser, "--coordinates", "NAME", text, default=[])
    parser.add_argument("--over", metavar="NAME=FROM:TO:COUNT", help="a velocity to be varied")
    add_output(parser, f"of --over, to write: {PLOT_NAMES}", "PICTURE")


def run(options: argparse.Namespace) -> int:
    """Print the modes, or draw the eigenvalues over a velocity."""
    from mbd_bridge.base.errors import StateError, count
    from mbd_bridge.cli import screen
    from mbd_bridge.model.units import model_units

    if options.output is not None:
        picture_suffix(options.output)
    robot = screen.load_robot(options)
    near = guesses(options.near, "near", robot.model)
    velocity = guesses(options.velocity, "velocity", robot.model)
    if (options.over is None) != (options.output is None):
        raise StateError("--over and -o PICTURE go together: the one is drawn in the other")
    console = screen.stdout()
    if options.over is None:
        state, model = _linear(robot, near, velocity, options.coordinates)
        what = "steady motion" if velocity else "equilibrium"
        verdict = "stable" if model.stable else "UNSTABLE"
        states = count(len(model.states), "state")
        screen.show(console, f"{robot.name}: {what} found, {states}, {verdict}", "")
        screen.show_tables(model)
        _notes(state)
        return 0
    units = model_units(robot.model)[1]
    rates = dict(zip(robot.model.velocity_names, (f"{unit}/s" for unit in units), strict=True))
    name, values = _range(options.over, rates)
    models = [
        _linear(robot, near, {**velocity, name: value}, options.coordinates)[1] for value in values
    ]
    from mbd_bridge.applications.linear import plot_eigenvalues

    label = f"{name} [{rates[name]}]"
    save_picture(lambda: [plot_eigenvalues(values, models, label)], options.output)
    stable = [f"{value:g}" for value, model in zip(values, models, strict=True) if model.stable]
    screen.show(console, f"{robot.name}: stable at {name} = {', '.join(stable) or 'none of them'}")
    screen.say(f"{len(models)} linear models in {options.output}")
    return 0


def _linear(
    robot: Mechanism, near: dict[str, float], velocity: dict[str, float], names: list[str]
) -> tuple[SteadyState, LinearModel]:
    from mbd_bridge.applications.linear import equilibrium, linearise, steady_motion

    state = steady_motion(robot, velocity, near) if velocity else equilibrium(robot, near)
    return state, linearise(robot, state, coordinates=names)


def _range(text: str, rates: dict[str, str]) -> tuple[str, list[float]]:
    """Return the velocity that --over varies, and its values."""
    import numpy as np

    from mbd_bridge.base.arguments import known_name
    from mbd_bridge.base.errors import StateError

    match = _RANGE.fullmatch(text)
    try:
        ends = [float(match["start"]), float(match["end"])] if match else []
    except ValueError:
        ends = []
    if match is None or not ends or int(match["count"]) < 2:
        raise StateError(f"--over: expected NAME=FROM:TO:COUNT such as wheel=0:30:61, got {text!r}")
    known_name("velocity", match["name"], rates, "--over: ")
    start, end = ends
    return match["name"], np.linspace(start, end, int(match["count"])).tolist()


def _notes(state: SteadyState) -> None:
    from mbd_bridge.cli import screen

    if state.free:
        screen.say(f"nothing resists {', '.join(state.free)}")
    for name, force in state.forces.items():
        if abs(force) > ROUNDING:
            screen.say(f"driven by {force:.6g} along {name}")
