"""What a bearing carries along a motion, and its rating life, taken in piece by piece.

    P_m = ( ∫ P^p |ω| dt / ∫ |ω| dt )^(1/p)          mean equivalent load, by revolutions
    L_10 = (C / P_m)^p                               10⁶ revolutions
    L_10h = L_10 10⁶ T / N,   N = ∫ |ω| dt / 2π      hours of this motion, which takes the time T
    L_n = a_1 a_ISO L_10                             other reliability, lubrication
    S_0 = C_0 / max P_0

Where the joint turns to and fro, N counts all angles that it passes: an oscillation by ±φ is 4φ/2π
revolutions. Integrals are those of straight lines between the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from mbd_bridge.applications.bearings.catalogue import AXIAL, Bearing
from mbd_bridge.applications.bearings.terms import BearingTerms
from mbd_bridge.base.arrays import Floats
from mbd_bridge.base.errors import StateError
from mbd_bridge.motion.peak import Peak, Peaks

POINT, CIRCULATING = 0.9, 0.3
"""Share of the radial force that has one direction in a ring, from which it is a point load, and
below which it goes round."""

SMALL_ANGLE = 0.5
"""rad: a joint that turns less, all in all, rolls over a part of each raceway only, between
neighbouring rolling elements; the life equation is not meant for it."""

Direction = Literal["point load", "circulating load", "indeterminate"]


class Bands(NamedTuple):
    """Half the widths (N,) of the bands that hold 95 % of the errors from the motion's noise."""

    radial: Floats
    axial: Floats
    tilting: Floats


@dataclass(frozen=True)
class RatingLife:
    """Rating life of a bearing under what it carries along a motion.

    Attributes
    ----------
    mean_load : P_m, N
    revolutions : of the motion
    million_revolutions : L_10
    hours : L_10h of this motion, over and over
    modified_hours : L_nmh with a_1 and a_ISO
    static_safety : S_0; None without C_0
    least_hours : L_10h if the loads are as large as the motion's noise lets them be (95 %); None:
        nothing is known of it
    static_band : smallest and largest S_0 that the motion's noise leaves open; None likewise
    """

    mean_load: float
    revolutions: float
    million_revolutions: float
    hours: float
    modified_hours: float
    static_safety: float | None
    least_hours: float | None = None
    static_band: tuple[float, float] | None = None


