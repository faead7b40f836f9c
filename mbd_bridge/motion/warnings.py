"""What looks odd in a motion, though it can be computed: said, never corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mbd_bridge.base.arrays import Flags, Floats
from mbd_bridge.base.assumptions import Assumption
from mbd_bridge.base.errors import count, some
from mbd_bridge.files.bags import CLOCK
from mbd_bridge.files.table import ColumnTable, column_range
from mbd_bridge.model import Model, ModelJoint
from mbd_bridge.model.units import velocity_units
from mbd_bridge.motion.smoothing.guard import Kind, Stretch

UNEVEN = 10.0
"""Ratio of the longest to the usual time step from which a spline may swing."""
MANY, SLOW = 100, 1.0
"""Rows and seconds between them, from which on the times may be milliseconds."""
TURNS = 8.0 * np.pi
"""Angle beyond a limit from which it may be one in degrees, rad."""
ANOTHER, STILL = 0.5, 1e-2
"""Share of a way that another velocity leads astray; the shortest way that counts, rad or m."""
BEYOND = 1e-6
"""How far, rad or m, a joint may be beyond its limit: rounding in files."""
BEYOND_LIMITS = "beyond the limits of the file"
"""What a note of limits begins with."""
RATES = {"vel": "s", "acc": "s²", "dec": "s²", "jerk": "s³"}
"""Limits of rates as notes name them, and their unit's denominator."""
SENTENCES: Mapping[Kind, str] = {
    "own": "{joint} moves more quickly than elsewhere in {parts}, smoothed by themselves: {times}",
    "jump": "the acceleration of {joint}, or its rate, jumps; it is interpolated beside these "
    "times: {times}",
    "rough": "{joint} is disturbed, or too quick for its sampling, in {parts}, where its bands are "
    "wider: {times}",
    "brief": "the acceleration of {joint} lasts no longer than its smoothing resolves, and may be "
    "larger, in {parts}: {times}",
    "doubted": "{joint} is farther from its recording than its noise tells in {parts}, where "
    "its bands are wider: {times}",
}
"""What is said of the stretches of a kind."""

OF_JOINTS = {"damping": "damping", "friction": "friction", "stiffness": "springs"}
"""What a file says of a joint's dynamics, by the name of the field."""

LIMITS = Assumption(
    "limits",
    "of position and speed: compared with, never enforced; "
    "of effort: compared with in mbd loads, motors, plots and reports",
    usual="limits not enforced",
)
"""What is said of the limits of the file, and of motions that are beyond them."""

Replaced = frozenset[tuple[str, str]]
"""What of the file acts, as ("damping", "friction" or "limits", joint)."""


def left_out(model: Model, of: str, replaced: Replaced = frozenset()) -> str:
    """Return a sentence about what the file gives and nothing here uses, "" if there is nothing."""
    described = model.description
    unused = {
        word: {
            joint.name
            for joint in described.joints
            if getattr(joint, kind) and (kind, joint.name) not in replaced
        }
        for kind, word in OF_JOINTS.items()
    }
    unused["rotor inertia"] = set() if described.joint_dynamics else set(described.rotors)
    kinds = [kind for kind, names in unused.items() if names]
    joints = set().union(*unused.values())
    if not joints:
        return ""
    verb = "is" if kinds in (["damping"], ["friction"], ["rotor inertia"]) else "are"
    what = " and ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
    return f"{what} of {count(len(joints), 'joint')} {verb} not part of {of}"


def without_unit(table: ColumnTable) -> frozenset[str]:
    """Return the columns of a table that do not say their units; those of a bag have ROS's."""
    if CLOCK in table.attributes:
        return frozenset()
    return frozenset(column.name for column in table.columns if column.unit is None)


def many_turns(low: float, high: float) -> bool:
    """Return whether angles, rad, go so far that they may be degrees."""
    return max(high, -low, high - low) > TURNS


