"""Tables of what joints carry, what actuators need and what wears: the numbers of a
`LoadHistory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from mbd_bridge.applications.durability import Spectrum
from mbd_bridge.base.assumptions import Assumptions
from mbd_bridge.base.errors import StateError, count
from mbd_bridge.base.readable import Shown, banded, instant, number, quantity, shown_in
from mbd_bridge.loads.efforts import EffortDifferences
from mbd_bridge.loads.streaming import Extreme, LoadHistory, SignalStatistics
from mbd_bridge.model import Model
from mbd_bridge.motion.limit_use import Use
from mbd_bridge.reports.page import Cell, details, paragraph, sentence, table


def loads(history: LoadHistory) -> str:
    """Return extremes, mean and RMS of every component as HTML."""
    rows: list[list[Cell]] = []
    empty, unsure = list[str](), list[str]()
    joint, units = "", readable_units(history)
    for one in history.statistics:
        signal = one.signal
        if abs(one.peak.value) <= history.round_off.floor(signal.unit):
            (empty if one.determined else unsure).append(signal.name)
            continue
        shown, least = units[signal.joint, signal.unit], history.round_off.floor(signal.unit)
        rows.append(
            [
                signal.joint if signal.joint != joint else "",
                _named(signal.quantity, one.determined),
                *_extreme(one.largest, shown, least),
                *_extreme(one.smallest, shown, least),
                *(number(x * shown.factor, least * shown.factor) for x in (one.mean, one.rms)),
                shown.unit,
            ]
        )
        joint = signal.joint
    headings = ("joint", "", ">largest", ">at, s", ">smallest", ">at, s", ">mean", ">RMS", "unit")
    said = f"{sentence(history.convention)} Rows force and moment: their lengths."
    there = table(headings, rows, said) if rows else ""
    return there + folded(empty, "signal") + folded(unsure, "signal", UNSURE)


ZERO = "zero throughout"
UNSURE = "undetermined, and zero in the smallest solution"


def folded(names: Sequence[str], noun: str, what: str = ZERO) -> str:
    """Return the names of what needs no row, folded away; "" if there is none."""
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    text = f"{count(len(names), noun)} {verb} {what}"
    return details(text, paragraph(", ".join(names), "note"))


def assumptions(found: Assumptions) -> str:
    """Return what the numbers assume, topic by topic, as HTML."""
    rows: list[list[Cell]] = [
        [one.heading, (one.text, "prose"), ("neglected", "doubt") if one.neglected else ""]
        for one in found.entries
    ]
    return table(("topic", "assumed", ""), rows, "What every number of this report assumes.")


def _named(name: str, determined: bool) -> Cell:
    return name if determined else (f"{name} (undetermined)", "doubt")


def readable_units(history: LoadHistory) -> dict[tuple[str, str], Shown]:
    """Return by joint and SI unit in which unit the joint's signals are shown."""
    largest: dict[tuple[str, str], float] = {}
    for one in history.statistics:
        key = one.signal.joint, one.signal.unit
        largest[key] = max(largest.get(key, 0.0), abs(one.peak.value))
    floor = history.round_off.floor
    return {
        (joint, unit): shown_in(unit, size if size > floor(unit) else 0.0)
        for (joint, unit), size in largest.items()
    }


def _extreme(one: Extreme, shown: Shown, least: float) -> list[str]:
    nothing = abs(one.value) <= least
    return ["0", ""] if nothing else [number(one.value * shown.factor), instant(one.time)]


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
    found, floor = [], history.round_off
    for envelope in history.envelopes:
        one = _actuation(history, envelope.name)
        if abs(one.peak.value) <= floor.floor(one.signal.unit):
            continue
        limit = limits.get(envelope.name)
        found.append(
            Sizing(
                envelope.name,
                envelope.unit,
                one.peak.value,
                one.rms,
                envelope.fastest,
                envelope.motoring,
                envelope.braking,
                (limit.effort or None) if limit else None,
                (limit.velocity or None) if limit else None,
                one.peak.band,
                envelope.fastest_band,
            )
        )
    return found


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


def actuators(found: list[Sizing]) -> str:
    """Return what each actuator needs as HTML."""
    rows: list[list[Cell]] = []
    for one in found:
        rate = "rad/s" if one.unit == "N m" else "m/s"
        uses = {use.name: use for use in one.uses}
        rows.append(
            [
                one.name,
                banded(one.peak, one.unit, one.peak_band),
                quantity(one.rms, one.unit),
                _share(uses.get("peak"), one.effort_limit, one.unit),
                f"{number(one.speed)} {rate}",
                _share(uses.get("speed"), one.speed_limit, rate),
                quantity(one.motoring, "W"),
                quantity(one.braking, "W"),
            ]
        )
    headings = (
        "actuation",
        ">peak",
        ">RMS",
        "peak in limit",
        ">top speed",
        "speed in limit",
        ">motoring",
        ">braking",
    )
    return table(
        headings,
        rows,
        "Generalised forces along the joints' own degrees of freedom; limits are those of the "
        "file.",
    )


def _share(use: Use | None, limit: float | None, unit: str) -> Cell:
    if limit is None or use is None:
        return ("no limit given", "")
    kind = "bad" if use.exceeded else "" if use.kept else "doubt"
    return f"{use.share:.0%} of {quantity(limit, unit, digits=4)}", kind


def spectra(history: LoadHistory) -> str:
    """Return cycles and damage-equivalent ranges of components and actuators as HTML."""
    found, floor = history.spectra, history.round_off
    shown = [
        (signal.name, one)
        for signal, one in zip(found.signals, found.spectra, strict=True)
        if not signal.resultant and one.largest > floor.floor(one.unit)
    ]
    exponents = shown[0][1].exponents if shown else ()
    rows: list[list[Cell]] = []
    for name, one in shown:
        shown_unit = shown_in(one.unit, one.largest)
        ranges = [one.largest, *(_equivalent(one, m) for m in exponents)]
        rows.append(
            [
                _named(name, one.determined),
                f"{one.cycles:g}",
                *(number(x * shown_unit.factor) for x in ranges),
                shown_unit.unit,
            ]
        )
    said = [f">DEL, m = {m:g}" for m in exponents]
    caption = (
        "Rainflow cycles (ASTM E1049-85). DEL: the range that does the same damage once a second "
        "(1 Hz) with Woehler exponent m; ranges, not amplitudes."
    )
    return table(("signal", ">cycles", ">largest range", *said, "unit"), rows, caption)


def _equivalent(one: Spectrum, exponent: float) -> float:
    return one.damage_equivalent(exponent) if one.duration > 0.0 else float("nan")


def efforts(found: EffortDifferences) -> str:
    """Return how far measured efforts are from the computed actuation."""
    heads = ("degree of freedom", ">measured, RMS", ">difference, RMS", ">share", ">largest", ">at")
    rows = [
        (
            one.name,
            quantity(one.measured_rms, one.unit),
            quantity(one.rms, one.unit),
            f"{100.0 * one.share:.2g} %" if one.measured_rms else "",
            quantity(one.largest, one.unit),
            f"{instant(one.time)} s",
        )
        for one in found.entries
    ]
    said = (
        "Measured efforts of the recording, taken to be at the joint, minus the computed "
        "actuation. They are compared, and not used for the loads."
    )
    return table(heads, rows, said)
