"""One external force: a table of wrenches on one link, over time or a coordinate.

Between the rows it is linear. Given about a point p of the link (in its frame), in its axes,

    F = f(x),   M = m(x) + p × f(x)                 about the link's origin;

given in the world's axes, f and m are turned by Rᵀ first; given about the world's origin ("origin")
r × f is subtracted before, with r from there to the link.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from mbd_bridge.base.arguments import as_floats, finite_numbers
from mbd_bridge.base.errors import StateError, count, one_of
from mbd_bridge.base.lazy import cached_property
from mbd_bridge.equations.cartesian import link_velocity, placement
from mbd_bridge.functions import Lookup, arctan2, cos, greater, sin, where
from mbd_bridge.model import Model
from mbd_bridge.model.spatial import Array
from mbd_bridge.model.units import coordinate_units
from mbd_bridge.motion.options import Direction, Outside
from mbd_bridge.motion.table import COMPONENTS
from mbd_bridge.solve.prepared import Prepared

# What a force is tabulated over: time, a coordinate, or where a link is in the world.
#
# time            s
# <coordinate>    rad or m: the stroke of a ram, the angle of a crank (<mimic> joints too)
# <link>.x .y .z  m: the link's origin in the world's axes, where the stroke is no coordinate

TIME_NAMES = ("time", "t")
AXES = "xyz"


@dataclass(frozen=True)
class Abscissa:
    """The variable of a table of forces.

    Attributes
    ----------
    name : "time", of a coordinate, or "<link>.x", ".y", ".z"
    unit : s, rad or m
    q, v : places of the coordinate and of its rate; None for what has none
    ratio, offset : of a joint that follows the coordinate (``<mimic>``): ratio * q + offset
    link, axis : of a link's position: its index and 0, 1 or 2; else None
    """

    name: str
    unit: str
    q: int | None = None
    v: int | None = None
    ratio: float = 1.0
    offset: float = 0.0
    link: int | None = None
    axis: int = 0

    @property
    def is_time(self) -> bool:
        """Whether it is time."""
        return self.q is None and self.link is None

    def values(self, prepared: Prepared, time: ArrayLike | None, q: Array) -> Array:
        """Return its values (N,) at times (N,) and coordinates (N, nq)."""
        if self.q is not None:
            return np.asarray(self.ratio * q[:, self.q] + self.offset)
        if self.link is not None:
            kernel = prepared.placement(prepared.model.links[self.link].name)
            return np.asarray(kernel(q)[0][:, self.axis, 3])
        if time is None:
            raise StateError(
                "external: a force over time needs the times of the states; give a motion with "
                "its times, or t="
            )
        return np.atleast_1d(as_floats("t", time))

    def rates(self, prepared: Prepared, q: Array, v: Array) -> Array:
        """Return its rates (N,)."""
        if self.v is not None:
            return np.asarray(self.ratio * v[:, self.v])
        assert self.link is not None
        kernel = prepared.velocity(prepared.model.links[self.link].name)
        return np.asarray(kernel(q, v, np.zeros(3))[0][:, self.axis])

    def traced(self, model: Model, t: Any, q: Array) -> Any:
        """Return its value at a state of floats or symbols."""
        if self.q is not None:
            return self.ratio * q[self.q] + self.offset
        return t if self.link is None else placement(model, q, self.link)[self.axis, 3]

    def traced_rate(self, model: Model, q: Array, v: Array) -> Any:
        """Return its rate at a state of floats or symbols."""
        if self.v is not None:
            return self.ratio * v[self.v]
        assert self.link is not None
        return link_velocity(model, q, v, self.link)[self.axis]


def abscissa_of(model: Model, name: str) -> Abscissa | None:
    """Return what a name stands for, or None."""
    if name in TIME_NAMES and name not in model.coordinate_names:
        return Abscissa("time", "s")
    for joint in model.joints:
        if not joint.moving:
            continue
        body = model.bodies[joint.body]
        names = model.coordinate_names[body.q] if joint.follows is None else (joint.name,)
        if name not in names:
            continue
        place, plain = names.index(name), joint.type.nq == joint.type.nv
        rate = body.v.start + place if plain else None
        unit = coordinate_units(joint.type)[place]
        return Abscissa(name, unit, body.q.start + place, rate, body.ratio, body.offset)
    link, _, axis = name.rpartition(".")
    if axis in AXES and axis and any(one.name == link for one in model.links):
        number = model.link_number(link)
        return Abscissa(name, "m", link=number, axis=AXES.index(axis))
    return None


Reference = Literal["link", "world", "origin"]
"""In the link's axes or the world's, about a point of the link; or in the world's axes about the
*world's* origin."""
OUTSIDE: tuple[Outside, ...] = get_args(Outside)
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
BEYOND = {
    "zero": "zero beyond its ends",
    "hold": "held beyond its ends",
    "repeat": "repeated every turn",
}