def ask_degrees(names: Sequence[str], option: str = "") -> str:
    """Return the question whether angles of columns without a unit are degrees.

    `option` is what else says so than the header.
    """
    return (
        f"without a unit the angles of {some(names)} are radians, more than "
        f"{TURNS / (2.0 * np.pi):g} turns; are these degrees? Then the header says "
        f"'{names[0]} [deg]'{option}; if not, '{names[0]} [rad]'"
    )


def motion_notes(
    model: Model, time: Floats, q: Floats, v: Floats, replaced: Replaced = frozenset()
) -> tuple[str, ...]:
    """Return sentences about what the file gives and a simulated motion knows nothing of.

    Parameters
    ----------
    time, q, v : (K,) s, (K, nq) and (K, nv); rows with nan are passed over
    replaced : what of the file acts
    """
    there = np.isfinite(q).all(axis=1)
    unused = left_out(model, "this motion", replaced)
    found = [unused] if unused else []
    if there.any():
        seen = MotionWarnings(model)
        seen.add(time[there], q[there], (), v=v[there])
        found += [f"{said}; nothing stops it there" for said in seen.beyond_limits(False, replaced)]
    return tuple(found)


def _range(begin: float, end: float, kind: Kind) -> str:
    return f"{begin:.5g} s" if kind == "jump" else f"{begin:.5g} to {end:.5g} s"