@dataclass(frozen=True)
class BearingDuty:
    """What one bearing carries along a motion.

    Attributes
    ----------
    joint, name : of the joint, and of the bearing where it has two ("first", "second"; "" of one)
    begin, end : s
    radial, axial, tilting : largest size, N, N, N m; a bearing of a pair carries no tilting moment
    radial_angle : of the largest radial force, rad, in the child's ring, from `RingFrames.first`
    child_ring, parent_ring : how the radial force's direction goes on in each ring
    travel : angle that the joint passes in all, rad (m of a slide); `span` between its ends
    determined : whether rigid-body mechanics determines axial force, radial force, tilting moment
    life : None where no bearing is given, the joint does not turn, or nothing is determined
    notes : what to know about the life
    """

    joint: str
    name: str
    begin: float
    end: float
    radial: Peak
    axial: Peak
    tilting: Peak
    radial_angle: float
    child_ring: Direction
    parent_ring: Direction
    travel: float
    span: float
    determined: tuple[bool, bool, bool]
    life: RatingLife | None
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Joint and name."""
        return f"{self.joint} {self.name}".strip()

    @property
    def overload(self) -> Literal["no", "open", "yes"]:
        """Whether the static load rating is exceeded, S_0 < 1; "open": noise leaves it open."""
        if self.life is None or self.life.static_safety is None:
            return "no"
        safety = self.life.static_safety
        least, most = (safety, safety) if self.life.static_band is None else self.life.static_band
        return "yes" if most < 1.0 else "open" if least < 1.0 else "no"


class BearingCounter:
    """The duty of one bearing whose loads come in pieces.

    Parameters
    ----------
    bearing : checked; None: its loads alone
    a1, aiso : factors of the modified life
    """

    def __init__(
        self, joint: str, name: str, bearing: Bearing | None, a1: float = 1.0, aiso: float = 1.0
    ) -> None:
        self.joint, self.name, self.bearing = joint, name, bearing
        self._factor = a1 * aiso
        self._peaks = Peaks()
        self._angle = 0.0
        self._sums = dict.fromkeys(("force", "travel", "damage", "damage_high"), 0.0)
        self._known = True
        self._ways = {"child": np.zeros(3), "parent": np.zeros(3)}
        self._place, self._span = 0.0, (0.0, 0.0)
        self._static: tuple[float, ...] = (0.0, 0.0, 0.0)
        self._sure = (True, True, True)
        self._last: tuple[Floats, ...] | None = None

    def add(
        self,
        terms: BearingTerms,
        radial: Floats,
        axial: Floats,
        tilting: Floats,
        bands: Bands | None = None,
    ) -> None:
        """Take in the next rows.

        Parameters
        ----------
        radial : (N, 3) N on this bearing, in the child's axes
        axial : (N,) N on this bearing
        tilting : (N,) N m, its size
        bands : of these sizes; None: nothing is known of them
        """
        self._turns = terms.frames.turns
        self._known = self._known and bands is not None
        none = np.zeros(len(terms.time))
        off = Bands(none, none, none) if bands is None else bands
        size = np.linalg.norm(radial, axis=1)
        sizes = Bands(size, np.abs(axial), tilting)
        for name, values, widths in zip(Bands._fields, sizes, off, strict=True):
            row = self._peaks.look(name, terms.time, values, widths)
            if row is not None and name == "radial":
                self._angle = float(terms.angle(radial)[row])
        a, b, c = (x and y for x, y in zip(self._sure, terms.determined, strict=True))
        self._sure = a, b, c
        turn = np.einsum("nij,nj->ni", terms.to_parent, radial)
        load = high = size
        if self.bearing is not None:
            load = self.bearing.equivalent(size, axial)
            thrust = np.abs(axial)
            acts = thrust > AXIAL * size.max()
            most = size + off.radial, thrust + np.where(acts, off.axial, 0.0)
            least = np.maximum(size - off.radial, 0.0), np.maximum(thrust - off.axial, 0.0)
            high = self.bearing.equivalent(*most)
            ends = [self.bearing.static(*x) for x in ((size, thrust), least, most)]
            place = int(np.argmax(ends[0]))
            if ends[0][place] > self._static[0]:
                self._static = tuple(float(x[place]) for x in ends)
        columns: tuple[Floats, ...] = terms.time, terms.speed, size, load, high, radial, turn
        if self._last is None:
            self._begin = float(terms.time[0])
        else:
            columns = tuple(
                np.concatenate([x[-1:], y]) for x, y in zip(self._last, columns, strict=True)
            )
        self._integrate(*columns)
        self._last = columns

    def _integrate(
        self,
        time: Floats,
        speed: Floats,
        size: Floats,
        load: Floats,
        high: Floats,
        radial: Floats,
        turn: Floats,
    ) -> None:
        step = np.diff(time)
        passed = 0.5 * step * (np.abs(speed[1:]) + np.abs(speed[:-1]))
        p = 3.0 if self.bearing is None else self.bearing.p
        self._sums["travel"] += float(passed.sum())
        for name, values in (("damage", load**p), ("damage_high", high**p)):
            self._sums[name] += float(np.sum(passed * 0.5 * (values[1:] + values[:-1])))
        self._sums["force"] += float(np.sum(0.5 * step * (size[1:] + size[:-1])))
        for ring, vectors in (("child", radial), ("parent", turn)):
            self._ways[ring] += (0.5 * step) @ (vectors[1:] + vectors[:-1])
        places = self._place + np.cumsum(0.5 * step * (speed[1:] + speed[:-1]))
        if len(places):
            least, most = self._span
            self._span = min(least, float(places.min())), max(most, float(places.max()))
            self._place = float(places[-1])

    def duty(self) -> BearingDuty:
        """Return the duty of what came so far."""
        if self._last is None:
            raise StateError("no loads were counted: add() was not called")
        end, travel = float(self._last[0][-1]), self._sums["travel"]
        span = self._span[1] - self._span[0]
        notes = []
        life = self._life(end - self._begin) if self._turns else None
        if life is not None and span < SMALL_ANGLE:
            notes.append(
                f"it turns by {span:.3g} rad only: the life equation is not meant for oscillations "
                f"within a pitch of the rolling elements"
            )
        if life is not None and self.name == "" and self._peaks["tilting"].value > 0.0:
            lever = self._peaks["tilting"].value
            notes.append(f"a tilting moment of up to {lever:.4g} N m is not part of its life")
        if self.bearing is not None and not all(self._sure[:2]):
            notes.append("no life: rigid-body mechanics does not determine its loads")
        radial, axial, tilting = (
            peak if self._known else peak._replace(band=None)
            for peak in (self._peaks[name] for name in Bands._fields)
        )
        return BearingDuty(
            self.joint,
            self.name,
            self._begin,
            end,
            radial,
            axial,
            tilting,
            self._angle,
            self._direction("child"),
            self._direction("parent"),
            travel,
            span,
            self._sure,
            life,
            tuple(notes),
        )

    def _direction(self, ring: str) -> Direction:
        force = self._sums["force"]
        share = float(np.linalg.norm(self._ways[ring])) / force if force else 1.0
        if share >= POINT:
            return "point load"
        return "circulating load" if share <= CIRCULATING else "indeterminate"

    def _life(self, duration: float) -> RatingLife | None:
        travel = self._sums["travel"]
        if self.bearing is None or not all(self._sure[:2]) or not travel:
            return None
        p, C, C0 = self.bearing.p, self.bearing.C, self.bearing.C0
        means = [(self._sums[x] / travel) ** (1.0 / p) for x in ("damage", "damage_high")]
        millions = [(C / mean) ** p if mean else np.inf for mean in means]
        revolutions = travel / (2.0 * np.pi)
        hours, least = (x * 1e6 / revolutions * duration / 3600.0 for x in millions)
        safety, most, fewest = (C0 / x if C0 and x else np.inf for x in self._static)
        return RatingLife(
            float(means[0]),
            revolutions,
            float(millions[0]),
            float(hours),
            self._factor * hours,
            None if C0 is None else float(safety),
            float(least) if self._known else None,
            (float(fewest), float(most)) if self._known and C0 is not None else None,
        )
