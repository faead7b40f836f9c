"""Methods of mechanisms and simulations that show them: a picture, a film, a window, a page."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, Literal, Unpack, get_args

import numpy as np

from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.base.arguments import an_instance, flag
from mbd_bridge.base.errors import StateError, one_of, real_number
from mbd_bridge.base.options import with_options
from mbd_bridge.base.readable import instant, on_clock
from mbd_bridge.motion import Motion
from mbd_bridge.motion.external import external_forces
from mbd_bridge.simulation import Simulation
from mbd_bridge.view.options import LookOptions, overlays

if TYPE_CHECKING:
    from mbd_bridge.view.picture import Picture
    from mbd_bridge.view.source import Rest, Source
    from mbd_bridge.view.web import WebView

Viewer = Literal["window", "web"]
"""What `show` opens."""


@with_options
def render(
    machine: Simulation | Mechanism,
    path: str | PathLike[str] | None = None,
    motion: Motion | None = None,
    *,
    time: float | None = None,
    size: tuple[int, int] = (960, 720),
    fps: float = 25.0,
    speed: float = 1.0,
    progress: Callable[[float], None] | None = None,
    **options: Unpack[LookOptions],
) -> Picture:
    """Draw a machine, or film its motion, without a window or a graphics card.

    Parameters
    ----------
    path : ``.png``, ``.jpg``, ``.webp`` for a picture; ``.gif``, ``.mp4`` for a film; None: no file
    motion : of a mechanism; without one it is at rest, at `q`
    time : s, of the motion, for a picture; its first state if None. Where the motion has stamps of
        a clock (1.7e9 s), one of them, or s after the first
    size : width and height, pixels
    fps, speed : pictures in a second of the film, and seconds of the motion in it
    progress : called with 1 for each picture that is done
    **options : of what is seen

    Returns
    -------
    (height, width, 3) of uint8: the picture, or the last one of the film; a notebook shows it

    See Also
    --------
    show, web_view, report
    """
    from mbd_bridge.view.picture import Picture
    from mbd_bridge.view.record import Shot, check_shot, film, is_film, still

    shot = Shot(size, fps, speed, options["view"])
    check_shot(shot, path)
    source, _ = _source(machine, motion, options)
    shown = overlays(source.model, options)
    if path is not None and is_film(path):
        if time is not None or len(source.time) < 2:
            raise StateError("a film needs a motion, and no single time; for a picture use .png")
        return film(source, shot, shown, path, progress).view(Picture)
    first, last = float(source.time[0]), float(source.time[-1])
    at = first if time is None else on_clock(float(time), first)
    if not first <= at <= last + np.spacing(last):
        raise StateError(
            f"t = {at!r} s is not in the motion, which goes from {instant(first)} to "
            f"{instant(last)} s"
        )
    return still(source.at(np.array([at])), shot, shown, path).view(Picture)


@with_options
def show(
    machine: Simulation | Mechanism,
    motion: Motion | None = None,
    *,
    size: tuple[int, int] = (1200, 800),
    speed: float = 1.0,
    playing: bool = True,
    viewer: Viewer | None = None,
    **options: Unpack[LookOptions],
) -> None:
    """Show a machine in a window or a browser, until that is closed (or Ctrl-C).

    A motion is played: space plays and pauses, the arrows go on and back, + and - change the
    speed, r begins again; sliders do the same. A mechanism without a motion is posed by a slider
    for each degree of freedom, and its loops follow. c shows the centre of mass, j the joints, f
    the links' frames, n the numbers; Escape closes.

    Parameters
    ----------
    motion, size : see `render`
    speed : seconds of the motion in a second
    playing : whether it plays from the beginning on
    viewer : "window": pybullet's; "web": a page in the browser, served for this computer only, and
        in a notebook in its cell. None: the window where pybullet is installed, else the browser
    **options : of what is seen

    Raises
    ------
    NoDisplayError
        (an `MbdError`) There is no display for the window; use ``viewer="web"`` or `render`.
    """
    from mbd_bridge.view.record import Shot, check_shot

    if viewer is None:
        viewer = "window" if find_spec("pybullet") is not None else "web"
    one_of("viewer", viewer, get_args(Viewer), StateError)
    check_shot(Shot(size, speed=speed), None)
    if viewer == "web":
        page = web_view(machine, motion, playing=playing, speed=speed, **options)
        from mbd_bridge.view.web.web_view import open_page

        open_page(page)
        return
    from mbd_bridge.view.show import show as open_window

    source, rest = _source(machine, motion, options)
    shown, view = overlays(source.model, options), options["view"]
    open_window(source, shown, rest, view=view, size=size, speed=speed, playing=playing)


@with_options
def web_view(
    machine: Simulation | Mechanism,
    motion: Motion | None = None,
    *,
    title: str = "",
    playing: bool = False,
    speed: float = 1.0,
    **options: Unpack[LookOptions],
) -> WebView:
    """Return a machine as a page for a browser: to save, to show in a notebook, or to serve.

    The page needs no network and no pybullet: it turns and zooms, plays a motion, and shows loads
    as arrows with names and numbers, joint by joint. ``.save("page.html")`` writes it;
    ``.serve()`` shows it from this process, where sliders pose a machine without a motion and its
    loads at rest follow; a notebook shows it as the value of a cell.

    Parameters
    ----------
    motion : see `render`
    title : of the page; "": the machine's name
    playing, speed : whether a motion plays from the beginning on, and its seconds in a second
    **options : of what is seen at first; the page switches marks, and has a slider for deflections

    Examples
    --------
    >>> robot.web_view(motion, loads="all").save("robot.html")           # doctest: +SKIP
    """
    from mbd_bridge.view.web import WebView

    if not 0.0 < real_number("speed", speed, "a positive number") < np.inf:
        raise StateError(f"speed: expected a positive number, got {speed}")
    source, rest = _source(machine, motion, options)
    shown = overlays(source.model, options)
    return WebView(source, rest, title, shown, options["view"], flag("playing", playing), speed)


def _source(
    machine: Simulation | Mechanism,
    motion: Motion | None,
    options: LookOptions,
) -> tuple[Source, Rest | None]:
    """Return the states that are shown, and a mechanism at rest with its loads, to pose it."""
    from mbd_bridge.view.source import Rest, of_motion, of_simulation

    q, loads, actuated = options["q"], options["loads"], options["actuated"]
    external = options["external"]
    if external is not None and (motion is None or not isinstance(machine, Mechanism)):
        raise StateError(
            "external: forces along a motion of a mechanism, robot.render(path, motion, "
            "external=...); a simulation has its own"
        )
    if isinstance(machine, Simulation):
        if motion is not None or q is not None:
            raise StateError("a simulation has its own motion; leave out motion= and q=")
        return of_simulation(machine, loads), None
    if motion is None:
        names = loads if loads == "all" else (loads,) if isinstance(loads, str) else tuple(loads)
        actuators = (actuated,) if isinstance(actuated, str) else actuated
        chosen = None if actuators is None else tuple(actuators)
        rest = Rest(machine.model, names, chosen, machine.forces)
        return rest.start(q), rest
    advice = (
        "robot.read_motion(...), q= for one position, or the simulation in place of the machine"
    )
    motion = an_instance("motion", motion, Motion, advice)
    if q is not None:
        raise StateError("a motion has its own positions; leave out q=")
    forces = external_forces(machine.model, external, time=motion.time)
    return of_motion(machine.model, motion, loads, actuated, machine.forces, forces), None