class MotionWarnings:
    """Joints beyond their limits, wrapped angles, uneven times, stretches that are not as the rest:
    of a motion that comes in pieces.

    Pieces that overlap are seen whole: nothing is lost where they meet.

    Attributes
    ----------
    unitless : columns that do not say their units, whose angles may be degrees
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._lowest = np.full(model.nq, np.inf)
        self._highest = np.full(model.nq, -np.inf)
        self._fastest = np.zeros(model.nv)
        self._strongest = np.zeros((3, model.nv))  # acceleration, deceleration, jerk
        self.unitless: frozenset[str] = frozenset()
        self._jumps: dict[int, tuple[float, float]] = {}
        self._rates: dict[int, tuple[float, float, float]] = {}
        self._gap, self._steps, self._rows = 0.0, list[float](), 0
        self._stretches: dict[Kind, dict[str, list[tuple[float, float]]]] = {}
        self._unclosed = np.zeros(model.nv)
        self._moved_rates = (0, 0.0)

    def add_unclosed(self, ways: Floats) -> str:
        """Take in how far (nv,) loops moved a piece, more than its noise; return what is said."""
        self._unclosed = np.maximum(self._unclosed, ways)
        farthest = int(np.argmax(self._unclosed / self._model.velocity_scale))
        return (
            f"the positions do not close the loops as nearly as their noise tells: closing them "
            f"moves {self._model.velocity_names[farthest]} by up to {self._unclosed[farthest]:.2g} "
            f"(is a joint late, or a length wrong?); all bands are wider by it"
        )

    def add_moved_rates(self, states: int, share: float) -> None:
        """Take in of how many states derived rates were moved onto the loops, and how far."""
        number, largest = self._moved_rates
        self._moved_rates = number + states, max(largest, share)

    def add_stretches(self, joint: str, stretches: Sequence[Stretch]) -> None:
        """Take in the stretches of a joint's motion that are not as the rest of it."""
        for stretch in stretches:
            times = self._stretches.setdefault(stretch.kind, {}).setdefault(joint, [])
            begin, end = stretch.begin, stretch.end
            for other in [x for x in times if x[0] <= end and begin <= x[1]]:
                times.remove(other)
                begin, end = min(begin, other[0]), max(end, other[1])
            times.append((begin, end))

    def doubts(self) -> list[str]:
        """Return a sentence about each joint whose rates may be off."""
        kinds: tuple[Kind, ...] = ("doubted", "brief", "rough")
        return [doubt for kind in kinds for doubt in self._in_stretches(kind)]

    def _in_stretches(self, kind: Kind) -> list[str]:
        return [
            SENTENCES[kind].format(
                joint=joint,
                parts=count(len(times), "part"),
                times=some([_range(begin, end, kind) for begin, end in times]),
            )
            for joint, times in self._stretches.get(kind, {}).items()
        ]

    def add(
        self,
        time: Floats,
        q: Floats,
        derived: Sequence[ModelJoint],
        measured: Floats | None = None,
        v: Floats | None = None,
        a: Floats | None = None,
    ) -> None:
        """Take in a piece of a motion.

        Parameters
        ----------
        time, q : (N,) s and (N, nq)
        derived : the joints whose positions were differentiated: jumps matter to these
        measured : (N, nq) positions before they were smoothed, in which jumps show
        v, a : (N, nv) velocities, accelerations
        """
        if v is not None:
            low, high = column_range(v)
            self._fastest = np.maximum(self._fastest, np.maximum(high, -low))
        if v is not None and a is not None:
            slower, size = np.sign(v) * a < 0.0, np.abs(a)
            with np.errstate(over="ignore"):  # a jerk of inf is beyond all limits
                jerk = np.abs(np.diff(a, axis=0)) / np.diff(time)[:, np.newaxis]
            found = np.where(slower, 0.0, size), np.where(slower, size, 0.0), jerk
            self._strongest = np.maximum(self._strongest, [x.max(0, initial=0.0) for x in found])
        low, high = column_range(q)
        self._lowest, self._highest = (
            np.minimum(self._lowest, low),
            np.maximum(self._highest, high),
        )
        if not derived:
            return
        for joint in derived:
            self._add_jumps(joint, time, q if measured is None else measured)
        steps = np.diff(time)
        self._gap = max(self._gap, float(steps.max()))
        self._steps.append(float(np.median(steps)))
        self._rows += len(time)

    def compare_rates(self, time: Floats, q: Floats, v: Floats, given: Flags) -> None:
        """Take in how far velocities of a piece lead, and how far the positions go.

        Parameters
        ----------
        time, q, v : (N,) s, (N, nq) and (N, nv)
        given : (nv,) whether the file has the velocity
        """
        if len(time) < 2:
            return
        steps = np.diff(time)
        gaps = steps > UNEVEN * np.median(steps)  # nobody knows what it did there
        for joint in self._model.joints:
            if not joint.moving or joint.follows is not None or joint.type.nq != joint.type.nv:
                continue
            body = self._model.bodies[joint.body]
            units = velocity_units(joint.type)
            for place, rate, unit in zip(
                range(*body.q.indices(q.shape[1])),
                range(*body.v.indices(v.shape[1])),
                units,
                strict=True,
            ):
                if not given[rate]:
                    continue
                way = np.unwrap(q[:, place]) if unit == "rad" else q[:, place]
                led = 0.5 * (v[1:, rate] + v[:-1, rate]) * steps
                led = np.append(0.0, np.cumsum(np.where(gaps, np.diff(way), led)))
                sizes = float(np.ptp(way)), float(np.ptp(led))
                apart = float(np.ptp(way - led))
                if max(sizes) > max(self._rates.get(place, (0.0, 0.0, 0.0))[:2]):
                    self._rates[place] = *sizes, apart

    def notes(self) -> list[str]:
        """Return a sentence about each."""
        stretches = [note for kind in SENTENCES for note in self._in_stretches(kind)]
        odd = [*self.beyond_limits(), *self._wrapped(), *self._other_rates(), *self._uneven()]
        return [*odd, *stretches, *self._on_loops()]

    def _on_loops(self) -> list[str]:
        found = [self.add_unclosed(self._unclosed)] if self._unclosed.any() else []
        number, share = self._moved_rates
        if number:
            found.append(
                f"derived rates of {count(number, 'state')} do not fit the loops: they are moved "
                f"to the nearest ones that do, by up to {share:.1e} of the largest"
            )
        return found

    def _other_rates(self) -> list[str]:
        names = self._model.coordinate_names
        return [
            f"{names[place]}.vel is not the rate of {names[place]}: it leads over {led:.4g}, the "
            f"positions go over {way:.4g}; is it in other units, or another joint's?"
            for place, (way, led, apart) in self._rates.items()
            if apart > ANOTHER * max(way, led) > ANOTHER * STILL
        ]

    def _add_jumps(self, joint: ModelJoint, time: Floats, q: Floats) -> None:
        if joint.type.nq != joint.type.nv:
            return
        first = self._model.bodies[joint.body].q.start
        for place, unit in enumerate(velocity_units(joint.type), start=first):
            jumps = np.abs(np.diff(q[:, place]))
            row = int(np.argmax(jumps))
            worst = max(np.pi, self._jumps.get(place, (0.0, 0.0))[0])
            if unit == "rad" and jumps[row] > worst:
                self._jumps[place] = float(jumps[row]), float(time[row + 1])

    def _wrapped(self) -> list[str]:
        return [
            f"{self._model.coordinate_names[place]} jumps by {jump:.4g} rad at {time:g} s; if its "
            f"angle is wrapped: --unwrap {self._model.coordinate_names[place]} "
            f"(unwrap={self._model.coordinate_names[place]!r})"
            for place, (jump, time) in self._jumps.items()
        ]

    def _uneven(self) -> list[str]:
        usual = float(np.median(self._steps)) if self._steps else np.inf
        if self._rows > MANY and usual >= SLOW:
            return [
                f"{usual:g} s from row to row: are these milliseconds? Then the header says "
                f"'time [ms]'"
            ]
        if self._gap <= UNEVEN * usual:
            return []
        return [
            f"the times have a gap of {self._gap:g} s (usual step {usual:g} s): a spline may swing "
            f"there"
        ]

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What limits are compared with, where the motion is beyond them; nothing where not."""
        beyond = "; ".join(self.beyond_limits())
        return (replace(LIMITS, text=f"{LIMITS.text}; {beyond}"),) if beyond else ()

    def beyond_limits(self, advice: bool = True, stopped: Replaced = frozenset()) -> list[str]:
        """Return a sentence about joints beyond their limits; `advice`: maybe in degrees.

        Positions of joints with stops (("limits", joint) in `stopped`) are passed over.
        """
        model = self._model
        limits = {joint.name: joint.limits for joint in model.description.joints}
        beyond, degrees = list[str](), list[str]()
        for joint in model.joints:
            if joint.name not in limits or joint.type.nq != 1 or joint.follows is not None:
                continue
            limit, body = limits[joint.name], model.bodies[joint.body]
            low, high = self._lowest[body.q.start], self._highest[body.q.start]
            fastest = float(self._fastest[body.v.start])
            unit = velocity_units(joint.type)[0]
            stops = ("limits", joint.name) in stopped
            if limit.upper is not None and high > limit.upper + BEYOND and not stops:
                beyond.append(f"{joint.name} ({high:.4g} above {limit.upper:.4g})")
            elif limit.lower is not None and low < limit.lower - BEYOND and not stops:
                beyond.append(f"{joint.name} ({low:.4g} below {limit.lower:.4g})")
            largest = fastest, *self._strongest[:, body.v.start].tolist()
            slowing = limit.deceleration or limit.acceleration
            allowed = limit.velocity, limit.acceleration, slowing, limit.jerk
            for (name, per), size, most in zip(RATES.items(), largest, allowed, strict=True):
                if most and size > most + BEYOND:
                    beyond.append(f"{joint.name}.{name} ({size:.4g} above {most:.4g} {unit}/{per})")
            if unit == "rad" and joint.name in self.unitless and many_turns(low, high):
                degrees.append(joint.name)
        found = [f"{BEYOND_LIMITS}: {some(beyond)}"] if beyond else []
        if advice and degrees:
            found.append(ask_degrees(degrees, ", or --unit deg (unit='deg')"))
        return found
