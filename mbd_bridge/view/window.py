"""The process that holds the window: ``python -m mbd_bridge.view.window``, told what on stdin.

A window needs a process of its own: pybullet ends its process when there is no display, and when
the window's server or its owner takes the window away. What is shown comes pickled on stdin, from
`view.show`; if stdin ends, so does the window. On stdout goes "ready" once it is open, and what
went wrong.

A motion as it is played: which time is shown, how fast, and whether it goes on.
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
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbd_bridge.base.errors import MbdError
from mbd_bridge.model.spatial import Array
from mbd_bridge.view.camera import (
    HIDDEN,
    PANELS,
    WINDOW_FIELD,
    Camera,
    WindowTexts,
    camera_of,
    direction,
)
from mbd_bridge.view.draw_loads import ACTUATION, Label, Moment, Overlays, Take
from mbd_bridge.view.pieces import CanvasStage
from mbd_bridge.view.posing import Poser
from mbd_bridge.view.source import Rest, Source

if TYPE_CHECKING:
    from mbd_bridge.engines.pybullet.window import Window

SPEEDS = (0.01, 10.0)
"""Slowest and fastest, seconds of motion in a second."""

FASTER = 2.0**0.5
"""What one key does to the speed."""

STEP = 1.0 / 100.0
"""What an arrow key moves, of the whole motion."""


@dataclass
class Player:
    """The time of a motion from `start` to `end`, s.

    Attributes
    ----------
    time : that is shown, s
    speed : seconds of motion in a second
    playing : whether time goes on
    """

    start: float
    end: float
    speed: float = 1.0
    playing: bool = True
    time: float = field(init=False)

    def __post_init__(self) -> None:
        self.time = self.start
        self.playing = self.playing and self.end > self.start

    def advance(self, seconds: float) -> float:
        """Let real time pass; return the time that is shown. Behind the end it begins again."""
        if self.playing:
            length = self.end - self.start
            self.time += seconds * self.speed
            if self.time > self.end:
                self.time = self.start + (self.time - self.end) % length
        return self.time

    def toggle(self) -> None:
        """Play, or pause."""
        self.playing = not self.playing and self.end > self.start

    def seek(self, time: float) -> None:
        """Show another time, and stay there."""
        self.time = min(max(time, self.start), self.end)
        self.playing = False

    def set_speed(self, speed: float) -> None:
        """Play at another speed, within bounds."""
        self.speed = min(max(speed, SPEEDS[0]), SPEEDS[1])

    def key(self, key: str) -> bool:
        """Obey a key; return whether it has a meaning here."""
        step = STEP * (self.end - self.start)
        match key:
            case " ":
                self.toggle()
            case "left":
                self.seek(self.time - step)
            case "right":
                self.seek(self.time + step)
            case "+" | "=":
                self.set_speed(self.speed * FASTER)
            case "-":
                self.set_speed(self.speed / FASTER)
            case "r":
                playing, self.time = self.playing, self.start
                self.playing = playing
            case _:
                return False
        return True


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

TEXT = 1.3
"""Size of texts."""

POSE_KEYS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
"""By how many joints, and by how many steps of the chosen one."""

POSE_STEPS = 100
"""Key presses from one end of a joint's range to the other."""


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
    from mbd_bridge.engines.pybullet.window import Window, WindowClosed

    try:
        order: Order = pickle.load(sys.stdin.buffer)
        frames = Frames(1 + order.source.q.shape[1]) if order.live else None
        follow = _end_with_owner if frames is None else frames.follow
        threading.Thread(target=follow, daemon=True).start()
        with contextlib.suppress(WindowClosed), Window(order.size) as window:
            talk.write(f"{READY}\n")
            talk.flush()
            window.message(f"loading {order.source.model.name} ...")
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


class _Screen(ABC):
    """What playing and posing share: the stage, texts that come and go, keys.

    Attributes
    ----------
    keys : what keys do
    panels : whether pybullet's panels are shown, with the sliders
    """

    keys = ""

    def __init__(self, window: Window, order: Order) -> None:
        self.window, self.order = window, order
        self.take = Take(order.source, order.overlays)
        self._stage = CanvasStage(window)
        self._floor = self.take.floor()
        moves = order.rest is not None or order.live
        self._camera = camera_of(self.take, order.view, order.size, moves)
        self._written: set[str] = set()
        self.panels = False
        self._shadows, self._open = True, False

    @abstractmethod
    def draw(self, now: float) -> None:
        """Show what is to be seen at a time of the clock, s."""

    @abstractmethod
    def obey(self, now: float) -> None:
        """Do what keys, buttons and sliders say."""

    def run(self) -> None:
        """Draw and obey until the window is closed (`WindowClosed`)."""
        while True:
            now = time.monotonic()
            self.draw(now)
            if not self._open:
                self.opened()
            self.obey(now)
            time.sleep(max(0.0, FRAME - (time.monotonic() - now)))

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
            self._camera = Camera(target + distance * direction(yaw, pitch), target, WINDOW_FIELD)
        self.window.drawing(False)  # or a picture is taken while half of it has moved
        self._stage.show([*self._floor, *moment.machine, *moment.pins, *moment.over])
        texts = WindowTexts(self._camera, self.order.size, PANELS if self.panels else HIDDEN)
        above, keys = texts.rows_above(self._rows(headline)), texts.row_below(self.keys)
        self._write([*texts.numbers(moment.labels), *above, keys])
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

    def _rows(self, text: str) -> list[str]:
        """Return rows of text above the machine: what is shown, and how long the arrows are."""
        title = self.take.source.loads is not None  # on whom the loads act: no room for it
        legend = (words for words, _ in self.take.legend()[title:])
        return [row for row in (text, *legend) if row and row != ACTUATION]

    def switched(self, key: str) -> bool:
        """Obey a key that changes what is shown; return whether it does."""
        overlays = self.take.overlays
        match key:
            case "c":
                overlays = overlays._replace(centre=not overlays.centre)
            case "j":
                overlays = overlays._replace(joints=not self.take.has_pins)
            case "f":
                links = tuple(link.name for link in self.take.model.links)
                overlays = overlays._replace(frames=() if overlays.frames else links)
            case "n":
                overlays = overlays._replace(labels=not overlays.labels)
            case "p":
                self.panels = not self.panels
                self.window.panels(self.panels)
            case _:
                return False
        self.take = self.take.with_overlays(overlays)
        return True


