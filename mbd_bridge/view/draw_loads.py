"""What is to be seen at a time: the machine, the loads of its joints, marks and numbers.

A take is made of arrays: times, coordinates, loads. It knows of no window and of no file.

The ground under a machine: tiles whose edges are a round length, so that they are a scale.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mbd_bridge.base.errors import warn
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.base.readable import quantity
from mbd_bridge.files.surface import Colour, Surface
from mbd_bridge.forces import ForceElement
from mbd_bridge.kernels import Kernel
from mbd_bridge.loads import JointLoads
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array, homogeneous
from mbd_bridge.solve.dynamics import prepare_placements
from mbd_bridge.view import arrows as look, solids
from mbd_bridge.view.arrows import Arrows, Heads, connectors, ends_of, springs
from mbd_bridge.view.bending import SLICES
from mbd_bridge.view.marks import Marks
from mbd_bridge.view.pieces import Piece
from mbd_bridge.view.scales import (
    Scale,
    ShownLoad,
    exaggerated,
    in_words,
    round_number,
    shown_loads,
)
from mbd_bridge.view.scene import Scene, scene, tell_missing
from mbd_bridge.view.source import Source

LIGHT: Colour = (0.93, 0.94, 0.95, 1.0)
DARK: Colour = (0.86, 0.87, 0.89, 1.0)
TILES = 24
"""Tiles along one side."""


def ground(points: Array) -> list[Piece]:
    """Return the tiles under points (K, 3): at z = 0, or lower where points are.

    A tile is a round part of what the points span.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    edge = round_number(0.3 * max(float(np.linalg.norm(high - low)), 1e-3))
    level = min(0.0, float(low[2])) - 1e-3 * edge
    centre = np.round(0.5 * (low + high) / edge) * edge
    pose = homogeneous([centre[0], centre[1], level])
    return [
        Piece(_tiles(edge, parity), colour, pose) for parity, colour in enumerate((LIGHT, DARK))
    ]


def _tiles(edge: float, parity: int) -> Surface:
    half = TILES // 2
    steps = range(-half, half)
    squares = [(i, j) for i in steps for j in steps if (i + j) % 2 == parity]
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    flat = (np.array(squares)[:, None, :] + corners).reshape(-1, 2) * edge
    first = 4 * np.arange(len(squares))[:, None]
    triangles = np.concatenate([first + corner for corner in ([[0, 1, 2]], [[0, 2, 3]])])
    return Surface(np.column_stack([flat, np.zeros(len(flat))]), triangles)


ROAD: Colour = (0.60, 0.61, 0.64, 1.0)
ALONG, ACROSS = 400, 24
"""Places at which the height of a road is taken, along and across where it varies there."""


def road_pieces(forces: Iterable[ForceElement], points: Array) -> list[Piece]:
    """Return the roads under wheels that are not level, where the machine comes."""
    found = {id(road): road for one in forces if (road := getattr(one, "road", None)) is not None}
    low, high = points.min(axis=0)[:2], points.max(axis=0)[:2]
    wide = 0.25 * (high - low).min()
    pieces = []
    for road in found.values():
        if road.is_level and not road.varies_across:
            continue
        x = np.linspace(low[0] - wide, high[0] + wide, ALONG)
        y = np.linspace(low[1] - wide, high[1] + wide, ACROSS if road.varies_across else 2)
        z = np.broadcast_to(road(x[:, None], y), (len(x), len(y)))
        rows = np.stack(np.broadcast_arrays(x[:, None], y, z), axis=-1)
        pieces.append(Piece(solids.net(rows), ROAD, np.eye(4)))
    return pieces


LONGEST = 0.38
"""Longest arrow, relative to what the machine spans in its motion."""

PIN = 0.017
"""Radius of pins, relative to what the machine spans in its first state."""

SAMPLES = 60
"""Records at which is looked where the machine reaches."""

FIGURES = 4
"""Significant digits of numbers in pictures."""

NUMBERS = 10
"""At the longest arrows: more of them hide each other and the machine."""

KEPT = ("scene", "_placements", "reach", "span", "size", "seen", "marks")
"""What takes of the same machine share."""

SIDES = (*np.eye(3), *-np.eye(3))
"""Where arcs may be, whatever their axes are."""

ACTUATION = "actuation"
"""What the legend calls arcs: they have no scale."""

EXTERNAL = "external force, moment (two heads)"
"""What the legend calls arrows of external wrenches."""

HEADS: tuple[Heads, Heads] = (1, 2)
"""Of a force and of a moment."""

BLACK: Colour = (0.0, 0.0, 0.0, 1.0)


