"""The bearings of a machine along a motion: which they are, what they carry, how long they live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mbd_bridge.arguments import by_name
from mbd_bridge.errors import (
    ModelError,
    StateError,
    one_of,
    real_number,
    unknown_name,
    whole_number,
)
from mbd_bridge.loads.bearings.catalogue import RELIABILITY, Bearing
from mbd_bridge.loads.bearings.duty import BearingCounter, BearingDuty
from mbd_bridge.loads.bearings.ring_frames import RingFrames, bearing_joints
from mbd_bridge.loads.bearings.terms import BearingTerms, bearing_terms
from mbd_bridge.loads.result import JointLoads
from mbd_bridge.mechanism import GROUND, Model
from mbd_bridge.motions.motion import Motion
from mbd_bridge.solve.prepared import Prepared

Floats = NDArray[np.float64]

Located = Literal["first", "second", "each"]
"""Which bearing of a pair carries the axial force; "each": the first what pushes the child along
the joint's axis, the second what pushes it back (an opposed pair, without preload)."""

Given = Mapping[str, Bearing | Sequence[Bearing]]
"""One bearing or two of each joint, by name."""


@dataclass(frozen=True)
class BearingOptions:
    """How lives are computed.

    Parameters
    ----------
    located : which bearing of a pair carries the axial force
    reliability : percent, one of 90, 95, 96, 97, 98, 99
    aiso : factor of lubrication and cleanliness
    """

    located: Located = "first"
    reliability: int = 90
    aiso: float = 1.0

    def checked(self) -> BearingOptions:
        """Return the options with their values checked."""
        located = one_of("located", self.located, get_args(Located), StateError)
        if whole_number("reliability", self.reliability) not in RELIABILITY:
            raise StateError(
                f"reliability: expected one of {', '.join(map(str, RELIABILITY))} percent, got "
                f"{self.reliability!r}"
            )
        aiso = real_number("aiso", self.aiso, "a number above 0", positive=True)
        return BearingOptions(located, self.reliability, aiso)


@dataclass(frozen=True, eq=False)
class Bearings:
    """What the bearings of a machine carry along a motion.

    Attributes
    ----------
    mechanism : its name
    duties : one a bearing
    terms : by joint, along the whole motion; empty where it came in pieces
    """

    mechanism: str
    duties: tuple[BearingDuty, ...]
    terms: Mapping[str, BearingTerms]

    def __getitem__(self, joint: str) -> tuple[BearingDuty, ...]:
        """Return the duties of the bearing, or the two bearings, of a joint."""
        found = tuple(duty for duty in self.duties if duty.joint == joint)
        if not found:
            names = dict.fromkeys(duty.joint for duty in self.duties)
            raise StateError(unknown_name("joint with a bearing", joint, names))
        return found

    def __iter__(self) -> Iterator[BearingDuty]:
        return iter(self.duties)

    def __len__(self) -> int:
        return len(self.duties)

    def __repr__(self) -> str:
        return f"Bearings({self.mechanism!r}: {', '.join(d.joint for d in self.duties)})"


