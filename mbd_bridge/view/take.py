"""What is to be seen, state by state: the machine, the loads of its joints, marks and numbers.

A take is made of arrays: times, coordinates, loads. It knows of no window and of no file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mbd_bridge.formats.mesh import Colour
from mbd_bridge.loads import JointLoads
from mbd_bridge.mechanism import Model
from mbd_bridge.solve.dynamics import prepare_placements
from mbd_bridge.spatial import Array
from mbd_bridge.view import arrows as look
from mbd_bridge.view.arrows import Arrows
from mbd_bridge.view.ground import ground, round_number
from mbd_bridge.view.joints import ShownLoad, shown_loads
from mbd_bridge.view.marks import Marks
from mbd_bridge.view.pieces import Piece
from mbd_bridge.view.scene import Scene, scene

LONGEST = 0.38
"""Longest arrow, relative to what the machine spans in its motion."""

PIN = 0.011
"""Radius of pins, relative to the same."""

ROUNDING = 1e-9
"""Loads that are this part of others are not drawn."""

SAMPLES = 60
"""States at which is looked where the machine reaches."""

FIGURES = 4
"""Significant digits of numbers in pictures."""


class Label(NamedTuple):
    """A text at a point (3,) of the world."""

    point: Array
    text: str
    colour: Colour


class Wanted(NamedTuple):
    """What is drawn beside the machine.

    Attributes
    ----------
    joints : pins of joints; None: where loops close
    centre : centre of mass
    frames : names of links whose axes are shown
    ground, labels : tiles below, numbers at arrows
    """

    joints: bool | None = None
    centre: bool = False
    frames: tuple[str, ...] = ()
    ground: bool = True
    labels: bool = True


@dataclass(frozen=True, eq=False)
class Take:
    """States of a machine, with what is shown of each.

    Attributes
    ----------
    time : (N,) s
    q : (N, nq)
    loads : of chosen joints in these states, or None
    """

    model: Model
    time: Array
    q: Array
    loads: JointLoads | None = None
    wanted: Wanted = field(default_factory=Wanted)

    @cached_property
    def scene(self) -> Scene:
        """The machine's parts."""
        return scene(self.model)

    @cached_property
    def bodies(self) -> Array:
        """Where the bodies are, (N, B, 4, 4)."""
        (found,) = prepare_placements(self.model)(self.q)
        return np.asarray(found)

    @cached_property
    def reach(self) -> Array:
        """Points (K, 3) m between which the machine is during the motion."""
        sample = np.linspace(0, len(self.q) - 1, min(SAMPLES, len(self.q))).astype(int)
        return self.scene.corners(self.bodies[sample])

    @cached_property
    def span(self) -> float:
        """The longest way within these points' box, m."""
        return max(float(np.linalg.norm(np.ptp(self.reach, axis=0))), 1e-6)

    @cached_property
    def shown(self) -> list[ShownLoad]:
        """The loads, for drawing."""
        if self.loads is None:
            return []
        return shown_loads(self.model, self.loads, self.bodies)

    @cached_property
    def scale(self) -> Scale:
        """Lengths of arrows."""
        return Scale.of(self.shown, LONGEST * self.span)

    @cached_property
    def _arrows(self) -> Arrows:
        return Arrows(LONGEST * self.span)

    @cached_property
    def _marks(self) -> Marks:
        return Marks(self.model, PIN * self.span)

    def floor(self) -> list[Piece]:
        """Return the ground, where it is wanted and gravity points down to it."""
        sideways = np.abs(self.model.gravity[:2]).max() > 1e-9 or self.model.gravity[2] > 0.0
        return [] if sideways or not self.wanted.ground else ground(self.reach)

    def machine(self, k: int) -> list[Piece]:
        """Return the machine's pieces in state k."""
        return self.scene.pieces(self.bodies[k])

    def marks(self, k: int) -> list[Piece]:
        """Return the marks of state k that are asked for."""
        bodies, wanted = self.bodies[k], self.wanted
        pieces: list[Piece] = []
        if wanted.joints or (wanted.joints is None and self.model.has_loops):
            pieces += self._marks.joints(bodies)
        if wanted.centre:
            pieces += self._marks.centre(bodies)
        pieces += self._marks.frames(wanted.frames, bodies)
        return pieces

    def arrows(self, k: int) -> list[Piece]:
        """Return the arrows and arcs of state k."""
        return [piece for load in self.shown for piece in self._load(load, k)]

    def _load(self, load: ShownLoad, k: int) -> list[Piece]:
        scale, draw, at = self.scale, self._arrows, load.point[k]
        pieces = draw.arrow(at, scale.force * load.force[k], look.FORCE)
        pieces += draw.arrow(at, scale.moment * load.moment[k], look.MOMENT, 2)
        pieces += draw.dashed(at, scale.force * load.open_force[k])
        pieces += draw.dashed(at, scale.moment * load.open_moment[k], 2)
        if load.axis is not None and load.drive is not None:
            value = float(load.drive[k])
            if load.turns:
                pieces += draw.drive(at, load.axis[k], scale.drive * value)
            else:
                pieces += draw.arrow(at, scale.force * value * load.axis[k], look.DRIVE)
        return pieces

    def labels(self, k: int) -> list[Label]:
        """Return the numbers at the arrows of state k."""
        found: list[Label] = []
        if not self.wanted.labels:
            return found
        shortest = look.SHORTEST * self._arrows.longest
        for load in self.shown:
            rows = (
                (load.force, self.scale.force, "N", look.FORCE, ""),
                (load.moment, self.scale.moment, "N m", look.MOMENT, ""),
                (load.open_force, self.scale.force, "N", look.OPEN, " ?"),
                (load.open_moment, self.scale.moment, "N m", look.OPEN, " ?"),
            )
            for vectors, scale, unit, colour, doubt in rows:
                way = scale * vectors[k]
                if np.linalg.norm(way) >= shortest:
                    size = f"{number(float(np.linalg.norm(vectors[k])))} {unit}{doubt}"
                    found.append(Label(load.point[k] + way, size, colour))
        return found

    def legend(self) -> list[tuple[str, Colour]]:
        """Return what the colours of the arrows mean, and how long they are."""
        if not self.shown:
            return []
        longest = LONGEST * self.span
        names = ", ".join(load.joint for load in self.shown[:3])
        more = len(self.shown) - 3
        rows: list[tuple[str, Colour]] = [
            (f"on the child of {names}" + (f" and {more} more" if more > 0 else ""), (0, 0, 0, 1))
        ]
        if self.scale.force:
            rows.append((f"force: {self.scale.words('force', longest)}", look.FORCE))
        if self.scale.moment:
            rows.append((f"moment: {self.scale.words('moment', longest)}", look.MOMENT))
        if self.scale.drive or any(not load.turns for load in self.shown):
            rows.append(("drive", look.DRIVE))
        if any(load.open_force.any() or load.open_moment.any() for load in self.shown):
            rows.append(("? not determined by rigid mechanics", look.OPEN))
        return rows


