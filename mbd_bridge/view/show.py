"""Open a window on a machine, in a process of its own, and wait until it is closed."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from importlib.util import find_spec
from typing import IO

import numpy as np

from mbd_bridge.base import search_path
from mbd_bridge.base.errors import MbdError, MissingPackageError, NoDisplayError, StateError
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.view.bending import FEW_SLICES
from mbd_bridge.view.draw_loads import Overlays, Take
from mbd_bridge.view.record import favourable
from mbd_bridge.view.source import Rest, Source
from mbd_bridge.view.window import FAULT, READY, REFUSED, Order

ADVICE = (
    "a window needs a display (X11, with OpenGL); without one, use the browser: "
    "robot.show(..., viewer='web'), mbd view --web; or record: robot.render(..., 'motion.gif'), "
    "mbd view ... --record motion.gif"
)

ENOUGH = 5.0
"""Time for the window's process to end when it is asked to, s."""


def show(
    source: Source,
    overlays: Overlays,
    rest: Rest | None = None,
    *,
    view: tuple[float, float] | None = None,
    size: tuple[int, int] = (1200, 800),
    speed: float = 1.0,
    playing: bool = True,
) -> None:
    """Show a motion, or a machine that can be posed, until its window is closed.

    Ctrl-C closes the window, too.

    Parameters
    ----------
    rest : how loads at rest are found; given, the machine is posed by keys and sliders
    view : yaw and pitch of the camera, degrees; None: chosen for the machine

    Raises
    ------
    NoDisplayError
        No window can be opened here.
    """
    check_display()
    overlays = overlays._replace(slices=FEW_SLICES)
    take = Take(source, overlays)
    take.tell()
    chosen = favourable(take) if view is None else view
    order = Order(source, overlays, rest, chosen, size, speed, playing)
    with window_process() as process:
        try:
            _, answer = hand_over(process, order)
            tell(process, answer.read().decode())
        except KeyboardInterrupt:
            return
        finally:
            end(process)


def check_display() -> None:
    """Refuse at once what no window can be opened for."""
    if find_spec("pybullet") is None:
        raise MissingPackageError(
            "the window is pybullet's: pip install pybullet (it has wheels up to Python 3.11); or "
            "use the browser: robot.show(..., viewer='web'), mbd view --web"
        )
    if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
        raise NoDisplayError(f"DISPLAY is not set: {ADVICE}")


def window_process() -> subprocess.Popen[bytes]:
    """Return the process that opens a window, as soon as it gets an `Order`."""
    return subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore", "-m", "mbd_bridge.view.window"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": search_path.for_a_child()},
    )


def hand_over(process: subprocess.Popen[bytes], order: Order) -> tuple[IO[bytes], IO[bytes]]:
    """Give a window's process its order; return what it reads and what it writes."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(pickle.dumps(order))
        process.stdin.flush()
    return process.stdin, process.stdout


def tell(process: subprocess.Popen[bytes], said: str) -> None:
    """Raise what a window's process could not do; `said` is all that it wrote."""
    code = process.wait()
    opened, words = said.startswith(READY), said.removeprefix(READY).strip()
    if code == FAULT:
        raise RuntimeError(f"the window's process failed:\n{words}")
    if code == REFUSED:
        raise MbdError(words)
    if code < 0:
        name = signal.Signals(-code).name
        raise MbdError(f"the window's process was ended by {name}; {ADVICE}")
    if not opened:
        display = os.environ.get("DISPLAY", "")
        raise NoDisplayError(f"no window could be opened on DISPLAY={display}: {ADVICE}")


def end(process: subprocess.Popen[bytes]) -> None:
    """End the window's process."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()  # it ends when this ends
    try:
        process.wait(ENOUGH)
    except subprocess.TimeoutExpired:
        process.kill()


# A window on a machine that moves while the program goes on.

SIZE = (1200, 800)
"""Of the window, pixels."""

MOST = 511
"""Doubles that a pipe takes at once or not at all."""


class LiveWindow:
    """A window, in a process of its own, that shows the newest state which it gets.

    Parameters
    ----------
    q : (nq,) state to begin with

    Raises
    ------
    NoDisplayError
        No window can be opened here.
    """

    def __init__(self, model: Model, q: Array) -> None:
        check_display()
        if 1 + len(q) > MOST:
            raise StateError(
                f"a live window takes {MOST - 1} coordinates, the machine has {len(q)}"
            )
        source = Source(model, np.zeros(1), q[None])
        overlays = Overlays(slices=FEW_SLICES)
        view = favourable(Take(source, overlays))
        order = Order(source, overlays, None, view, SIZE, 1.0, True, live=True)
        self._frame = np.zeros(1 + len(q))
        self._process = window_process()
        pipe, self._answer = hand_over(self._process, order)
        self._pipe = pipe.fileno()
        line = self._answer.readline().decode()
        if not line.startswith(READY):
            line += self._answer.read().decode()
            end(self._process)
            tell(self._process, line)
        os.set_blocking(self._pipe, False)

    def put(self, t: float, q: Array) -> bool:
        """Show a state; return False if the window has been closed. It never waits."""
        self._frame[0], self._frame[1:] = t, q
        try:
            os.write(self._pipe, self._frame.data)
        except BlockingIOError:
            return True  # it has not drawn the last ones yet
        except BrokenPipeError:
            return False
        return True

    def close(self) -> None:
        """Close the window."""
        end(self._process)
        self._answer.close()
