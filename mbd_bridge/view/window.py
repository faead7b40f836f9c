"""The process that holds the window: ``python -m mbd_bridge.view.window``, told what on stdin.

A window needs a process of its own: pybullet ends its process when there is no display, and when
the window's server or its owner takes the window away. What is shown comes pickled on stdin, from
`view.show`; if stdin ends, so does the window. On stdout goes "ready" once it is open, and what
went wrong.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbd_bridge.errors import MbdError
from mbd_bridge.spatial import Array
from mbd_bridge.view.camera import Camera, direction, framing
from mbd_bridge.view.pieces import Stage
from mbd_bridge.view.player import SPEEDS, Player
from mbd_bridge.view.posing import Poser
from mbd_bridge.view.source import Rest, Source
from mbd_bridge.view.take import ACTUATION, Label, Moment, Overlays, Take

if TYPE_CHECKING:
    from mbd_bridge.bridges.pybullet.window import Window

READY = "ready"
REFUSED, FAULT = 2, 70
"""Exit codes: something could not be shown, and a fault of ours."""

FRAME = 1.0 / 60.0
"""Shortest time between two pictures, s."""

SLOW = 0.12
"""A picture that takes longer, s, is drawn without shadows from then on."""

SETTLED = 0.6
"""Time without a moved slider, s, after which sliders go where the machine is."""

WARMING = 15
"""Moments of a motion that are shown behind the scenes, so that their arrows are there."""

SIDE = 250
"""Width of the panels on either side of the window, pixels."""

LEVELS = (104, 122)
"""Heights of what is above and below: menu and texts, and pybullet's panels, pixels."""

MENU, ROW = 22, 20
"""Heights of the menu and of a row of text, of which there are four at most, pixels."""

NEARER = 0.4
"""How much nearer than the machine its texts are, so that it does not hide them."""

ROOM = 1.4
"""How much more than the machine the window shows of one that will be posed."""

FIELD = 90.0
"""Angle of view of pybullet's window from bottom to top, degrees."""

TEXT = 1.3
"""Size of texts."""


class Order(NamedTuple):
    """What is to be shown.

    Attributes
    ----------
    rest : how to find the loads of a machine that is posed; None: `source` is played
    live : the machine moves as frames on stdin say: t and q, as doubles
    view : yaw and pitch, degrees
    """

    source: Source
    overlays: Overlays
    rest: Rest | None
    view: tuple[float, float]
    size: tuple[int, int]
    speed: float
    playing: bool
    live: bool = False


def main() -> int:
    """Open the window that stdin asks for; return when it is closed."""
    talk = os.fdopen(os.dup(1), "w", encoding="utf-8")
    sink = os.open(os.devnull, os.O_WRONLY)
    for noisy in (1, 2):
        os.dup2(sink, noisy)  # pybullet's prints, from whichever thread
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for the owner to decide
    from mbd_bridge.bridges.pybullet.window import Window, WindowClosed

    try:
        order: Order = pickle.load(sys.stdin.buffer)
        frames = Frames(1 + order.source.q.shape[1]) if order.live else None
        follow = _end_with_owner if frames is None else frames.follow
        threading.Thread(target=follow, daemon=True).start()
        with contextlib.suppress(WindowClosed), Window(order.size) as window:
            talk.write(f"{READY}\n")
            talk.flush()
            if frames is not None:
                _Live(window, order, frames).run()
            (_Posing if order.rest else _Playing)(window, order).run()
    except MbdError as error:
        talk.write(f"{error}\n")
        talk.flush()
        return REFUSED
    except Exception:  # whatever it is: this process has no stderr, its owner tells of it
        talk.write(traceback.format_exc())
        talk.flush()
        return FAULT
    return 0


def _end_with_owner() -> None:
    """End this process when nobody holds the other end of stdin any more."""
    # Not through sys.stdin, whose lock this thread would hold while the interpreter ends.
    while os.read(0, 1):
        pass
    os._exit(0)


class Frames:
    """The newest frame on stdin, so many doubles; the process ends when stdin does."""

    def __init__(self, size: int) -> None:
        self._bytes = 8 * size
        self.newest: Array | None = None

    def follow(self) -> None:
        """Read frames, for ever."""
        left = b""
        while part := os.read(0, 2**16):
            left += part
            whole = len(left) - len(left) % self._bytes
            if whole:
                self.newest = np.frombuffer(left[whole - self._bytes : whole]).copy()
                left = left[whole:]
        os._exit(0)


