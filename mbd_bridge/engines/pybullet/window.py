"""pybullet's window as a canvas: what it shows, its sliders and buttons, its keys.

pybullet ends the whole process when there is no display, and when the window's server goes away.
So only a process of its own opens a window (`view.window`).

pybullet as a canvas: shapes of triangles that are put somewhere.

Bodies have no mass, nothing is simulated, no file is given to it. The window shows them.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

import numpy as np

from mbd_bridge.engines.pybullet.client import engine
from mbd_bridge.engines.quiet import quiet
from mbd_bridge.files.surface import Shaded
from mbd_bridge.model.spatial import Array


class Canvas:
    """A scene of pybullet's."""

    def __init__(self) -> None:
        self.engine = engine()
        with quiet():
            self.client = self._connect()

    def _connect(self) -> int:
        client: int = self.engine.connect(self.engine.DIRECT)
        return client

    def shape(self, piece: Shaded) -> int:
        """Return the number of a shape, of at most 131072 corners; its texture is not drawn."""
        with quiet():
            number: int = self.engine.createVisualShape(
                self.engine.GEOM_MESH,
                vertices=piece.vertices.tolist(),
                indices=piece.triangles.ravel().tolist(),
                normals=piece.normals.tolist(),
                physicsClientId=self.client,
            )
        return number

    def body(self, shape: int, colour: tuple[float, float, float, float]) -> int:
        """Return the number of a body that looks like a shape, in a colour."""
        body: int = self.engine.createMultiBody(
            baseVisualShapeIndex=shape, physicsClientId=self.client
        )
        self.engine.changeVisualShape(
            body, -1, rgbaColor=colour, specularColor=(0.2, 0.2, 0.2), physicsClientId=self.client
        )
        return body

    def place(self, body: int, position: Array, quaternion: Array) -> None:
        """Put a body somewhere: (3,) m, and (4,) x, y, z, w."""
        self.engine.resetBasePositionAndOrientation(
            body, position.tolist(), quaternion.tolist(), physicsClientId=self.client
        )

    def close(self) -> None:
        """Let go of the engine."""
        if self.engine.isConnected(self.client):
            with quiet():
                self.engine.disconnect(physicsClientId=self.client)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


NO_ITEM = -1
"""What the engine answers, now and then, for a text or a slider that it could not tell of."""

TRIALS = 5
"""For a slider."""


MESSAGE, LETTER = 1.6, 0.03
"""Size of a message, and width of its letters at distance 1."""

PAUSE = 0.2
"""Time in which a message is drawn, s."""


class WindowClosed(Exception):  # noqa: N818 (no error: somebody has seen enough)
    """The window is no longer there."""


class World(Canvas):
    """The world of a script of somebody else, maybe with a window: what is shown is beside it.

    Parameters
    ----------
    client : number of the connection, which stays open
    """

    def __init__(self, client: int) -> None:
        self._number = client
        self._texts: dict[str, int] = {}
        self._made: list[int] = []
        self._resting = False
        super().__init__()

    def _connect(self) -> int:
        return self._number

    def body(self, shape: int, colour: tuple[float, float, float, float]) -> int:
        """Return the number of a body that looks like a shape, and that nothing touches."""
        self.rest()
        self._made.append(super().body(shape, colour))
        return self._made[-1]

    def _ask(self, function: str, *arguments: Any, **options: Any) -> Any:
        """Return what a function of the engine answers; that it is gone is no error."""
        try:
            return getattr(self.engine, function)(
                *arguments, **options, physicsClientId=self.client
            )
        except self.engine.error:
            if not self.engine.isConnected(self.client):
                raise WindowClosed from None
            raise

    def _set(self, flag: int, value: int) -> None:
        self._ask("configureDebugVisualizer", flag, value)

    def write(
        self, key: str, text: str, point: Array, colour: tuple[float, ...], size: float
    ) -> None:
        """Write a text at a point (3,) m; the one with the same key goes.

        The engine may answer `NO_ITEM`, now and then, and leave things as they were or not. A text
        that is replaced keeps its number then; of a new one nobody knows it (`lost`).
        """
        old = self._texts.get(key)
        more = {} if old is None else {"replaceItemUniqueId": old}
        number = self._ask(
            "addUserDebugText",
            text,
            np.asarray(point).tolist(),
            textColorRGB=tuple(colour[:3]),
            textSize=size,
            **more,
        )
        if number != NO_ITEM:
            self._texts[key] = number
        elif old is None:
            self.lost()

    def drawing(self, on: bool) -> None:
        """Draw, or do not while much is changed."""
        self._set(self.engine.COV_ENABLE_RENDERING, int(on))

    def rest(self) -> None:
        """Draw nothing until `go_on`: else a picture is drawn for each new body and text."""
        if not self._resting:
            self.drawing(False)
        self._resting = True

    def go_on(self) -> None:
        """Draw again, after `rest`."""
        if self._resting:
            self.drawing(True)
        self._resting = False

    def size(self) -> tuple[int, int]:
        """Return width and height of the window, pixels; (0, 0) where there is none."""
        width, height = self._ask("getDebugVisualizerCamera")[:2]
        return width, height

    def looking(self) -> tuple[Array, float, float, float]:
        """Return what `look` was told, or where the mouse has led since."""
        camera = self._ask("getDebugVisualizerCamera")
        yaw, pitch, distance, target = camera[8:12]
        return np.array(target), distance, yaw, -pitch

    def keep(self, keys: set[str]) -> None:
        """Take all other texts away."""
        for key in self._texts.keys() - keys:
            self.wipe(key)

    def lost(self) -> None:
        """Do what is to be done where a text is written whose number nobody knows: here nothing."""

    def wipe(self, key: str) -> None:
        """Take a text away."""
        if key in self._texts:
            self._ask("removeUserDebugItem", self._texts.pop(key))

    def close(self) -> None:
        """Take all away that was shown."""
        if self.engine.isConnected(self.client):
            self.keep(set())
            for body in self._made:
                self._ask("removeBody", body)


