"""``mbd view``: see a machine, move it, play its motion, see its loads; or record it."""

from __future__ import annotations

import argparse
import contextlib
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mbd_bridge.cli import along
from mbd_bridge.cli.assemble import EXIT_INCOMPLETE, add_state, assembled, say_start
from mbd_bridge.cli.parser import add_output, add_robot
from mbd_bridge.cli.shared import add_options
from mbd_bridge.loads.options import ActuationOptions
from mbd_bridge.simulation.options import StepOptions
from mbd_bridge.view.options import LookOptions, OverlayOptions

if TYPE_CHECKING:
    from mbd_bridge.api.mechanism import Mechanism
    from mbd_bridge.model.spatial import Array
    from mbd_bridge.simulation import Simulation
    from mbd_bridge.view.web import WebView

GROUP = "look at a machine"
SUMMARY = "see it move: a window, a page in the browser, or a picture or film in a file"
DESCRIPTION = """\
Show a machine in a window of pybullet, or where that is not installed (it has wheels up to Python
3.11) in the browser: along a motion, or posed by sliders; with --loads the forces
(red), moments (blue, two heads) and actuators (green) of joints as arrows, on the child; with
--external the forces of a process (violet), where they act.

  mbd view urdf/kuka_iiwa.urdf urdf/kuka_iiwa_motion.csv --loads lbr_iiwa_joint_2
  mbd view urdf/four_bar.urdf --seconds 3 --near crank=30deg --fixed crank --loads coupler_pin
  mbd view urdf/crank_rocker.urdf
  mbd view urdf/stewart.urdf --record stewart.png
  mbd view urdf/kuka_iiwa.urdf --web --loads all

With MOTION (as for mbd loads) or --seconds (simulated as by mbd simulate) it is played: space plays
and pauses, the arrow keys go on and back, + and - change the speed, r begins again. Without, up and
down choose a joint, left and right move it, loops stay closed, and --loads are those at rest under
gravity. p shows sliders, c the centre of mass, j the joints, f the links' frames, n the numbers;
Escape closes the window.

--web shows the same in the browser, without pybullet: for this computer only, at an address with
a random port and token, until the page is closed. Over SSH forward the port (--port 8000, and
ssh -L 8000:127.0.0.1:8000 HOST) and open the address here.

--record needs no display: .png, .jpg or .webp is a picture (at --time), .gif or .mp4 a film, .html
a page for any browser, offline, without sliders for joints.
What is grey and dashed is not determined by rigid mechanics. Closing the window is no error.
"""

