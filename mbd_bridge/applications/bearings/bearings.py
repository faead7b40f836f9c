"""The bearings of a machine along a motion: which they are, what they carry, how long they live."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np

from mbd_bridge.api.histories import LoadInputs
from mbd_bridge.api.mechanism import Mechanism
from mbd_bridge.applications.bearings.bearing_set import (
    BearingOptions,
    BearingSet,
    BearingsGiven,
    Located,
)
from mbd_bridge.applications.bearings.catalogue import RELIABILITY
from mbd_bridge.applications.bearings.life import Bands, BearingCounter, BearingDuty
from mbd_bridge.applications.bearings.terms import (
    ALONG,
    BearingTerms,
    RingFrames,
    bearing_joints,
    bearing_terms,
)
from mbd_bridge.base.arguments import known_name, name_list
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.assumptions import Assumption, Number
from mbd_bridge.base.errors import ModelError, StateError
from mbd_bridge.base.named import Named
from mbd_bridge.base.options import with_options
from mbd_bridge.base.readable import instant, life_in_words, quantity
from mbd_bridge.base.table import Series, Table, Tabular, only
from mbd_bridge.loads.observers import Needs, watch
from mbd_bridge.loads.options import ActingOptions
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.loads.round_off import ROUND_OFF
from mbd_bridge.loads.streaming import LoadCases, LoadHistory
from mbd_bridge.loads.streaming.cases import OfCases
from mbd_bridge.model import GROUND, Model
from mbd_bridge.motion import Motion
from mbd_bridge.motion.peak import Peak
from mbd_bridge.motion.smoothing import BAND
from mbd_bridge.solve.prepared import Prepared

if TYPE_CHECKING:
    from mbd_bridge.api.histories import HistoryRequest
    from mbd_bridge.simulation import Simulation

LARGEST = 1e75
"""N or N m; powers of larger ones overflow."""

LIVES = (
    "Rating life by ISO 281: P the mean equivalent load over all turns, L10 and L10h for 90 % "
    "survival of this motion over and over, Lnmh with reliability and lubrication as assumed. "
    "S0: static load rating by the largest static equivalent load."
)

PLANAR = " Loads out of the plane are declared to be zero (planar)."

RIGID = (
    "rings are rigid and round, without preload, clearance and misalignment; axial forces that "
    "angular contact and tapered bearings induce in each other are left out"
)


@dataclass(frozen=True, eq=False)
class Bearings(
    Tabular,
    Named[tuple[BearingDuty, ...]],
    entries="joint with a bearing",
):
    """What the bearings of a machine carry along a motion.

    Attributes
    ----------
    mechanism : its name
    duties : one a bearing
    terms : by joint, along the whole motion; empty where it came in pieces
    known : the bearings, with the options of their lives
    planar : whether loads out of the machine's plane are declared to be zero
    """

    mechanism: str
    duties: tuple[BearingDuty, ...]
    terms: Mapping[str, BearingTerms]
    known: BearingSet
    planar: bool = False

    @property
    def assumed(self) -> tuple[Assumption, ...]:
        """What the rating lives assume."""
        options = self.known.options
        each, numbers = [], list[Number]()
        for joint, some in self.known.by_joint.items():
            for one in some:
                C0 = "" if one.C0 is None else f", C0 {quantity(one.C0, 'N')}"
                place = f" at {one.position:g} m" if len(some) == 2 else ""
                each.append(f"{joint}{place}: {one.kind}, C {quantity(one.C, 'N')}{C0}")
                numbers.append(Number(f"C of {joint}", one.C, "N"))
        if not each:
            return (Assumption("bearings", "loads without rating lives: no bearing is given"),)
        pairs = any(len(some) == 2 for some in self.known.by_joint.values())
        who = {"each": "by each in its direction"}.get(options.located, f"by the {options.located}")
        said = [f"axial force of a pair carried {who}"] if pairs else []
        said.append(f"reliability {options.reliability} %, a_ISO {options.aiso:g}")
        said += ["loads out of the plane declared to be zero"] if self.planar else []
        text = f"rating life by ISO 281 of {'; '.join(each)}; {'; '.join(said)}; {RIGID}"
        return (Assumption("bearings", text, tuple(numbers), neglected=True),)

    @property
    def names(self) -> tuple[str, ...]:
        """The joints with bearings; the entry of each are one or two duties."""
        return tuple(dict.fromkeys(duty.joint for duty in self.duties))

    def _entry(self, joint: str) -> tuple[BearingDuty, ...]:
        return tuple(duty for duty in self.duties if duty.joint == joint)

    def tables(self) -> tuple[Table, ...]:
        """Return the largest loads; and the rating lives, where there are some."""
        each, title = self.duties, f"Bearings of {self.mechanism}"
        labels = Series("bearing of", "", [duty.title for duty in each])
        axial, radial, tilting = ([duty.determined[k] for duty in each] for k in range(3))
        sizes = [max(duty.radial.value, duty.axial.value) for duty in each]
        floor = ROUND_OFF * max(sizes, default=0.0)
        acts = [duty.determined[1] and duty.radial.value > floor for duty in each]
        angles = [math.degrees(duty.radial_angle) for duty in each]
        rings = [(duty.child_ring, duty.parent_ring) for duty in each]
        columns = [
            _peaks("radial", "N", [duty.radial for duty in each], radial),
            Series("degrees", "", only(angles, acts), shown="{:.1f}".format),
            Series("at", "s", only([duty.radial.time for duty in each], acts), shown=instant),
            _peaks("axial", "N", [duty.axial for duty in each], axial),
            _peaks("tilting", "N m", [duty.tilting for duty in each], tilting),
            Series("in the child's ring", "", only([child for child, _ in rings], radial)),
            Series("in the parent's ring", "", only([parent for _, parent in rings], radial)),
            Series("travel", "rad or m", [duty.travel for duty in each], listed=False),
        ]
        floors = {"N": floor, "N m": floor}
        said = "Largest loads, of the parent on the child."
        said += PLANAR if self.planar else ""
        shown = Table(title, labels, columns, caption=said, floors=floors)
        if not any(duty.life for duty in each):
            return (shown,)
        return shown, Table(title, labels, _lives(each), caption=LIVES)

    def __repr__(self) -> str:
        return f"Bearings({self.mechanism!r}: {', '.join(d.joint for d in self.duties)})"


def _peaks(name: str, unit: str, peaks: Sequence[Peak], sure: Sequence[bool]) -> Series:
    values, bands = [one.value for one in peaks], [one.band for one in peaks]
    return Series(name, unit, values, bands=bands, sure=sure)


def _lives(duties: Sequence[BearingDuty]) -> list[Series]:
    lives = [duty.life for duty in duties]
    static = [None if one is None else one.static_safety for one in lives]
    marks = [{"yes": "bad", "open": "doubt", "no": ""}[duty.overload] for duty in duties]

    def of(name: str, unit: str, attribute: str) -> Series:
        values = [None if one is None else getattr(one, attribute) for one in lives]
        return Series(name, unit, values, shown=life_in_words if unit == "h" else None)

    return [
        of("mean load P", "N", "mean_load"),
        of("turns", "", "revolutions"),
        of("L10", "1e6 turns", "million_revolutions"),
        of("L10h", "h", "hours"),
        of("Lnmh", "h", "modified_hours"),
        Series("S0", "", static, shown="{:.3g}".format, marks=marks),
    ]


class BearingsObserver:
    """Observer of what the bearings of a machine carry.

    Parameters
    ----------
    prepared : of the machine
    joints : names; None for all with one axis
    known : their bearings; others have loads, but no life
    """

    def __init__(self, prepared: Prepared, joints: Sequence[str] | None, known: BearingSet) -> None:
        self._prepared, self._model = prepared, prepared.model
        self._bearings, bearings, self._options = known, known.by_joint, known.options
        self.frames = [RingFrames.of(self._model, name) for name in joints_of(self._model, joints)]
        named = [frames.joint for frames in self.frames]
        for name in bearings:
            known_name("joint in joints=", name, named, "bearings: ", ModelError)
        self._pairs: dict[str, tuple[float, float]] = {}
        self._positions: dict[str, float] = {}
        self._counters: dict[str, list[BearingCounter]] = {}
        factors = RELIABILITY[self._options.reliability], self._options.aiso
        for name in named:
            some = bearings.get(name, ())
            self._positions[name] = some[0].position if some else 0.0
            if len(some) == 2:
                self._pairs[name] = some[0].position, some[1].position
            titles = ("first", "second") if len(some) == 2 else ("",)
            self._counters[name] = [
                BearingCounter(name, title, some[k] if some else None, *factors)
                for k, title in enumerate(titles)
            ]
        self._terms: dict[str, BearingTerms] = {}
        self._pieces = 0

    def needs(self) -> Needs:
        """Return the loads of the joints, with their reactions."""
        return Needs(tuple(frames.joint for frames in self.frames), reaction=True)

    def add(self, motion: Motion, loads: JointLoads) -> None:
        """Take in the next piece."""
        q, v = motion.q, motion.v
        by_joint = {}
        for frames in self.frames:
            child, parent = (
                self._placement(link, q)[:, :3, :3] for link in (frames.child, frames.parent)
            )
            speed = self._speed(frames, q, v, child)
            column = loads.joints.index(frames.joint)
            sizes = [np.abs(x[:, column]).max(initial=0.0) for x in (loads.force, loads.moment)]
            if not max(sizes) < LARGEST:
                raise StateError(
                    f"the loads of {frames.joint!r} are so large that their powers are no numbers; "
                    f"check the units of the motion and of the external forces"
                )
            terms = bearing_terms(frames, loads, child, parent, speed)
            by_joint[frames.joint] = terms
            self._count(terms, _bands(loads, frames))
        self._pieces += 1
        self._terms = by_joint if self._pieces == 1 else {}

    def _count(self, terms: BearingTerms, bands: Bands | None) -> None:
        name = terms.frames.joint
        counters = self._counters[name]
        if name not in self._pairs:
            place = self._positions[name]
            tilting = np.linalg.norm(terms.tilting(place), axis=1)
            if bands is not None:
                bands = bands._replace(tilting=bands.tilting + abs(place) * bands.radial)
            counters[0].add(terms, terms.radial, terms.axial, tilting, bands)
            return
        none, places = np.zeros(len(terms.time)), self._pairs[name]
        each = self._options.located
        for k, (counter, radial) in enumerate(zip(counters, terms.pair(places), strict=True)):
            own = bands
            if bands is not None:
                lever = abs(places[1 - k]) * bands.radial + bands.tilting
                own = bands._replace(radial=lever / abs(places[1] - places[0]), tilting=none)
            axial = terms.axial if each == ("first", "second")[k] else none
            if each == "each":
                axial = np.maximum(terms.axial if k == 0 else -terms.axial, 0.0)
            counter.add(terms, radial, axial, none, own)

    def _placement(self, link: str, q: Floats) -> Floats:
        if link == GROUND and link not in self._model.link_index:
            return np.broadcast_to(np.eye(4), (len(q), 4, 4))
        (found,) = self._prepared.placement(link)(q)
        return np.asarray(found)

    def _rates(self, link: str, q: Floats, v: Floats) -> Floats:
        if link == GROUND and link not in self._model.link_index:
            return np.zeros((len(q), 6))
        (found,) = self._prepared.velocity(link)(q, v, np.zeros(3))
        return np.asarray(found)

    def _speed(self, frames: RingFrames, q: Floats, v: Floats, child: Floats) -> Floats:
        """Return the rate (N,) of the child's ring against the parent's."""
        axis = child @ frames.axis
        part = slice(3, 6) if frames.turns else slice(0, 3)
        ends = self._rates(frames.child, q, v), self._rates(frames.parent, q, v)
        between = ends[0][:, part] - ends[1][:, part]
        if not frames.turns:  # the links' origins are apart, and the parent may turn
            ways = [self._placement(x, q)[:, :3, 3] for x in (frames.child, frames.parent)]
            between = between - np.cross(ends[1][:, 3:], ways[0] - ways[1])
        return np.asarray(np.einsum("ni,ni->n", axis, between))

    def result(self) -> Bearings:
        """Return the duties of what came so far."""
        duties = [counter.duty() for each in self._counters.values() for counter in each]
        planar = self._model.description.planar
        return Bearings(self._model.name, tuple(duties), self._terms, self._bearings, planar)


def _bands(loads: JointLoads, frames: RingFrames) -> Bands | None:
    """Return what the motion's noise leaves open of a joint's terms; None: nothing is known.

    Of an axis that is no coordinate axis the errors of components count as if they were one's.
    """
    if loads.uncertainty is None:
        return None
    k, n = loads.joints.index(frames.joint), np.abs(frames.axis)
    force, moment = loads.uncertainty.force[:, k], loads.uncertainty.moment[:, k]
    across = np.where(n > 1.0 - ALONG, 0.0, 1.0)
    radial, tilting = (np.linalg.norm(x * across, axis=1) for x in (force, moment))
    return Bands(BAND * radial, BAND * (force @ n), BAND * tilting)


def joints_of(model: Model, joints: Sequence[str] | None) -> tuple[str, ...]:
    """Return the joints that are asked for; None: all with one axis."""
    if joints is not None:
        return tuple(joints)
    found = bearing_joints(model)
    if not found:
        raise ModelError(f"{model.name} has no joint with one axis, and so no bearings")
    return found


# What bearings add to a `Mechanism`, a `LoadHistory` and load cases (``entry_points.txt``).


@property  # type: ignore[misc]
def stated_bearings(mechanism: Mechanism) -> BearingSet | None:
    """The bearings as a sidecar or `with_bearings` state them, or None."""
    stated: BearingSet | None = mechanism.stated.get("bearings")
    return stated


def with_bearings(
    mechanism: Mechanism,
    bearings: BearingsGiven,
    *,
    located: Located | None = None,
    reliability: int | None = None,
    aiso: float | None = None,
) -> Mechanism:
    """Return the mechanism with these bearings, in place of those it has stated.

    Parameters
    ----------
    bearings : by joint a `Bearing`, or two of them at a distance
    located, reliability, aiso : see `bearings`
    """
    known = known_bearings(mechanism, bearings, located, reliability, aiso)
    return mechanism.stating({"bearings": known})


def known_bearings(
    mechanism: Mechanism,
    given: BearingsGiven | None,
    located: Located | None = None,
    reliability: int | None = None,
    aiso: float | None = None,
) -> BearingSet:
    """Return checked bearings: those given or stated, with the options that are given."""
    known = mechanism.stated_bearings if given is None else given
    base = known.options if isinstance(known, BearingSet) else BearingOptions()
    options = BearingOptions(
        base.located if located is None else located,
        base.reliability if reliability is None else reliability,
        base.aiso if aiso is None else aiso,
    )
    return BearingSet.of(mechanism.model, known, options)


@with_options
def bearings(
    mechanism: Mechanism,
    motion: Motion,
    joints: Iterable[str] | str | None = None,
    bearings: BearingsGiven | None = None,
    *,
    located: Located | None = None,
    reliability: int | None = None,
    aiso: float | None = None,
    threads: int = 1,
    **options: Unpack[ActingOptions],
) -> Bearings:
    """Return radial, axial and tilting loads of joints with one axis, and rating lives.

    Parameters
    ----------
    joints : names, of loop joints too; None for all with one axis
    bearings : by joint a `Bearing`, or two of them at a distance; None: those that the machine
        has stated (`stated_bearings`)
    located : which of two carries the axial force: "first", "second", "each" (opposed)
    reliability, aiso : of the modified life; see `loads.bearings.life`. None: as stated with
        the machine's bearings, or "first", 90 and 1
    threads : see `joint_loads`
    **options : of what acts. External wrenches of N states are those of the motion's rows

    Examples
    --------
    >>> life = Bearing(C=55.3e3, C0=31.5e3)                                # doctest: +SKIP
    >>> robot.bearings(motion, "elbow", {"elbow": life})["elbow"][0].life  # doctest: +SKIP
    """
    inputs = LoadInputs.of(mechanism, motion, options, threads)
    known = known_bearings(mechanism, bearings, located, reliability, aiso)
    if bearings is None and joints is not None:
        known = known.among(name_list("joints", joints, "joints"))
    named = None if joints is None else name_list("joints", joints, "joints")
    return bearings_along([motion], inputs, named, known)


def bearings_along(
    pieces: Iterable[Motion], inputs: LoadInputs, joints: Sequence[str] | None, known: BearingSet
) -> Bearings:
    """Return what bearings carry along a motion in pieces; see `bearings`."""
    observer = BearingsObserver(inputs.mechanism.prepared, joints, known)
    found: Bearings = watch(pieces, inputs, {"bearings": observer})["bearings"]
    return found


def observe(
    mechanism: Mechanism, request: HistoryRequest, run: Simulation | None = None
) -> BearingsObserver | None:
    """Return what sees the bearings of a request, or those that a machine states; None of none."""
    stated = mechanism.stated_bearings if request.bearings is None else request.bearings
    known = BearingSet.of(mechanism.model, stated)
    return (
        BearingsObserver(mechanism.prepared, tuple(known.by_joint), known) if len(known) else None
    )


@property  # type: ignore[misc]
def bearings_of_history(history: LoadHistory) -> Bearings | None:
    """What bearings carry, and their lives, where that was computed, or None."""
    return history.results.get("bearings")


def bearing_hours(cases: LoadCases, joint: str, name: str = "") -> float | None:
    """Return L10h of a bearing under all cases, as often as they happen; None: not known.

    With L_c million turns in the case c, of N_c turns: 1/h = Σ w_c N_c / (L_c 10⁶) / Σ w_c T_c.
    """
    damage, hours = 0.0, 0.0
    for case in cases.cases:
        carried = case.history.bearings
        if carried is None:
            return None
        duty = next((x for x in carried.duties if (x.joint, x.name) == (joint, name)), None)
        if duty is None or duty.life is None:
            return None
        damage += case.weight * duty.life.revolutions / (duty.life.million_revolutions * 1e6)
        hours += case.weight * (duty.end - duty.begin) / 3600.0
    return hours / damage if damage else math.inf


def of_cases(cases: LoadCases) -> OfCases:
    """Return the rating lives under all cases, where there are some."""
    found = cases.cases[0].history.bearings
    duties = found.duties if found else ()
    lives = {duty.title: bearing_hours(cases, duty.joint, duty.name) for duty in duties}
    if not any(hours is not None for hours in lives.values()):
        return OfCases()
    column = Series("L10h", "h", [*lives.values()], shown=life_in_words)
    said = "All cases as often as they happen, by Miner's rule."
    table = Table(repr(cases), Series("bearing of", "", [*lives]), [column], caption=said)
    return OfCases(tables=(table,))