class Window(World):
    """A window of our own.

    Parameters
    ----------
    size : width and height, pixels
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size
        self._down: set[int] = set()
        super().__init__(NO_ITEM)  # until it is connected
        gui = self.engine
        for flag in (
            gui.COV_ENABLE_GUI,
            gui.COV_ENABLE_KEYBOARD_SHORTCUTS,
            gui.COV_ENABLE_RGB_BUFFER_PREVIEW,
            gui.COV_ENABLE_DEPTH_BUFFER_PREVIEW,
            gui.COV_ENABLE_SEGMENTATION_MARK_PREVIEW,
        ):
            self._set(flag, 0)

    def _connect(self) -> int:
        width, height = self._size
        sky = "--background_color_red=0.89 --background_color_green=0.93 --background_color_blue=1"
        client: int = self.engine.connect(
            self.engine.GUI, options=f"--width={width} --height={height} {sky}"
        )
        return client

    def shadows(self, on: bool) -> None:
        """Draw shadows, which take their time without a graphics card."""
        self._set(self.engine.COV_ENABLE_SHADOWS, int(on))

    def panels(self, on: bool) -> None:
        """Show or hide pybullet's panels, its grid and axes; sliders are among the panels."""
        self._set(self.engine.COV_ENABLE_GUI, int(on))

    def message(self, text: str) -> None:
        """Show a text alone, until something else is written."""
        self.look(np.zeros(3), 1.0, 0.0, 0.0)
        self.drawing(True)
        left = -0.5 * LETTER * len(text)
        self.write("0", text, np.array([left, 0.0, 0.0]), (0.1, 0.1, 0.1), MESSAGE)
        time.sleep(PAUSE)

    def place(self, body: int, position: Array, quaternion: Array) -> None:
        """Put a body somewhere: (3,) m, and (4,) x, y, z, w."""
        self._ask("resetBasePositionAndOrientation", body, position.tolist(), quaternion.tolist())

    def look(self, target: Array, distance: float, yaw: float, pitch: float) -> None:
        """Look at a point (3,) m from a distance; yaw and pitch as for `view.camera.direction`."""
        self._ask("resetDebugVisualizerCamera", distance, yaw, -pitch, np.asarray(target).tolist())

    def slider(self, name: str, low: float, high: float, start: float) -> int:
        """Return the number of a new slider."""
        # The first letter of a name is clipped: a blank.
        slider = NO_ITEM
        for _ in range(TRIALS):
            if slider == NO_ITEM:
                slider = self._ask("addUserDebugParameter", f" {name}", low, high, start)
        return slider

    def button(self, name: str) -> int:
        """Return the number of a new button, whose value counts how often it was pressed."""
        return self.slider(name, 1.0, 0.0, 0.0)

    def value(self, slider: int) -> float:
        """Return where a slider stands, or how often a button was pressed."""
        value: float = self._ask("readUserDebugParameter", slider)
        return value

    def lost(self) -> None:
        """Take all texts away: they are written anew."""
        self._ask("removeAllUserDebugItems")
        self._texts.clear()

    def clear_sliders(self) -> None:
        """Take all sliders and buttons away."""
        self._ask("removeAllUserParameters")

    def pressed(self) -> set[str]:
        """Return the keys that went down since the last call: letters, arrows ("left"), " ".

        Of a key that went down and up since then the engine only tells that it came up.
        """
        gui, events = self.engine, self._ask("getKeyboardEvents")
        arrows = {
            gui.B3G_LEFT_ARROW: "left",
            gui.B3G_RIGHT_ARROW: "right",
            gui.B3G_UP_ARROW: "up",
            gui.B3G_DOWN_ARROW: "down",
        }
        down = {code for code, state in events.items() if state & gui.KEY_IS_DOWN}
        up = {code for code, state in events.items() if state & gui.KEY_WAS_RELEASED}
        struck = {code for code, state in events.items() if state & gui.KEY_WAS_TRIGGERED}
        new = struck | (down | up) - self._down
        self._down = down
        return {arrows.get(code) or chr(code) for code in new if 0 < code <= sys.maxunicode}

    def close(self) -> None:
        """Close the window."""
        with quiet():
            try:
                self.engine.disconnect(physicsClientId=self.client)
            except self.engine.error:
                return