RECORDS = 250
"""Records of a simulation a second: more are not to be seen."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_robot(parser)
    parser.add_argument(
        "motion", metavar="MOTION", nargs="?", help="table or ROS bag of the motion"
    )
    parser.add_argument(
        "--seconds", type=float, metavar="T", help="simulate so long, s, and play that"
    )
    add_options(parser, StepOptions)
    add_state(parser)
    add_options(parser, LookOptions, ("loads",), loads={"default": []})
    add_options(parser, ActuationOptions, ("actuated",))
    along.add_reading(parser, near=False)
    along.add_external(parser)
    _add_picture(parser)


def _add_picture(parser: argparse.ArgumentParser) -> None:
    """Declare what concerns the picture."""
    parser.add_argument(
        "--web", action="store_true", help="show it in the browser, for this computer only"
    )
    parser.add_argument("--port", type=int, metavar="N", help="of --web, on 127.0.0.1 (a free one)")
    add_output(parser, "write a picture, a film or a page, without a window", flag="--record")
    parser.add_argument(
        "--time",
        type=float,
        metavar="T",
        help="of a picture, s (the first); of a motion with stamps of a clock, s after the first",
    )
    parser.add_argument(
        "--size", type=_size, metavar="WxH", help="pixels (960x720; of the window 1200x800)"
    )
    parser.add_argument(
        "--fps", type=float, default=25.0, metavar="N", help="pictures a second of a film (25)"
    )
    parser.add_argument(
        "--speed", type=float, default=1.0, metavar="X", help="seconds of motion in a second (1)"
    )
    parser.add_argument(
        "--camera",
        type=_angles,
        metavar="YAW,PITCH",
        help="degrees: where it is seen from; yaw 0 looks along y, pitch 90 down (chosen); "
        "a negative yaw needs the sign =: --camera=-30,20",
    )
    add_options(
        parser,
        OverlayOptions,
        ("centre", "joints", "frames", "exaggerate", "ground"),
        joints={"flag": "--pins", "dest": "pins", "action": "store_true"},
    )


def run(options: argparse.Namespace) -> int:
    """Show or record; return when the window is closed."""
    from mbd_bridge.base.errors import MbdWarning, SolveError, StateError
    from mbd_bridge.cli import screen
    from mbd_bridge.view.record import Shot, check_shot
    from mbd_bridge.view.web.web_view import check_page, is_page

    if options.motion and options.seconds is not None:
        raise StateError("give MOTION or --seconds, not both")
    if options.record is None and not options.web and find_spec("pybullet") is None:
        screen.say("the window is pybullet's, which is not installed: shown in the browser")
        options.web = True
    _check_web(options)
    if options.record is not None and is_page(options.record):
        check_page(options.record)
    elif options.record is not None:
        check_shot(Shot(options.size or Shot().size, options.fps, options.speed), options.record)
    robot = screen.load_robot(options)
    try:
        what, more, time = _what(robot, options)
    except SolveError as error:
        screen.report_error(error)
        return EXIT_INCOMPLETE
    page: dict[str, Any] = {
        "loads": "all" if options.loads == ["all"] else options.loads,
        "actuated": options.actuated,
        "speed": options.speed,
        "view": options.camera,
        "ground": options.ground,
        "exaggerate": options.exaggerate,
        "joints": True if options.pins else None,
        "centre": options.centre,
        "frames": options.frames or (),
        **more,
    }
    common = dict(page)
    if options.size is not None:
        common["size"] = options.size
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MbdWarning)
        if is_page(options.record):
            what.web_view(**page).save(options.record)
        elif options.web:
            _serve(what.web_view(playing=True, **page), options.port or 0)
        elif options.record is None:
            with screen.waiting("opening the window; Escape or Ctrl-C closes it"):
                what.show(**common)
        else:
            frames = _frames(time, options)
            with screen.progress("recording", frames) as step:
                what.render(
                    options.record,
                    fps=options.fps,
                    time=options.time,
                    progress=step,
                    **common,
                )
    for remark in dict.fromkeys(str(w.message) for w in caught):
        screen.say(remark, "warning")
    if options.record is not None:
        screen.say(f"{options.record} written")
    return 0


def _check_web(options: argparse.Namespace) -> None:
    """Refuse what does not go with a page in the browser."""
    from mbd_bridge.base.errors import StateError

    if options.web and options.record is not None:
        raise StateError("give --web or --record, not both; --record FILE.html writes the page")
    if options.port is not None and not (options.web and 0 <= options.port < 65536):
        raise StateError("--port N, from 0 to 65535, is for --web")


def _serve(view: WebView, port: int) -> None:
    """Serve a page until it is closed, or until Ctrl-C."""
    from mbd_bridge.cli import screen
    from mbd_bridge.view.web.web_view import open_browser

    with contextlib.suppress(KeyboardInterrupt), view.serve(port=port) as server:
        opened = open_browser(server.url)
        screen.say(f"{'opened' if opened else 'open'} {server.url}")
        with screen.waiting("the page is served; closing it or Ctrl-C ends this"):
            server.wait()


def _what(
    robot: Mechanism, options: argparse.Namespace
) -> tuple[Simulation | Mechanism, dict[str, Any], Array | None]:
    """Return what is shown, what else `render` and `show` must know of it, and its times, s."""
    from mbd_bridge.cli import screen

    if options.motion:
        motion = along.read_motion(options, robot.model)
        screen.say_all(motion.notes)
        forces = along.read_external(options, robot)
        return robot, {"motion": motion, "external": forces}, motion.time
    with screen.waiting("assembling"):
        start = assembled(robot, options)
    say_start(robot, options, start)
    if options.seconds is None:
        return robot, {"q": start.q}, None
    steps = options.seconds / options.step if options.step > 0.0 else None
    every = max(1, round(1.0 / (RECORDS * options.step))) if options.step > 0.0 else 1
    with screen.progress("simulating", steps) as step:
        run = robot.simulate(
            options.seconds,
            step=options.step,
            q=start.q,
            v=start.v,
            every=every,
            external=along.read_external(options, robot),
            check=False,
            progress=step,
        )
    if not run.finished:
        screen.say(run.status, "warning")
    return run, {}, run.time


def _frames(time: Array | None, options: argparse.Namespace) -> int:
    """Return how many pictures will be drawn."""
    from mbd_bridge.view.record import Shot, frame_times, is_film

    if time is None or not is_film(options.record):
        return 1
    return len(frame_times(time, Shot(fps=options.fps, speed=options.speed)))


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected WxH, such as 960x720; got {text!r}")
    return int(width), int(height)


def _angles(text: str) -> tuple[float, float]:
    try:
        yaw, pitch = (float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected YAW,PITCH in degrees, such as 30,20; got {text!r}"
        ) from None
    return yaw, pitch