class Scale(NamedTuple):
    """How long loads are drawn: m/N, m/(N m), and parts of the largest arc a N m."""

    force: float
    moment: float
    drive: float

    @staticmethod
    def of(loads: Iterable[ShownLoad], longest: float) -> Scale:
        """Return round scales at which the largest load is at most as long as allowed."""
        force = moment = drive = 0.0
        for one in loads:
            force = max(force, _largest(one.force), _largest(one.open_force))
            moment = max(moment, _largest(one.moment), _largest(one.open_moment))
            if one.drive is not None:
                size = float(np.abs(one.drive).max(initial=0.0))
                drive, force = (max(drive, size), force) if one.turns else (drive, max(force, size))
        # Forces with arms as long as the machine are moments to compare with: what is far below
        # is what rounding leaves of zero.
        least = ROUNDING * max(force * longest, moment, drive)
        return Scale(
            round_number(longest / force) if force * longest > least else 0.0,
            round_number(longest / moment) if moment > least else 0.0,
            1.0 / drive if drive > least else 0.0,
        )

    def words(self, which: str, longest: float) -> str:
        """Return a scale in words: how long a round load is drawn."""
        scale, unit = (self.force, "N") if which == "force" else (self.moment, "N m")
        size = round_number(longest / scale)
        return f"{size:g} {unit} are {size * scale:.3g} m"


def _largest(vectors: Array) -> float:
    return float(np.linalg.norm(vectors, axis=1).max(initial=0.0))


def number(value: float) -> str:
    """Return a number with few digits, as one reads it beside an arrow."""
    if value == 0.0 or not np.isfinite(value):
        return f"{value:g}"
    decimals = max(0, FIGURES - 1 - int(np.floor(np.log10(abs(value)))))
    return f"{value:.{min(decimals, 3)}f}" if abs(value) >= 1e-3 else f"{value:.2e}"
