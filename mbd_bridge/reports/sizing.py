"""What actuators must be able to do along a motion, and what the file says they can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from mbd_bridge.base.errors import StateError
from mbd_bridge.base.readable import quantity
from mbd_bridge.base.table import Series, Table
from mbd_bridge.loads.streaming import LoadHistory, SignalStatistics
from mbd_bridge.model import Model
from mbd_bridge.motion.peak import Use


@dataclass(frozen=True, slots=True)
class Sizing:
    """What an actuator must be able to do along a motion, and what the file says it can.

    Attributes
    ----------
    name, unit : of the actuation; N m or N
    peak, rms : its force
    speed : the largest, rad/s or m/s
    motoring, braking : the largest power that it gives, and that it takes, W
    effort_limit, speed_limit : of the file; None where it has none
    peak_band, speed_band : half the widths of the bands that hold 95 % of the errors from the
        motion's noise; None: nothing is known of it
    """

    name: str
    unit: str
    peak: float
    rms: float
    speed: float
    motoring: float
    braking: float
    effort_limit: float | None = None
    speed_limit: float | None = None
    peak_band: float | None = None
    speed_band: float | None = None

    @property
    def uses(self) -> tuple[Use, ...]:
        """How much of the limits is used, as far as there are some."""
        pairs = (
            ("peak", self.peak, self.peak_band, self.effort_limit),
            ("speed", self.speed, self.speed_band, self.speed_limit),
        )
        found = []
        for name, asked, band, limit in pairs:
            if limit is not None:
                ends = () if band is None else (abs(asked) - band, abs(asked) + band)
                found.append(Use(name, abs(asked) / limit, nan, *(x / limit for x in ends)))
        return tuple(found)

    @property
    def too_much(self) -> tuple[Use, ...]:
        """The limits that are exceeded, whatever the motion's noise."""
        return tuple(use for use in self.uses if use.exceeded)

    @property
    def open(self) -> tuple[Use, ...]:
        """The limits of which noise leaves open whether they are kept."""
        return tuple(use for use in self.uses if not use.exceeded and not use.kept)


def sizings(model: Model, history: LoadHistory) -> list[Sizing]:
    """Return what each actuator needs; joints that nothing actuates are left out."""
    limits = {joint.name: joint.limits for joint in model.description.joints}
    needs, floor = [], history.round_off
    for envelope in history.envelopes:
        actuation = _actuation(history, envelope.name)
        if abs(actuation.peak.value) <= floor.floor(actuation.signal.unit):
            continue
        limit = limits.get(envelope.name)
        needs.append(
            Sizing(
                envelope.name,
                envelope.unit,
                actuation.peak.value,
                actuation.rms,
                envelope.fastest,
                envelope.motoring,
                envelope.braking,
                (limit.effort or None) if limit else None,
                (limit.velocity or None) if limit else None,
                actuation.peak.band,
                envelope.fastest_band,
            )
        )
    return needs


def _actuation(history: LoadHistory, name: str) -> SignalStatistics:
    """Return the statistics of an actuator by its name: the joint's and, of several, the degree of
    freedom's.
    """
    for one in history.statistics:
        signal = one.signal
        kind, _, _ = signal.quantity.partition(".")
        if kind == "actuation" and signal.joint + signal.quantity.removeprefix(kind) == name:
            return one
    raise StateError(f"the history has no actuator {name!r}")


def sizing_table(each: Sequence[Sizing]) -> Table:
    """Return what each actuator needs, and how much of the limits."""
    units = [one.unit for one in each]
    rates = ["rad/s" if unit == "N m" else "m/s" for unit in units]
    columns = [
        Series("peak", units, [one.peak for one in each], bands=[one.peak_band for one in each]),
        Series("RMS", units, [one.rms for one in each]),
        _limit("peak", [one.effort_limit for one in each], units, each),
        Series("top speed", rates, [one.speed for one in each]),
        _limit("speed", [one.speed_limit for one in each], rates, each),
        Series("motoring", "W", [one.motoring for one in each]),
        Series("braking", "W", [one.braking for one in each]),
    ]
    caption = (
        "Generalised forces along the joints' own degrees of freedom; limits are those of the file."
    )
    labels = Series("actuation", "", [one.name for one in each])
    return Table("actuators", labels, columns, caption=caption)


def _limit(
    name: str, limits: Sequence[float | None], units: Sequence[str], each: Sequence[Sizing]
) -> Series:
    """Return which share of the file's limits is used."""
    texts, marks = [], []
    for one, limit, unit in zip(each, limits, units, strict=True):
        use = next((use for use in one.uses if use.name == name), None)
        if use is None or limit is None:
            texts.append("no limit given")
            marks.append("")
            continue
        texts.append(f"{use.share:.0%} of {quantity(limit, unit, digits=4)}")
        marks.append("bad" if use.exceeded else "" if use.kept else "doubt")
    return Series(f"{name} in limit", "", texts, marks=marks)
