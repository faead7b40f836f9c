"""Arrows of joints' loads in a pybullet window that its user has opened.

They are those of `show`: bodies without mass that nothing touches, of a few shapes, which are only
moved; and texts.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from mbd_bridge.base.arguments import flag
from mbd_bridge.base.errors import whole_number
from mbd_bridge.files.surface import Colour
from mbd_bridge.loads import JointLoads
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.view.camera import PANELS, WINDOW_FIELD, Camera, WindowTexts, direction
from mbd_bridge.view.draw_loads import LONGEST, Label, Overlays, Take
from mbd_bridge.view.pieces import CanvasStage
from mbd_bridge.view.scales import Scale
from mbd_bridge.view.source import OF_STATES, Source

TEXT = 1.3
"""Size of texts."""

NUMBERS = 0.25
"""Shortest time between two writings of the numbers, s, which take some ms each."""

SHARE = 0.2
"""Largest share of time that is spent on writing them."""

RECENT = 60
"""Drawings of which the largest load has a long arrow."""


LIGHT = 2.0
"""By which colours are brighter: pybullet's light leaves the side in the shade nearly black."""


class SteppedBody(Protocol):
    """What arrows take of `engines.pybullet.Stepper`."""

    client: Any
    body: Any
    model: Model
    q: Array
    time: float
    unread: dict[str, Array]
    after_step: list[Any]

    def joint_loads(self, joints: Iterable[str] | str | None = None) -> JointLoads:
        """Return the loads of joints in the last step."""


class LoadArrows:
    """The loads of some joints of a stepper, drawn into its world; see `draw_loads`."""

    def __init__(
        self, stepper: SteppedBody, joints: Iterable[str] | str | None, *, numbers: bool, every: int
    ) -> None:
        from mbd_bridge.engines.pybullet.window import World

        self.joints, self.numbers, self.every = joints, numbers, every
        self._world, self._stepper = World(stepper.client.number), stepper
        self._stage = CanvasStage(self._world)
        self._take: Take | None = None
        self._recent: deque[JointLoads] = deque(maxlen=RECENT)
        self._steps, self._next = 0, 0.0
        stepper.joint_loads(joints)  # complain now
        self.draw(stepper)
        stepper.after_step.append(self)

    def __call__(self, stepper: SteppedBody) -> None:
        """Draw after each so many steps."""
        self._steps += 1
        if not self._steps % self.every:
            self.draw(stepper)

    def draw(self, stepper: SteppedBody) -> None:
        """Draw the loads of the last step where the machine is now; none that are not known."""
        if stepper.unread:
            self._stage.show([])
            return
        loads = stepper.joint_loads(self.joints)
        many = replace(loads, **{name: getattr(loads, name)[None] for name in OF_STATES})
        source = Source(stepper.model, np.array([stepper.time]), stepper.q[None], many)
        before = self._take
        if before is None or before.model is not stepper.model:
            take = Take(source, Overlays(joints=False, labels=self.numbers))
            self._recent.clear()
        else:
            take = before.followed_by(source, self._scale(before, many))
        self._recent.append(many)
        self._take = take
        moment, world = take.of(source), stepper.body.world().matrix()
        self._stage.show(
            [
                piece._replace(pose=world @ piece.pose, colour=_lit(piece.colour))
                for piece in moment.over
            ]
        )
        began = time.monotonic()
        if self.numbers and began >= self._next:
            self._write(moment.labels, take.legend(), world)
            self._next = began + max(NUMBERS, (time.monotonic() - began) / SHARE)
        self._world.go_on()

    def close(self) -> None:
        """Take the arrows and texts away."""
        if self in self._stepper.after_step:
            self._stepper.after_step.remove(self)
        self._world.close()

    def _scale(self, take: Take, loads: JointLoads) -> Scale:
        """Return the scale at which the largest of these and the last loads is long."""
        last = [*self._recent, loads]
        force, moment, actuation = (
            np.concatenate([getattr(each, name) for each in last])
            for name in ("force", "moment", "actuation")
        )
        rows = replace(loads, force=force, moment=moment, actuation=actuation)
        return Scale.of(take.model, rows, LONGEST * take.span)

    def _write(self, labels: list[Label], legend: list[tuple[str, Colour]], world: Array) -> None:
        """Write numbers beside arrows, none on another, and what arrows mean in a corner."""
        size = self._world.size()
        if not size[0]:
            return
        self._world.rest()
        target, distance, yaw, pitch = self._world.looking()
        eye = target + distance * direction(yaw, pitch)
        texts = WindowTexts(Camera(eye, target, WINDOW_FIELD), size, PANELS)
        placed = [
            label._replace(point=world[:3, :3] @ label.point + world[:3, 3]) for label in labels
        ]
        words, colours = zip(*legend, strict=True)
        rows = texts.rows_above(words)
        above = [row._replace(colour=colour) for row, colour in zip(rows, colours, strict=True)]
        for k, label in enumerate([*above, *texts.numbers(placed)]):
            self._world.write(str(k), f" {label.text}", label.point, label.colour, TEXT)
        self._world.keep({str(k) for k in range(len(legend) + len(labels))})


def _lit(colour: Colour) -> Colour:
    red, green, blue, alpha = colour
    return LIGHT * red, LIGHT * green, LIGHT * blue, alpha


def draw_loads(
    stepper: SteppedBody,
    joints: Iterable[str] | str | None = None,
    *,
    numbers: bool = True,
    every: int = 1,
) -> LoadArrows:
    """Draw the loads of joints, tree or cut, as arrows into the world that its user has opened.

    Forces have one head, moments two, actuators are arcs; colours and lengths are those of `show`.
    They are drawn on the child, after each step.

    Parameters
    ----------
    joints : names; None for all
    numbers : write sizes beside the arrows, and scales in a corner, four times a second
    every : draw after every so many steps

    Returns
    -------
    LoadArrows
        its ``close()`` takes them away

    Notes
    -----
    Arrows are bodies of pybullet without mass that nothing touches, made as they are needed;
    ``getNumBodies`` counts them. A world that was saved (``saveState``) is restored without them:
    ``close()`` first. Meanwhile the window rests (``COV_ENABLE_RENDERING``).

    Examples
    --------
    >>> stepper.draw_loads(["wrist", "elbow"])                          # doctest: +SKIP
    """
    every = whole_number("every", every)
    return LoadArrows(stepper, joints, numbers=flag("numbers", numbers), every=every)