JUMP = 64 * np.finfo(np.float64).eps
"""How far two rows of a jump are apart, relative to the largest value: some roundings."""
COVERS = 1e-9
"""How far, relative to its length, a motion may go beyond a table: roundings in files."""
TURN = 1e-6
"""How far, rad, a table over a whole turn may be from 2 π."""


Sizes: TypeAlias = tuple[float, float]
"""The largest force, N, and moment, N m."""


@dataclass(frozen=True, eq=False)
class ExternalForce:
    """A table of wrenches on one link.

    Attributes
    ----------
    link : name of the link on which it acts
    abscissa : what the table is over
    x : (n,) s, rad or m, growing; two rows that are some roundings apart are a jump
    wrenches : (n, 6) force, N, and moment, N m
    reference : "link" or "world": in whose axes they are given, about `point`; or "origin": in the
        world's axes, about the world's origin
    point : (3,) m, in the link's frame
    outside : beyond the table's ends "zero", "hold" (the end's value), "repeat" (a whole turn of
        an angle); None: zero where the end's value is zero, else refused
    direction : "rising" or "falling": it acts only while the abscissa grows or falls
    source : the file it comes from, for messages
    points : (n, 3) m, where each row acts, if rows differ: in the link's frame, or in the world
        ("origin"). Its moments count already, it is for pictures
    """

    link: str
    abscissa: Abscissa
    x: Array
    wrenches: Array
    reference: Reference = "link"
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    outside: str | None = None
    direction: str | None = None
    source: str = ""
    points: Array | None = None

    def checked(self) -> ExternalForce:
        """Return it checked; x may fall here, and a value that stands twice in it is a jump."""
        where, abscissa, points = f"external[{self.link!r}]", self.abscissa, self.points
        places = finite_numbers(f"{where}: {abscissa.name}", self.x)
        rows = finite_numbers(f"{where}: wrenches", self.wrenches)
        if places.ndim != 1 or rows.shape != (len(places), 6) or not len(places):
            raise StateError(
                f"{where}: a table is (n,) values of {abscissa.name} and (n, 6) forces (N) and "
                f"moments (N m), got {places.shape} and {rows.shape}"
            )
        if len(places) > 1 and places[-1] < places[0]:
            places, rows = places[::-1].copy(), rows[::-1].copy()
            points = None if points is None else points[::-1]
        if (np.diff(places) < 0.0).any():
            advice = "sort the rows"
            if not abscissa.is_time:
                advice = (
                    "a force that differs on the way back is given over time, or as two tables, "
                    "one with direction: rising and one with direction: falling"
                )
            raise StateError(f"{where}: {abscissa.name} must grow from row to row; {advice}")
        if len(places) > 2 and (np.diff(places)[:-1] == 0.0)[np.diff(places)[1:] == 0.0].any():
            raise StateError(f"{where}: {abscissa.name} stands three times; a jump has two rows")
        a, b, c = finite_numbers(f"{where}: point", self.point, (3,)).tolist()
        way = self.direction
        if self.outside is not None:
            one_of("outside", self.outside, OUTSIDE, StateError)
        if way is not None:
            one_of("direction", way, DIRECTIONS, StateError)
        if way is not None and abscissa.v is None and abscissa.link is None:
            raise StateError(
                f"{where}: direction={way!r} is for tables over a coordinate or a link's position, "
                f"this one is over {abscissa.name}"
            )
        if self.outside == "repeat" and not (
            abscissa.unit == "rad" and abs(places[-1] - places[0] - 2.0 * np.pi) < TURN
        ):
            raise StateError(
                f"{where}: outside='repeat' is for tables over a whole turn of an angle (2 π), "
                f"this one goes from {places[0]:g} to {places[-1]:g} {abscissa.unit}"
            )
        jumps = np.flatnonzero(np.diff(places) == 0.0) + 1
        places[jumps] += _jump(places)
        return replace(self, x=places, wrenches=rows, point=(a, b, c), points=points)

    @cached_property
    def nodes(self) -> tuple[Array, Array]:
        """The table (n,), (n, 6) with a jump to zero at ends beyond which it is zero."""
        x, w = self.x, self.wrenches
        if self.outside == "zero":
            gap, none = _jump(x), np.zeros((1, 6))
            if w[0].any():
                x, w = np.append(x[0] - gap, x), np.vstack([none, w])
            if w[-1].any():
                x, w = np.append(x, x[-1] + gap), np.vstack([w, none])
        return x, w

    @property
    def span(self) -> tuple[float, float]:
        """Where it is defined; infinite where something is said of the outside."""
        low = -np.inf if self.outside or not self.wrenches[0].any() else float(self.x[0])
        high = np.inf if self.outside or not self.wrenches[-1].any() else float(self.x[-1])
        return low, high

    def check_covers(self, low: float, high: float, what: str = "the motion") -> None:
        """Refuse values of the abscissa beyond the table, if it does not say what is there."""
        slack = COVERS * max(1.0, abs(low), abs(high))
        first, last = self.span
        if low >= first - slack and high <= last + slack:
            return
        unit = self.abscissa.unit
        raise StateError(
            f"external force on {self.link!r}{self._from}: the table goes over "
            f"{self.abscissa.name} from {self.x[0]:g} to {self.x[-1]:g} {unit}, {what} from "
            f"{low:g} to {high:g} {unit}; end it with rows of zeros, or say what holds there: "
            f"outside='zero' or 'hold' (--external-outside zero)"
        )

    @property
    def _from(self) -> str:
        return f" ({self.source})" if self.source else ""

    def given(self, prepared: Prepared, time: ArrayLike | None, q: Array, v: Array | None) -> Array:
        """Return force and moment (N, 6) as they are given, at N states."""
        if len(self.x) == 1 and self.outside == "hold":  # the same at all times, known or not
            return np.broadcast_to(self.wrenches, (len(q), 6))
        at = self.abscissa.values(prepared, time, q)
        if len(at):
            self.check_covers(float(at.min()), float(at.max()))
        out = self._between(at, *self.nodes)
        if self.direction is not None:
            if v is None:
                raise StateError(
                    f"external force on {self.link!r}: its direction needs velocities, v="
                )
            rate = self.abscissa.rates(prepared, q, v)
            out[(rate <= 0.0) if self.direction == "rising" else (rate >= 0.0)] = 0.0
        return out

    def on_link(
        self, prepared: Prepared, time: ArrayLike | None, q: Array, v: Array | None
    ) -> Array:
        """Return force and moment (N, 6) about the link's origin, in its axes, at N states."""
        wrench = self.given(prepared, time, q, v)
        force, moment = wrench[:, :3], wrench[:, 3:]
        if self.reference != "link":
            place = prepared.placement(self.link)(q)[0]
            if self.reference == "origin":
                moment = moment - np.cross(place[:, :3, 3], force)
            force, moment = (np.einsum("nji,nj->ni", place[:, :3, :3], x) for x in (force, moment))
        if any(self.point):
            moment = moment + np.cross(np.array(self.point), force)
        return np.hstack([force, moment])

    def acts_at(self, prepared: Prepared, time: ArrayLike | None, q: Array) -> Array:
        """Return the points (N, 3) m of the link at which it acts, in its frame, at N states."""
        if self.points is None:
            return np.broadcast_to(np.array(self.point), (len(q), 3))
        found = self._between(self.abscissa.values(prepared, time, q), self.x, self.points)
        if self.reference != "origin":
            return found
        place = prepared.placement(self.link)(q)[0]
        return np.asarray(np.einsum("nji,nj->ni", place[:, :3, :3], found - place[:, :3, 3]))

    def _between(self, at: Array, x: Array, rows: Array) -> Array:
        """Return rows (n, k) of the table, linear between its values x (n,), at values (N,)."""
        if self.outside == "repeat":
            at = x[0] + np.mod(at - x[0], 2.0 * np.pi)
        return np.stack([np.interp(at, x, column) for column in rows.T], axis=-1)

    def traced(self, model: Model, t: Any, q: Array, v: Array) -> Array:
        """Return force and moment (6,) as they are given, at a state of floats or symbols."""
        at = self.abscissa.traced(model, t, q)
        x, w = self.nodes
        if self.outside == "repeat":
            middle = float(0.5 * (x[0] + x[-1]))
            at = middle + arctan2(sin(at - middle), cos(at - middle))
        acts: Any = True
        if self.direction is not None:
            rate = self.abscissa.traced_rate(model, q, v)
            acts = greater(rate, 0.0) if self.direction == "rising" else greater(0.0, rate)
        found: list[Any] = []
        for column in w.T:
            if not column.any():
                found.append(0.0)
                continue
            value = column[0] if len(x) == 1 else Lookup(x, column)(at)
            found.append(value if acts is True else where(acts, value, 0.0))
        return np.array(found)

    @cached_property
    def digest(self) -> str:
        """A text that tells it from other forces."""
        x, w = self.nodes
        said = f"{self.link} {self.abscissa} {self.reference} {self.point} {self.outside} "
        data = f"{said}{self.direction}".encode() + x.tobytes() + w.tobytes()
        return hashlib.sha256(data).hexdigest()

    def __str__(self) -> str:
        return f"external force {self.text}"

    @property
    def text(self) -> str:
        """Where it acts, over what, how large its table is."""
        return f"{self._place}, at most {_in_words(*sizes_of(self.wrenches))}"

    def text_along(self, rows: int, acting: int, sizes: Sizes) -> str:
        """Return where it acts, over what, and in how many rows of a motion, how large there."""
        if not acting:
            return f"{self.text} in the table, but acts in 0 of {count(rows, 'row')}"
        share = f"acts in {acting} of {count(rows, 'row')}"
        return f"{self._place}, {share}, at most {_in_words(*sizes)}"

    @property
    def _place(self) -> str:
        names = [c for c, column in zip(COMPONENTS, self.wrenches.T, strict=True) if column.any()]
        axes = {
            "link": "link axes",
            "world": "world axes",
            "origin": "world axes about the world's origin",
        }
        place = axes[self.reference]
        if any(self.point):
            place += " at {:g} {:g} {:g} m".format(*self.point)
        way = f" while it is {self.direction}" if self.direction else ""
        beyond = f", {BEYOND[self.outside]}" if self.outside else ""
        return (
            f"on {self.link}{self._from}: {', '.join(names) or 'zero'} over "
            f"{self.abscissa.name} from {self.x[0]:g} to {self.x[-1]:g} {self.abscissa.unit}{way}, "
            f"linear between {len(self.x)} rows{beyond}, in {place}"
        )


def sizes_of(wrenches: Array) -> Sizes:
    """Return the largest force and moment of wrenches (n, 6)."""
    parts = wrenches[:, :3], wrenches[:, 3:]
    force, moment = (np.hypot(np.hypot(*p.T[:2]), p.T[2]).max(initial=0.0) for p in parts)
    return float(force), float(moment)


def _in_words(force: float, moment: float) -> str:
    largest = [f"{force:.5g} N"] * bool(force) + [f"{moment:.5g} N m"] * bool(moment)
    return ", ".join(largest) or "0 N"


def _jump(x: Array) -> float:
    return float(JUMP * max(np.abs(x).max(), 1e-300))