def camera_of(take: Take, order: Order) -> Camera:
    """Return the window's camera: it sees the whole motion between the window's panels."""
    wide, high, up = free_part(order.size)
    field = 2.0 * float(np.rad2deg(np.arctan(high)))
    aspect = round(1000.0 * wide / high), 1000
    seen = take.seen
    if order.rest is not None or order.live:  # nobody knows yet where it will be
        middle = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
        seen = middle + ROOM * (seen - middle)
    found = framing(seen, direction(*order.view), aspect, field)
    down = up * float(np.linalg.norm(found.eye - found.target)) * found.axes()[1]
    return Camera(found.eye - down, found.target - down, FIELD)


def free_part(size: tuple[int, int]) -> tuple[float, float, float]:
    """Return half the width and height that panels leave free, and its middle, at distance 1."""
    (width, height), (top, bottom) = size, LEVELS
    pixel = 2.0 * float(np.tan(np.deg2rad(FIELD) / 2.0)) / height
    wide, high = max(width - 2 * SIDE, width // 4), max(height - top - bottom, height // 4)
    return 0.5 * wide * pixel, 0.5 * high * pixel, 0.5 * (bottom - top) * pixel


class _Screen:
    """What playing and posing share: the stage, texts that come and go, keys."""

    def __init__(self, window: Window, order: Order) -> None:
        self.window, self.order = window, order
        self.take = Take(order.source, order.overlays)
        self._stage = Stage(window)
        self._floor = self.take.floor()
        self._camera = camera_of(self.take, order)
        self._written: set[str] = set()
        self._shadows, self._open = True, False

    def opened(self) -> None:
        """Set the camera and begin to draw."""
        camera = self._camera
        distance = float(np.linalg.norm(camera.eye - camera.target))
        self.window.look(camera.target, distance, *self.order.view)
        self._open = True
        self.window.drawing(True)

    def show(self, moment: Moment, headline: str) -> None:
        """Show a moment and a text above it."""
        began = time.monotonic()
        if self._open:
            target, distance, yaw, pitch = self.window.looking()
            self._camera = Camera(target + distance * direction(yaw, pitch), target, FIELD)
        self.window.drawing(False)  # or a picture is taken while half of it has moved
        self._stage.show([*self._floor, *moment.machine, *moment.pins, *moment.over])
        self._write([*(self._nearer(label) for label in moment.labels), *self._top(headline)])
        self.window.drawing(self._open)
        if self._shadows and self._open and time.monotonic() - began > SLOW:
            self._shadows = False
            self.window.shadows(False)

    def _write(self, labels: list[Label]) -> None:
        keys = {str(k) for k in range(len(labels))}
        for key in self._written - keys:
            self.window.wipe(key)
        for k, label in enumerate(labels):
            self.window.write(str(k), f" {label.text}", label.point, label.colour, TEXT)
        self._written = keys

    def _nearer(self, label: Label) -> Label:
        """Return a label at the same place of the picture, before the machine."""
        way = self._camera.eye - label.point
        return label._replace(point=label.point + NEARER * way)

    def _top(self, text: str) -> list[Label]:
        """Return rows of text above the machine: what is shown, and how long the arrows are."""
        title = self.take.source.loads is not None  # on whom the loads act: no room for it
        legend = (words for words, _ in self.take.legend()[title:])
        rows = [text, *(words for words in legend if words != ACTUATION)]
        height, wide, high, middle = self.order.size[1], *free_part(self.order.size)
        pixel = 2.0 * float(np.tan(np.deg2rad(FIELD) / 2.0)) / height
        eye, (right, up, back) = self._camera.eye, self._camera.axes()
        corner = (
            (middle + high + (LEVELS[0] - MENU - ROW) * pixel) * up - 0.97 * wide * right - back
        )
        size = (1.0 - NEARER) * float(np.linalg.norm(eye - self._camera.target))
        return [
            Label(eye + size * (corner - k * ROW * pixel * up), row, (0.1, 0.1, 0.1, 1.0))
            for k, row in enumerate(filter(None, rows))
        ]

    def switched(self, key: str) -> bool:
        """Obey a key that changes what is shown; return whether it does."""
        overlays = self.take.overlays
        match key:
            case "c":
                overlays = overlays._replace(centre=not overlays.centre)
            case "j":
                pins = self.take.model.has_loops if overlays.joints is None else overlays.joints
                overlays = overlays._replace(joints=not pins)
            case "f":
                links = tuple(link.name for link in self.take.model.links)
                overlays = overlays._replace(frames=() if overlays.frames else links)
            case "n":
                overlays = overlays._replace(labels=not overlays.labels)
            case _:
                return False
        self.take = self.take.with_overlays(overlays)
        return True


class _Playing(_Screen):
    """A motion: buttons and sliders for time and speed."""

    def __init__(self, window: Window, order: Order) -> None:
        super().__init__(window, order)
        start, end = (float(order.source.time[k]) for k in (0, -1))
        self.player = Player(start, end, order.speed, order.playing)
        self._read: list[float] = []

    def run(self) -> None:
        """Play until the window is closed (`WindowClosed`)."""
        self._sliders()
        for when in np.linspace(self.player.start, self.player.end, WARMING):
            self.show(self.take.moment(float(when)), "")
        first, last = True, time.monotonic()
        while True:
            now = time.monotonic()
            shown = self.player.advance(now - last)
            last = now
            pause = "" if self.player.playing else ", pause"
            text = f"t = {shown:.3f} s, speed {self.player.speed:.3g}{pause}"
            self.show(self.take.moment(shown), text)
            if first:
                self.opened()
                first = False
            self._obey()
            time.sleep(max(0.0, FRAME - (time.monotonic() - now)))

    def _sliders(self) -> None:
        player, window = self.player, self.window
        window.clear_sliders()
        self._button = window.button("play / pause (space)")
        end = player.end if player.end > player.start else player.start + 1.0
        self._time = window.slider("time, s (arrows)", player.start, end, player.time)
        self._speed = window.slider("speed (+ -)", 0.0, max(3.0, player.speed), player.speed)
        self._read = [window.value(k) for k in (self._button, self._time, self._speed)]

    def _obey(self) -> None:
        player = self.player
        button, when, speed = (
            self.window.value(k) for k in (self._button, self._time, self._speed)
        )
        old = self._read
        self._read = [button, when, speed]
        if button != old[0]:
            player.toggle()
        if when != old[1]:
            player.seek(when)
        if speed != old[2]:
            player.set_speed(max(speed, SPEEDS[0]))
        keys = self.window.pressed()
        changed = [key for key in keys if not self.switched(key) and player.key(key)]
        if changed or (button != old[0] and not player.playing):
            self._sliders()  # they cannot be moved, so new ones stand where the motion is


class _Live(_Screen):
    """A machine that somebody else moves, as it is now."""

    def __init__(self, window: Window, order: Order, frames: Frames) -> None:
        super().__init__(window, order)
        self._frames = frames

    def run(self) -> None:
        """Show the newest frame until the window is closed (`WindowClosed`)."""
        source, first = self.order.source, True
        while True:
            now = time.monotonic()
            if self._frames.newest is not None:
                t, *q = self._frames.newest
                source = replace(source, time=np.array([t]), q=np.array([q]))
            self.show(self.take.of(source), f"t = {source.time[0]:.2f} s")
            if first:
                self.opened()
                first = False
            for key in self.window.pressed():
                self.switched(key)
            time.sleep(max(0.0, FRAME - (time.monotonic() - now)))


class _Posing(_Screen):
    """A machine at rest: a slider for each of its degrees of freedom."""

    def __init__(self, window: Window, order: Order) -> None:
        super().__init__(window, order)
        self.poser = Poser(order.source.model, order.source.q[0])
        self._knobs: list[int] = []
        self._read: list[float] = []

    def run(self) -> None:
        """Pose until the window is closed (`WindowClosed`)."""
        self._sliders()
        first, moved = True, None
        state = self.order.source
        while True:
            now = time.monotonic()
            text = "" if state.loads is None else "loads at rest under gravity"
            self.show(self.take.of(state), text)
            if first:
                self.opened()
                first = False
            values = [self.window.value(k) for k in self._knobs]
            turned = [k for k, (a, b) in enumerate(zip(values, self._read, strict=True)) if a != b]
            if turned:
                self._read = values
                self.poser.turn(values, turned[0])
                assert self.order.rest is not None
                state = self.order.rest.at(self.poser.q)
                self.take = self.take.followed_by(state)
                moved = now
            elif moved is not None and now - moved > SETTLED:
                moved = None
                if self.poser.model.has_loops:
                    self._sliders()  # the others have given way
            for key in self.window.pressed():
                self.switched(key)
            time.sleep(max(0.0, FRAME - (time.monotonic() - now)))

    def _sliders(self) -> None:
        window = self.window
        window.clear_sliders()
        self._knobs = [
            window.slider(knob.name, knob.low, knob.high, min(max(value, knob.low), knob.high))
            for knob, value in zip(self.poser.knobs, self.poser.values(), strict=True)
        ]
        self._read = [window.value(k) for k in self._knobs]


if __name__ == "__main__":
    sys.exit(main())