class Label(NamedTuple):
    """A text at a point (3,) of the world: at the tip of an arrow so long, m."""

    point: Array
    text: str
    colour: Colour
    length: float = 0.0


class Overlays(NamedTuple):
    """What is drawn beside the machine.

    Attributes
    ----------
    joints : pins of joints; None: of machines with loops
    centre : centre of mass
    frames : names of links whose axes are shown
    ground, labels : tiles below, numbers at arrows
    exaggerate : factor on the deflections of links that bend
    slices : of each beam that bends
    """

    joints: bool | None = None
    centre: bool = False
    frames: tuple[str, ...] = ()
    ground: bool = True
    labels: bool = True
    exaggerate: float = 1.0
    slices: int = SLICES


class Moment(NamedTuple):
    """What is to be seen of one state.

    Attributes
    ----------
    over : arrows, centre of mass, frames: what is to be seen through the machine, too
    """

    machine: list[Piece]
    pins: list[Piece]
    over: list[Piece]
    labels: list[Label]


@dataclass(frozen=True, eq=False)
class Take:
    """A machine's states, made into what is to be seen of them."""

    source: Source
    overlays: Overlays = field(default_factory=Overlays)

    @property
    def model(self) -> Model:
        """The machine."""
        return self.source.model

    @cached_property
    def scene(self) -> Scene:
        """The machine's parts."""
        return scene(self.model, self.overlays.slices)

    @cached_property
    def _placements(self) -> Kernel:
        return prepare_placements(self.model)

    def bodies(self, q: Array) -> Array:
        """Return where the bodies are, (N, B, 4, 4), for coordinates (N, nq).

        Slices of links that bend are bodies behind those of the model.
        """
        q, _ = exaggerated(self.model, q, self.overlays.exaggerate)
        (placed,) = self._placements(q)
        return self.scene.with_slices(np.asarray(placed), q)

    @cached_property
    def _sample(self) -> Array:
        """Records at which is looked where the machine reaches."""
        records = len(self.source.q)
        return np.linspace(0, records - 1, min(SAMPLES, records)).astype(int)

    def tell(self) -> None:
        """Warn of what is not drawn, and of loops that exaggerated deflections leave open."""
        tell_missing(self.scene)
        factor, q = self.overlays.exaggerate, self.source.q[self._sample]
        if stay := int(exaggerated(self.model, q, factor)[1].sum()):
            warn(
                f"with deflections {factor:g} times as large the loops of this machine cannot be "
                f"closed in {stay} of {len(q)} sampled states: there they are drawn open; take a "
                f"smaller factor"
            )

    @cached_property
    def reach(self) -> Array:
        """Points (K, 3) m between which the machine is during the motion."""
        bodies = self.bodies(self.source.q[self._sample])
        between = connectors(self.model, self.source.forces)
        ends = [end for each in bodies for end in ends_of(between, each)]
        return np.concatenate([self.scene.corners(bodies), *ends])

    @cached_property
    def span(self) -> float:
        """The longest way within these points' box, m."""
        return max(float(np.linalg.norm(np.ptp(self.reach, axis=0))), 1e-6)

    @cached_property
    def seen(self) -> Array:
        """Points (K, 3) m between which machine and arrows are during the motion."""
        if self.source.loads is None and not self.source.applied:
            return self.reach
        state = self.source.records(self._sample)
        bodies, points = self.bodies(state.q), [self.reach]
        for at, *ways in self._applied(state, bodies):
            points += [at + way for way in ways]
        loads = [] if state.loads is None else shown_loads(self.model, state.loads, bodies)
        for load in loads:
            points += [load.point + way for way in self._ways(load)]
            if self.scale.actuation and load.actuation is not None and load.turns:
                points += [load.point + self._arrows.radius * way for way in SIDES]
        return np.concatenate(points)

    def _ways(self, load: ShownLoad) -> list[Array]:
        """Return the ways (N, 3) m along which a load's arrows are drawn, but for its actuator."""
        force, moment = self.scale.force, self.scale.moment
        ways = [force * load.force, moment * load.moment]
        return [*ways, force * load.open_force, moment * load.open_moment]

    def _applied(self, state: Source, bodies: Array) -> list[tuple[Array, Array, Array]]:
        """Return where external wrenches act, and along which ways (N, 3) m they are drawn."""
        scale, drawn = self.scale, list[tuple[Array, Array, Array]]()
        for wrench in state.applied:
            at, force, moment = wrench.in_world(self.model, bodies)
            drawn.append((at, scale.force * force, scale.moment * moment))
        return drawn

    @cached_property
    def scale(self) -> Scale:
        """Lengths of arrows."""
        return take_scale(self, self.span)

    @cached_property
    def _arrows(self) -> Arrows:
        return Arrows(LONGEST * self.span)

    @property
    def has_pins(self) -> bool:
        """Whether the joints are marked."""
        pins = self.overlays.joints
        return self.model.has_loops if pins is None else pins

    @cached_property
    def marks(self) -> Marks:
        """Marks of the machine's size."""
        return Marks(self.model, PIN * self.size)

    @cached_property
    def size(self) -> float:
        """What the machine spans in its first state, m."""
        corners = self.scene.corners(self.bodies(self.source.q[:1]))
        return float(np.linalg.norm(np.ptp(corners, axis=0)))

    def floor(self) -> list[Piece]:
        """Return the ground, where it is wanted and gravity points down to it."""
        sideways = np.abs(self.model.gravity[:2]).max() > 1e-9 or self.model.gravity[2] > 0.0
        if sideways or not self.overlays.ground:
            return []
        return ground(self.reach) + road_pieces(self.source.forces, self.reach)

    def moment(self, time: float) -> Moment:
        """Return what is to be seen at a time, s."""
        return self.of(self.source.at(np.array([time])))

    def of(self, state: Source) -> Moment:
        """Return what is to be seen of a single state of this machine, at this take's scale."""
        bodies = self.bodies(state.q)
        shown = [] if state.loads is None else shown_loads(self.model, state.loads, bodies)
        over = self.marks.centre(bodies[0]) if self.overlays.centre else []
        over += [mark.on(bodies[0]) for mark in self.marks.frames(self.overlays.frames)]
        for load in shown:
            over += self._load(load)
        over += self._external(state, bodies)[0]
        labels = self._labels(state, shown, bodies)
        labels = sorted(labels, key=lambda label: -label.length)[:NUMBERS]
        machine = self.scene.pieces(bodies[0])
        wide = min(self.span, 2.0 * self.size)  # of a vehicle that travels far: its own size
        machine += springs(self.model, self.source.forces, bodies[0], wide)
        pins = [mark.on(bodies[0]) for mark in self.marks.joints()] if self.has_pins else []
        return Moment(machine, pins, over, labels)

    def _labels(self, state: Source, shown: list[ShownLoad], bodies: Array) -> list[Label]:
        """Return the numbers at all arrows of a single state."""
        numbers = [label for load in shown for label in self._numbers(load)]
        return numbers + self._external(state, bodies)[1]

    @cached_property
    def _crowded(self) -> bool:
        """Whether some arrows have no number at some time."""
        most = 5 * (0 if self.source.loads is None else len(self.source.loads.joints))
        if not self.overlays.labels or most + 2 * len(self.source.applied) <= NUMBERS:
            return False
        for k in self._sample:
            state = self.source.records(np.array([k]))
            bodies = self.bodies(state.q)
            shown = [] if state.loads is None else shown_loads(self.model, state.loads, bodies)
            if len(self._labels(state, shown, bodies)) > NUMBERS:
                return True
        return False

    def followed_by(self, source: Source, scale: Scale | None = None) -> Take:
        """Return a take of other states of the same machine: same parts, ground and arrows.

        Without a scale for them only what would be too long at the old one makes it smaller.
        """
        take = Take(source, self.overlays)
        kept = {name: getattr(self, name) for name in KEPT}
        kept["scale"] = scale or self.scale.shorter(take_scale(take, self.span))
        take.__dict__.update(kept)
        return take

    def with_overlays(self, overlays: Overlays) -> Take:
        """Return the same take with other marks."""
        take = Take(self.source, overlays)
        take.__dict__.update({k: v for k, v in self.__dict__.items() if k not in take.__dict__})
        return take

    def _load(self, load: ShownLoad) -> list[Piece]:
        scale, draw, at = self.scale, self._arrows, load.point[0]
        force, moment, open_force, open_moment = (way[0] for way in self._ways(load))
        pieces = draw.arrow(at, force, look.FORCE) + draw.arrow(at, moment, look.MOMENT, 2)
        pieces += draw.dashed(at, open_force) + draw.dashed(at, open_moment, 2)
        if load.axis is not None and load.actuation is not None:
            value = float(load.actuation[0])
            if load.turns:
                pieces += draw.actuation(at, load.axis[0], scale.actuation * value)
            else:
                pieces += draw.arrow(at, scale.force * value * load.axis[0], look.ACTUATION)
        return pieces

    def _external(self, state: Source, bodies: Array) -> tuple[list[Piece], list[Label]]:
        """Return the arrows of external wrenches, and their names with sizes."""
        pieces, labels, draw = list[Piece](), list[Label](), self._arrows
        for applied, (at, *ways) in zip(state.applied, self._applied(state, bodies), strict=True):
            parts = (
                (applied.wrench[0, :3], ways[0][0], "N"),
                (applied.wrench[0, 3:], ways[1][0], "N m"),
            )
            for heads, (vector, way, unit) in zip(HEADS, parts, strict=True):
                arrow = draw.arrow(at[0], way, look.EXTERNAL, heads)
                pieces += arrow
                if arrow and self.overlays.labels:
                    text = f"{applied.link}: {in_figures(vector, unit)}"
                    length = float(np.linalg.norm(way))
                    labels.append(Label(at[0] + way, text, look.EXTERNAL, length))
        return pieces, labels

    def _numbers(self, load: ShownLoad) -> list[Label]:
        """Return the numbers at the tips of a load's arrows."""
        if not self.overlays.labels:
            return []
        rows = (
            (load.force, "N", look.FORCE),
            (load.moment, "N m", look.MOMENT),
            (load.open_force, "N", look.UNDETERMINED),
            (load.open_moment, "N m", look.UNDETERMINED),
        )
        labels = []
        for way, (vectors, unit, colour) in zip(self._ways(load), rows, strict=True):
            length = float(np.linalg.norm(way[0]))
            if length >= look.SHORTEST * self._arrows.longest:
                doubt = " ?" if colour == look.UNDETERMINED else ""
                text = in_figures(vectors[0], unit) + doubt
                labels.append(Label(load.point[0] + way[0], text, colour, length))
        return labels + self._actuation_number(load)

    def _actuation_number(self, load: ShownLoad) -> list[Label]:
        """Return the number at the head of an actuation's arc or arrow."""
        if load.axis is None or load.actuation is None:
            return []
        value, axis, tip = float(load.actuation[0]), load.axis[0], None
        if load.turns:
            tip = self._arrows.arc_tip(load.point[0], axis, self.scale.actuation * value)
        elif self.scale.force * abs(value) >= look.SHORTEST * self._arrows.longest:
            tip = load.point[0] + self.scale.force * value * axis
        length = abs(value) * (
            self.scale.actuation * self._arrows.longest if load.turns else self.scale.force
        )
        text = in_figures(value, "N m" if load.turns else "N")
        return [] if tip is None else [Label(tip, text, look.ACTUATION, length)]

    def legend(self) -> list[tuple[str, Colour]]:
        """Return what the arrows' colours mean, how long they are, and what is exaggerated."""
        loads, longest = self.source.loads, LONGEST * self.span
        rows = list[tuple[str, Colour]]()
        if loads is not None:
            more = len(loads.joints) - 3
            names = ", ".join(loads.joints[:3]) + (f" and {more} more" if more > 0 else "")
            rows.append((f"on the child of {names}", BLACK))
        if self.scale.force:
            rows.append((f"force: {in_words(self.scale.force, 'N', longest)}", look.FORCE))
        if self.scale.moment:
            rows.append((f"moment: {in_words(self.scale.moment, 'N m', longest)}", look.MOMENT))
        if self.scale.actuation:
            rows.append((ACTUATION, look.ACTUATION))
        if self.source.applied:
            rows.append((EXTERNAL, look.EXTERNAL))
        if loads is not None and _undetermined(loads):
            rows.append(("? not determined by rigid mechanics", look.UNDETERMINED))
        if self._crowded:
            rows.append((f"numbers at the {NUMBERS} longest", BLACK))
        if self.overlays.exaggerate != 1.0:
            rows.append((f"deflections {self.overlays.exaggerate:g} times as large", BLACK))
        return rows


def _undetermined(loads: JointLoads) -> bool:
    """Return whether rigid mechanics leaves some of the loads open."""
    cleaned = loads.round_off.cleaned_wrench(loads.wrench)
    return bool(np.where(loads.unique, 0.0, cleaned).any())


def take_scale(take: Take, span: float) -> Scale:
    """Return the scale that a take's own loads would have in a machine that spans so much."""
    return Scale.of(take.model, take.source.loads, LONGEST * span, take.source.applied)


def in_figures(load: Array | float, unit: str) -> str:
    """Return a load, or its length, as one reads it beside an arrow: with the tables' units."""
    value = float(load) if np.ndim(load) == 0 else float(np.linalg.norm(load))
    return quantity(value, unit, digits=FIGURES)