class _Playing(_Screen):
    """A motion: keys, buttons and sliders for time and speed."""

    keys = "space: play, pause   left, right: time   + -: speed   r: restart   p: sliders"

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
        self._last = time.monotonic()
        super().run()

    def draw(self, now: float) -> None:
        """Show the motion at its time."""
        shown = self.player.advance(now - self._last)
        self._last = now
        pause = "" if self.player.playing else ", pause"
        text = f"t = {shown:.3f} s, speed {self.player.speed:.3g}{pause}"
        self.show(self.take.moment(shown), text)

    def _sliders(self) -> None:
        player, window = self.player, self.window
        window.clear_sliders()
        self._button = window.button("play / pause (space)")
        end = player.end if player.end > player.start else player.start + 1.0
        self._time = window.slider("time, s (arrows)", player.start, end, player.time)
        self._speed = window.slider("speed (+ -)", 0.0, max(3.0, player.speed), player.speed)
        self._read = [window.value(k) for k in (self._button, self._time, self._speed)]

    def obey(self, now: float) -> None:
        """Play, pause, go on or back, faster or slower."""
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

    keys = "c: centre of mass   j: joints   f: frames"

    def __init__(self, window: Window, order: Order, frames: Frames) -> None:
        super().__init__(window, order)
        self._frames, self._source = frames, order.source

    def draw(self, now: float) -> None:
        """Show the newest frame."""
        if self._frames.newest is not None:
            t, *q = self._frames.newest
            self._source = replace(self._source, time=np.array([t]), q=np.array([q]))
        self.show(self.take.of(self._source), f"t = {self._source.time[0]:.2f} s")

    def obey(self, now: float) -> None:
        """Change what is shown."""
        for key in self.window.pressed():
            self.switched(key)


class _Posing(_Screen):
    """A machine at rest: keys, and a slider for each of its degrees of freedom."""

    keys = "up, down: another joint   left, right: move it   p: sliders"

    def __init__(self, window: Window, order: Order) -> None:
        super().__init__(window, order)
        self.poser = Poser(order.source.model, order.source.q[0])
        self._state = order.source
        self._chosen = 0
        self._knobs: list[int] = []
        self._read: list[float] = []
        self._moved: float | None = None

    def run(self) -> None:
        """Pose until the window is closed (`WindowClosed`)."""
        self._sliders()
        super().run()

    def draw(self, now: float) -> None:
        """Show the machine where it stands."""
        self.show(self.take.of(self._state), self._headline())

    def obey(self, now: float) -> None:
        """Go where sliders and keys say."""
        values = [self.window.value(k) for k in self._knobs]
        turned = [k for k, (a, b) in enumerate(zip(values, self._read, strict=True)) if a != b]
        if turned:
            self._read = values
            self._turn(values, turned[0])
            self._moved = now
        elif self._moved is not None and now - self._moved > SETTLED:
            self._moved = None
            if self.poser.model.has_loops:
                self._sliders()  # the others have given way
        for key in self.window.pressed():
            if not self.switched(key):
                self._key(key)

    def _headline(self) -> str:
        """Return the chosen joint's coordinate, and which loads are shown."""
        text = "" if self._state.loads is None else "loads at rest under gravity"
        if not self.poser.knobs:
            return text
        knob, value = self.poser.knobs[self._chosen], self.poser.values()[self._chosen]
        return f"{knob.name} = {value:.3f} {knob.unit}" + (f", {text}" if text else "")

    def _turn(self, values: list[float], moved: int) -> None:
        """Go to where the knobs stand, of which one was moved."""
        self._chosen = moved
        self.poser.turn(values, moved)
        assert self.order.rest is not None
        self._state = self.order.rest.at(self.poser.q)
        self.take = self.take.followed_by(self._state)

    def _key(self, key: str) -> None:
        """Choose another joint, or move the chosen one."""
        if not self.poser.knobs or key not in POSE_KEYS:
            return
        other, way = POSE_KEYS[key]
        if other:
            self._chosen = (self._chosen + other) % len(self.poser.knobs)
            return
        knob, values = self.poser.knobs[self._chosen], self.poser.values()
        step = way * (knob.high - knob.low) / POSE_STEPS
        values[self._chosen] = min(max(values[self._chosen] + step, knob.low), knob.high)
        self._turn(values, self._chosen)
        self._sliders()

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
