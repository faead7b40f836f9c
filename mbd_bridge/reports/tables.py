"""Tables of what joints carry, what actuators need and what wears: the numbers of a
`LoadHistory`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mbd_bridge.assumptions import Assumptions
from mbd_bridge.errors import StateError
from mbd_bridge.loads.durability import Spectrum
from mbd_bridge.loads.streaming import Extreme, LoadHistory, SignalStatistics
from mbd_bridge.mechanism import Model
from mbd_bridge.reports.page import Cell, sentence, table

DIGITS = 5
"""Significant digits: more than any measured motion has."""
ROUNDING = 1e-9
"""Share of the largest value of its unit below which a number is rounding error and stands as 0."""


def number(value: float, floor: float = 0.0) -> str:
    """Return a number as it stands in all tables; below `floor` in size it is 0."""
    return "0" if abs(value) <= floor else f"{value:.{DIGITS}g}"


def floors(history: LoadHistory) -> dict[str, float]:
    """Return, by unit, the size up to which numbers are rounding errors.

    Where all moments are, as in a linkage with no actuator, the forces (at a metre) are the
    measure.
    """
    largest = {"N": 0.0, "N m": 0.0}
    for one in history.statistics:
        unit = one.signal.unit
        largest[unit] = max(largest[unit], abs(one.peak.value))
    found = {unit: ROUNDING * size for unit, size in largest.items()}
    if largest["N m"] <= found["N"]:
        found["N m"] = found["N"]
    return found


def loads(history: LoadHistory) -> str:
    """Return extremes, mean and RMS of every component as HTML."""
    rows: list[list[Cell]] = []
    joint, floor = "", floors(history)
    for one in history.statistics:
        signal = one.signal
        least = floor[signal.unit]
        rows.append(
            [
                signal.joint if signal.joint != joint else "",
                _named(signal.quantity, one.determined),
                *_extreme(one.largest, least),
                *_extreme(one.smallest, least),
                number(one.mean, least),
                number(one.rms, least),
                signal.unit,
            ]
        )
        joint = signal.joint
    headings = ("joint", "", ">largest", ">at, s", ">smallest", ">at, s", ">mean", ">RMS", "unit")
    return table(
        headings, rows, f"{sentence(history.convention)} Rows force and moment: their lengths."
    )


def assumptions(found: Assumptions) -> str:
    """Return what the numbers assume, topic by topic, as HTML."""
    rows: list[list[Cell]] = [
        [one.heading, (one.text, "prose"), ("neglected", "doubt") if one.neglected else ""]
        for one in found.entries
    ]
    return table(("topic", "assumed", ""), rows, "What every number of this report assumes.")


def _named(name: str, determined: bool) -> Cell:
    return name if determined else (f"{name} (undetermined)", "doubt")


def _extreme(one: Extreme, least: float) -> list[str]:
    nothing = abs(one.value) <= least
    return [number(one.value, least), "" if nothing else f"{one.time:g}"]


@dataclass(frozen=True, slots=True)
class Sizing:
    """What an actuator must be able to do along a motion, and what the file says it can.

    Attributes
    ----------
    name, unit : of the actuation; N m or N
    peak, rms : its force
    speed : the largest, rad/s or m/s
    power : the largest that it gives, W
    effort_limit, speed_limit : of the file; None where it has none
    """

    name: str
    unit: str
    peak: float
    rms: float
    speed: float
    power: float
    effort_limit: float | None = None
    speed_limit: float | None = None

    @property
    def too_much(self) -> bool:
        """Whether the motion asks for more than the file allows."""
        pairs = ((self.peak, self.effort_limit), (self.speed, self.speed_limit))
        return any(limit is not None and abs(asked) > limit for asked, limit in pairs)


def sizings(model: Model, history: LoadHistory) -> list[Sizing]:
    """Return what each actuator needs; joints that nothing actuates are left out."""
    limits = {joint.name: joint.limits for joint in model.description.joints}
    found, floor = [], floors(history)
    for envelope in history.envelopes:
        one = _actuation(history, envelope.name)
        if abs(one.peak.value) <= floor[one.signal.unit]:
            continue
        limit = limits.get(envelope.name)
        found.append(
            Sizing(
                envelope.name,
                envelope.unit,
                one.peak.value,
                one.rms,
                envelope.fastest,
                envelope.power,
                (limit.effort or None) if limit else None,
                (limit.velocity or None) if limit else None,
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
        rows.append(
            [
                one.name,
                f"{number(one.peak)} {one.unit}",
                f"{number(one.rms)} {one.unit}",
                _share(one.peak, one.effort_limit, one.unit),
                f"{number(one.speed)} {rate}",
                _share(one.speed, one.speed_limit, rate),
                f"{number(one.power)} W",
            ]
        )
    headings = (
        "actuation",
        ">peak",
        ">RMS",
        "peak in limit",
        ">top speed",
        "speed in limit",
        ">peak power",
    )
    return table(
        headings,
        rows,
        "Generalised forces along the joints' own degrees of freedom; limits are those of the "
        "file.",
    )


def _share(asked: float, limit: float | None, unit: str) -> Cell:
    if limit is None:
        return ("no limit given", "")
    share = abs(asked) / limit
    return f"{share:.0%} of {limit:.4g} {unit}", "bad" if share > 1.0 else ""


def spectra(history: LoadHistory) -> str:
    """Return cycles and damage-equivalent ranges of components and actuators as HTML."""
    found, floor = history.spectra, floors(history)
    shown = [
        (signal.name, one)
        for signal, one in zip(found.signals, found.spectra, strict=True)
        if not signal.resultant and one.largest > floor[one.unit]
    ]
    exponents = shown[0][1].exponents if shown else ()
    rows: list[list[Cell]] = []
    for name, one in shown:
        equal = [number(_equivalent(one, m)) for m in exponents]
        rows.append(
            [
                _named(name, one.determined),
                f"{one.cycles:g}",
                number(one.largest),
                *equal,
                one.unit,
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