class BearingsCounter:
    """The bearings of a machine along a motion that comes in pieces.

    Parameters
    ----------
    prepared : of the machine
    joints : names; None for all with one axis
    given : their bearings; others have loads, but no life
    answer : gives the loads along a piece, with reactions, in the default convention
    """

    def __init__(
        self,
        prepared: Prepared,
        joints: Sequence[str] | None,
        given: Given | None,
        options: BearingOptions,
        answer: Callable[[Motion], JointLoads],
    ) -> None:
        self._prepared, self._model, self._answer = prepared, prepared.model, answer
        bearings, self._options = bearings_of(self._model, given), options.checked()
        self.frames = [RingFrames.of(self._model, name) for name in joints_of(self._model, joints)]
        named = [frames.joint for frames in self.frames]
        for name in bearings:
            if name not in named:
                raise ModelError(f"bearings: {unknown_name('joint in joints=', name, named)}")
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

    def add(self, motion: Motion) -> dict[str, BearingTerms]:
        """Take in the next piece of a motion, and return the terms along it."""
        loads, q, v = self._answer(motion), motion.q, motion.v
        found = {}
        for frames in self.frames:
            child, parent = self._rotation(frames.child, q), self._rotation(frames.parent, q)
            speed = self._speed(frames, q, v, child)
            terms = bearing_terms(frames, loads, child, parent, speed)
            found[frames.joint] = terms
            self._count(terms)
        self._pieces += 1
        self._terms = found if self._pieces == 1 else {}
        return found

    def _count(self, terms: BearingTerms) -> None:
        name = terms.frames.joint
        counters = self._counters[name]
        if name not in self._pairs:
            tilting = np.linalg.norm(terms.tilting(self._positions[name]), axis=1)
            counters[0].add(terms, terms.radial, terms.axial, tilting)
            return
        none = np.zeros(len(terms.time))
        each = self._options.located
        for k, (counter, radial) in enumerate(
            zip(counters, terms.pair(self._pairs[name]), strict=True)
        ):
            axial = terms.axial if each == ("first", "second")[k] else none
            if each == "each":
                axial = np.maximum(terms.axial if k == 0 else -terms.axial, 0.0)
            counter.add(terms, radial, axial, none)

    def _rotation(self, link: str, q: Floats) -> Floats:
        if link == GROUND and link not in self._model.link_index:
            return np.broadcast_to(np.eye(3), (len(q), 3, 3))
        (found,) = self._prepared.placement(link)(q)
        return np.asarray(found[:, :3, :3])

    def _rates(self, link: str, q: Floats, v: Floats) -> Floats:
        if link == GROUND and link not in self._model.link_index:
            return np.zeros((len(q), 6))
        (found,) = self._prepared.velocity(link)(q, v, np.zeros(3))
        return np.asarray(found)

    def _speed(self, frames: RingFrames, q: Floats, v: Floats, child: Floats) -> Floats:
        """Return the rate (N,) of the child's ring against the parent's."""
        axis = child @ (frames.in_child @ frames.axis)
        part = slice(3, 6) if frames.turns else slice(0, 3)
        ends = self._rates(frames.child, q, v), self._rates(frames.parent, q, v)
        between = ends[0][:, part] - ends[1][:, part]
        if not frames.turns:  # the links' origins are apart, and the parent may turn
            ways = [self._origin(link, q) for link in (frames.child, frames.parent)]
            between = between - np.cross(ends[1][:, 3:], ways[0] - ways[1])
        return np.asarray(np.einsum("ni,ni->n", axis, between))

    def _origin(self, link: str, q: Floats) -> Floats:
        if link == GROUND and link not in self._model.link_index:
            return np.zeros((len(q), 3))
        (found,) = self._prepared.placement(link)(q)
        return np.asarray(found[:, :3, 3])

    def bearings(self) -> Bearings:
        """Return the duties of what came so far."""
        duties = [counter.duty() for each in self._counters.values() for counter in each]
        return Bearings(self._model.name, tuple(duties), self._terms)


def joints_of(model: Model, joints: Sequence[str] | None) -> tuple[str, ...]:
    """Return the joints that are asked for; None: all with one axis."""
    if joints is not None:
        return tuple(joints)
    found = bearing_joints(model)
    if not found:
        raise ModelError(f"{model.name} has no joint with one axis, and so no bearings")
    return found


def bearings_of(model: Model, given: Given | None) -> dict[str, tuple[Bearing, ...]]:
    """Return checked bearings by joint, one or two each."""
    found = {}
    for name, some in by_name("bearings", given, '{"elbow": Bearing(C=15e3)}').items():
        each = tuple(some) if isinstance(some, list | tuple) else (some,)
        if not 1 <= len(each) <= 2 or not all(isinstance(one, Bearing) for one in each):
            raise StateError(f"bearings of {name!r}: expected one Bearing or two, got {some!r:.60}")
        where = f"bearing of {name!r}"
        found[name] = tuple(one.checked(where) for one in each)
        if len(each) == 2 and found[name][0].position == found[name][1].position:
            raise StateError(f"{where}: position: two bearings need two places on the axis")
    return found
